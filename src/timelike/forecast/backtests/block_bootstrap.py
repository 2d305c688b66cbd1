"""Bootstrap intervals of means over dependent windows: whole sequences, groups or blocks are resampled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
_MAX_RESAMPLES = 2000
_MAX_COUNTS = 1 << 24  # counts that are kept at most: of very many units fewer resamples are drawn
_MIN_UNITS = 5  # things to draw, below which an interval says little


class BlockBootstrap(NamedTuple):
    """How often each unit is drawn, (resample, unit), None where there are too few; which unit each window is of.

    `n_resampled` is how many sequences, groups or blocks make a resample.
    """

    counts: NDArray[np.int64] | None
    unit: NDArray[np.int64]
    n_resampled: int
    description: str

    def means(self, values: Numbers) -> Numbers | None:
        """Of values (window, column) the means in every resample, (resample, column)."""
        if self.counts is None:
            return None
        n_units = self.counts.shape[1]
        sums = np.stack([np.bincount(self.unit, column, n_units) for column in values.T], axis=1)
        sizes = np.bincount(self.unit, minlength=n_units)
        return np.asarray((self.counts @ sums) / (self.counts @ sizes)[:, None])

    def bounds(self, draws: Numbers | None, n_columns: int, confidence: float = 0.95) -> tuple[Numbers, Numbers]:
        """The low and the high bound of each column of draws; without draws they are infinite.

        Percentiles farther out than those asked for, since few units vary less than many would: Φ(−√(n/(n−1)) · t) in
        each tail, with Student's t of n − 1 degrees of freedom (Hesterberg, "What teachers should know about the
        bootstrap", 2015).
        """
        from scipy.special import ndtr, stdtrit

        if draws is None:
            return np.full(n_columns, -np.inf), np.full(n_columns, np.inf)
        free = self.n_resampled - 1
        rest = ndtr(-math.sqrt(self.n_resampled / free) * stdtrit(free, (1 + confidence) / 2))
        low, high = np.full((2, n_columns), np.nan)
        has_values = ~np.isnan(draws).all(axis=0)  # a skill may have no number
        low[has_values], high[has_values] = np.nanquantile(draws[:, has_values], [rest, 1 - rest], axis=0)
        return low, high


def make_bootstrap(unit: NDArray[np.int64], n_units: int, what: str, shared: int, seed: int) -> BlockBootstrap:
    """Whole units drawn anew where there are several, otherwise blocks of windows (Künsch, 1989).

    Windows of one sequence overlap and resemble their neighbours, so drawing single ones would give intervals that are
    far too narrow. `shared` is over how many windows in a row a future reaches; blocks are at least as long.
    """
    rng = np.random.default_rng(seed)
    if n_units > 1:
        counts = rng.multinomial(n_units, np.full(n_units, 1 / n_units), size=_n_resamples(n_units))
        few = ", which are few" if n_units < _MIN_UNITS else ""
        return BlockBootstrap(counts, unit, n_units, f"whole {what} drawn anew ({n_units}{few})")
    n_windows = len(unit)
    size = max(shared, math.ceil(n_windows ** (1 / 3)))
    alone = np.arange(n_windows)
    if n_windows < 2 * size:
        words = f"none: {n_windows} windows of one sequence are fewer than two blocks of {size} that do not overlap"
        return BlockBootstrap(None, alone, 1, words)
    words = f"blocks of {size} windows of one sequence drawn anew"
    return BlockBootstrap(_block_counts(n_windows, size, rng), alone, n_windows // size, words)


def _block_counts(n_windows: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How often each window is in blocks that begin anywhere, as many as fill the windows; the last is cut off."""
    times = _n_resamples(n_windows)
    starts = rng.integers(n_windows - size + 1, size=(times, -(-n_windows // size)))
    window_ids = (starts[:, :, None] + np.arange(size)).reshape(times, -1)[:, :n_windows]
    counts = np.zeros((times, n_windows), np.int64)
    np.add.at(counts, (np.arange(times)[:, None], window_ids), 1)
    return counts


def _n_resamples(n_units: int) -> int:
    return int(np.clip(_MAX_COUNTS // n_units, 200, _MAX_RESAMPLES))
