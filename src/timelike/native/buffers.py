"""What both executors are given: sequences in memory, and the dynamic program to run over pairs of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Cost = Literal["sqeuclidean", "euclidean", "manhattan"]
Shape = Literal["sakoe", "slanted", "itakura"]

# in the order of the enums in table.hpp and band.hpp
COSTS: tuple[Cost, ...] = ("sqeuclidean", "euclidean", "manhattan")
SHAPES: tuple[Shape, ...] = ("sakoe", "slanted", "itakura")


class Steps(NamedTuple):
    """Sequence i is rows starts[i] to starts[i] + lengths[i] of `values` (step, channel)."""

    values: NDArray[Any]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


class Window(NamedTuple):
    """A number of `cells`, a `share` of a length, or neither: no bound. For "itakura", `share` is the largest slope."""

    shape: Shape = "sakoe"
    cells: int | None = None
    share: float | None = None

    @property
    def open(self) -> bool:
        """Whether every cell may be visited."""
        return self.cells is None and self.share is None

    def radius(self, n: Any, m: Any) -> NDArray[np.int64]:
        """The bound in cells for lengths n and m (numbers or arrays), for the bands that have one."""
        length = np.maximum(n, m) if self.shape == "sakoe" else np.minimum(n, m)
        if self.cells is not None:
            return np.asarray(np.full_like(length, self.cells))
        if self.share is None:
            return np.asarray(np.maximum(n, m))
        return np.asarray(np.floor(self.share * length + 1e-9), np.int64)  # 0.1 × 60 means 6, however it rounds

    def bounds(self, n: int, m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and last column that each of the n rows may visit."""
        i = np.arange(n)
        if self.open or (self.shape != "sakoe" and 1 in (n, m)):
            return np.zeros(n, np.int64), np.full(n, m - 1)
        if self.shape == "itakura":
            assert self.share is not None
            u, slope = i / (n - 1), self.share
            low = np.maximum(u / slope, 1 - slope * (1 - u)) * (m - 1)
            high = np.minimum(u * slope, 1 - (1 - u) / slope) * (m - 1)
            lo, hi = np.ceil(low - 1e-9).astype(np.int64), np.floor(high + 1e-9).astype(np.int64)
        elif self.shape == "slanted":
            slack = (2 * int(self.radius(n, m)) + 1) * (max(n, m) - 1)
            lo, hi = -((slack - 2 * i * (m - 1)) // (2 * (n - 1))), (2 * i * (m - 1) + slack) // (2 * (n - 1))
        else:
            lo, hi = i - self.radius(n, m), i + self.radius(n, m)
        return np.maximum(lo, 0), np.minimum(hi, m - 1)


_NONE = {np.dtype(kind): np.empty(0, kind) for kind in (np.float32, np.float64)}


@dataclass(frozen=True, kw_only=True)
class Program:
    """Which recurrence, with its numbers; native/cells.hpp has the rules, and what the numbers mean to each.

    `gap` (channel,) and `thresholds`, one for every sequence of x and of y, serve the rules that read them: a pair's
    threshold is the larger of its two.
    """

    rule: str = "dtw"
    cost: Cost = "sqeuclidean"
    counted: bool = False
    first: float = 0.0
    second: float = 0.0
    window: Window = field(default_factory=Window)
    gap: NDArray[Any] | None = None
    thresholds: tuple[NDArray[Any], NDArray[Any]] | None = None

    def plan(self) -> tuple[Any, ...]:
        """The numbers of it, for the compiled kernels, which know no None."""
        cells = -1 if self.window.cells is None else self.window.cells
        share = -1.0 if self.window.share is None else float(self.window.share)
        numbers = (float(self.first), float(self.second), SHAPES.index(self.window.shape), cells, share)
        return (self.rule, COSTS.index(self.cost), self.counted, *numbers)

    def arrays(self, dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Gap and thresholds, empty where the rule has none."""
        none = _NONE[dtype]
        gap = none if self.gap is None else np.ascontiguousarray(self.gap, dtype)
        x, y = self.thresholds or (none, none)
        return gap, np.ascontiguousarray(x, dtype), np.ascontiguousarray(y, dtype)
