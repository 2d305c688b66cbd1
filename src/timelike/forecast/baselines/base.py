"""Baseline, the base of forecasters that learn without a network: rows of cells in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ..base import Forecaster

Matrix = NDArray[np.float64]


class Baseline(Forecaster):
    """A forecaster of rows of cells."""

    def _rows(self, sequences: Sequences) -> Matrix:
        """What is forecast of all steps end to end, (total_time, cell)."""
        return np.asarray(self.cells_.targets(sequences).values, np.float64)

    def _last(self, past: Sequences, n_steps: int) -> Matrix:
        """The last steps of every past, (item, n_steps, cell)."""
        ends = past.offsets[1:]
        return self._rows(past)[ends[:, None] - n_steps + np.arange(n_steps)]


def repeated(row: NDArray[Any], horizon: int) -> NDArray[Any]:
    """The same row (item, cell) at every step of the horizon, (item, horizon, cell)."""
    return np.repeat(row[:, None], horizon, axis=1)
