"""The map of a GRU without input, and its largest Lyapunov exponent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ...native.coupled import CoupledWeights
from ...sequences.sampling import RandomState, check_random_state

# a state and a tangent vector at it, both (start, feature), to those one step later
TangentMap = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def gru_map(cell: CoupledWeights[Tensor], inputs: Tensor) -> TangentMap:
    """One step of an uncoupled GRU whose inputs (3 hidden,) never change, and its differential."""
    hidden = cell.recurrent.shape[1]

    def step(state: Tensor, tangent: Tensor) -> tuple[Tensor, Tensor]:
        from_state, turned = F.linear(state, cell.recurrent), F.linear(tangent, cell.recurrent)
        gates = torch.sigmoid(inputs[: 2 * hidden] + from_state[:, : 2 * hidden])
        reset, update = gates.chunk(2, -1)
        d_reset, d_update = (gates * (1 - gates) * turned[:, : 2 * hidden]).chunk(2, -1)
        inner = from_state[:, 2 * hidden :] + cell.candidate
        new = torch.tanh(inputs[2 * hidden :] + reset * inner)
        d_new = (1 - new * new) * (d_reset * inner + reset * turned[:, 2 * hidden :])
        return torch.lerp(new, state, update), torch.lerp(d_new, tangent, update) + d_update * (state - new)

    return step


def largest_lyapunov_exponent(
    step: TangentMap, like: Tensor, *, steps: int, n_discarded: int, n_starts: int, random_state: RandomState = None
) -> float:
    """The largest Lyapunov exponent of a map of as many features as `like` has columns.

        λ = lim 1/T Σ_t log ‖J(h_t) v_t‖,   v_{t+1} = J(h_t) v_t / ‖J(h_t) v_t‖

    Benettin et al., "Lyapunov characteristic exponents for smooth dynamical systems", Meccanica 15, 1980: one tangent
    vector turns towards the direction that grows fastest, whichever it was at first.

    >>> def halve(state, tangent):
    ...     return state / 2, tangent / 2
    >>> found = largest_lyapunov_exponent(halve, torch.ones(1, 3), steps=10, n_discarded=0, n_starts=2, random_state=0)
    >>> bool(np.isclose(found, np.log(0.5)))
    True
    """
    rng = check_random_state(random_state)
    shape = n_starts, like.shape[1]
    state = torch.as_tensor(rng.uniform(-1, 1, shape)).to(like)
    tangent = torch.as_tensor(rng.standard_normal(shape)).to(like)
    total = 0.0
    for t in range(n_discarded + steps):
        tangent = tangent / torch.linalg.vector_norm(tangent, dim=1, keepdim=True)
        state, tangent = step(state, tangent)
        growth = torch.linalg.vector_norm(tangent, dim=1)
        if not bool(growth.all()):  # everything has collapsed onto one point
            return -np.inf
        total += float(growth.log().mean()) if t >= n_discarded else 0.0
    return total / steps
