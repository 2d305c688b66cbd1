"""The fallback of the coupled GRUs in torch: a loop over time on many pairs at once, on any device, with gradients."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from . import CoupledRollout, CoupledWeights


class RolloutSide(NamedTuple):
    """Inputs (..., time, 3 hidden) and lengths (...), which broadcast with those of the other side.

    Where `chosen` is given, the inputs are (item, time, 3 hidden) and pair p has those of item chosen[p].
    """

    inputs: Tensor
    lengths: Tensor
    chosen: Tensor | None = None

    def steps(self) -> Iterator[tuple[Tensor, Tensor]]:
        """The inputs of every step, to reset and update and to the new state; the last again when there are no more."""
        hidden = self.inputs.shape[-1] // 3
        # taken apart once: the gradient of a slice at every step would be as large as all of them
        parts = [part.unbind(-2) for part in self.inputs.split_with_sizes((2 * hidden, hidden), -1)]
        for gates, new in chain(zip(*parts, strict=True), repeat((parts[0][-1], parts[1][-1]))):
            yield (
                (gates, new)
                if self.chosen is None
                else (gates.index_select(0, self.chosen), new.index_select(0, self.chosen))
            )

    def ends(self) -> Tensor:
        """Lengths that broadcast over pairs."""
        return self.lengths if self.chosen is None else self.lengths[self.chosen]


class CoupledStep(NamedTuple):
    """The states of both GRUs after a step, and the gate by which they were coupled in it, each (..., hidden)."""

    first: Tensor
    second: Tensor
    couple: Tensor


def states(cell: CoupledWeights[Tensor], x: RolloutSide, y: RolloutSide) -> Iterator[tuple[Tensor, Tensor]]:
    """The states (..., hidden) of both GRUs after every step."""
    return ((step.first, step.second) for step in rollout_steps(cell, x, y))


def rollout_steps(cell: CoupledWeights[Tensor], x: RolloutSide, y: RolloutSide) -> Iterator[CoupledStep]:
    """One after the other, until the longer sequence is over.

    A GRU whose sequence has ended keeps its state, and the other continues as an independent GRU.
    """
    n, m = _broadcast_lengths(x, y)
    common, last = int(torch.minimum(n, m).min()), int(torch.maximum(n, m).max())
    first = second = x.inputs.new_zeros(*n.shape, cell.recurrent.shape[1])
    for t, own, others in zip(range(last), x.steps(), y.steps(), strict=False):
        couple = torch.sigmoid(F.linear(first + second, cell.coupling, cell.coupling_bias))
        update, new = _gate_values(cell, own, first)
        other_update, other_new = _gate_values(cell, others, second)
        if t < common:  # no pair is over yet: nothing to choose, which is most of the time
            first, second = (
                torch.lerp(torch.lerp(new, other_new, couple), first, update),
                torch.lerp(torch.lerp(other_new, new, couple), second, other_update),
            )
        else:
            runs, other_runs = (t < n)[..., None], (t < m)[..., None]
            couple = couple * (runs & other_runs)  # alone it is a plain GRU
            first, second = (
                torch.where(runs, torch.lerp(torch.lerp(new, other_new, couple), first, update), first),
                torch.where(other_runs, torch.lerp(torch.lerp(other_new, new, couple), second, other_update), second),
            )
        yield CoupledStep(first, second, couple)


def _broadcast_lengths(x: RolloutSide, y: RolloutSide) -> tuple[Tensor, Tensor]:
    n, m = x.ends(), y.ends()
    return n + 0 * m, m + 0 * n  # broadcast


def _gate_values(cell: CoupledWeights[Tensor], inputs: tuple[Tensor, Tensor], state: Tensor) -> tuple[Tensor, Tensor]:
    """Update and new state of one of the two, equations 9, 12 and 13.

    The two are not stacked into one product: a row of it may round otherwise than another, and x would differ from x.
    """
    hidden = cell.recurrent.shape[1]
    gates, new = F.linear(state, cell.recurrent).split_with_sizes((2 * hidden, hidden), -1)
    reset, update = torch.sigmoid(inputs[0] + gates).chunk(2, -1)
    return update, torch.tanh(inputs[1] + reset * (new + cell.candidate))


def state_distances(first: Tensor, second: Tensor) -> Tensor:
    """‖first − second‖ over the last axis; where it is zero, so is its gradient."""
    distance: Tensor = torch.linalg.vector_norm(first - second, dim=-1)
    return distance


def distances(cell: CoupledWeights[Tensor], x: RolloutSide, y: RolloutSide, *, mean: bool) -> Tensor:
    """The distance of the two GRUs at the end, or its mean over the steps of the longer sequence."""
    return roll_out(cell, x, y, mean=mean).distances


def roll_out(cell: CoupledWeights[Tensor], x: RolloutSide, y: RolloutSide, *, mean: bool) -> CoupledRollout[Tensor]:
    """The distances, and the mean over units of the gates of the steps in which both sequences run."""
    both = _broadcast_lengths(x, y)
    common, ends = torch.minimum(*both), torch.maximum(*both)
    total = gates = x.inputs.new_zeros(ends.shape)
    for t, step in enumerate(rollout_steps(cell, x, y)):
        gates = gates + step.couple.mean(-1)  # 0 where one is over
        if mean:
            total = total + state_distances(step.first, step.second) * (t < ends)
    distances = total / ends if mean else state_distances(step.first, step.second)
    return CoupledRollout(distances, gates / common)
