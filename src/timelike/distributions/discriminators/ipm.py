"""The infinitely wide discriminator of an integral probability metric: the witness of MMD."""

from __future__ import annotations

from dataclasses import dataclass

from .base import IDENTITY, CriticProblem, InfiniteDiscriminator, WeightSolution


@dataclass(frozen=True, repr=False)
class IPM(InfiniteDiscriminator):
    """The discriminator of an integral probability metric (Wasserstein GAN without its constraint), in closed form.

        f(z) = f₀(z) + τ (mean of k(x_i, z) over fake − mean of k(y_j, z) over real),   a = b = c = id

    (Franceschi, thesis of 2022, proposition 4): τ times the witness of MMD, so a generator that follows its gradients
    descends MMD². Start with this one: nothing saturates, and the time only scales the step.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import IPM, RBF
    >>> critic = IPM(RBF(width=1.0)).train_critic(np.zeros((5, 1)), np.ones((5, 1)))
    >>> critic(np.array([[0.0], [1.0]])).round(4)
    array([ 0.3935, -0.3935])
    >>> critic.gradient(np.array([[0.0]])).round(4)  # x ← x − step · gradient goes towards 1
    array([[-0.6065]])
    """

    _cost = IDENTITY

    def _solve_weights(self, problem: CriticProblem) -> WeightSolution:
        return WeightSolution(-self.time * problem.signs * problem.mean_weights, "exact", 0, 0.0)
