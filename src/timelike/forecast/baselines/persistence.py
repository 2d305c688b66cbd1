"""Persistence: everything stays as it is."""

from __future__ import annotations

from ...core.parameters import store_parameters
from ...sequences import Sequences
from ..base import ForecastRequest, Futures, SequenceSource
from .base import Baseline, repeat_rows


class Persistence(Baseline):
    """The last frame again and again: x̂_{t+h} = x_t.

    The first baseline of every forecaster: over short horizons of slow series it is hard to beat, and whatever is no
    better has learned nothing. Where values come back with a period use `SeasonalNaive`.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.forecast.Persistence().fit([[1.0, 2.0, 3.0]]).predict([[5.0, 7.0]], horizon=3).mean.ravel()
    array([7., 7., 7.])
    """

    _uses_training_values = False

    def __init__(self) -> None:
        store_parameters(self, locals())

    def _min_past_steps(self) -> int:
        return 1

    def _fit_sequences(self, sequences: Sequences, source: SequenceSource | None = None) -> None:
        """There is nothing to learn but the frame."""

    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        return Futures(repeat_rows(self._last_rows(past, 1)[:, 0], request.horizon))
