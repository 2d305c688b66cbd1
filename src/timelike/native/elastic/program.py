"""The dynamic program that kernels and fallback run over pairs of sequences, and the window that bounds its cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..machine.packed_sequences import COSTS, Cost

BandShape = Literal["sakoe", "slanted", "itakura", "widened", "aeon"]

# in the order of the enum in band.hpp
BAND_SHAPES: tuple[BandShape, ...] = ("sakoe", "slanted", "itakura", "widened", "aeon")


class WarpingBand(NamedTuple):
    """A number of `cells`, a `share` of a length, or neither: no bound. For "itakura", `share` is the largest slope.

    "sakoe" bounds |i − j|; "widened" allows it to be larger by the difference of the lengths, on the side of the longer
    sequence. "slanted" follows the line between the corners, and "aeon" does so in the steps of that library.
    """

    shape: BandShape = "sakoe"
    cells: int | None = None
    share: float | None = None

    @property
    def is_unbounded(self) -> bool:
        """Whether every cell may be visited."""
        return self.cells is None and self.share is None

    def numbers(self) -> tuple[int, int, float]:
        """As the kernels take it, which know no None: less than 0 is no bound."""
        cells = -1 if self.cells is None else self.cells
        share = -1.0 if self.share is None else float(self.share)
        return BAND_SHAPES.index(self.shape), cells, share

    def radius(self, n: Any, m: Any) -> NDArray[np.int64]:
        """The bound in cells for lengths n and m (numbers or arrays), for the bands that have one."""
        length = np.maximum(n, m) if self.shape in ("sakoe", "widened") else np.minimum(n, m)
        if self.cells is not None:
            return np.asarray(np.full_like(length, self.cells))
        if self.share is None or (self.shape == "aeon" and self.share == 1):
            return np.asarray(np.maximum(n, m))
        if self.shape == "aeon":  # cut down without our allowance for rounding, as it does
            return np.asarray(self.share * length, np.int64)
        return np.asarray(np.floor(self.share * length + 1e-9), np.int64)  # 0.1 × 60 means 6, however it rounds

    def bounds(self, n: int, m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and last column that each of the n rows may visit."""
        i = np.arange(n)
        if self.is_unbounded or (self.shape in ("slanted", "itakura") and 1 in (n, m)):
            return np.zeros(n, np.int64), np.full(n, m - 1)
        if self.shape == "itakura":
            assert self.share is not None
            u, slope = i / (n - 1), self.share
            low = np.maximum(u / slope, 1 - slope * (1 - u)) * (m - 1)
            high = np.minimum(u * slope, 1 - (1 - u) / slope) * (m - 1)
            lo, hi = np.ceil(low - 1e-9).astype(np.int64), np.floor(high + 1e-9).astype(np.int64)
        elif self.shape == "slanted":
            # in integers, as in band.hpp: the band of (m, n) must be the transpose of that of (n, m)
            slack = (2 * int(self.radius(n, m)) + 1) * (max(n, m) - 1)
            lo, hi = -((slack - 2 * i * (m - 1)) // (2 * (n - 1))), (2 * i * (m - 1) + slack) // (2 * (n - 1))
        elif self.shape == "aeon":
            lo, hi = _stair_bounds(n, m, int(self.radius(n, m)))
        else:
            more = (max(0, n - m), max(0, m - n)) if self.shape == "widened" else (0, 0)
            lo, hi = i - self.radius(n, m) - more[0], i + self.radius(n, m) + more[1]
        return np.maximum(lo, 0), np.minimum(hi, m - 1)


def _stair_bounds(n: int, m: int, radius: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Around aeon's line from corner to corner, as in band.hpp: divided first, because rounding decides."""
    longer, shorter = max(n, m), min(n, m)
    stair = np.floor(np.arange(1, longer + 1) / (longer + 1) * shorter).astype(np.int64)
    if n > m:
        return stair - radius, stair + radius
    i = np.arange(n)
    return np.searchsorted(stair, i - radius), np.searchsorted(stair, i + radius, side="right") - 1


_EMPTY = {np.dtype(kind): np.empty(0, kind) for kind in (np.float32, np.float64)}


@dataclass(frozen=True, kw_only=True)
class Program:
    """A recurrence and its numbers; elastic/cells.hpp defines the rules and the meaning of the numbers.

    `gap` (channel,) and `thresholds`, one for every sequence of x and of y, are for the rules that use them; the
    threshold of a pair is the larger of the two.
    """

    rule: str = "dtw"
    cost: Cost = "sqeuclidean"
    counted: bool = False
    first: float = 0.0
    second: float = 0.0
    band: WarpingBand = field(default_factory=WarpingBand)
    gap: NDArray[Any] | None = None
    thresholds: tuple[NDArray[Any], NDArray[Any]] | None = None

    def numbers(self) -> tuple[str, int, bool, float, float, int, int, float]:
        """As the kernels take it; the rule goes by name, so that Python need not know the order of their list."""
        costs = COSTS.index(self.cost), self.counted, float(self.first), float(self.second)
        return self.rule, *costs, *self.band.numbers()

    def arrays(self, dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Gap and thresholds, empty where the rule has none."""
        none = _EMPTY[dtype]
        gap = none if self.gap is None else np.ascontiguousarray(self.gap, dtype)
        x, y = self.thresholds or (none, none)
        return gap, np.ascontiguousarray(x, dtype), np.ascontiguousarray(y, dtype)
