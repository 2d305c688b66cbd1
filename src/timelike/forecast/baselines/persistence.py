"""Persistence: everything stays as it is."""

from __future__ import annotations

from ...sequences import Sequences
from ...sequences.arguments import store
from ..request import Futures, Request
from .base import Baseline, repeated


class Persistence(Baseline):
    """The last frame again and again: x̂_{t+h} = x_t.

    The first rival of every forecaster: over short horizons of slow series it is hard to beat, and whatever is no
    better has learned nothing. Where values come back with a period use `SeasonalNaive`.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.forecast.Persistence().fit([[1.0, 2.0, 3.0]]).predict([[5.0, 7.0]], horizon=3).mean.ravel()
    array([7., 7., 7.])
    """

    _remembers = False

    def __init__(self) -> None:
        store(self, locals())

    def _conditioning(self) -> int:
        return 1

    def _learn(self, sequences: Sequences) -> None:
        """There is nothing to learn but the frame."""

    def _continued(self, past: Sequences, request: Request) -> Futures:
        return Futures(repeated(self._last(past, 1)[:, 0], request.horizon))
