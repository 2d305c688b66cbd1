"""`barycenter`: the mean of sequences under an elastic distance, by averaging along paths or, soft, by gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..core.parameters import check_float, check_int
from ..core.progress import ProgressMeter, check_progress
from ..native import soft as executor
from ..plotting import html
from ..sequences import Sequences, as_sequences, as_single_sequence
from .band import refuse_infeasible
from .base import Aligner
from .distance_matrix import pair_dtype
from .dtw import DTW
from .elastic import pack_steps
from .soft_dtw import SoftDTW

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_CANDIDATES = 50  # members that are candidates for the medoid


@dataclass(frozen=True, eq=False, repr=False)
class Barycenter:
    """A mean sequence (time, *frame), the weighted sum of the members' distances to it, and the iterations.

    `costs` has that sum for every iteration, beginning with the start. `times` (time,) are the times of the start, if
    the metric uses times (TWE) and the start has them.
    """

    sequence: NDArray[Any]
    cost: float
    costs: NDArray[np.float64]
    n_iter: int
    converged: bool
    members: Sequences
    times: NDArray[Any] | None = None

    def _repr_html_(self) -> str:
        return html.figure_html(self.plot(), repr(self))

    def plot(self, *, channel: int | str = 0, dark: bool = False) -> Figure:
        """Draw the members, at most thirty, as thin lines and the barycenter as a thick one.

        `channel` is a position or a name, `dark` draws for a dark page. Members with times are drawn from their first
        sample on, and the barycenter over their average duration.
        """
        from .plots import plot_averages

        everyone = np.arange(len(self.members))
        return plot_averages(
            self.members, [("", everyone, self.sequence, self.times, "barycenter")], channel, dark=dark
        )

    def __repr__(self) -> str:
        how = "converged" if self.converged else "not converged"
        return f"Barycenter(cost={self.cost:.6g}, {len(self.sequence)} steps, {how} after {self.n_iter} iterations)"


def barycenter(
    X: Any,
    *,
    metric: Aligner | None = None,
    weights: Any = None,
    length: int | None = None,
    init: Any = None,
    max_iter: int = 30,
    tolerance: float = 1e-5,
    random_state: int | np.random.Generator | None = None,
    progress: bool | None = None,
) -> Barycenter:
    """The sequence nearest to all of X: DTW barycenter averaging (DBA; Petitjean, Ketterlin and Gançarski, 2011).

    Each iteration aligns every member with the average, and replaces each step of the average by the weighted mean of
    its matched steps. With `DTW(cost="sqeuclidean")` the mean minimises Σ w_i d(average, x_i) for given alignments, so
    no iteration raises the cost. For other metrics (a root, another cost, gap costs) the update is a heuristic: the
    cost may rise, and the best average found is returned.

    Under `SoftDTW` the cost is smooth and L-BFGS minimises it (Cuturi and Blondel, 2017); `costs` then has one number
    for every iteration.

    Parameters
    ----------
    X : Sequences
    metric : Aligner, optional
        `DTW()` by default.
    weights : array (item,), optional
        The weight of each member, 1 by default; members with weight 0 are skipped.
    length : int, optional
        Number of time steps of the barycenter: the start is resampled to it. By default the barycenter has the length
        of the start, and its times if the metric uses times.
    init : array (time, channel), optional
        The start. By default it is the medoid: the member with the smallest sum of distances to the others, among at
        most 50 random members.
    max_iter : int
        Maximum number of iterations, of averaging or of L-BFGS.
    tolerance : float
        Stop when an iteration reduces the cost by no more than this fraction.
    random_state : int, Generator or None
        Seed of the choice of the 50 members.
    progress : bool or None
        Whether a bar shows the progress; None does so on a terminal after two seconds.

    Examples
    --------
    >>> import timelike as tl
    >>> mean = tl.barycenter([[0, 0, 1, 3, 1], [0, 1, 5, 1], [0, 1, 1, 4, 1]])
    >>> mean
    Barycenter(cost=2, 5 steps, converged after 1 iterations)
    >>> mean.sequence.ravel()
    array([0., 1., 1., 4., 1.])
    """
    sequences = as_sequences(X, "X")
    sequences.refuse_missing("barycenter", "X")
    shares = _validate_weights(weights, len(sequences))
    sequences, shares = sequences[shares > 0], shares[shares > 0]
    aligner = DTW() if metric is None else metric
    if not isinstance(aligner, Aligner):
        raise TypeError(f"metric={metric!r}: expected an Aligner such as timelike.DTW(), which says how steps match")
    check_int(max_iter, "max_iter", 1)
    check_float(tolerance, "tolerance", 0)
    average, times = _initial_average(sequences, shares, aligner, length, init, np.random.default_rng(random_state))
    task = _Task(sequences, shares, max_iter, tolerance, check_progress(progress))
    if isinstance(aligner, SoftDTW):
        return _minimize_soft_cost(aligner, average, task)
    return _average_along_paths(aligner, average, times, task)


class _Task(NamedTuple):
    """The members with their weights, and when to stop."""

    members: Sequences
    weights: NDArray[np.float64]
    max_iter: int
    tolerance: float
    progress: bool | None


def _average_along_paths(aligner: Aligner, start: NDArray[Any], times: NDArray[Any] | None, task: _Task) -> Barycenter:
    """The best average of DBA; each average is the mean along the paths to the previous one."""
    costs: list[float] = []
    best = average = start
    converged = False
    for _ in _iterate_with_progress(task.max_iter + 1, task.progress):  # the last only measures
        cost, following = _average_once(aligner, average, times, task)
        if not costs or cost < min(costs):
            best = average
        costs.append(cost)
        if len(costs) > 1 and costs[-2] - cost <= task.tolerance * costs[-2]:
            converged = True
            break
        average = following
    return Barycenter(best, min(costs), np.array(costs), len(costs) - 1, converged, task.members, times)


def _average_once(
    aligner: Aligner, average: NDArray[Any], times: NDArray[Any] | None, task: _Task
) -> tuple[float, NDArray[Any]]:
    """The cost of an average and the average after it."""
    sums, mass, cost = np.zeros(average.shape), np.zeros(len(average)), 0.0
    clocked = average if times is None else Sequences(average[None], times=times)
    for i, (sequence, weight) in enumerate(zip(task.members, task.weights.tolist(), strict=True)):
        alignment = aligner.align(clocked, task.members[i : i + 1] if aligner.uses_times else sequence)
        if alignment.path is None:
            raise TypeError(f"{type(aligner).__name__} gives no path: expected an aligner that matches steps, as DTW")
        own, matched = alignment.path.T
        np.add.at(sums, own, weight * sequence[matched].astype(np.float64, copy=False))
        np.add.at(mass, own, weight)
        cost += weight * alignment.cost
    is_matched = mass > 0  # a step that is matched with nothing (a gap everywhere) stays as it is
    following = average.astype(np.float64)
    following[is_matched] = sums[is_matched] / mass[is_matched].reshape(-1, *[1] * (average.ndim - 1))
    return cost, following.astype(average.dtype)


def _minimize_soft_cost(aligner: SoftDTW, start: NDArray[Any], task: _Task) -> Barycenter:
    """The best average that L-BFGS reaches: the cost under soft-DTW is smooth."""
    from scipy.optimize import minimize

    refuse_infeasible(aligner._soft_minimum.band, np.array([len(start)]), task.members.lengths)
    objective = _BarycenterObjective(
        aligner, pack_steps(task.members, np.dtype(np.float64)), task.weights, start.shape, native.cpu_count()
    )
    first, _ = objective(start.astype(np.float64).reshape(-1))
    scale = abs(first) or 1.0  # SciPy's tolerance is a share only of costs above 1
    costs, rounds = [first], _iterate_with_progress(task.max_iter, task.progress)

    def scaled_cost(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        cost, gradient = objective(flat)
        return cost / scale, gradient / scale

    def record_cost(intermediate_result: Any) -> None:
        costs.append(float(intermediate_result.fun) * scale)
        next(rounds, None)

    solution = minimize(
        scaled_cost,
        start.astype(np.float64).reshape(-1),
        jac=True,
        method="L-BFGS-B",
        callback=record_cost,
        options={"maxiter": task.max_iter, "ftol": task.tolerance, "gtol": 0.0},
    )
    average = solution.x.reshape(start.shape).astype(start.dtype)
    return Barycenter(average, min(costs), np.array(costs), len(costs) - 1, bool(solution.success), task.members)


@dataclass
class _BarycenterObjective:
    """Σ w_i d(average, x_i) and its gradient by the average, for averages of one shape."""

    metric: SoftDTW
    members: native.PackedSequences
    weights: NDArray[np.float64]
    shape: tuple[int, ...]
    threads: int

    def __post_init__(self) -> None:
        self.own = self._totals_and_gradients(self.members, self.members)[0] if self.metric.divergence else np.zeros(1)

    def __call__(self, flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        copies = _repeat_sequence(flat.reshape(self.shape[0], -1), len(self.weights))
        totals, by_average, _ = self._totals_and_gradients(copies, self.members, self.weights)
        cost, gradient = float(self.weights @ (totals - self.own / 2)), by_average.sum(0)
        if self.metric.divergence:
            alone = _repeat_sequence(flat.reshape(self.shape[0], -1), 1)
            half = -self.weights.sum(keepdims=True) / 2
            own, first, second = self._totals_and_gradients(alone, alone, half)
            cost += float(half[0] * own[0])
            gradient = gradient + (first + second)[0]
        return cost, gradient.reshape(-1)

    def _totals_and_gradients(
        self, x: native.PackedSequences, y: native.PackedSequences, scales: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Totals and, on request, gradients; x's are (item, time, channel)."""
        items = np.arange(len(x.lengths))
        totals = executor.pair_totals(self.metric._soft_minimum, x, y, items, items, self.threads)
        if scales is None:
            return totals, totals, totals
        by_x, by_y = executor.gradients(self.metric._soft_minimum, x, y, scales, None, self.threads)
        assert by_x is not None
        assert by_y is not None
        return totals, by_x.reshape(len(items), self.shape[0], -1), by_y


def _repeat_sequence(sequence: NDArray[np.float64], times: int) -> native.PackedSequences:
    length = len(sequence)
    return native.PackedSequences(np.tile(sequence, (times, 1)), np.arange(times) * length, np.full(times, length))


def _validate_weights(weights: Any, n_items: int) -> NDArray[np.float64]:
    if n_items == 0:
        raise ValueError("X holds no sequences: expected at least one")
    if weights is None:
        return np.ones(n_items)
    array = np.asarray(weights, np.float64)
    if array.shape != (n_items,):
        raise ValueError(f"weights has shape {array.shape} for {n_items} sequences: expected one weight each")
    if not (np.isfinite(array).all() and (array >= 0).all() and array.any()):
        raise ValueError(f"weights={weights!r:.80}: expected finite numbers, none negative and not all zero")
    return array


def _initial_average(
    sequences: Sequences,
    weights: NDArray[np.float64],
    aligner: Aligner,
    length: int | None,
    init: Any,
    rng: np.random.Generator,
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The first average and, if the metric uses times, its times."""
    start = _medoid(sequences, weights, aligner, rng) if init is None else as_single_sequence(init, "init")
    start = start if aligner.uses_times else start.replace(times=None)
    start.refuse_missing("barycenter", "init")
    if start.frame != sequences.frame:
        raise ValueError(
            f"init has frames of shape {start.frame} and X of {sequences.frame}: expected the same channels"
        )
    if length is not None:
        start = start.resample(check_int(length, "length", 1))
    return start[0].astype(pair_dtype(sequences, start)), start.times


def _medoid(
    sequences: Sequences, weights: NDArray[np.float64], aligner: Aligner, rng: np.random.Generator
) -> Sequences:
    chosen = np.arange(len(sequences))
    if len(sequences) > _MAX_CANDIDATES:
        chosen = np.sort(rng.choice(len(sequences), _MAX_CANDIDATES, replace=False))
    few = sequences[chosen]
    position = int((aligner.pairwise(few) @ weights[chosen]).argmin()) if len(few) > 1 else 0
    return few[position : position + 1]


def _iterate_with_progress(count: int, progress: bool | None) -> Iterator[int]:
    with ProgressMeter(count, progress, name="barycenter") as bar:
        for done in range(count):
            yield done
            bar.update()
