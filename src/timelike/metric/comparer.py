"""What every network that compares sequences can do, however it does so."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..align.layers.batches import checked_lengths


@dataclass(frozen=True)
class Prepared:
    """Sequences after all that concerns each alone: (item, time, feature), anything past the lengths (item,)."""

    values: Tensor
    lengths: Tensor

    def __len__(self) -> int:
        return len(self.values)

    def take(self, items: Tensor | slice) -> Prepared:
        """Some of them."""
        return Prepared(self.values[items], self.lengths[items])


class Comparer(nn.Module, abc.ABC):
    """A network from two sequences to a distance.

    What concerns one sequence alone is done once for each (`prepare`); what concerns two is done for given pairs
    (`rows`) or for all of them (`matrix`). What steps past a length hold changes no value and no gradient.
    """

    symmetric: bool = True  # whether exchanging the two changes nothing

    @abc.abstractmethod
    def prepare(self, x: Tensor, lengths: Tensor) -> Prepared:
        """Sequences (item, time, channel) of these lengths (item,), ready to be compared."""

    @abc.abstractmethod
    def rows(self, x: Prepared, y: Prepared) -> Tensor:
        """The distances of x[0] and y[0], x[1] and y[1] and so on, (item,)."""

    def matrix(self, x: Prepared, y: Prepared) -> Tensor:
        """The distances of all pairs, (item of x, item of y)."""
        first = torch.arange(len(x), device=x.values.device).repeat_interleave(len(y))
        second = torch.arange(len(y), device=y.values.device).repeat(len(x))
        return self.rows(x.take(first), y.take(second)).reshape(len(x), len(y))

    def room(self, x_time: int, y_time: int) -> int:
        """About how many numbers one pair of such lengths takes in `matrix`, so that blocks can be made to fit."""
        return 1 + x_time + y_time

    def penalty(self) -> Tensor | float:
        """What is added to a loss."""
        return 0.0

    def readings(self) -> dict[str, Tensor | float]:
        """What is worth noting after every step of training."""
        return {}

    def forward(self, x: Tensor, y: Tensor, x_lengths: Tensor | None = None, y_lengths: Tensor | None = None) -> Tensor:
        """The distance of each x and its y, (item,), of x (item, time, channel) and y (item, time, channel)."""
        lengths = checked_lengths(x_lengths, x, "x"), checked_lengths(y_lengths, y, "y")
        return self.rows(self.prepare(x, lengths[0]), self.prepare(y, lengths[1]))
