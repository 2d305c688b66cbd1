"""Interpolate: missing values filled from their neighbours in time."""

from __future__ import annotations

from ..sequences import Sequences
from ..sequences.arguments import store
from .base import Preparation


class Interpolate(Preparation):
    """Missing values (NaN) filled: linearly in time between neighbours, with the nearest value at the ends.

    `Sequences.interpolate` as a step of a pipeline. A sequence is filled from itself alone, so nothing is learned and
    nothing leaks; one without any value in a channel is an error that names it.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.prepare.Interpolate().fit_transform([[1.0, float("nan"), 3.0]])[0].ravel()
    array([1., 2., 3.])
    """

    def __init__(self) -> None:
        store(self, locals())

    def _made(self, sequences: Sequences) -> Sequences:
        return sequences.interpolate()
