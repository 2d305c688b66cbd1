"""The training of a discriminator as an ordinary differential equation of the weights of its items, integrated."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.integrate import solve_ivp

from .base import Floats
from .critic import WeightSolution
from .gram import BlockedGram
from .validation import CriticProblem

RateFunction = Callable[[Floats], Floats]
ODEMethod = Literal["LSODA", "BDF"]

# the second where the first goes to and fro between its own two methods, at a corner
_ODE_METHODS: tuple[ODEMethod, ...] = ("LSODA", "BDF")
_MAX_EVALUATIONS = (
    10_000  # evaluations by each: ordinary trainings need some hundreds, and one that is lost would need millions
)


class _EvaluationsExhausted(ArithmeticError):
    """A method has had its evaluations, and is not at the end."""


class _TrainingODE:
    """g′ = push(f₀ + K (share · g)), and how often it was evaluated."""

    def __init__(self, game: CriticProblem, pushes: RateFunction, slopes: RateFunction, start: Floats) -> None:
        self.gram, self.shares, self.start = BlockedGram(game), game.mean_weights, start
        self.pushes, self.slopes, self.evaluations = pushes, slopes, 0
        self.max_similarity = max(float(np.abs(self.gram.matrix).max()), 1e-300)  # what f changes by with a change of g

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
        """g at the end of the time; an ArithmeticError that says why not."""
        self.most = self.evaluations + _MAX_EVALUATIONS
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="lsoda: ")  # said before it fails, which is an error below
            found = solve_ivp(
                self.change,
                (0.0, time),
                np.zeros(len(self.start)),
                method=method,
                rtol=tolerance,
                atol=tolerance * min(time, 1 / self.max_similarity),
                jac=self.jacobian,
            )
        if not found.success or not np.isfinite(found.y[:, -1]).all():
            raise ArithmeticError(found.message)
        return np.asarray(found.y[:, -1])


def integrate_training(
    game: CriticProblem, pushes: RateFunction, slopes: RateFunction, start: Floats, time: float, tolerance: float
) -> WeightSolution:
    """Weights w = share · g with g′ = push(f at the items), f = f₀ + K w: no matrix is inverted, singular or not.

    By LSODA, which changes to a method for stiff equations where they are (Petzold, "Automatic selection of methods
    for solving stiff and nonstiff systems of ordinary differential equations", 1983), and by backward differentiation
    formulas where that does not end; `slopes` is the derivative of `pushes` by f. The work is bounded: where
    similarities are so large that f is lost in the rounding of K w, no method ends, and that is an error.
    """
    equation, why = _TrainingODE(game, pushes, slopes, start), ""
    for method in _ODE_METHODS:
        try:
            found = equation.solve(method, time, tolerance)
        except ArithmeticError as error:
            why = str(error)
            continue
        return WeightSolution(game.mean_weights * found, "integrated", equation.evaluations, None)
    raise ValueError(
        f"time={time} cannot be integrated with {game.kernel!r}, whose similarities reach "
        f"{equation.max_similarity:.3g} "
        f"({why}): bring the items to a smaller scale (divide them by their deviation), lower time, or raise tolerance"
    )
