"""Dynamic time warping: plain (DTW), of slopes (DDTW), and with a price on warping (WDTW, ADTW)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..native import COSTS, Cost
from ..sequences import Sequences, as_sequences
from ..sequences.arguments import real
from .elastic import Elastic
from .gallery import leave_one_out

Step = Literal["symmetric1", "symmetric2"]
Normalize = Literal["length", "steps"]


@dataclass(frozen=True, kw_only=True, repr=False)
class DTW(Elastic):
    """Dynamic time warping: the cheapest way to step through both sequences together.

    D(i, j) = c(x_i, y_j) + min(D(i−1, j), D(i, j−1), D(i−1, j−1)), and the distance is D at the last two steps
    (Sakoe and Chiba, 1978).

    Parameters
    ----------
    window : int, float or None
        How far a path may stray from the diagonal: a number of cells, or a share of the length. A window that admits
        no path is an error, never an infinite distance.
    band : {"sakoe", "slanted", "itakura"}
        `"sakoe"`: |i − j| ≤ window, a share being of the longer sequence. `"slanted"`: the same around the line between
        the corners, counted along the shorter sequence, so that unequal lengths always have a path. `"itakura"`: a
        parallelogram, of which `window` is the largest slope (2 if None).
    cost : {"sqeuclidean", "euclidean", "manhattan"}
        c: squared Euclidean distance of the two frames, its root, or the sum of absolute differences.
    root : bool
        Take the square root of the total, as tslearn and dtaidistance do; aeon does not.
    step : {"symmetric1", "symmetric2"}
        With `"symmetric2"` a diagonal step costs twice.
    normalize : {None, "length", "steps"}
        Divide the total by the sum of both lengths, or by the number of steps on the path (the shortest of those that
        cost the same).
    dependent : bool
        One path for all channels, or the sum of the distances of the single channels.

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

    cost: Cost = "sqeuclidean"
    root: bool = False
    step: Step = "symmetric1"
    normalize: Normalize | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.root, bool):
            raise TypeError(f"root={self.root!r}: expected True or False")
        options = {"cost": COSTS, "step": get_args(Step), "normalize": (None, *get_args(Normalize))}
        for name, choices in options.items():
            if getattr(self, name) not in choices:
                expected = ", ".join(map(repr, choices))
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {expected}")

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(
            rule="dtw" if self.step == "symmetric1" else "symmetric2",
            cost=self.cost,
            counted=self.normalize == "steps",
            window=self._bound,
        )

    def _finished(self, totals: NDArray[Any], n: NDArray[np.int64], m: NDArray[np.int64]) -> NDArray[Any]:
        if self.normalize == "length":
            totals /= n + m
        return np.sqrt(totals, out=totals) if self.root else totals

    def _rooted(self) -> bool | None:
        return None if self.normalize else self.root

    def select_window(
        self, X: Any, y: Any = None, *, windows: Iterable[int | float] | None = None, n_jobs: int | None = None
    ) -> Self:
        """The same metric with the window under which sequences best take the class of their nearest neighbour.

        Leave-one-out accuracy on X and its labels y (or those X carries), over `windows` (by default shares 0, 0.01, …,
        1 for equal lengths, fewer for short ones); of equal ones the smallest. Windows that admit no path are left out.

        >>> import timelike as tl
        >>> s = tl.Sequences([[0, 0, 9, 0], [9, 0, 0, 0], [0, 5, 5, 0], [0, 0, 5, 5]], labels=[0, 0, 1, 1])
        >>> tl.DTW().select_window(s)
        DTW(window=0.25)
        """
        sequences = as_sequences(X, "X")
        labels = sequences.labels if y is None else np.asarray(y)
        if labels is None:
            raise ValueError("y is None and X carries no labels: give the class of every sequence")
        if len(labels) != len(sequences) or len(sequences) < 2:
            raise ValueError(
                f"y has {len(labels)} labels for {len(sequences)} sequences: expected one each, and two or more"
            )
        best, best_score = None, -1.0
        for candidate in self._candidates(sequences) if windows is None else list(windows):
            metric = replace(self, window=candidate)
            score = leave_one_out(metric.pairwise(sequences, n_jobs=n_jobs), labels)
            if score > best_score:
                best, best_score = metric, score
        if best is None:
            raise ValueError(f"windows={windows!r} is empty: expected at least one window to try")
        return best

    def _candidates(self, sequences: Sequences) -> list[float]:
        """Shares a cell apart, at most 101 of them, that admit a path between all lengths; slopes for itakura."""
        if self.band == "itakura":
            return [float(slope) for slope in np.linspace(1, 3, 21)]
        shares = np.linspace(0, 1, min(sequences.shape[1], 100) + 1)
        shortest, longest = sequences.lengths.min(), sequences.lengths.max()
        radius = np.floor(shares * longest + 1e-9)
        return [float(share) for share in shares[(radius >= longest - shortest) | (self.band == "slanted")]]


@dataclass(frozen=True, kw_only=True, repr=False)
class DDTW(DTW):
    """DTW of the slopes: Keogh and Pazzani's derivative estimate of both sequences is compared (2001).

    x′_i = ((x_i − x_{i−1}) + (x_{i+1} − x_{i−1})/2)/2, the ends repeated.

    >>> import timelike as tl
    >>> tl.DDTW().distance([0.0, 1.0, 2.0], [5.0, 6.0, 7.0])
    0.0
    """

    def _compared(self, s: Sequences) -> Sequences:
        return s.derivative(rule="keogh")


@dataclass(frozen=True, kw_only=True, repr=False)
class WDTW(Elastic):
    """Weighted DTW: matching steps that are far apart in time costs more (Jeong, Jeong and Omitaomu, 2011).

    The squared distance of x_i and y_j is multiplied by 1/(1 + exp(−g(|i − j| − L/2))), L the longer length.

    >>> import timelike as tl
    >>> tl.WDTW(g=0.0).distance([0.0, 1.0], [0.0, 3.0])
    2.0
    """

    g: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        real(self.g, "g", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule="weighted", first=self.g, window=self._bound)


@dataclass(frozen=True, kw_only=True, repr=False)
class ADTW(Elastic):
    """Amerced DTW: every step off the diagonal costs a constant (Herrmann and Webb, 2023).

    D(i, j) = ‖x_i − y_j‖² + min(D(i−1, j−1), D(i−1, j) + penalty, D(i, j−1) + penalty).

    >>> import timelike as tl
    >>> tl.ADTW(penalty=0.5).distance([0, 1, 2], [0, 0, 1, 2])
    0.5
    """

    penalty: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        real(self.penalty, "penalty", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule="amerced", first=self.penalty, window=self._bound)
