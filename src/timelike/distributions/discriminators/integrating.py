"""The training of a discriminator as an ordinary differential equation of the weights of its items, integrated."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from .base import Floats, Game
from .critic import Trained
from .gram import Gram

Push = Callable[[Floats], Floats]


def integrated(game: Game, pushes: Push, slopes: Push, start: Floats, time: float, tolerance: float) -> Trained:
    """Weights w = share · g with g′ = push(f at the items), f = f₀ + K w: no matrix is inverted, singular or not.

    By LSODA, which changes to a method for stiff equations where they are (Petzold, "Automatic selection of methods
    for solving stiff and nonstiff systems of ordinary differential equations", 1983); `slopes` is the derivative of
    `pushes` by f.
    """
    gram = Gram(game)
    largest = max(float(np.abs(gram.matrix).max()), 1e-300)  # what f changes by with a change of g

    def change(_: float, g: Floats) -> Floats:
        return pushes(start + gram.times(game.shares * g))

    def jacobian(_: float, g: Floats) -> Floats:
        return slopes(start + gram.times(game.shares * g))[:, None] * gram.matrix * game.shares

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="lsoda: ")  # said before it fails, which is an error below
        found = solve_ivp(
            change,
            (0.0, time),
            np.zeros(len(start)),
            method="LSODA",
            rtol=tolerance,
            atol=tolerance * min(time, 1 / largest),
            jac=jacobian,
        )
    if not found.success or not np.isfinite(found.y[:, -1]).all():
        raise ValueError(
            f"time={time} cannot be integrated with {game.kernel!r} ({found.message}): lower time, or raise tolerance"
        )
    return Trained(game.shares * found.y[:, -1], "integrated", int(found.nfev), None)
