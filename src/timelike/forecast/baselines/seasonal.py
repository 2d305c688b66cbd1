"""SeasonalNaive: everything comes back after a period."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models import options
from ...sequences import Sequences
from ...sequences.arguments import store
from ..request import Futures, Request
from .base import Baseline


class SeasonalNaive(Baseline):
    """What was one period ago, again and again: x̂_{t+h} = x_{t+h−mP}, m = ⌈h/P⌉.

    The rival to beat where there is a day, a week or a year in the data. It repeats the noise of the last period too:
    `Climatology` takes the mean of all periods, which is better where nothing drifts.

    Parameters
    ----------
    period : int
        How many steps a cycle has. A past must be at least as long.

    Examples
    --------
    >>> import timelike as tl
    >>> model = tl.forecast.SeasonalNaive(2).fit([[1.0, 2.0, 3.0]])
    >>> model.predict([[5.0, 7.0, 9.0]], horizon=5).mean.ravel()
    array([7., 9., 7., 9., 7.])
    """

    period = options.whole(1)
    _remembers = False

    def __init__(self, period: int) -> None:
        store(self, locals())

    @classmethod
    def _small(cls) -> dict[str, Any]:
        return {"period": 1}

    def _conditioning(self) -> int:
        return self.period

    def _learn(self, sequences: Sequences) -> None:
        """There is nothing to learn but the frame."""

    def _continued(self, past: Sequences, request: Request) -> Futures:
        return Futures(self._last(past, self.period)[:, np.arange(request.horizon) % self.period])
