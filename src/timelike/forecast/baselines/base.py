"""Baseline, the base of forecasters that learn without a network: rows of cells in double precision, and windows."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ..base import Forecaster

Matrix = NDArray[np.float64]
Ids = NDArray[np.int64]

MOST = 2048  # rows of a square matrix that is factorised
_USUAL = 48  # steps that are looked at, where there are many
_FLAT = 1e-12  # times its level is the spread of a channel that does not move


class Baseline(Forecaster):
    """A forecaster of rows of cells.

    What is forecast of an item is the same to the last bit alone and in company: items are multiplied one at a time,
    since the order in which a product of matrices is summed depends on how many rows there are.
    """

    _remembers: ClassVar[bool] = True  # whether anything is learned but the frame
    _chooses: ClassVar[tuple[str, ...]] = ()  # options that are chosen in learning, unless given

    def _choices(self, horizon: int) -> dict[str, Any]:
        """These options as they were chosen, which copies that are fitted again in a backtest keep."""
        return {name: getattr(self, f"{name}_") for name in self._chooses}

    def _rows(self, sequences: Sequences) -> Matrix:
        """What is forecast of all steps end to end, (total_time, cell)."""
        return np.asarray(self.cells_.targets(sequences).values, np.float64)

    def _columns(self, sequences: Sequences) -> Matrix:
        """What is forecast and, after it, what is known in advance, (total_time, cell + channel)."""
        known = self.cells_.covariates(sequences)
        rows = self._rows(sequences)
        return rows if known is None else np.hstack([rows, np.asarray(known.values, np.float64)])

    def _last(self, past: Sequences, n_steps: int) -> Matrix:
        """The last steps of every past, (item, n_steps, cell)."""
        return self._rows(past.crop(-n_steps)).reshape(len(past), n_steps, -1)

    def _scales(self, columns: Matrix) -> tuple[Matrix, Matrix]:
        """The mean of every column, and its spread: that of its channel, so that a pixel that hardly moves stays small.

        A channel that does not move at all has the spread 1.
        """
        centre = columns.mean(axis=0)
        return centre, self._spread(centre, np.square(columns - centre).mean(axis=0))

    def _spread(self, centre: Matrix, variance: Matrix) -> Matrix:
        """From means and variances of columns, (…, column)."""
        channel = self._channels(centre.shape[-1])
        own = np.zeros((len(channel), int(channel[-1]) + 1))
        own[np.arange(len(channel)), channel] = 1.0
        counts = np.maximum(own.sum(axis=0), 1.0)
        spread, level = np.sqrt(variance @ own / counts), np.sqrt(np.square(centre) @ own / counts)
        spread[spread <= _FLAT * level] = 0.0
        return np.asarray(np.where(spread == 0, 1.0, spread)[..., channel])

    def _channels(self, n_columns: int) -> Ids:
        """The channel of every column, those known in advance after those that are forecast."""
        frame = self.cells_.frame
        cell = np.flatnonzero(self.cells_.there.ravel()) // math.prod(frame[1:])
        return np.asarray(np.concatenate([cell, frame[0] + np.arange(n_columns - len(cell))]), np.int64)


def repeated(row: NDArray[Any], horizon: int) -> NDArray[Any]:
    """The same row (item, cell) at every step of the horizon, (item, horizon, cell)."""
    return np.repeat(row[:, None], horizon, axis=1)


def stretch(rows: Matrix, origin: Ids, first: int, last: int) -> Matrix:
    """The rows from `first` up to `last`, counted from each origin: (origin, last - first, column)."""
    return np.asarray(rows[origin[:, None] + np.arange(first, last)])


def origins(offsets: Ids, before: int, ahead: int) -> Ids:
    """Where futures may begin, as positions in rows end to end: `before` rows before and `ahead` from there on.

    >>> origins(np.array([0, 4, 6, 9]), 2, 1)
    array([2, 3, 8])
    """
    counts = np.maximum(0, np.diff(offsets) - before - ahead + 1)
    shift = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(offsets[:-1] + before, counts) + shift, np.int64)


def usual_steps(lengths: Ids) -> int:
    """How many steps of a past are looked at unless it is said: a quarter of a usual sequence, at most 48.

    >>> usual_steps(np.array([10, 20, 1000])), usual_steps(np.array([1000])), usual_steps(np.array([2]))
    (5, 48, 1)
    """
    return max(1, min(_USUAL, int(np.median(lengths)) // 4))


def refuse_long(steps: int, name: str, offsets: Ids) -> None:
    """An error where a learned number of steps leaves none to learn from, which `fit` refuses too."""
    longest = int(np.diff(offsets).max())
    if steps >= longest:
        raise ValueError(f"{name} is {steps}: expected fewer than the {longest} steps of the longest sequence")
