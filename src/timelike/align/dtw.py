"""Dynamic time warping: plain (DTW), of slopes (DDTW), and with a cost for warping (WDTW, ADTW)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..core.parameters import check_choice, check_float
from ..native import COSTS, Cost
from ..sequences import Sequences
from .alignment import Alignment
from .distance_matrix import ProgressCallback
from .elastic import ElasticDistance
from .window_selection import select_window

Step = Literal["symmetric1", "symmetric2"]
Normalize = Literal["length", "steps"]
Missing = Literal["raise", "ignore"]


@dataclass(frozen=True, kw_only=True, repr=False)
class WarpingDistance(ElasticDistance):
    """Base class of the DTW variants, which can ignore missing values."""

    missing: Missing = "raise"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.missing, "missing", get_args(Missing))

    def _takes_missing(self) -> bool:
        return self.missing == "ignore"

    def _has_missing(self, x: Sequences, y: Sequences) -> bool:
        """Whether the program has to look for missing values: if there are none it need not."""
        return self.missing == "ignore" and (x.has_missing or y.has_missing)

    def _rule_name(self, name: str, x: Sequences, y: Sequences) -> str:
        return name + "_missing" if self._has_missing(x, y) else name

    def _is_rooted(self) -> bool | None:  # how much of a pair is compared scales its total
        return None if self.missing == "ignore" else False

    def _fill_dependent(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        super()._fill_dependent(x, y, out, threads, report)
        if self._has_missing(x, x if y is None else y):
            out[np.isinf(out)] = np.nan  # no path between the gaps is as little to compare as nothing

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        alignment = super()._align(x, y)
        return (
            replace(alignment, cost=math.nan) if self._has_missing(x, y) and math.isinf(alignment.cost) else alignment
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class DTW(WarpingDistance):
    """Dynamic time warping: the cost of the cheapest path through both sequences.

    D(i, j) = c(x_i, y_j) + min(D(i−1, j), D(i, j−1), D(i−1, j−1)), and the distance is D at the last two steps
    (Sakoe and Chiba, 1978).

    Parameters
    ----------
    window : int, float or None
        The largest distance of a path from the diagonal: a number of cells, or a fraction of the length. A fraction
        admits a path between any two lengths. A number of cells that admits none raises an error; the distance is
        never infinite.
    band : {"sakoe", "widened", "slanted", "itakura", "aeon"}
        `"sakoe"`: |i − j| ≤ window in cells; a fraction refers to the longer sequence and means
        −r ≤ j − i ≤ r + (m − n) for y longer than x. `"widened"`: the same for cells (as in tslearn, dtaidistance).
        `"slanted"`: window cells around the line between the corners, counted along the shorter sequence. `"aeon"`:
        around that line as in aeon. `"itakura"`: a parallelogram whose largest slope is `window` (2 if None).
        For equal lengths, `"sakoe"`, `"widened"` and `"slanted"` are the same band.
    cost : {"sqeuclidean", "euclidean", "manhattan"}
        c: the squared Euclidean distance of the two frames, its root, or the sum of absolute differences.
    root : bool
        Take the square root of the total, as tslearn and dtaidistance do; aeon does not.
    step : {"symmetric1", "symmetric2"}
        With `"symmetric2"` a diagonal step costs twice.
    normalize : {None, "length", "steps"}
        Divide the total by the sum of both lengths, or by the number of steps on the path (the shortest path if several
        have the same cost).
    dependent : bool
        One path for all channels, or the sum of the distances of the single channels.
    missing : {"raise", "ignore"}
        Missing values (NaN) raise an error or are ignored. With `"ignore"`, a cell compares the channels that x_i and
        y_j both have, and its cost is scaled up to all channels. A cell without common channels costs nothing and is
        crossed only diagonally; otherwise a path could skip any part of y at a gap for free (after DTW-AROW, Yurtman
        et al., 2023). The total over the compared steps of x and y is scaled up to all n + m steps. If several paths
        have the same cost, the one that compares most steps counts. Sequences with nothing to compare, or without such
        a path, raise an error. If few values are missing, `interpolate()` works as well.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.DTW().distance([0, 1, 2], [0, 0, 1, 2])
    0.0
    >>> tl.DTW(missing="ignore").distance([0.0, float("nan"), 2.0, 3.0], [1.0, 1.0, 2.0, 3.0])  # 1, of 6 steps of 8
    1.3333333333333333
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
        if self.missing == "ignore" and self.normalize == "steps":
            raise ValueError('normalize="steps" with missing="ignore": expected normalize="length" or None')

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(
            rule=self._rule_name("dtw" if self.step == "symmetric1" else "symmetric2", x, y),
            cost=self.cost,
            counted=self.normalize == "steps",
            band=self._warping_band,
        )

    def _distances_from_totals(self, totals: NDArray[Any], n: NDArray[np.int64], m: NDArray[np.int64]) -> NDArray[Any]:
        if self.normalize == "length":
            totals /= n + m
        return np.sqrt(totals, out=totals) if self.root else totals

    def _is_rooted(self) -> bool | None:
        return None if self.normalize or self.missing == "ignore" else self.root

    def select_window(
        self,
        X: Any,
        y: Any = None,
        *,
        windows: Iterable[int | float | None] | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> Self:
        """The same metric with the window that has the best leave-one-out accuracy of 1-NN classification.

        The accuracy is computed on X and its labels y (by default the labels of X), over `windows` (by default the
        fractions 0, 0.01, …, 1, fewer for short sequences); the first of equal windows wins. One pass from the widest
        to the narrowest window compares few pairs twice (Tan, Herrmann, Forestier, Webb and Petitjean, 2018). With
        `normalize="steps"`, `dependent=False` or missing values, windows are tried one by one. `progress` draws a bar;
        None does so on a terminal after two seconds.

        >>> import timelike as tl
        >>> s = tl.Sequences([[0, 0, 9, 0], [9, 0, 0, 0], [0, 5, 5, 0], [0, 0, 5, 5]], labels=[0, 0, 1, 1])
        >>> tl.DTW().select_window(s)
        DTW(window=0.25)
        """
        return select_window(self, X, y, windows, n_jobs, progress)


@dataclass(frozen=True, kw_only=True, repr=False)
class DDTW(DTW):
    """DTW of the slopes, with the derivative estimate of Keogh and Pazzani (2001).

    x′_i = ((x_i − x_{i−1}) + (x_{i+1} − x_{i−1})/2)/2, the ends repeated. With `missing="ignore"`, a slope is missing
    if one of its values is.

    >>> import timelike as tl
    >>> tl.DDTW().distance([0.0, 1.0, 2.0], [5.0, 6.0, 7.0])
    0.0
    """

    def _preprocess_sequences(self, s: Sequences) -> Sequences:
        return s.derivative(rule="keogh")


@dataclass(frozen=True, kw_only=True, repr=False)
class WDTW(WarpingDistance):
    """Weighted DTW: matching steps that are far apart in time costs more (Jeong, Jeong and Omitaomu, 2011).

    The squared distance of x_i and y_j is multiplied by 1/(1 + exp(−g(|i − j| − L/2))), L the longer length.

    >>> import timelike as tl
    >>> tl.WDTW(g=0.0).distance([0.0, 1.0], [0.0, 3.0])
    2.0
    """

    g: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        check_float(self.g, "g", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule=self._rule_name("weighted", x, y), first=self.g, band=self._warping_band)


@dataclass(frozen=True, kw_only=True, repr=False)
class ADTW(WarpingDistance):
    """Amerced DTW: every step off the diagonal costs a constant (Herrmann and Webb, 2023).

    D(i, j) = ‖x_i − y_j‖² + min(D(i−1, j−1), D(i−1, j) + penalty, D(i, j−1) + penalty).

    >>> import timelike as tl
    >>> tl.ADTW(penalty=0.5).distance([0, 1, 2], [0, 0, 1, 2])
    0.5
    """

    penalty: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_float(self.penalty, "penalty", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule=self._rule_name("amerced", x, y), first=self.penalty, band=self._warping_band)
