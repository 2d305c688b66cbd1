"""Persistence: the last frame at every step."""

from __future__ import annotations

from ...core.parameters import store_parameters
from ...sequences import Sequences
from ..base import ForecastRequest, Futures, SequenceSource
from .base import Baseline, repeat_rows


class Persistence(Baseline):
    """The last frame, repeated: x̂_{t+h} = x_t.

    The first baseline for any forecaster: it is hard to beat over short horizons of slow series, and a method that is
    no better has learned nothing. For periodic series use `SeasonalNaive`.

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
        """Nothing to learn but the frame shape."""

    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        return Futures(repeat_rows(self._last_rows(past, 1)[:, 0], request.horizon))
