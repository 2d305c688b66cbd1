"""The Sinkhorn divergence: entropic transport between two point sets, without its bias."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...core.parameters import check_float, check_int
from ...core.warnings import find_stack_level
from ...native import transport
from ...native.machine import use_kernels
from ...train.torch_threads import torch_threads
from ..validation import refuse_unreadable_tensor

MAX_KEPT_COSTS = 2**24  # costs kept for all rounds, 128 MB; larger problems recompute every tile in every round
TILE_ENTRIES = 2**17  # entries of a plan that exist at one time, 1 MB: they stay in the cache
STRIP_COSTS = 2**22  # costs computed at a time for the kernels, 32 MB: enough for several threads
_MIN_EXPONENT = -700.0  # the smallest exponent: results below the normal numbers make exp four times slower
_MAX_SAFE_LOG = 460.0  # sums between exp(−460) and exp(460) have lost nothing to underflow or overflow
_MAX_SINGLE_THREAD_PAIRS = 1 << 20  # pairs of points up to which one thread finishes before two have started

Array = NDArray[Any] | Tensor


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
    _refuse_mismatch(*points)
    weights = _validate_weights(x_weights, "x_weights", points[0]), _validate_weights(y_weights, "y_weights", points[1])
    support = torch.cat([side.detach()[side_weights > 0] for side, side_weights in zip(points, weights, strict=True)])
    annealing = Annealing(power, _diameter(support, power, blur), blur, scaling, tolerance, max_rounds)
    with _few_threads(*points):
        if any(isinstance(argument, Tensor) for argument in (x, y, x_weights, y_weights)):
            value, error = DebiasedDivergence.apply(*points, *weights, annealing)  # type: ignore[no-untyped-call]
            divergence: Any = value.to(_output_dtype(x, y))
        else:
            with torch.no_grad():
                solution = solve_debiased(*points, *weights, annealing)
            divergence, error = float(solution.value), solution.marginal_error
    if tolerance is not None and error > tolerance:
        _warn_unconverged(float(error), tolerance, max_rounds)
    return divergence


def point_divergence(x: NDArray[np.float64], y: NDArray[np.float64], *, blur: float, scaling: float) -> float:
    """`sinkhorn_divergence` of validated points (item, feature) that all weigh the same."""
    points = torch.from_numpy(x), torch.from_numpy(y)
    a, b = (side.new_full((len(side),), 1 / len(side)) for side in points)
    annealing = Annealing(2, _diameter(torch.cat(points), 2, blur), blur, scaling, None, 0)
    with _few_threads(*points), torch.no_grad():
        return float(solve_debiased(*points, a, b, annealing).value)


def _few_threads(x: Tensor, y: Tensor) -> AbstractContextManager[None]:
    """One thread for a small problem: several threads would only slow it down."""
    return torch_threads(1 if len(x) * len(y) <= _MAX_SINGLE_THREAD_PAIRS else torch.get_num_threads())


def _validate_points(value: Any, name: str) -> Tensor:
    """Points (n, d) in float64, gradients kept."""
    points = _validate_numbers(value, name, "points, (item, feature)")
    if points.ndim != 2 or not points.numel():
        remedy = f"; use {name}[:, None] for points on a line" if points.ndim == 1 and points.numel() else ""
        raise ValueError(
            f"{name} has shape {tuple(points.shape)}: expected at least one point, (item, feature){remedy}"
        )
    return points


def _validate_weights(value: Any, name: str, points: Tensor) -> Tensor:
    """Weights (n,) that sum to 1, in float64, gradients kept."""
    if value is None:
        return points.new_full((len(points),), 1 / len(points))
    weights = _validate_numbers(value, name, "numbers of at least 0, (item,)").to(points.device)
    if weights.shape != (len(points),):
        raise ValueError(f"{name} has shape {tuple(weights.shape)}: expected one weight for each point, {len(points)}")
    if bool((weights < 0).any()):
        raise ValueError(f"{name} has {weights.min().item():g} in it: expected numbers of at least 0")
    total = weights.sum()
    if not 0 < total.item() < math.inf:
        raise ValueError(f"{name} sums to {total.item():g}: expected at least one weight above 0, and a finite sum")
    return weights / total


def _validate_numbers(value: Any, name: str, what: str) -> Tensor:
    """A tensor in float64, on its device and with its gradient if it was one; finite."""
    refuse_unreadable_tensor(value, name)
    numbers = value if isinstance(value, Tensor) else torch.from_numpy(_to_array(value, name, what))
    if numbers.is_complex():
        raise TypeError(f"{name} is complex: expected {what}")
    if not bool(numbers.isfinite().all()):
        first = (~numbers.isfinite()).nonzero()[0].tolist()
        raise ValueError(
            f"{name}{first} is {numbers[tuple(first)].item()}: expected finite numbers; leave such items out"
        )
    return numbers.double()


def _to_array(value: Any, name: str, what: str) -> NDArray[Any]:
    try:
        array = np.asarray(value)
        return array if array.dtype.kind == "c" else array.astype(np.float64)  # a copy: it may be read-only
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is a {type(value).__name__} that is no array of numbers: expected {what}") from error


def _refuse_mismatch(x: Tensor, y: Tensor) -> None:
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"x has {x.shape[1]} features and y {y.shape[1]}: expected points of one space")
    if x.device != y.device:
        raise ValueError(f"x is on {x.device} and y on {y.device}: move one with .to()")


def _check_scaling(scaling: Any) -> float:
    if check_float(scaling, "scaling", 0.0, 1.0, above=0.0) == 1.0:
        raise ValueError(f"scaling={scaling}: expected less than 1, or the blur would never shrink")
    return float(scaling)


def _diameter(points: Tensor, power: int, blur: float) -> float:
    """The diagonal of the box around all points, or the blur if that is larger: where the annealing begins."""
    diameter = max(float((points.amax(0) - points.amin(0)).norm()), blur)
    if not (power * math.log(blur) > -700 and power * math.log(diameter) < 700):
        raise ValueError(
            f"points up to {diameter:.3g} apart and blur={blur:g}: expected both, to the power={power}, within the "
            "range of float64; divide points and blur by a common scale"
        )
    return diameter


def _output_dtype(*points: Any) -> torch.dtype:
    """The dtype of the tensors among the points; float64 where these are integers or arrays."""
    types = [side.dtype for side in points if isinstance(side, Tensor) and side.is_floating_point()]
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

    where: Tensor
    weights: Tensor


class DualSolution(NamedTuple):
    """Potentials f (n,) and g (m,) of the plan a_i b_j exp((f_i + g_j − C_ij)/ε) after the rounds.

    Also the same after one more full step, and the fraction of mass that the plan misplaces.
    """

    f: Tensor
    g: Tensor
    extrapolated_f: Tensor
    extrapolated_g: Tensor
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
    both = problem.log_shortfall(torch.zeros_like(problem.weights), start).mul_(start)
    for temperature in annealing.temperatures():
        # half the way: both sides move at once, and by whole steps they would oscillate
        both.add_(problem.log_shortfall(both, temperature), alpha=temperature / 2)
    both, short = _refine_potentials(problem, both, annealing)
    return DualSolution(
        *problem.sides(both), *problem.sides(both + annealing.epsilon * short), problem.marginal_error(short)
    )


def _refine_potentials(problem: _TransportProblem, both: Tensor, annealing: Annealing) -> tuple[Tensor, Tensor]:
    """Potentials after the rounds at the last temperature, if any, and their remaining shortfall.

    Rounds have momentum (Nesterov, 1983), given up when it leads down the dual (O'Donoghue and Candès, 2015).
    """
    last_position, steps, short = both, 0, problem.log_shortfall(both, annealing.epsilon)
    for _ in range(0 if annealing.tolerance is None else annealing.max_rounds):
        if problem.marginal_error(short) <= (annealing.tolerance or 0.0):
            break
        position = torch.add(both, short, alpha=annealing.epsilon / 2)
        direction, last_position = position - last_position, position
        steps = steps + 1 if float((problem.weights * short) @ direction) >= 0 else 0
        both = torch.add(position, direction, alpha=steps / (steps + 3))
        short = problem.log_shortfall(both, annealing.epsilon)
    return both, short


def pairwise_costs(x: Tensor, y: Tensor, power: int) -> Tensor:
    """‖x − y‖^p / p, (n, m), from differences: products would cancel digits and separate equal points."""
    distances = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    return distances if power == 1 else distances.square_().mul_(0.5)


def iterate_tiles(n: int, m: int, entries: int | None = None) -> Iterator[slice]:
    """The rows of an (n, m) matrix, as many at a time as fit into a tile, or into so many `entries`."""
    rows = max(1, (TILE_ENTRIES if entries is None else entries) // m)
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))


class _PlanTile(NamedTuple):
    """Some rows of the plan from the column `first` on; the columns from `beyond` on count for the other side too."""

    rows: slice
    first: int
    beyond: int
    cost: Tensor | None


class _TransportProblem:
    """Two point sets and their potentials, f and g in one vector.

    Of a set with itself f is g, and only the entries on and to the right of the diagonal are visited: half of them.
    """

    def __init__(self, x: WeightedPoints, y: WeightedPoints, power: int) -> None:
        self.x, self.y, self.power = x, y, power
        self.weights = x.weights if x is y else torch.cat([x.weights, y.weights])
        n, m = len(x.where), len(y.where)
        self.uses_kernels = x.where.device.type == "cpu" and use_kernels()
        if self.uses_kernels:
            self.add_plan_sums = transport.bind_plan_sums(symmetric=x is y, threads=torch.get_num_threads())
        self.whole = self._pad_costs(slice(0, n), 0) if self.uses_kernels and n * m <= MAX_KEPT_COSTS else None
        self.buffer: Tensor | None = None
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

    def marginal_error(self, short: Tensor) -> float:
        """The fraction of misplaced mass: half the L1 distance of the worse marginal."""
        return max(float(side.sum()) for side in self.sides(self.weights * short.neg().expm1().abs())) / 2

    def log_shortfall(self, both: Tensor, epsilon: float) -> Tensor:
        """−log Σ_j b_j exp((f_i + g_j − C_ij)/ε), and −log Σ_i a_i exp(…): the shortfall of f/ε and g/ε."""
        sums = self._native_sums if self.uses_kernels else self._plan_sums
        short = sums(both / epsilon, epsilon).log_()
        if not float(short.abs().max()) < _MAX_SAFE_LOG:
            short = self._log_sums(both / epsilon, epsilon)
        return short.neg_()

    def _tile_costs(self, tile: _PlanTile) -> Tensor:
        return pairwise_costs(self.x.where[tile.rows], self.y.where[tile.first :], self.power)

    def _iterate_exponents(self, scaled: Tensor, epsilon: float) -> Iterator[tuple[_PlanTile, Tensor]]:
        """(f_i + g_j − C_ij)/ε of every tile, each in the place of the one before."""
        f, g = self.sides(scaled)
        if self.buffer is None:
            self.buffer = scaled.new_empty(max(1, TILE_ENTRIES // len(g)) * len(g))
        for tile in self.tiles:
            cost = self._tile_costs(tile) if tile.cost is None else tile.cost
            exponents = self.buffer[: cost.numel()].view(cost.shape)
            torch.add(f[tile.rows, None], cost, alpha=-1 / epsilon, out=exponents)
            yield tile, exponents.add_(g[tile.first :])

    def _plan_sums(self, scaled: Tensor, epsilon: float) -> Tensor:
        """The sums over columns and over rows: one exponential for both, and no search for a maximum."""
        sums = torch.zeros_like(scaled)
        by_row, by_column = self.sides(sums)
        for (rows, first, beyond, _), plan in self._iterate_exponents(scaled, epsilon):
            plan.clamp_(min=_MIN_EXPONENT).exp_()
            by_row[rows].addmv_(plan, self.y.weights[first:])
            by_column[beyond:].addmv_(plan[:, beyond - first :].T, self.x.weights[rows])
        return sums

    def _native_sums(self, scaled: Tensor, epsilon: float) -> Tensor:
        """The same by the kernels, which never write the plan."""
        sums = torch.zeros_like(scaled)
        (f, g), (by_row, by_column) = self.sides(scaled.numpy()), self.sides(sums.numpy())
        a, b = self.x.weights.numpy(), self.y.weights.numpy()
        if self.whole is not None:
            self.add_plan_sums(self.whole.numpy(), f, g, a, b, 1 / epsilon, by_row=by_row, by_column=by_column)
            return sums
        for rows in iterate_tiles(len(f), len(g), STRIP_COSTS):
            first = rows.start if self.x is self.y else 0
            self.add_plan_sums(
                self._pad_costs(rows, first).numpy(),
                f[rows],
                g[first:],
                a[rows],
                b[first:],
                1 / epsilon,
                by_row=by_row[rows],
                by_column=by_column[first:],
            )
        return sums

    def _pad_costs(self, rows: slice, first: int) -> Tensor:
        """Costs as the kernels read them: rows of whole registers, infinite where there is no point."""
        y = self.y.where[first:]
        costs = y.new_full((rows.stop - rows.start, transport.padded_width(len(y))), math.inf)
        costs[:, : len(y)] = pairwise_costs(self.x.where[rows], y, self.power)
        return costs

    def _log_sums(self, scaled: Tensor, epsilon: float) -> Tensor:
        """The logarithms of `_plan_sums`, for sums that overflow or underflow."""
        logs = torch.full_like(scaled, -math.inf)
        by_row, by_column = self.sides(logs)
        a, b = self.x.weights.log(), self.y.weights.log()
        for (rows, first, beyond, _), plan in self._iterate_exponents(scaled, epsilon):
            by_row[rows] = torch.logaddexp(by_row[rows], (plan + b[first:]).logsumexp(1))
            other = (plan[:, beyond - first :] + a[rows, None]).logsumexp(0)
            by_column[beyond:] = torch.logaddexp(by_column[beyond:], other)
        return logs


class DebiasedSolution(NamedTuple):
    """S, the largest error of its three plans, and the potentials of its gradient: of the other set and its own."""

    value: Tensor
    marginal_error: float
    x_potentials: tuple[SidePotential, SidePotential]
    y_potentials: tuple[SidePotential, SidePotential]


class SidePotential(NamedTuple):
    """Points y and their potential g: −ε log Σ_j b_j exp((g_j − C(z, y_j))/ε) extends the other side's to any z."""

    points: WeightedPoints
    potential: Tensor


def solve_debiased(x: Tensor, y: Tensor, a: Tensor, b: Tensor, annealing: Annealing) -> DebiasedSolution:
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
        value.clamp(min=0),  # negative only by rounding, or after too few rounds
        max(part.marginal_error for part in (within_x, within_y, across)),
        (SidePotential(y, across.g), SidePotential(x, within_x.f)),
        (SidePotential(x, across.f), SidePotential(y, within_y.f)),
    )


def _merge_duplicates(x: Tensor, weights: Tensor) -> WeightedPoints:
    """The points with positive weight, equal ones merged, in ascending order."""
    heavy = weights > 0
    where, which = torch.unique(x[heavy] + 0.0, dim=0, return_inverse=True)  # −0 + 0 is 0
    return WeightedPoints(where, weights.new_zeros(len(where)).index_add_(0, which, weights[heavy]))


def _compare_point_sets(x: WeightedPoints, y: WeightedPoints) -> int:
    """The order of two sets: −1 or 1 for the one that comes first, 0 if they are equal."""
    if len(x.where) != len(y.where):
        return 1 if len(x.where) > len(y.where) else -1
    differences = torch.cat([(x.where - y.where).flatten(), x.weights - y.weights])
    nonzero = differences[differences != 0]
    return int(nonzero[0].sign()) if len(nonzero) else 0


class DebiasedDivergence(torch.autograd.Function):
    """S and its error; S has the gradient of its last update: by the envelope theorem the potentials are constant."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, a: Tensor, b: Tensor, annealing: Annealing) -> tuple[Tensor, float]:
        solution = solve_debiased(x, y, a, b, annealing)
        ctx.save_for_backward(x, y, a, b)
        ctx.potentials, ctx.annealing = (solution.x_potentials, solution.y_potentials), annealing
        return solution.value, solution.marginal_error

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        x, y, a, b = ctx.saved_tensors
        (x_potentials, y_potentials), needs_gradient = ctx.potentials, ctx.needs_input_grad
        by_x = (
            _side_gradients(x, a, x_potentials, ctx.annealing, gradient)
            if needs_gradient[0] or needs_gradient[2]
            else (None, None)
        )
        by_y = (
            _side_gradients(y, b, y_potentials, ctx.annealing, gradient)
            if needs_gradient[1] or needs_gradient[3]
            else (None, None)
        )
        gradients = [by_x[0], by_y[0], by_x[1], by_y[1]]
        if torch.is_grad_enabled():  # a second derivative may be requested
            gradients = [side if side is None else _OnceDifferentiable.apply(side, x, y, a, b) for side in gradients]  # type: ignore[no-untyped-call]
        return *gradients, None


class _OnceDifferentiable(torch.autograd.Function):
    """A gradient without a gradient of its own: raises, since a silent zero would be wrong."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *inputs: Tensor) -> Tensor:
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> None:
        raise RuntimeError("sinkhorn_divergence is differentiable once: its gradient has no gradient")


def _side_gradients(
    z: Tensor, weights: Tensor, potentials: tuple[SidePotential, SidePotential], annealing: Annealing, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients by the points and the weights of one side."""
    (height, slope), (own_height, own_slope) = (_extend_potential(z, pull, annealing) for pull in potentials)
    return gradient * weights[:, None] * (slope - own_slope), gradient * (height - own_height)


def _extend_potential(z: Tensor, side: SidePotential, annealing: Annealing) -> tuple[Tensor, Tensor]:
    """A potential and its gradient at any points z (n, d): (n,), (n, d)."""
    (y, weights), epsilon = side.points, annealing.epsilon
    height, slope = z.new_empty(len(z)), torch.empty_like(z)
    for rows in iterate_tiles(len(z), len(y)):
        cost = pairwise_costs(z[rows], y, annealing.power)
        logits = (side.potential - cost) / epsilon + weights.log()
        height[rows] = -epsilon * logits.logsumexp(1)
        plan = logits.softmax(1)
        if annealing.power == 1:
            plan = (plan / cost).where(cost > 0, 0.0)  # unit vectors, and 0 between points that coincide
        slope[rows] = plan.sum(1, keepdim=True) * z[rows] - plan @ y
    return height, slope
