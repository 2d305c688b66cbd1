"""Mean: the training mean at every step."""

from __future__ import annotations

import numpy as np

from ...core.parameters import store_parameters
from ...models import schema
from ...sequences import Sequences
from ..base import ForecastRequest, Futures, SequenceSource
from ..cells import n_cells
from .base import Baseline, Matrix, repeat_rows


class Mean(Baseline):
    """The mean of all training steps in every cell, whatever the past: x̂_{t+h} = x̄.

    The limit of good forecasts over long horizons of a series without trend: a method that is worse there has no skill.
    For short horizons use `Persistence`.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.forecast.Mean().fit([[1.0, 2.0], [6.0]]).predict([[9.0]], horizon=2).mean.ravel()
    array([3., 3.])
    """

    mean_: Matrix = schema.array(n_cells)

    def __init__(self) -> None:
        store_parameters(self, locals())

    def _min_past_steps(self) -> int:
        return 1

    def _fit_sequences(self, sequences: Sequences, source: SequenceSource | None = None) -> None:
        self.mean_ = self._target_rows(sequences).mean(axis=0)

    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        return Futures(repeat_rows(np.tile(self.mean_, (len(past), 1)), request.horizon))
