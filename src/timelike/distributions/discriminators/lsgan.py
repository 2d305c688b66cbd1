"""The infinitely wide discriminator of least squares, in closed form by the exponential of its kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ...core.parameters import check_choice, check_float
from .base import SQUARE, CriticProblem, Floats, InfiniteDiscriminator, WeightSolution
from .solvers import BlockedGram, KrylovNotConverged, SymmetricGram, phi1, solve_linear_ode

LSGANSolver = Literal["auto", "krylov", "eigh"]


@dataclass(frozen=True, kw_only=True, repr=False)
class LSGAN(InfiniteDiscriminator):
    """The discriminator of least squares (Mao et al., "Least squares generative adversarial networks", 2017).

        f_τ = ρ + exp(−4τ T)(f₀ − ρ),   ρ = −1 at fake and 1 at real items,   T h = E_γ[k(x, ·) h(x)],   c = f²

    with γ half the one sample and half the other, of any sizes (Franceschi, thesis of 2022, proposition 5, with a = −(f
    + 1)², and b = (f − 1)² as in §6.3.1: the minus sign printed before it is an error). In terms of the weights of
    items, which also holds if the kernel matrix is singular (two items are equal, or there are more items than the rank
    of the kernel): f − f₀ = Σ w_j k(p_j, ·) with

        w = D τ φ₁(−τ D K D) D (ρ − f₀),   D² = 2/n at fake and 2/m at real items,   φ₁(z) = (e^z − 1)/z,   φ₁(0) = 1

    For short times f is twice that of `IPM` with the opposite sign, which c_f = f² reverses again. Long times fit ρ and
    leave small gradients at the generated items: use `IPM` unless this effect is the subject.

    Parameters
    ----------
    solver : "auto", "krylov" or "eigh"
        "krylov" applies φ₁ by products with the kernel matrix, some tens of them, and bounds the error; "eigh"
        decomposes the matrix. "auto" uses "krylov", and "eigh" if that needs too many products.
    tolerance : float
        The largest bound of "krylov", relative to the size of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import LSGAN, RBF
    >>> fake, real = np.zeros((5, 1)), np.ones((5, 1))
    >>> LSGAN(RBF(width=0.5), time=100.0).train_critic(fake, real)(np.array([[0.0], [0.5], [1.0]])).round(4)
    array([-1.,  0.,  1.])
    """

    solver: LSGANSolver = "auto"
    tolerance: float = 1e-10

    _cost = SQUARE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.solver, "solver", get_args(LSGANSolver))
        object.__setattr__(self, "tolerance", check_float(self.tolerance, "tolerance", above=0.0))

    def _solve_weights(self, problem: CriticProblem) -> WeightSolution:
        return self._solve_gram(BlockedGram(problem), problem)

    def _solve_gram(self, gram: BlockedGram, problem: CriticProblem) -> WeightSolution:
        matrix = SymmetricGram(gram, 2 * problem.mean_weights)
        residual = matrix.roots * (problem.signs - problem.initial_values(self.initial))
        if self.solver != "eigh":
            try:
                return self._solve_by_krylov(matrix, residual)
            except KrylovNotConverged:
                if self.solver == "krylov":
                    raise ValueError(
                        f'time={self.time} needs too many products with the kernel matrix: use solver="eigh", raise '
                        "tolerance, or lower time"
                    ) from None
        values, vectors = matrix.eigh()
        with np.errstate(over="ignore", invalid="ignore"):  # from an indefinite kernel, which `train_critic` rejects
            weights = vectors @ (self.time * phi1(-self.time * values) * (vectors.T @ residual))
        return WeightSolution(matrix.roots * weights, "eigh", len(gram), 0.0)

    def _solve_by_krylov(self, matrix: SymmetricGram, residual: Floats) -> WeightSolution:
        solution = solve_linear_ode(matrix.times, residual, self.time, self.tolerance)
        # ‖f − exact‖² = eᵀ A e of the error e of u
        return WeightSolution(
            matrix.roots * solution.vector,
            "krylov",
            solution.n_products,
            solution.error * np.sqrt(solution.largest_eigenvalue),
        )
