"""Readouts: from the states of a recurrent network over time to one vector for every sequence."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from ..core.parameters import check_choice, check_int
from ..core.validation.tensors import valid_mask

Pooling = Literal["last", "mean", "max", "mean+max", "attention"]
POOLINGS = "last", "mean", "max", "mean+max", "attention"


class Readout(nn.Module):
    """One vector of the states of each sequence: the last, their mean, maximum, both, or a learned weighing.

    Twenty units that have read a thousand steps remember the last ones; a mean and a maximum remember what was seen
    anywhere. States past a length have no share.

    >>> states = torch.tensor([[[1.0], [3.0], [9.0]]])
    >>> Readout("mean+max", 1)(states, torch.tensor([2]))
    tensor([[2., 3.]])
    """

    def __init__(self, pooling: Pooling, hidden: int) -> None:
        super().__init__()
        self.pooling: str = check_choice(pooling, "pooling", POOLINGS)
        hidden = check_int(hidden, "hidden", 1)
        self.n_outputs = 2 * hidden if pooling == "mean+max" else hidden
        if pooling == "attention":
            self.weigh = nn.Linear(hidden, 1)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """(item, time, hidden) and lengths (item,) → (item, output)."""
        own = lengths.to(states.device)
        if self.pooling == "last":
            return states[torch.arange(len(states), device=states.device), own - 1]
        inside = valid_mask(own, states.shape[1], states.device)[..., None]
        if self.pooling == "attention":
            weights = self.weigh(states).masked_fill(~inside, -torch.inf).softmax(1)
            weighed: Tensor = (weights * torch.where(inside, states, 0)).sum(1)
            return weighed
        found = []
        if self.pooling != "max":
            found.append(torch.where(inside, states, 0).sum(1) / own[:, None])
        if self.pooling != "mean":
            found.append(states.masked_fill(~inside, -torch.inf).amax(1))
        return torch.cat(found, -1)
