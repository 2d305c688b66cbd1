"""The infinitely wide discriminator of the hinge loss, integrated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.parameters import check_float
from .base import NEGATIVE, CriticProblem, Floats, InfiniteDiscriminator, WeightSolution
from .solvers import integrate_training


@dataclass(frozen=True, kw_only=True, repr=False)
class HingeGAN(InfiniteDiscriminator):
    """The discriminator of the hinge loss (Lim and Ye, "Geometric GAN", 2017), integrated.

        a = min(0, −1 − f),   b = max(0, 1 − f),   c = −f

    It is outside theorem 1 of the thesis: a and b have no derivative at the margins, −1 and 1, where items come to
    rest. Their corners are rounded over a range of `rounding`, which brings the loss back under the theorem; training
    does not drive solutions apart, so the error of f is at most √(2 · rounding · τ) in the norm of the kernel's space,
    and in practice about `rounding`. Until the first item reaches its margin f is that of `IPM` with the opposite sign.

    Parameters
    ----------
    rounding : float
        Range over which the corners are rounded; a smaller one makes the equation stiffer.
    tolerance : float
        Tolerance of the integration, which is slow near corners; one below `rounding` costs much and gains little.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import HingeGAN, RBF
    >>> critic = HingeGAN(RBF(width=0.5), time=5.0).train_critic(np.zeros((5, 1)), np.ones((5, 1)))
    >>> critic(np.array([[0.0], [1.0]])).round(2)
    array([-1.,  1.])
    """

    rounding: float = 1e-3
    tolerance: float = 1e-5

    _cost = NEGATIVE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rounding", check_float(self.rounding, "rounding", above=0.0, most=1.0))
        object.__setattr__(self, "tolerance", check_float(self.tolerance, "tolerance", above=0.0))

    def _solve_weights(self, problem: CriticProblem) -> WeightSolution:
        signs, rounding = problem.signs, self.rounding

        def shortfall(f: Floats) -> Floats:
            """The distance of an item below its margin, in units of the rounding, from the middle of the corner."""
            return (1 - signs * f) / rounding + 0.5

        def rates(f: Floats) -> Floats:
            return signs * np.clip(shortfall(f), 0.0, 1.0)

        def slopes(f: Floats) -> Floats:
            below = shortfall(f)
            return np.where((below > 0) & (below < 1), -1 / rounding, 0.0)

        start = problem.initial_values(self.initial)
        solution = integrate_training(problem, rates, slopes, start, self.time, self.tolerance)
        return WeightSolution(
            solution.weights, solution.solver, solution.n_products, float(np.sqrt(2 * rounding * self.time))
        )
