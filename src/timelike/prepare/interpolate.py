"""Interpolate: missing values filled from their neighbours in time."""

from __future__ import annotations

from ..core.parameters import store_parameters
from ..models import options
from ..sequences import Sequences
from .base import Preparation


class Interpolate(Preparation):
    """Missing values (NaN) filled: linearly in time between neighbours, with the nearest value at the ends.

    `Sequences.interpolate` as a step of a pipeline. A sequence is filled from itself alone, so nothing is learned and
    nothing leaks; one without any value in a channel is an error that names it.

    Parameters
    ----------
    max_gap : float, optional
        Fill only where the neighbours are no further apart, in the unit of the clock (seconds for datetimes;
        steps, where there are none). What lies in a longer gap stays missing, and is the next step's business.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.prepare.Interpolate().fit_transform([[1.0, float("nan"), 3.0]])[0].ravel()
    array([1., 2., 3.])
    """

    max_gap = options.nullable(options.real(0))

    def __init__(self, *, max_gap: float | None = None) -> None:
        store_parameters(self, locals())

    def _transform(self, sequences: Sequences) -> Sequences:
        return sequences.interpolate(max_gap=self.max_gap)
