"""The Sinkhorn divergence: entropic transport between two point sets, without its bias.

Arrays are solved in NumPy and tensors in torch, on their device, by the same lines: functions that both libraries have
under one name are taken from `_array_module`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, Union

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from ... import native
from ...core.parameters import check_float, check_int
from ...core.warnings import find_stack_level
from ...native import transport
from ...native.machine import use_kernels
from ..validation import is_tensor, refuse_unreadable_tensor

if TYPE_CHECKING:
    from torch import Tensor

MAX_KEPT_COSTS = 2**24  # costs kept for all rounds, 128 MB; larger problems recompute every tile in every round
TILE_ENTRIES = 2**17  # entries of a plan that exist at one time, 1 MB: they stay in the cache
STRIP_COSTS = 2**22  # costs computed at a time for the kernels, 32 MB: enough for several threads
_MIN_EXPONENT = -700.0  # the smallest exponent: results below the normal numbers make exp four times slower
_MAX_SAFE_LOG = 460.0  # sums between exp(−460) and exp(460) have lost nothing to underflow or overflow
_MAX_SINGLE_THREAD_PAIRS = 1 << 20  # pairs of points up to which one thread finishes before two have started

Array: TypeAlias = Union[NDArray[Any], "Tensor"]
Numbers: TypeAlias = Any
"""An array or a tensor in float64; all of a problem are of one kind."""


def sinkhorn_divergence(
    x: Array,
    y: Array,
    *,
    power: int = 2,
    blur: float = 0.05,
    scaling: float = 0.5,
    x_weights: Array | None = None,
    y_weights: Array | None = None,
    max_rounds: int = 1000,
    tolerance: float | None = None,
) -> Any:
    """The cost of moving one point set onto another: entropic optimal transport, without the bias of the entropy.

    S = OT(x, y) − OT(x, x)/2 − OT(y, y)/2, with OT(x, y) = min ⟨T, C⟩ + ε KL(T ‖ a ⊗ b) over the plans T with
    marginals a and b, C = ‖x − y‖^p / p and ε = blur^p (Feydy et al., 2019, "Interpolating between Optimal Transport
    and MMD using Sinkhorn Divergences"). Between exact transport (blur → 0: W_p^p / p) and a kernel's
    discrepancy (blur → ∞); never negative, 0 for equal sets, the same when x and y or the order of points are swapped.

    Use it to measure or train generated points in few dimensions, where distances in space are meaningful and the
    samples may lie so far apart that a kernel's discrepancy is flat. For a test of equality in many dimensions `mmd` is
    cheaper and more sensitive. Time is n m for a round, and there are log(diameter / blur) / log(1 / scaling) of them.

    Parameters
    ----------
    x, y : array or tensor, (n, d) and (m, d)
        Points. NumPy gives a float; torch a scalar of the input's dtype, differentiable once by points and weights.
        Computation is in float64: S has a resolution of about 1e-16 of diameter^p, or of ε.
    power : int
        1 or 2, the p of the cost.
    blur : float
        Details of the plan below this distance are smoothed away.
    scaling : float
        The blur is annealed from the diameter by this factor each round. Nearer to 1 is slower and more accurate.
    x_weights, y_weights : array or tensor, (n,) and (m,), optional
        Not negative; divided by their sum. None: all points weigh the same.
    max_rounds : int
        Rounds after the annealing at most, where there is a `tolerance`.
    tolerance : float, optional
        The fraction of mass that plans may misplace; a warning is given if `max_rounds` do not reach it. None ends with
        the annealing, as geomloss does: numbers compare with published ones, and the running time is predictable. S is
        then too small: slightly where the sets lie apart, but by a large fraction of S at the defaults where they are
        nearly alike. If the value itself matters, or the gradient must be exact, tolerance=1e-3 is cheaper than a finer
        scaling. A blur far below the distances of neighbours takes thousands of rounds to get there.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import sinkhorn_divergence
    >>> x = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> round(sinkhorn_divergence(x, x + [3.0, 4.0]), 6)  # 5² / 2
    12.5
    """
    power = check_int(power, "power")
    if power not in (1, 2):
        raise ValueError(f"power={power}: expected 1 (distances) or 2 (halved squares of distances)")
    blur, scaling = check_float(blur, "blur", above=0.0), _check_scaling(scaling)
    check_int(max_rounds, "max_rounds", 0)
    tolerance = None if tolerance is None else check_float(tolerance, "tolerance", 0.0)
    points = _validate_points(x, "x"), _validate_points(y, "y")
    has_tensor = any(map(is_tensor, (x, y, x_weights, y_weights)))
    if has_tensor:
        points = _to_tensor(points[0]), _to_tensor(points[1])
    _refuse_mismatch(*points)
    weights = _validate_weights(x_weights, "x_weights", points[0]), _validate_weights(y_weights, "y_weights", points[1])
    annealing = Annealing(power, _diameter(*points, *weights, power, blur), blur, scaling, tolerance, max_rounds)
    divergence: Any
    if has_tensor:
        from .sinkhorn_autograd import differentiable_divergence

        divergence, error = differentiable_divergence(*points, *weights, annealing)
        divergence = divergence.to(_output_dtype(x, y))
    else:
        solution = solve_debiased(*points, *weights, annealing)
        divergence, error = float(solution.value), solution.marginal_error
    if tolerance is not None and error > tolerance:
        _warn_unconverged(float(error), tolerance, max_rounds)
    return divergence


def point_divergence(x: NDArray[np.float64], y: NDArray[np.float64], *, blur: float, scaling: float) -> float:
    """`sinkhorn_divergence` of validated points (item, feature) that all weigh the same."""
    a, b = _equal_weights(x), _equal_weights(y)
    annealing = Annealing(2, _diameter(x, y, a, b, 2, blur), blur, scaling, None, 0)
    return float(solve_debiased(x, y, a, b, annealing).value)


def thread_count(n: int, m: int) -> int:
    """The threads for n and m points: one for a small problem, which several would only slow down."""
    return 1 if n * m <= _MAX_SINGLE_THREAD_PAIRS else native.thread_count()


def _array_module(numbers: Numbers) -> Any:
    """NumPy or torch, whichever made these numbers."""
    if not is_tensor(numbers):
        return np
    import torch

    return torch


def _to_tensor(numbers: Numbers) -> Tensor:
    import torch

    return torch.as_tensor(numbers)


def _validate_points(value: Any, name: str) -> Numbers:
    """Points (n, d) in float64, gradients kept."""
    points = _validate_numbers(value, name, "points, (item, feature)")
    if points.ndim != 2 or 0 in points.shape:
        remedy = f"; use {name}[:, None] for points on a line" if points.ndim == 1 and len(points) else ""
        raise ValueError(
            f"{name} has shape {tuple(points.shape)}: expected at least one point, (item, feature){remedy}"
        )
    return points


def _validate_weights(value: Any, name: str, points: Numbers) -> Numbers:
    """Weights (n,) that sum to 1, in float64, gradients kept."""
    if value is None:
        return _equal_weights(points)
    weights = _validate_numbers(value, name, "numbers of at least 0, (item,)")
    if is_tensor(points):
        weights = _to_tensor(weights).to(points.device)
    if weights.shape != (len(points),):
        raise ValueError(f"{name} has shape {tuple(weights.shape)}: expected one weight for each point, {len(points)}")
    if bool((weights < 0).any()):
        raise ValueError(f"{name} has {weights.min().item():g} in it: expected numbers of at least 0")
    total = weights.sum()
    if not 0 < total.item() < math.inf:
        raise ValueError(f"{name} sums to {total.item():g}: expected at least one weight above 0, and a finite sum")
    return weights / total


def _equal_weights(points: Numbers) -> Numbers:
    return _array_module(points).full_like(points[:, 0], 1 / len(points))


def _validate_numbers(value: Any, name: str, what: str) -> Numbers:
    """Finite numbers in float64; a tensor stays one, on its device and with its gradient."""
    refuse_unreadable_tensor(value, name)
    numbers: Any = value.double() if is_tensor(value) else _to_array(value, name, what)
    if not bool(_array_module(numbers).isfinite(numbers).all()):
        array = numbers.detach().cpu().numpy() if is_tensor(numbers) else numbers
        first = np.argwhere(~np.isfinite(array))[0].tolist()
        raise ValueError(f"{name}{first} is {array[tuple(first)]}: expected finite numbers; leave such items out")
    return numbers


def _to_array(value: Any, name: str, what: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(value)
        if array.dtype.kind != "c":
            return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is a {type(value).__name__} that is no array of numbers: expected {what}") from error
    raise TypeError(f"{name} is complex: expected {what}")


def _refuse_mismatch(x: Numbers, y: Numbers) -> None:
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"x has {x.shape[1]} features and y {y.shape[1]}: expected points of one space")
    if is_tensor(x) and x.device != y.device:
        raise ValueError(f"x is on {x.device} and y on {y.device}: move one with .to()")


def _check_scaling(scaling: Any) -> float:
    if check_float(scaling, "scaling", 0.0, 1.0, above=0.0) == 1.0:
        raise ValueError(f"scaling={scaling}: expected less than 1, or the blur would never shrink")
    return float(scaling)


def _diameter(x: Numbers, y: Numbers, a: Numbers, b: Numbers, power: int, blur: float) -> float:
    """The diagonal of the box around all points with weight, or the blur if larger: the annealing begins there."""
    module = _array_module(x)
    sides = [(points.detach() if is_tensor(points) else points)[weights > 0] for points, weights in ((x, a), (y, b))]
    highest = module.stack([module.amax(side, 0) for side in sides])
    lowest = module.stack([module.amin(side, 0) for side in sides])
    with np.errstate(over="ignore"):  # too large, which is refused below
        extents = module.amax(highest, 0) - module.amin(lowest, 0)
        diameter = max(float(module.linalg.norm(extents)), blur)
    if not (power * math.log(blur) > -700 and power * math.log(diameter) < 700):
        raise ValueError(
            f"points up to {diameter:.3g} apart and blur={blur:g}: expected both, to the power={power}, within the "
            "range of float64; divide points and blur by a common scale"
        )
    return diameter


def _output_dtype(*points: Any) -> Any:
    """The dtype of the tensors among the points; float64 where these are integers or arrays."""
    import torch

    types = [side.dtype for side in points if is_tensor(side) and side.is_floating_point()]
    return torch.float64 if not types else types[0] if len(types) == 1 else torch.promote_types(*types)


def _warn_unconverged(marginal_error: float, tolerance: float, max_rounds: int) -> None:
    warnings.warn(
        f"sinkhorn_divergence: plans misplace {marginal_error:.1e} of their mass after  "
        f"max_rounds={max_rounds}, and tolerance={tolerance:g} was required: use a larger max_rounds, tolerance or "
        "blur, or a scaling nearer to 1",
        RuntimeWarning,
        stacklevel=find_stack_level(),
    )


# --- potentials of the plans ------------------------------------------------------------------------------------------


class WeightedPoints(NamedTuple):
    """Different points (n, d) in ascending order, and their weights (n,): positive, with sum 1."""

    where: Numbers
    weights: Numbers


class DualSolution(NamedTuple):
    """Potentials f (n,) and g (m,) of the plan a_i b_j exp((f_i + g_j − C_ij)/ε) after the rounds.

    Also the same after one more full step, and the fraction of mass that the plan misplaces.
    """

    f: Numbers
    g: Numbers
    extrapolated_f: Numbers
    extrapolated_g: Numbers
    marginal_error: float


class Annealing(NamedTuple):
    """The cost ‖x − y‖^p / p; ε = blur^p is approached from diameter^p; rounds are added until `tolerance`, if any."""

    power: int
    diameter: float
    blur: float
    scaling: float
    tolerance: float | None
    max_rounds: int

    @property
    def epsilon(self) -> float:
        """The last temperature."""
        return float(self.blur**self.power)

    def temperatures(self) -> Iterator[float]:
        """The first ε twice, for potentials that start from nothing; the last whether or not the factor meets it."""
        first, last, step = (self.power * math.log(size) for size in (self.diameter, self.blur, self.scaling))
        yield self.diameter**self.power
        for k in range(math.ceil((last - first) / step)):
            yield math.exp(first + k * step)
        yield self.epsilon


def solve_potentials(x: WeightedPoints, y: WeightedPoints, annealing: Annealing) -> DualSolution:
    """The potentials of x and y at the last temperature; f is g where y is x."""
    problem, start = _TransportProblem(x, y, annealing.power), annealing.diameter**annealing.power
    both = start * problem.log_shortfall(problem.module.zeros_like(problem.weights), start)
    for temperature in annealing.temperatures():
        # half the way: both sides move at once, and by whole steps they would oscillate
        both = both + temperature / 2 * problem.log_shortfall(both, temperature)
    both, short = _refine_potentials(problem, both, annealing)
    return DualSolution(
        *problem.sides(both), *problem.sides(both + annealing.epsilon * short), problem.marginal_error(short)
    )


def _refine_potentials(problem: _TransportProblem, both: Numbers, annealing: Annealing) -> tuple[Numbers, Numbers]:
    """Potentials after the rounds at the last temperature, if any, and their remaining shortfall.

    Rounds have momentum (Nesterov, 1983), given up when it leads down the dual (O'Donoghue and Candès, 2015).
    """
    last_position, steps, short = both, 0, problem.log_shortfall(both, annealing.epsilon)
    for _ in range(0 if annealing.tolerance is None else annealing.max_rounds):
        if problem.marginal_error(short) <= (annealing.tolerance or 0.0):
            break
        position = both + annealing.epsilon / 2 * short
        direction, last_position = position - last_position, position
        steps = steps + 1 if float((problem.weights * short) @ direction) >= 0 else 0
        both = position + steps / (steps + 3) * direction
        short = problem.log_shortfall(both, annealing.epsilon)
    return both, short


def pairwise_costs(x: Numbers, y: Numbers, power: int) -> Numbers:
    """‖x − y‖^p / p, (n, m), from differences: products would cancel digits and separate equal points."""
    if is_tensor(x):
        distances = _array_module(x).cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
        return distances if power == 1 else distances.square_().mul_(0.5)
    costs = cdist(x, y, "euclidean" if power == 1 else "sqeuclidean")
    if power == 2:
        costs *= 0.5
    return costs


def iterate_tiles(n: int, m: int, entries: int | None = None) -> Iterator[slice]:
    """The rows of an (n, m) matrix, as many at a time as fit into a tile, or into so many `entries`."""
    rows = max(1, (TILE_ENTRIES if entries is None else entries) // m)
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))


class _PlanTile(NamedTuple):
    """Some rows of the plan from the column `first` on; the columns from `beyond` on count for the other side too."""

    rows: slice
    first: int
    beyond: int
    cost: Numbers | None


class _TransportProblem:
    """Two point sets and their potentials, f and g in one vector.

    Of a set with itself f is g, and only the entries on and to the right of the diagonal are visited: half of them.
    """

    def __init__(self, x: WeightedPoints, y: WeightedPoints, power: int) -> None:
        self.x, self.y, self.power, self.module = x, y, power, _array_module(x.where)
        self.weights = x.weights if x is y else self.module.concatenate([x.weights, y.weights])
        n, m = len(x.where), len(y.where)
        is_on_cpu = not is_tensor(x.where) or x.where.device.type == "cpu"
        self.uses_kernels = is_on_cpu and use_kernels()
        if self.uses_kernels:
            self.add_plan_sums = transport.bind_plan_sums(symmetric=x is y, threads=thread_count(n, m))
        self.whole = self._pad_costs(slice(0, n), 0) if self.uses_kernels and n * m <= MAX_KEPT_COSTS else None
        self.buffer: Numbers | None = None
        self.tiles = [
            _PlanTile(rows, rows.start, rows.stop, None) if x is y else _PlanTile(rows, 0, 0, None)
            for rows in iterate_tiles(n, m)
        ]
        if self.whole is not None:
            self.tiles = [tile._replace(cost=self.whole[tile.rows, tile.first : m]) for tile in self.tiles]
        elif n * m <= MAX_KEPT_COSTS:
            self.tiles = [tile._replace(cost=self._tile_costs(tile)) for tile in self.tiles]

    def sides(self, both: Any) -> tuple[Any, Any]:
        """f and g, of a tensor or an array."""
        return both[: len(self.x.where)], both if self.x is self.y else both[len(self.x.where) :]

    def marginal_error(self, short: Numbers) -> float:
        """The fraction of misplaced mass: half the L1 distance of the worse marginal."""
        misplaced = self.weights * abs(self.module.expm1(-short))
        return max(float(side.sum()) for side in self.sides(misplaced)) / 2

    def log_shortfall(self, both: Numbers, epsilon: float) -> Numbers:
        """−log Σ_j b_j exp((f_i + g_j − C_ij)/ε), and −log Σ_i a_i exp(…): the shortfall of f/ε and g/ε."""
        sums = self._native_sums if self.uses_kernels else self._plan_sums
        logs = self.module.log(sums(both / epsilon, epsilon))
        if not float(abs(logs).max()) < _MAX_SAFE_LOG:
            logs = self._log_sums(both / epsilon, epsilon)
        return -logs

    def _tile_costs(self, tile: _PlanTile) -> Numbers:
        return pairwise_costs(self.x.where[tile.rows], self.y.where[tile.first :], self.power)

    def _iterate_exponents(self, scaled: Numbers, epsilon: float) -> Iterator[tuple[_PlanTile, Numbers]]:
        """(f_i + g_j − C_ij)/ε of every tile, each in the place of the one before."""
        f, g = self.sides(scaled)
        if self.buffer is None:
            self.buffer = self.module.empty(max(1, TILE_ENTRIES // len(g)) * len(g), dtype=g.dtype, device=g.device)
        for tile in self.tiles:
            cost = self._tile_costs(tile) if tile.cost is None else tile.cost
            exponents = self.buffer[: cost.shape[0] * cost.shape[1]].reshape(cost.shape)
            self.module.multiply(cost, -1 / epsilon, out=exponents)
            exponents += f[tile.rows, None]
            exponents += g[tile.first :]
            yield tile, exponents

    def _plan_sums(self, scaled: Numbers, epsilon: float) -> Numbers:
        """The sums over columns and over rows: one exponential for both, and no search for a maximum."""
        sums = self.module.zeros_like(scaled)
        by_row, by_column = self.sides(sums)
        for (rows, first, beyond, _), plan in self._iterate_exponents(scaled, epsilon):
            self.module.clip(plan, _MIN_EXPONENT, None, out=plan)
            self.module.exp(plan, out=plan)
            by_row[rows] += plan @ self.y.weights[first:]
            by_column[beyond:] += self.x.weights[rows] @ plan[:, beyond - first :]
        return sums

    def _native_sums(self, scaled: Numbers, epsilon: float) -> Numbers:
        """The same by the kernels, which never write the plan."""
        sums = self.module.zeros_like(scaled)
        (f, g), (by_row, by_column) = self.sides(_as_array(scaled)), self.sides(_as_array(sums))
        a, b = _as_array(self.x.weights), _as_array(self.y.weights)
        if self.whole is not None:
            self.add_plan_sums(_as_array(self.whole), f, g, a, b, 1 / epsilon, by_row=by_row, by_column=by_column)
            return sums
        for rows in iterate_tiles(len(f), len(g), STRIP_COSTS):
            first = rows.start if self.x is self.y else 0
            self.add_plan_sums(
                _as_array(self._pad_costs(rows, first)),
                f[rows],
                g[first:],
                a[rows],
                b[first:],
                1 / epsilon,
                by_row=by_row[rows],
                by_column=by_column[first:],
            )
        return sums

    def _pad_costs(self, rows: slice, first: int) -> Numbers:
        """Costs as the kernels read them: rows of whole registers, infinite where there is no point."""
        y = self.y.where[first:]
        shape = rows.stop - rows.start, transport.padded_width(len(y))
        costs = self.module.full(shape, math.inf, dtype=y.dtype)  # on the CPU, where kernels run
        costs[:, : len(y)] = pairwise_costs(self.x.where[rows], y, self.power)
        return costs

    def _log_sums(self, scaled: Numbers, epsilon: float) -> Numbers:
        """The logarithms of `_plan_sums`, for sums that overflow or underflow."""
        logs = self.module.full_like(scaled, -math.inf)
        by_row, by_column = self.sides(logs)
        a, b, add_logs = self.module.log(self.x.weights), self.module.log(self.y.weights), self.module.logaddexp
        for (rows, first, beyond, _), plan in self._iterate_exponents(scaled, epsilon):
            by_row[rows] = add_logs(by_row[rows], _log_sum(plan + b[first:], 1))
            by_column[beyond:] = add_logs(by_column[beyond:], _log_sum(plan[:, beyond - first :] + a[rows, None], 0))
        return logs


def _as_array(numbers: Numbers) -> NDArray[np.float64]:
    """An array with the memory of a tensor on the CPU, or an array as it is."""
    return np.asarray(numbers)


def _log_sum(exponents: Numbers, axis: int) -> Numbers:
    return exponents.logsumexp(axis) if is_tensor(exponents) else logsumexp(exponents, axis)


class DebiasedSolution(NamedTuple):
    """S, the largest error of its three plans, and the potentials of its gradient: of the other set and its own."""

    value: Numbers
    marginal_error: float
    x_potentials: tuple[SidePotential, SidePotential]
    y_potentials: tuple[SidePotential, SidePotential]


class SidePotential(NamedTuple):
    """Points y and their potential g: −ε log Σ_j b_j exp((g_j − C(z, y_j))/ε) extends the other side's to any z."""

    points: WeightedPoints
    potential: Numbers


@np.errstate(all="ignore")  # a sum that overflows or underflows is computed again from logarithms
def solve_debiased(x: Numbers, y: Numbers, a: Numbers, b: Numbers, annealing: Annealing) -> DebiasedSolution:
    """OT(x, y) − OT(x, x)/2 − OT(y, y)/2 for points (n, d) and (m, d) with weights that sum to 1."""
    left, right = _merge_duplicates(x, a), _merge_duplicates(y, b)
    order = _compare_point_sets(left, right)
    if order <= 0:
        return _solve_ordered(left, right, annealing, equal=order == 0)
    mirrored_solution = _solve_ordered(
        right, left, annealing, equal=False
    )  # one order for both, so that results agree to the last bit
    return mirrored_solution._replace(
        x_potentials=mirrored_solution.y_potentials, y_potentials=mirrored_solution.x_potentials
    )


def _solve_ordered(x: WeightedPoints, y: WeightedPoints, annealing: Annealing, equal: bool) -> DebiasedSolution:
    within_x = solve_potentials(x, x, annealing)
    within_y, across = (
        (within_x, within_x) if equal else (solve_potentials(y, y, annealing), solve_potentials(x, y, annealing))
    )
    value = x.weights @ (across.extrapolated_f - within_x.extrapolated_f)
    value = value + y.weights @ (across.extrapolated_g - within_y.extrapolated_g)
    return DebiasedSolution(
        value.clip(0, None),  # negative only by rounding, or after too few rounds
        max(part.marginal_error for part in (within_x, within_y, across)),
        (SidePotential(y, across.g), SidePotential(x, within_x.f)),
        (SidePotential(x, across.f), SidePotential(y, within_y.f)),
    )


def _merge_duplicates(x: Numbers, weights: Numbers) -> WeightedPoints:
    """The points with positive weight, equal ones merged, in ascending order."""
    heavy = weights > 0
    points, masses = x[heavy] + 0.0, weights[heavy]  # −0 + 0 is 0
    if is_tensor(x):
        where, which = points.unique(dim=0, return_inverse=True)
        return WeightedPoints(where, masses.new_zeros(len(where)).index_add_(0, which, masses))
    where, which = np.unique(points, axis=0, return_inverse=True)
    return WeightedPoints(where, np.bincount(which.ravel(), masses))


def _compare_point_sets(x: WeightedPoints, y: WeightedPoints) -> int:
    """The order of two sets: −1 or 1 for the one that comes first, 0 if they are equal."""
    if len(x.where) != len(y.where):
        return 1 if len(x.where) > len(y.where) else -1
    differences = _array_module(x.where).concatenate([(x.where - y.where).reshape(-1), x.weights - y.weights])
    nonzero = differences[differences != 0]
    return (1 if nonzero[0] > 0 else -1) if len(nonzero) else 0
