"""Bootstrap intervals of means over dependent windows: whole sequences, groups or blocks are resampled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
_MAX_RESAMPLES = 2000
_MAX_COUNTS = 1 << 24  # most counts in memory: very many units get fewer resamples
_MIN_UNITS = 5  # with fewer units an interval is unreliable


class BlockBootstrap(NamedTuple):
    """Resampling counts of each unit, (resample, unit), or None if there are too few; and the unit of each window.

    `n_resampled` is the number of sequences, groups or blocks in a resample.
    """

    counts: NDArray[np.int64] | None
    unit: NDArray[np.int64]
    n_resampled: int
    description: str

    def means(self, values: Numbers) -> Numbers | None:
        """The means of values (window, column) in each resample, (resample, column)."""
        if self.counts is None:
            return None
        n_units = self.counts.shape[1]
        sums = np.stack([np.bincount(self.unit, column, n_units) for column in values.T], axis=1)
        sizes = np.bincount(self.unit, minlength=n_units)
        return np.asarray((self.counts @ sums) / (self.counts @ sizes)[:, None])

    def bounds(self, draws: Numbers | None, n_columns: int, confidence: float = 0.95) -> tuple[Numbers, Numbers]:
        """The lower and upper bound of each column of resampled values; infinite without resamples.

        The percentiles are wider than nominal, because few units vary less than many: Φ(−√(n/(n−1)) · t) in each tail,
        with Student's t of n − 1 degrees of freedom (Hesterberg, "What teachers should know about the
        bootstrap", 2015).
        """
        from scipy.special import ndtr, stdtrit

        if draws is None:
            return np.full(n_columns, -np.inf), np.full(n_columns, np.inf)
        free = self.n_resampled - 1
        rest = ndtr(-math.sqrt(self.n_resampled / free) * stdtrit(free, (1 + confidence) / 2))
        low, high = np.full((2, n_columns), np.nan)
        has_values = ~np.isnan(draws).all(axis=0)  # a skill may be undefined
        low[has_values], high[has_values] = np.nanquantile(draws[:, has_values], [rest, 1 - rest], axis=0)
        return low, high


def make_bootstrap(unit: NDArray[np.int64], n_units: int, what: str, shared: int, seed: int) -> BlockBootstrap:
    """Resample whole units if there are several, otherwise blocks of windows (Künsch, 1989).

    Windows of one sequence overlap and resemble their neighbors, so resampling single windows would give intervals that
    are far too narrow. `shared` is the number of consecutive windows that a future overlaps; blocks are at least as
    long.
    """
    rng = np.random.default_rng(seed)
    if n_units > 1:
        counts = rng.multinomial(n_units, np.full(n_units, 1 / n_units), size=_n_resamples(n_units))
        few = ", which are few" if n_units < _MIN_UNITS else ""
        return BlockBootstrap(counts, unit, n_units, f"whole {what} resampled ({n_units}{few})")
    n_windows = len(unit)
    size = max(shared, math.ceil(n_windows ** (1 / 3)))
    alone = np.arange(n_windows)
    if n_windows < 2 * size:
        words = f"none: {n_windows} windows of one sequence are fewer than two blocks of {size} that do not overlap"
        return BlockBootstrap(None, alone, 1, words)
    words = f"blocks of {size} windows of one sequence resampled"
    return BlockBootstrap(_block_counts(n_windows, size, rng), alone, n_windows // size, words)


def _block_counts(n_windows: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How often each window occurs in random blocks that together fill all windows; the last block is cut off."""
    times = _n_resamples(n_windows)
    starts = rng.integers(n_windows - size + 1, size=(times, -(-n_windows // size)))
    window_ids = (starts[:, :, None] + np.arange(size)).reshape(times, -1)[:, :n_windows]
    counts = np.zeros((times, n_windows), np.int64)
    np.add.at(counts, (np.arange(times)[:, None], window_ids), 1)
    return counts


def _n_resamples(n_units: int) -> int:
    return int(np.clip(_MAX_COUNTS // n_units, 200, _MAX_RESAMPLES))
