"""The training of a discriminator as an ordinary differential equation of the weights of its items, integrated."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.integrate import solve_ivp

from .base import Floats, Game
from .critic import Trained
from .gram import Gram

Push = Callable[[Floats], Floats]
Method = Literal["LSODA", "BDF"]

# the second where the first goes to and fro between its own two methods, at a corner
_METHODS: tuple[Method, ...] = ("LSODA", "BDF")
_MOST = 10_000  # evaluations by each: ordinary trainings need some hundreds, and one that is lost would need millions


class _Exhausted(ArithmeticError):
    """A method has had its evaluations, and is not at the end."""


class _Equation:
    """g′ = push(f₀ + K (share · g)), and how often it was evaluated."""

    def __init__(self, game: Game, pushes: Push, slopes: Push, start: Floats) -> None:
        self.gram, self.shares, self.start = Gram(game), game.shares, start
        self.pushes, self.slopes, self.evaluations = pushes, slopes, 0
        self.largest = max(float(np.abs(self.gram.matrix).max()), 1e-300)  # what f changes by with a change of g

    def _values(self, g: Floats) -> Floats:
        return self.start + self.gram.times(self.shares * g)

    def change(self, _: float, g: Floats) -> Floats:
        if self.evaluations == self.most:
            raise _Exhausted(f"{self.evaluations} evaluations were not enough")
        self.evaluations += 1
        return self.pushes(self._values(g))

    def jacobian(self, _: float, g: Floats) -> Floats:
        return self.slopes(self._values(g))[:, None] * self.gram.matrix * self.shares

    def solve(self, method: Method, time: float, tolerance: float) -> Floats:
        """g at the end of the time; an ArithmeticError that says why not."""
        self.most = self.evaluations + _MOST
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="lsoda: ")  # said before it fails, which is an error below
            found = solve_ivp(
                self.change,
                (0.0, time),
                np.zeros(len(self.start)),
                method=method,
                rtol=tolerance,
                atol=tolerance * min(time, 1 / self.largest),
                jac=self.jacobian,
            )
        if not found.success or not np.isfinite(found.y[:, -1]).all():
            raise ArithmeticError(found.message)
        return np.asarray(found.y[:, -1])


def integrated(game: Game, pushes: Push, slopes: Push, start: Floats, time: float, tolerance: float) -> Trained:
    """Weights w = share · g with g′ = push(f at the items), f = f₀ + K w: no matrix is inverted, singular or not.

    By LSODA, which changes to a method for stiff equations where they are (Petzold, "Automatic selection of methods
    for solving stiff and nonstiff systems of ordinary differential equations", 1983), and by backward differentiation
    formulas where that does not end; `slopes` is the derivative of `pushes` by f. The work is bounded: where
    similarities are so large that f is lost in the rounding of K w, no method ends, and that is an error.
    """
    equation, why = _Equation(game, pushes, slopes, start), ""
    for method in _METHODS:
        try:
            found = equation.solve(method, time, tolerance)
        except ArithmeticError as error:
            why = str(error)
            continue
        return Trained(game.shares * found, "integrated", equation.evaluations, None)
    raise ValueError(
        f"time={time} cannot be integrated with {game.kernel!r}, whose similarities reach {equation.largest:.3g} "
        f"({why}): bring the items to a smaller scale (divide them by their deviation), lower time, or raise tolerance"
    )
