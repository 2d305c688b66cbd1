"""What both executors are given: sequences in memory, and how far from the diagonal a path may stray."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Steps(NamedTuple):
    """Sequence i is rows starts[i] to starts[i] + lengths[i] of `values` (step, channel)."""

    values: NDArray[Any]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


class Window(NamedTuple):
    """A number of `cells`, a `share` of the longer sequence, or neither: no bound."""

    cells: int | None = None
    share: float | None = None

    def radius(self, n: Any, m: Any) -> NDArray[np.int64]:
        """The bound in cells for lengths n and m (numbers or arrays)."""
        longer = np.maximum(n, m)
        if self.cells is not None:
            return np.asarray(np.full_like(longer, self.cells))
        if self.share is None:
            return np.asarray(longer)
        return np.asarray(np.floor(self.share * longer + 1e-9), np.int64)  # 0.1 × 60 means 6, however it rounds

    def arguments(self) -> dict[str, int | float]:
        """For the compiled kernels, which know no None."""
        return {
            "cells": -1 if self.cells is None else self.cells,
            "share": -1.0 if self.share is None else float(self.share),
        }

    def narrowest(self, n: int, m: int) -> str:
        """The smallest window of the same kind that admits a path between these lengths, in words."""
        gap = abs(n - m)
        if self.share is None:
            return str(gap)
        return f"{math.ceil(1000 * gap / max(n, m)) / 1000:g}"
