"""`GDTW`: dynamic time warping in continuous time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice, check_float, check_int
from ..core.threads import check_n_jobs
from ..core.validation.arrays import validate_array
from ..native import warp as warps
from ..sequences import Sequences, as_sequences
from .alignment import Alignment, Warp
from .base import Aligner
from .distance_matrix import ProgressCallback
from .gallery import leave_one_out_accuracy
from .warp_problem import OverTime, WarpSide, check_limits, conflict_message, pair_constraints, values_by_knot

_KNOTS_AT_ONCE = 1 << 20  # of all pairs solved in one call, so that memory stays bounded
_MAX_GRID = 65535  # grid values per knot, counted in 16 bits


@dataclass(frozen=True, kw_only=True, repr=False)
class GDTW(Aligner):
    """Dynamic time warping in continuous time: a function φ, with values also between y's steps, warps y onto x.

    Minimises Σ w_i L(x_i − y(φ_i)) + λ Σ Δ_i ((φ_{i+1} − φ_i)/Δ_i − 1)² over the warp's values φ_i at x's times. Here w
    are the weights of the trapezoid rule, Δ_i is the time between two steps of x, both times are scaled to 0 to 1, and
    y is linear between its steps (Deriso and Boyd, 2019; Xu, Garg, Milford and Gould, 2023). Timestamps are used if the
    sequences have them. Newton steps follow the grid search, so the warp is a local optimum up to rounding.
    `Alignment.warp` is φ, in y's own time (for datetimes, seconds from its first step).

    Parameters
    ----------
    regularization : float
        λ ≥ 0, the penalty for deviating from the straight line. With 0, the result is the straightest of all warps
        that fit equally well.
    slope : (float or vector, float, vector or None)
        Smallest and largest slope of the warp, with times scaled to 0 to 1; None for no limit. A vector has len(x) − 1
        numbers, one for each interval between two steps of x.
    bounds : (float or vector, float or vector) or None
        Smallest and largest value of the warp, in y's own time. A vector has len(x) numbers, one for each step of x:
        a band of Sakoe and Chiba, a parallelogram of Itakura.
    subsequence : bool
        Whether x may match any part of y; otherwise the first steps match and the last steps match (an x of one step
        is placed where it fits best).
    penalty : {"squared", "huber", "absolute"}
        L, summed over channels: d², |d|, or d² up to `delta` and δ(2|d| − δ) beyond.
    delta : float
        The threshold above which the Huber penalty is linear.
    refinements : int
        Number of searches over finer grids around the best warp, after the first search.
    grid : int or None
        Values per knot of the first two searches (later ones have a quarter); None for sixteen per step of y, up to
        2048 or, with few knots, 4096. The papers' choice is max(50, len(y)): faster, and more often in a basin that is
        not the best.

    Examples
    --------
    >>> import timelike as tl
    >>> alignment = tl.GDTW(regularization=0.01).align([0.0, 1.0, 4.0, 9.0], [0.0, 3.0, 6.0, 9.0])
    >>> alignment.warp.values.round(2)
    array([0.  , 0.33, 1.33, 3.  ])
    >>> alignment.apply().round(1)
    array([0., 1., 4., 9.])

    Within half a step of the diagonal, at each of x's four steps:

    >>> import numpy as np
    >>> band = tl.GDTW(regularization=0, bounds=(np.arange(4) - 0.5, np.arange(4) + 0.5))
    >>> band.align([0.0, 1.0, 4.0, 9.0], [0.0, 3.0, 6.0, 9.0]).warp.values.round(2)
    array([0. , 0.5, 1.5, 3. ])
    """

    regularization: float = 1.0
    slope: tuple[OverTime, OverTime | None] = (0.0, None)
    bounds: tuple[OverTime, OverTime] | None = None
    subsequence: bool = False
    penalty: warps.Penalty = "squared"
    delta: float = 1.0
    refinements: int = 3
    grid: int | None = None

    symmetric: ClassVar[bool] = False
    contract_exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"distances_are_symmetric": "y is warped onto x's clock, so the two play different parts"}
    )

    def __post_init__(self) -> None:
        check_float(self.regularization, "regularization", 0)
        object.__setattr__(self, "slope", check_limits(check_pair(self.slope, "slope"), "slope"))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", check_limits(check_pair(self.bounds, "bounds"), "bounds"))
        if not isinstance(self.subsequence, bool):
            raise TypeError(f"subsequence={self.subsequence!r}: expected True or False")
        self._search_options()

    def _search_options(self) -> warps.WarpOptions:
        return check_search_options(self.penalty, self.delta, self.subsequence, self.refinements, self.grid)

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        other = x if y is None else y
        sides = WarpSide.from_sequences(x), WarpSide.from_sequences(other)
        rows = max(1, _KNOTS_AT_ONCE // int(x.lengths.mean() * len(other) + 1))
        for begin in range(0, len(x), rows):
            count = min(rows, len(x) - begin)
            first = np.repeat(np.arange(begin, begin + count), len(other))
            second = np.tile(np.arange(len(other)), count)
            report_rows = None if report is None else _offset_report(report, begin * len(other), len(x) * len(other))
            solution = self._solve(*sides, first, second, threads, report_rows)
            out[begin : begin + count] = solution.objective.reshape(count, len(other))

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        sides = WarpSide.from_sequences(x), WarpSide.from_sequences(y)
        only = np.zeros(1, np.int64)
        solution = self._solve(*sides, only, only, 1, None)
        return self._make_alignment(*sides, 0, 0, solution.phi, float(solution.objective[0]), x[0], y[0])

    def _make_alignment(
        self, x: WarpSide, y: WarpSide, i: int, j: int, phi: NDArray[Any], cost: float, a: NDArray[Any], b: NDArray[Any]
    ) -> Alignment:
        values = y.unit_times.starts[j] + phi * (y.unit_times.spans[j] if y.lengths[j] > 1 else 0.0)
        return Alignment(cost, None, a, b, warp=Warp(x.item_times(i), values, y.item_times(j)))

    def align_each(self, X: Any, Y: Any, *, n_jobs: int | None = None) -> list[Alignment]:
        """The alignments of X[0] with Y[0], X[1] with Y[1] and so on, in one batch.

        >>> import timelike as tl
        >>> x, y = tl.Sequences([[0.0, 1.0, 2.0]] * 2), tl.Sequences([[0.0, 2.0], [0.0, 0.0, 2.0]])
        >>> [alignment.warp.values.round(1).tolist() for alignment in tl.GDTW(regularization=0.1).align_each(x, y)]
        [[0.0, 0.5, 1.0], [0.0, 1.5, 2.0]]
        """
        x, y = as_sequences(X, "X"), as_sequences(Y, "Y")
        self._validate_sides(x, y, ("X", "Y"))
        if len(x) != len(y):
            raise ValueError(f"X has {len(x)} sequences and Y {len(y)}: expected one of Y for each of X")
        sides, ids = (WarpSide.from_sequences(x), WarpSide.from_sequences(y)), np.arange(len(x))
        solution = self._solve(*sides, ids, ids, check_n_jobs(n_jobs), None)
        phis = np.split(solution.phi, np.cumsum(x.lengths)[:-1])
        costs = solution.objective.tolist()
        return [self._make_alignment(*sides, i, i, phis[i], costs[i], x[i], y[i]) for i in range(len(x))]

    def _solve(
        self,
        x: WarpSide,
        y: WarpSide,
        first: NDArray[Any],
        second: NDArray[Any],
        threads: int,
        report: ProgressCallback,
    ) -> warps.WarpSolutions:
        lengths = x.lengths[first]
        low, high = (values_by_knot(end, lengths, f"slope[{i}]", between=True) for i, end in enumerate(self.slope))
        starts, spans = (np.repeat(side[second], lengths) for side in (y.unit_times.starts, y.unit_times.spans))
        ends = (None, None) if self.bounds is None else self.bounds
        least, most = (values_by_knot(end, lengths, f"bounds[{i}]") for i, end in enumerate(ends))
        pairs = warps.WarpProblems(
            x.values,
            y.values,
            x.unit_times.unit,
            y.unit_times.unit,
            x.starts,
            x.lengths,
            y.starts,
            y.lengths,
            first.astype(np.int64),
            second.astype(np.int64),
            np.cumsum(lengths) - lengths,
            np.full(len(low), float(self.regularization)),
            low,
            high,
            (least - starts) / spans,
            (most - starts) / spans,
        )
        solution = warps.solve(pairs, self._search_options(), threads=threads, report=report)
        if isinstance(solution, warps.WarpConflict):
            i, j = first[solution.pair], second[solution.pair]
            constraints = pair_constraints(pairs, solution.pair, self.subsequence)
            at = float(x.item_times(i)[solution.knot])
            raise ValueError(
                conflict_message(solution.knot, constraints, at, y.unit_times.starts[j], y.unit_times.spans[j])
            )
        return solution

    def select_regularization(
        self,
        X: Any,
        Y: Any = None,
        truth: Sequence[Any] | None = None,
        *,
        values: Iterable[float] | None = None,
        n_jobs: int | None = None,
    ) -> Self:
        """The same aligner with the best λ on validation data.

        With `Y` and `truth`: the λ whose warps of X[i] and Y[i] have the smallest mean absolute deviation, in y's time,
        from truth[i], the true warp's values at X[i]'s times (or a callable on them). Without: the λ with the best
        leave-one-out accuracy of 1-NN classification on X. `values` are 10^-3 … 10^2 by default; the largest of equal
        ones, the stiffest, wins.

        >>> import numpy as np
        >>> import timelike as tl
        >>> t = np.linspace(0, 1, 20)
        >>> x, y = np.sin(6 * t**2), np.sin(6 * t)
        >>> tl.GDTW().select_regularization([x], [y], [19 * t**2], values=[10.0, 0.001])
        GDTW(regularization=0.001)
        """
        candidates = _check_candidates(np.logspace(-3, 2, 16).tolist() if values is None else values)
        tried = [replace(self, regularization=value) for value in candidates]
        if (Y is None) != (truth is None):
            raise ValueError("Y and truth go together: give both, or neither and labels with X")
        scores = [
            m._deviation(X, Y, truth, n_jobs) if Y is not None else m._leave_one_out_error(X, n_jobs) for m in tried
        ]
        return tried[int(np.argmin(scores))]

    def _deviation(self, X: Any, Y: Any, truth: Any, n_jobs: int | None) -> float:
        alignments = self.align_each(X, Y, n_jobs=n_jobs)
        if not hasattr(truth, "__len__") or getattr(truth, "ndim", 1) == 0:
            raise TypeError(f"truth is a {type(truth).__name__}: expected a list of warps, one for each pair")
        if len(truth) != len(alignments):
            raise ValueError(f"truth has {len(truth)} warps for {len(alignments)} pairs: expected one each")
        return float(np.mean([_mean_deviation(one.warp, truth[i], i) for i, one in enumerate(alignments)]))

    def _leave_one_out_error(self, X: Any, n_jobs: int | None) -> float:
        sequences = as_sequences(X, "X")
        if sequences.labels is None or len(sequences) < 2:
            raise ValueError("X needs two or more sequences with labels, or Y and truth: the true warps")
        return 1 - leave_one_out_accuracy(self.pairwise(sequences, n_jobs=n_jobs), sequences.labels)


def check_search_options(penalty: Any, delta: Any, subsequence: bool, refinements: Any, grid: Any) -> warps.WarpOptions:
    """How to look for warps, from checked options."""
    check_choice(penalty, "penalty", warps.PENALTIES)
    if grid is not None and check_int(grid, "grid", 2) > _MAX_GRID:
        raise ValueError(f"grid={grid}: expected at most {_MAX_GRID}")
    options = (
        check_float(delta, "delta", above=0),
        bool(subsequence),
        grid or 0,
        check_int(refinements, "refinements", 0),
    )
    return warps.WarpOptions(penalty, *options)


def check_pair(value: Any, name: str) -> tuple[Any, Any]:
    """The two of (smallest, largest)."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"{name}={value!r}: expected (smallest, largest)")
    return value[0], value[1]


def _check_candidates(values: Any) -> list[float]:
    """The λ to try, the stiffest first."""
    if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise TypeError(f"values={values!r:.60}: expected several λ to try, such as [0.01, 0.1, 1.0]")
    candidates = [check_float(value, f"values[{i}]", 0) for i, value in enumerate(values)]
    if not candidates:
        raise ValueError(f"values={values!r} is empty: expected at least one λ to try")
    return sorted(candidates, reverse=True)


def _mean_deviation(warp: Warp | None, truth: Any, i: int) -> float:
    assert warp is not None
    true = validate_array(truth(warp.times) if callable(truth) else truth, f"truth[{i}]").astype(np.float64)
    if not np.isfinite(true).all():
        raise ValueError(f"truth[{i}] is not finite at step {int(np.flatnonzero(~np.isfinite(true))[0])}")
    if true.shape != warp.values.shape:
        raise ValueError(
            f"truth[{i}] has shape {true.shape}: expected {warp.values.shape}, a value at each of X[{i}]'s times"
        )
    if len(true) == 1:
        return float(abs(warp.values[0] - true[0]))
    return float(np.trapezoid(np.abs(warp.values - true), warp.times) / (warp.times[-1] - warp.times[0]))


def _offset_report(report: Any, before: int, total: int) -> Any:
    return lambda done, _: report(before + done, total)
