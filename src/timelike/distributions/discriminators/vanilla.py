"""The infinitely wide discriminator of the first GAN: logistic loss, integrated, or by Lambert's W nearly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import expit, wrightomega

from ...core.parameters import check_bool, check_choice, check_float
from .base import (
    NON_SATURATING,
    SATURATING,
    CriticProblem,
    Floats,
    GeneratorCost,
    InfiniteDiscriminator,
    WeightSolution,
)
from .solvers import BlockedGram, SymmetricGram, integrate_training

VanillaSolver = Literal["integrate", "lambert"]

_N_QUADRATURE_NODES = 16  # of the integral that bounds the error of Lambert's W: its integrand is smooth


@dataclass(frozen=True, kw_only=True, repr=False)
class VanillaGAN(InfiniteDiscriminator):
    """The discriminator of the first GAN, a logistic classifier (Goodfellow et al., 2014).

        ∂_t f = E_real[(1 − σ(f(y))) k(y, ·)] − E_fake[σ(f(x)) k(x, ·)],   c = −log σ(f)

    that is a = log(1 − σ), b = −log σ in eq. 6.9, or D.116: ∂_t f = T(ρ₂ − 2σ(f)) (Franceschi, thesis of 2022). The
    thesis and its authors' code differ by a factor of 2 in the time. Here it is that of D.116, since it follows from a
    and b as those of the other losses do: for short times f is half that of `IPM` with the opposite sign, as σ(0) = ½;
    compare with a run of their code at twice or half the time.

    There is no closed form. "lambert" is the candidate D.126, exact for one eigenvector and near for short times:

        f ≈ y(2τ T) ρ,   y(x) + e^{y(x)} = 1 + x,   or y(x) = 1 + x − W(e^{1 + x}),   ρ = −1 at fake, 1 at real items

    Its error is bounded in `critic.solution.error`: training does not drive solutions apart, so the norm of the error
    is at most the integral of the residual of the candidate in the equation.

    Parameters
    ----------
    saturating : bool
        True for c = log(1 − σ(f)), the problem of min and max itself, whose gradients vanish where the discriminator is
        sure; False for the thesis's and common practice's −log σ(f).
    solver : "integrate" or "lambert"
        "lambert" decomposes the kernel matrix and requires f₀ = 0.
    tolerance : float
        Of the integration.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import RBF, VanillaGAN
    >>> critic = VanillaGAN(RBF(width=1.0)).train_critic(np.zeros((5, 1)), np.ones((5, 1)))
    >>> critic(np.array([[0.0], [1.0]])).round(4)
    array([-0.1874,  0.1874])
    """

    saturating: bool = False
    solver: VanillaSolver = "integrate"
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool(self.saturating, "saturating")
        check_choice(self.solver, "solver", get_args(VanillaSolver))
        object.__setattr__(self, "tolerance", check_float(self.tolerance, "tolerance", above=0.0))
        if self.solver == "lambert" and self.initial is not None:
            raise ValueError('solver="lambert" begins at f = 0: leave initial out, or use solver="integrate"')

    def _generator_cost(self) -> GeneratorCost:
        return SATURATING if self.saturating else NON_SATURATING

    def _solve_weights(self, problem: CriticProblem) -> WeightSolution:
        if self.solver == "lambert":
            return _solve_by_lambert(problem, self.time)
        real_ones = problem.signs > 0

        def rates(f: Floats) -> Floats:
            return np.where(real_ones, expit(-f), -expit(f))

        def slopes(f: Floats) -> Floats:
            return -np.asarray(expit(f) * expit(-f))

        return integrate_training(
            problem, rates, slopes, problem.initial_values(self.initial), self.time, self.tolerance
        )


def solve_lambert(x: Floats) -> Floats:
    """y with y + e^y = 1 + x, that is log W(e^{1 + x}): accurate for small x too.

    >>> solve_lambert(np.array([0.0, 2.0])).round(4)
    array([0.    , 0.7921])
    """
    y = np.log(np.real(wrightomega(1 + x)))
    for _ in range(2):  # Newton's: the logarithm of almost 1 has lost digits
        y = y - (np.expm1(y) + y - x) / (np.exp(y) + 1)
    return np.asarray(y)


def _solve_by_lambert(problem: CriticProblem, time: float) -> WeightSolution:
    gram = BlockedGram(problem)
    matrix = SymmetricGram(gram, problem.mean_weights)
    values, vectors = matrix.eigh()
    values = np.maximum(values, 0.0)
    inside = vectors.T @ (matrix.roots * problem.signs)
    level = np.divide(solve_lambert(time * values), values, out=np.full_like(values, time / 2), where=values > 0)
    weights = matrix.roots * (vectors @ (level * inside))

    def residual_norm(t: float) -> float:
        """The norm, in the kernel's space, of the residual of the candidate's equation at a time."""
        y = solve_lambert(t * values)
        f = vectors @ (y * inside) / matrix.roots
        rates = vectors.T @ (matrix.roots * problem.signs * expit(-problem.signs * f))
        return float(np.sqrt(values @ np.square(expit(-y) * inside - rates)))

    nodes, parts = np.polynomial.legendre.leggauss(_N_QUADRATURE_NODES)
    error = time / 2 * sum(part * residual_norm(time / 2 * (1 + node)) for node, part in zip(nodes, parts, strict=True))
    return WeightSolution(weights, "lambert", len(gram), float(error))
