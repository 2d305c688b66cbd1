"""Baseline, the base class of forecasters without a network: rows of cells in double precision, and windows."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ..base import Forecaster

Matrix = NDArray[np.float64]
Ids = NDArray[np.int64]

MAX_MATRIX_ROWS = 2048  # largest square matrix that is factorised
_MAX_DEFAULT_STEPS = 48  # largest default number of past steps
_FLAT_SHARE = 1e-12  # spread of a constant channel, relative to its level


class Baseline(Forecaster):
    """A forecaster of rows of cells.

    The forecast of an item is bit-identical whatever the rest of the batch: items are multiplied one at a time, because
    the rounding of a matrix product depends on its number of rows.
    """

    _uses_training_values: ClassVar[bool] = True  # whether anything but the frame shape is learned
    _auto_options: ClassVar[tuple[str, ...]] = ()  # options that fit chooses if they are None

    def _get_chosen_options(self, horizon: int) -> dict[str, Any]:
        """The values chosen for `_auto_options`, which refitted copies in a backtest keep."""
        return {name: getattr(self, f"{name}_") for name in self._auto_options}

    def _target_rows(self, sequences: Sequences) -> Matrix:
        """The forecast cells of all steps, concatenated: (total_time, cell)."""
        return np.asarray(self.cells_.target_rows(sequences).values, np.float64)

    def _input_columns(self, sequences: Sequences) -> Matrix:
        """The forecast cells, then the known channels: (total_time, cell + channel)."""
        covariates = self.cells_.covariates(sequences)
        rows = self._target_rows(sequences)
        return rows if covariates is None else np.hstack([rows, np.asarray(covariates.values, np.float64)])

    def _last_rows(self, past: Sequences, n_steps: int) -> Matrix:
        """The last steps of every past, (item, n_steps, cell)."""
        return self._target_rows(past.crop(-n_steps)).reshape(len(past), n_steps, -1)

    def _column_scales(self, columns: Matrix) -> tuple[Matrix, Matrix]:
        """The mean of each column and the spread of its channel, so that a nearly constant pixel is not amplified.

        A constant channel has spread 1.
        """
        centre = columns.mean(axis=0)
        return centre, self._column_spread(centre, np.square(columns - centre).mean(axis=0))

    def _column_spread(self, centre: Matrix, variance: Matrix) -> Matrix:
        """The spreads from means and variances of columns, (…, column)."""
        channel = self._column_channels(centre.shape[-1])
        own = np.zeros((len(channel), int(channel[-1]) + 1))
        own[np.arange(len(channel)), channel] = 1.0
        counts = np.maximum(own.sum(axis=0), 1.0)
        spread, level = np.sqrt(variance @ own / counts), np.sqrt(np.square(centre) @ own / counts)
        spread[spread <= _FLAT_SHARE * level] = 0.0
        return np.asarray(np.where(spread == 0, 1.0, spread)[..., channel])

    def _column_channels(self, n_columns: int) -> Ids:
        """The channel of each column; known channels come after the forecast ones."""
        frame = self.cells_.frame
        cell = np.flatnonzero(self.cells_.valid_mask.ravel()) // math.prod(frame[1:])
        return np.asarray(np.concatenate([cell, frame[0] + np.arange(n_columns - len(cell))]), np.int64)


def repeat_rows(row: NDArray[Any], horizon: int) -> NDArray[Any]:
    """The same row (item, cell) at every step of the horizon, (item, horizon, cell)."""
    return np.repeat(row[:, None], horizon, axis=1)


def gather_rows(rows: Matrix, origin: Ids, first: int, last: int) -> Matrix:
    """The rows from `first` up to `last`, counted from each origin: (origin, last - first, column)."""
    return np.asarray(rows[origin[:, None] + np.arange(first, last)])


def window_origins(offsets: Ids, before: int, ahead: int) -> Ids:
    """Positions in concatenated rows with `before` rows before and `ahead` rows after them in the same sequence.

    >>> window_origins(np.array([0, 4, 6, 9]), 2, 1)
    array([2, 3, 8])
    """
    counts = np.maximum(0, np.diff(offsets) - before - ahead + 1)
    shift = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(offsets[:-1] + before, counts) + shift, np.int64)


def default_window(lengths: Ids) -> int:
    """The default number of past steps: a quarter of the median length, at most 48.

    >>> default_window(np.array([10, 20, 1000])), default_window(np.array([1000])), default_window(np.array([2]))
    (5, 48, 1)
    """
    return max(1, min(_MAX_DEFAULT_STEPS, int(np.median(lengths)) // 4))


def refuse_long_window(steps: int, name: str, offsets: Ids) -> None:
    """Raise an error if a loaded number of steps leaves no training windows, as `fit` would."""
    longest = int(np.diff(offsets).max())
    if steps >= longest:
        raise ValueError(f"{name} is {steps}: expected fewer than the {longest} steps of the longest sequence")
