"""SeasonalNaive: the last period, repeated."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.parameters import store_parameters
from ...models import options
from ...sequences import Sequences
from ..base import ForecastRequest, Futures, SequenceSource
from .base import Baseline


class SeasonalNaive(Baseline):
    """The last period, repeated: x̂_{t+h} = x_{t+h−mP}, m = ⌈h/P⌉.

    The baseline to beat for data with a daily, weekly or yearly cycle. It also repeats the noise of the last period:
    `Climatology` uses the mean of all periods, which is better without drift.

    Parameters
    ----------
    period : int
        Number of steps in a cycle. A past must be at least as long.

    Examples
    --------
    >>> import timelike as tl
    >>> model = tl.forecast.SeasonalNaive(2).fit([[1.0, 2.0, 3.0]])
    >>> model.predict([[5.0, 7.0, 9.0]], horizon=5).mean.ravel()
    array([7., 9., 7., 9., 7.])
    """

    period = options.integer(1)
    _uses_training_values = False

    def __init__(self, period: int) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {"period": 1}

    def _min_past_steps(self) -> int:
        return self.period

    def _fit_sequences(self, sequences: Sequences, source: SequenceSource | None = None) -> None:
        """Nothing to learn but the frame shape."""

    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        return Futures(self._last_rows(past, self.period)[:, np.arange(request.horizon) % self.period])
