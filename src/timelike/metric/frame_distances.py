"""Distances of frames and of relative positions, for pairs of padded sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

Between = Callable[[Tensor, Tensor], Tensor]
"""How sequences of x meet those of y: `rowwise` or `crosswise`."""


class Table(NamedTuple):
    """What is known of pairs before anything is predicted, all 0 in the padding.

    `distances` D and `positions` D_t (pair, n, m), the lengths of both sides (pair,), and where the pairs have steps
    (pair, n, m), or None if there is no padding. The first row is step `first` of x: a table may be a stripe of one.
    """

    distances: Tensor
    positions: Tensor
    x_lengths: Tensor
    y_lengths: Tensor
    inside: Tensor | None
    first: int = 0

    @classmethod
    def of(cls, distances: Tensor, x_lengths: Tensor, y_lengths: Tensor, first: int = 0) -> Table:
        """From distances whose padding may hold any number."""
        n, m = distances.shape[1:]
        x_steps = torch.arange(first + 1, first + n + 1, device=distances.device)
        y_steps = torch.arange(1, m + 1, device=distances.device)
        x_size, y_size = (lengths[:, None, None].to(distances.dtype) for lengths in (x_lengths, y_lengths))
        apart = (x_steps[:, None] / x_size - y_steps / y_size).abs()
        if bool((x_lengths >= first + n).all()) and bool((y_lengths == m).all()):
            return cls(distances, apart, x_lengths, y_lengths, None, first)
        inside = (x_steps <= x_lengths[:, None])[:, :, None] & (y_steps <= y_lengths[:, None])[:, None, :]
        clean = distances.masked_fill(~inside, 0.0), apart.masked_fill(~inside, 0.0)
        return cls(*clean, x_lengths, y_lengths, inside, first)

    def rows(self) -> Tensor:
        """How many rows are steps of each pair, (pair,)."""
        return (self.x_lengths - self.first).clamp(0, self.distances.shape[1])

    def reversed(self) -> Table:
        """The same pairs the other way round; not of a stripe."""
        assert self.first == 0
        inside = None if self.inside is None else self.inside.mT
        return Table(self.distances.mT, self.positions.mT, self.y_lengths, self.x_lengths, inside)


def finest(x: Tensor) -> torch.dtype:
    """What sums are taken in, so that their order does not matter when they are rounded."""
    return torch.float32 if x.device.type == "mps" else torch.float64  # which Apple's processors do not have


def rowwise(x: Tensor, y: Tensor) -> Tensor:
    """Distances (item, n, m) of the frames of x[0] and y[0], x[1] and y[1] …; x is (item, n, feature), y likewise.

    >>> rowwise(torch.tensor([[[0.0, 0.0], [3.0, 4.0]]]), torch.tensor([[[0.0, 0.0]]]))
    tensor([[[0.],
             [5.]]])
    """
    return _euclidean(x, y)


def crosswise(x: Tensor, y: Tensor) -> Tensor:
    """Distances (pair, n, m) of the frames of every x with every y, pairs in the order x[0] y[0], x[0] y[1] …"""
    (k, n), (p, m) = x.shape[:2], y.shape[:2]
    table = _euclidean(x.reshape(k * n, -1), y.reshape(p * m, -1))
    return table.reshape(k, n, p, m).transpose(1, 2).reshape(k * p, n, m)


def exact_enough(x: Tensor) -> Tensor:
    """The same in float32 where it has fewer digits, in which differences would be noise."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def _euclidean(x: Tensor, y: Tensor) -> Tensor:
    """‖x_i − y_j‖, not squared, with the gradient 0 where both are the same."""
    if exact_enough(x) is not x:
        return _euclidean(exact_enough(x), exact_enough(y)).to(x.dtype)
    if x.dtype != torch.float32 or finest(x) == torch.float32:
        return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    # a product of matrices is many times faster than differences; in double precision it cancels no digit that counts
    a, b = x.double(), y.double()
    sizes = a.square().sum(-1)[..., :, None] + b.square().sum(-1)[..., None, :]
    squares = sizes - 2 * (a @ b.mT)
    apart = squares > 1e-14 * sizes.detach()  # less is below what float32 can tell
    return squares.where(apart, 1.0).sqrt().where(apart, 0.0).float()
