"""Mean: everything is as it is on average."""

from __future__ import annotations

import numpy as np

from ...models import learned
from ...sequences import Sequences
from ...sequences.arguments import store
from ..cells import n_cells
from ..request import Futures, Request
from .base import Baseline, Matrix, repeated


class Mean(Baseline):
    """The mean of all training steps in every cell, whatever the past: x̂_{t+h} = x̄.

    What every forecast tends to over long horizons of a series without trend; whatever is worse there would do better
    to say nothing. It is no rival over short horizons: use `Persistence`.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.forecast.Mean().fit([[1.0, 2.0], [6.0]]).predict([[9.0]], horizon=2).mean.ravel()
    array([3., 3.])
    """

    mean_: Matrix = learned.array(n_cells)

    def __init__(self) -> None:
        store(self, locals())

    def _conditioning(self) -> int:
        return 1

    def _learn(self, sequences: Sequences) -> None:
        self.mean_ = self._rows(sequences).mean(axis=0)

    def _continued(self, past: Sequences, request: Request) -> Futures:
        return Futures(repeated(np.tile(self.mean_, (len(past), 1)), request.horizon))
