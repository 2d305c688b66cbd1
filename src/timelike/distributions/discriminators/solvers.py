"""How infinitely wide discriminators are trained: kernel matrices, Krylov subspaces, and integration."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import eigh_tridiagonal

from ..kernels import base as kernel_base
from .base import CriticProblem, Floats, WeightSolution

_MAX_BASIS = 120  # vectors of a basis; a longer time is split into segments, each with a new basis
_MAX_SEGMENTS = 40  # segments of a time: with more, a decomposition of the matrix is cheaper
_CHECK_EVERY = 4  # new vectors between checks of the error
RateFunction = Callable[[Floats], Floats]
ODEMethod = Literal["LSODA", "BDF"]
# BDF where LSODA keeps switching between its own two methods, at a corner
_ODE_METHODS: tuple[ODEMethod, ...] = ("LSODA", "BDF")
# evaluations of each method: ordinary trainings need some hundreds, a hopeless one would need millions
_MAX_EVALUATIONS = 10_000


class BlockedGram:
    """K (item, item) of a problem: in memory if it is small, otherwise recomputed in blocks for every product."""

    def __init__(self, problem: CriticProblem) -> None:
        self.kernel = problem.kernel
        self.precomputed = problem.kernel._precompute_items(problem.pooled_sample, "fake")
        self.fits_in_memory = len(self.precomputed) ** 2 <= kernel_base.MAX_MATRIX_ENTRIES

    def __len__(self) -> int:
        return len(self.precomputed)

    @cached_property
    def matrix(self) -> Floats:
        """The whole matrix, exactly symmetric."""
        matrix = np.asarray(self.kernel._kernel_matrix(self.precomputed, None))
        if not np.isfinite(matrix).all():
            raise ValueError(f"{self.kernel!r} gave nan or infinity between items: expected finite similarities")
        return matrix

    def times(self, vector: Floats) -> Floats:
        """K v."""
        if self.fits_in_memory:
            return self.matrix @ vector
        return np.concatenate(
            [
                block @ vector
                for _, block in kernel_base.iterate_row_blocks(self.kernel, self.precomputed, self.precomputed)
            ]
        )


class SymmetricGram:
    """A = D K D with D = diag(√weight): symmetric, with the eigenvalues of the operator of eq. 6.8, times 2."""

    def __init__(self, gram: BlockedGram, weights: Floats) -> None:
        self.gram, self.roots = gram, np.sqrt(weights)

    def times(self, vector: Floats) -> Floats:
        """A v."""
        return self.roots * self.gram.times(self.roots * vector)

    def eigh(self) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors, the latter (item, eigenvalue)."""
        values, vectors = np.linalg.eigh(self.roots[:, None] * self.gram.matrix * self.roots)
        return values, vectors


@dataclass(frozen=True)
class KrylovSolution:
    """u at the end of the time, a bound of ‖error of u‖, the products with the matrix, and the largest Ritz value."""

    vector: Floats
    error: float
    n_products: int
    largest_eigenvalue: float


class KrylovNotConverged(ArithmeticError):
    """The basis would have to be too large."""


def phi1(z: Floats) -> Floats:
    """(e^z − 1) / z, and its limit 1 at 0.

    >>> phi1(np.array([0.0, -1.0])).round(4)
    array([1.    , 0.6321])
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.divide(np.expm1(z), z, out=np.ones_like(z), where=z != 0))


def phi2(z: Floats) -> Floats:
    """(e^z − 1 − z) / z², and its limit ½ at 0."""
    values = np.full_like(z, 0.5)
    large = np.abs(z) > 0.3
    with np.errstate(over="ignore"):
        values[large] = (np.expm1(z[large]) - z[large]) / np.square(z[large])
    term, small = np.full_like(z[~large], 0.5), z[~large]
    for power in range(3, 16):  # the series, where the difference would cancel
        term = term * small / power
        values[~large] += term
    return values


def solve_linear_ode(times: Callable[[Floats], Floats], b: Floats, time: float, tolerance: float) -> KrylovSolution:
    """u(time) of u′ = b − A u, u(0) = 0, that is time · φ₁(−time A) b, for A symmetric with eigenvalues of at least 0.

    In the basis V of b, A b, A² b … u is V y, and the residual of the equation is −β v y_m(t) with the next vector v
    (Hochbruck and Lubich, "On Krylov subspace approximations to the matrix exponential operator", 1997). As −T has
    off-diagonal entries of one sign once every second vector is negated, y_m never changes its sign, so

        ‖error‖ ≤ ∫ β |y_m(t)| dt = β ‖b‖ time² |e_mᵀ φ₂(−time T) e₁|

    which is a bound except for rounding, not an estimate. If one basis of `_MAX_BASIS` vectors is too small for the
    time, it is split into segments.
    """
    u, left, error, products, largest = np.zeros_like(b), time, 0.0, 0, 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # eigenvalues below 0 let u grow without end
        for _ in range(_MAX_SEGMENTS):
            residual = b if left == time else b - times(u)
            part = _solve_segment(times, residual, left, tolerance)
            u, left, error = u + part.vector, left - part.time, error + part.error
            products, largest = products + part.n_products, max(largest, part.largest_eigenvalue)
            if left <= 0:
                return KrylovSolution(u, error, products, largest)
    raise KrylovNotConverged


@dataclass(frozen=True)
class _KrylovSegment(KrylovSolution):
    time: float


def _solve_segment(times: Callable[[Floats], Floats], b: Floats, time: float, tolerance: float) -> _KrylovSegment:
    """Solve as much of the time as one basis can resolve."""
    size = float(np.linalg.norm(b))
    if not np.isfinite(size):
        raise KrylovNotConverged
    if size == 0:
        return _KrylovSegment(np.zeros_like(b), 0.0, 0, 0.0, time)
    most = min(len(b), _MAX_BASIS)
    basis, diagonal, beside = np.zeros((most + 1, len(b))), np.zeros(most), np.zeros(most)
    basis[0] = b / size
    for m in range(1, most + 1):
        _extend_basis(times, basis, diagonal, beside, m)
        done = m == most or beside[m - 1] == 0
        if not (done or m % _CHECK_EVERY == 0):
            continue
        values, vectors = (np.asarray(part, np.float64) for part in eigh_tridiagonal(diagonal[:m], beside[: m - 1]))
        y, error = _solve_in_basis(values, vectors, size, float(beside[m - 1]), time)
        segment_time = time
        while done and not error <= tolerance * _finite_norm(y) and segment_time > 1e-6 * time:
            segment_time /= 2
            y, error = _solve_in_basis(values, vectors, size, float(beside[m - 1]), segment_time)
        if error <= tolerance * _finite_norm(y):
            return _KrylovSegment(y @ basis[:m], error, m, float(values[-1]), segment_time)
    raise KrylovNotConverged


def _finite_norm(y: Floats) -> float:
    """‖y‖, or 0 if it overflows, so that no error counts as relatively small."""
    norm = float(np.linalg.norm(y))
    return norm if np.isfinite(norm) else 0.0


def _extend_basis(times: Callable[[Floats], Floats], basis: Floats, diagonal: Floats, beside: Floats, m: int) -> None:
    """Add the next vector, orthogonalized twice against all earlier ones: once would leave rounding errors."""
    new = times(basis[m - 1])
    diagonal[m - 1] = basis[m - 1] @ new
    scale = np.linalg.norm(new)
    for _ in range(2):
        new = new - (basis[:m] @ new) @ basis[:m]
    length = np.linalg.norm(new)
    if length > 1e-14 * scale:  # otherwise only rounding is left, and the basis contains u
        beside[m - 1] = length
        basis[m] = new / length


def _solve_in_basis(values: Floats, vectors: Floats, size: float, beyond: float, time: float) -> tuple[Floats, float]:
    """y in a basis, and the bound of the error; an eigenvalue below 0 lets errors grow with the time."""
    y = size * (vectors @ (time * phi1(-time * values) * vectors[0]))
    left = abs(float(vectors[-1] @ (time**2 * phi2(-time * values) * vectors[0])))
    growth = float(np.exp(-time * min(0.0, float(values[0]))))
    error = beyond * size * left * growth
    return y, error if np.isfinite(error) and np.isfinite(y).all() else np.inf


class _EvaluationsExhausted(ArithmeticError):
    """A method has used all its evaluations before the end of the time."""


class _TrainingODE:
    """g′ = push(f₀ + K (mean weight · g)), with the number of evaluations."""

    def __init__(self, problem: CriticProblem, pushes: RateFunction, slopes: RateFunction, start: Floats) -> None:
        self.gram, self.shares, self.start = BlockedGram(problem), problem.mean_weights, start
        self.pushes, self.slopes, self.evaluations = pushes, slopes, 0
        # the largest change of f per change of g
        self.max_similarity = max(float(np.abs(self.gram.matrix).max()), 1e-300)

    def _critic_values(self, g: Floats) -> Floats:
        return self.start + self.gram.times(self.shares * g)

    def change(self, _: float, g: Floats) -> Floats:
        if self.evaluations == self.most:
            raise _EvaluationsExhausted(f"{self.evaluations} evaluations were not enough")
        self.evaluations += 1
        return self.pushes(self._critic_values(g))

    def jacobian(self, _: float, g: Floats) -> Floats:
        return self.slopes(self._critic_values(g))[:, None] * self.gram.matrix * self.shares

    def solve(self, method: ODEMethod, time: float, tolerance: float) -> Floats:
        """g at the end of the time; an ArithmeticError with the reason if the method fails."""
        self.most = self.evaluations + _MAX_EVALUATIONS
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="lsoda: ")  # it precedes the failure that is raised below
            solution = solve_ivp(
                self.change,
                (0.0, time),
                np.zeros(len(self.start)),
                method=method,
                rtol=tolerance,
                atol=tolerance * min(time, 1 / self.max_similarity),
                jac=self.jacobian,
            )
        if not solution.success or not np.isfinite(solution.y[:, -1]).all():
            raise ArithmeticError(solution.message)
        return np.asarray(solution.y[:, -1])


def integrate_training(
    problem: CriticProblem, pushes: RateFunction, slopes: RateFunction, start: Floats, time: float, tolerance: float
) -> WeightSolution:
    """Weights w = mean weight · g with g′ = push(f at the items), f = f₀ + K w: no matrix is inverted, singular or not.

    By LSODA, which switches to a method for stiff equations where needed (Petzold, "Automatic selection of methods for
    solving stiff and nonstiff systems of ordinary differential equations", 1983), and by backward differentiation
    formulas if that does not finish; `slopes` is the derivative of `pushes` by f. The number of evaluations is bounded:
    if similarities are so large that f is lost in the rounding of K w, no method finishes, and an error is raised.
    """
    equation, reason = _TrainingODE(problem, pushes, slopes, start), ""
    for method in _ODE_METHODS:
        try:
            g = equation.solve(method, time, tolerance)
        except ArithmeticError as error:
            reason = str(error)
            continue
        return WeightSolution(problem.mean_weights * g, "integrated", equation.evaluations, None)
    raise ValueError(
        f"time={time} cannot be integrated with {problem.kernel!r}, whose similarities reach "
        f"{equation.max_similarity:.3g} "
        f"({reason}): bring the items to a smaller scale (divide them by their deviation), lower time, or raise "
        "tolerance"
    )
