"""φ-functions of a symmetric matrix applied to a vector by Lanczos' method, with a bound of the error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal

Floats = NDArray[np.float64]

_MAX_BASIS = 120  # vectors of a basis; a longer time is gone in several parts, each from a new basis
_MAX_SEGMENTS = 40  # of a time: more, and a decomposition of the matrix is cheaper
_CHECK_EVERY = 4  # new vectors between looks at the error


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
    found = np.full_like(z, 0.5)
    large = np.abs(z) > 0.3
    with np.errstate(over="ignore"):
        found[large] = (np.expm1(z[large]) - z[large]) / np.square(z[large])
    term, small = np.full_like(z[~large], 0.5), z[~large]
    for power in range(3, 16):  # the series, where the difference would cancel
        term = term * small / power
        found[~large] += term
    return found


def solve_linear_ode(times: Callable[[Floats], Floats], b: Floats, time: float, tolerance: float) -> KrylovSolution:
    """u(time) of u′ = b − A u, u(0) = 0, that is time · φ₁(−time A) b, for A symmetric with eigenvalues of at least 0.

    In the basis V of b, A b, A² b … u is V y, and what is left of the equation is −β v y_m(t) with the next vector v
    (Hochbruck and Lubich, "On Krylov subspace approximations to the matrix exponential operator", 1997). As −T has
    off-diagonal entries of one sign once every second vector is turned round, y_m never changes its sign, so

        ‖error‖ ≤ ∫ β |y_m(t)| dt = β ‖b‖ time² |e_mᵀ φ₂(−time T) e₁|

    but for rounding, without a guess. A time that one basis of `_MAX_BASIS` vectors is too small for is gone in parts.
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
    """As much of the time as one basis is good for."""
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
        reached = time
        while done and not error <= tolerance * _finite_norm(y) and reached > 1e-6 * time:
            reached /= 2
            y, error = _solve_in_basis(values, vectors, size, float(beside[m - 1]), reached)
        if error <= tolerance * _finite_norm(y):
            return _KrylovSegment(y @ basis[:m], error, m, float(values[-1]), reached)
    raise KrylovNotConverged


def _finite_norm(y: Floats) -> float:
    """‖y‖, and 0 where it overflows, which no error is small beside."""
    found = float(np.linalg.norm(y))
    return found if np.isfinite(found) else 0.0


def _extend_basis(times: Callable[[Floats], Floats], basis: Floats, diagonal: Floats, beside: Floats, m: int) -> None:
    """The next vector, made orthogonal to all earlier ones twice: once leaves what rounding has put there."""
    new = times(basis[m - 1])
    diagonal[m - 1] = basis[m - 1] @ new
    scale = np.linalg.norm(new)
    for _ in range(2):
        new = new - (basis[:m] @ new) @ basis[:m]
    length = np.linalg.norm(new)
    if length > 1e-14 * scale:  # else nothing is left but rounding, and the basis holds all of u
        beside[m - 1] = length
        basis[m] = new / length


def _solve_in_basis(values: Floats, vectors: Floats, size: float, beyond: float, time: float) -> tuple[Floats, float]:
    """y in a basis, and the bound of the error; an eigenvalue below 0 lets errors grow with the time."""
    y = size * (vectors @ (time * phi1(-time * values) * vectors[0]))
    left = abs(float(vectors[-1] @ (time**2 * phi2(-time * values) * vectors[0])))
    growth = float(np.exp(-time * min(0.0, float(values[0]))))
    error = beyond * size * left * growth
    return y, error if np.isfinite(error) and np.isfinite(y).all() else np.inf
