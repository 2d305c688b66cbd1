"""Padded batches of unequal lengths through a network, without computing much of the padding."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_GROUPS = 6  # calls of the network at most: each has its overhead
_WORTH = 0.05  # share of the steps that one more call must save


def encoded(network: nn.Module, sides: Sequence[tuple[Tensor, Tensor]]) -> list[Tensor]:
    """Representations of several padded batches (item, time, channel) with lengths (item,), in one go.

    All are sorted by length and cut into a few groups, each as long as its longest.
    """
    longest = max(x.shape[1] for x, _ in sides)
    steps = torch.cat([F.pad(x, (0, 0, 0, longest - x.shape[1])) for x, _ in sides])
    lengths = torch.cat([side for _, side in sides])
    order = torch.argsort(lengths, stable=True)
    found = [_group(network, steps, lengths, order[group]) for group in groups(lengths[order].tolist())]
    features = torch.cat(found)[torch.argsort(order)]
    return list(torch.split(features, [len(side) for _, side in sides]))


def _group(network: nn.Module, steps: Tensor, lengths: Tensor, chosen: Tensor) -> Tensor:
    own = lengths[chosen]
    longest = int(own[-1])
    features: Tensor = network(steps[chosen, :longest], None if int(own[0]) == longest else own)
    return features


def groups(lengths: list[int]) -> list[slice]:
    """Sorted lengths cut where padding to a group's longest would waste most.

    >>> groups([3, 3, 4, 90, 100])
    [slice(0, 3, None), slice(3, 5, None)]
    """
    parts = [slice(0, len(lengths))]
    while len(parts) < _GROUPS:
        saved, where, number = max((*_cut(lengths, part), number) for number, part in enumerate(parts))
        if saved <= _WORTH * sum(lengths):
            break
        part = parts[number]
        parts[number : number + 1] = [slice(part.start, where), slice(where, part.stop)]
    return parts


def _cut(lengths: list[int], part: slice) -> tuple[int, int]:
    """The steps of padding that the best cut of a group saves, and where it is."""
    last = lengths[part.stop - 1]
    savings = ((i - part.start) * (last - lengths[i - 1]) for i in range(part.start + 1, part.stop))
    return max(((saved, part.start + 1 + k) for k, saved in enumerate(savings)), default=(0, part.start))
