"""Dynamic time warping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..sequences import Sequences
from .alignment import Alignment
from .band import Window, bound, refuse_infeasible
from .base import Aligner, Report, computed, steps

Cost = Literal["sqeuclidean", "euclidean", "manhattan"]


@dataclass(frozen=True, kw_only=True)
class DTW(Aligner):
    """Dynamic time warping: the cheapest way to step through both sequences together.

    D(i, j) = c(x_i, y_j) + min(D(i−1, j), D(i, j−1), D(i−1, j−1)), and the distance is D at the last two steps
    (Sakoe and Chiba, 1978).

    Parameters
    ----------
    window : int, float or None
        How far i and j may be apart: a number of cells, or a share of the longer sequence. A window that admits no
        path is an error, never an infinite distance.
    cost : {"sqeuclidean", "euclidean", "manhattan"}
        c: squared Euclidean distance of the two frames, its root, or the sum of absolute differences.
    root : bool
        Take the square root of the total, as tslearn and dtaidistance do; aeon does not.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.DTW().distance([0, 1, 2], [0, 0, 1, 2])
    0.0
    >>> tl.DTW(root=True).distance([0.0, 3.0], [0.0, 5.0])
    2.0
    >>> tl.DTW().align([0, 1, 2], [0, 0, 1, 2]).path.tolist()
    [[0, 0], [0, 1], [1, 2], [2, 3]]
    """

    window: Window = None
    cost: Cost = "sqeuclidean"
    root: bool = False

    def __post_init__(self) -> None:
        bound(self.window)
        if self.cost not in get_args(Cost):
            raise ValueError(f"cost={self.cost!r}: expected one of {', '.join(map(repr, get_args(Cost)))}")

    def _fill(self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: Report) -> None:
        other = x if y is None else y
        refuse_infeasible(self.window, x.lengths, other.lengths)
        native.dtw_pairwise(
            steps(x, out.dtype),
            steps(other, out.dtype),
            symmetric=y is None,
            window=bound(self.window),
            cost=self.cost,
            threads=threads,
            out=out,
            report=report,
        )
        if self.root:
            np.sqrt(out, out=out)

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        refuse_infeasible(self.window, x.lengths, y.lengths)
        one, two = (side.values.reshape(len(side.values), -1).astype(computed(x, y), copy=False) for side in (x, y))
        path, cost = native.dtw_path(one, two, window=bound(self.window), cost=self.cost)
        return Alignment(float(np.sqrt(cost)) if self.root else cost, path, x[0], y[0])
