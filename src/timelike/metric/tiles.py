"""All pairs of two collections in tiles: little padding, bounded memory, no loop over pairs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .comparer import Prepared

AT_ONCE = 1 << 22  # numbers of a tile: about what a cache holds, and enough to keep the kernels busy
KEPT = 1 << 28  # numbers that a backward pass may keep; beyond, tiles are computed again when it comes to them

Tile = Callable[[Prepared, Prepared], Tensor]


def tiled(
    tile: Tile, x: Prepared, y: Prepared, room: Callable[[int, int], int], *, at_once: int = AT_ONCE, kept: int = KEPT
) -> Tensor:
    """`tile` of all of x and all of y, (item of x, item of y), from tiles of alike lengths.

    Both sides are sorted by length, so that a tile is hardly longer than what is in it.
    """
    if not len(x) or not len(y):
        return x.values.new_zeros(len(x), len(y))
    orders = [torch.argsort(side.lengths, stable=True) for side in (x, y)]
    n, m = (int(side.lengths.max()) for side in (x, y))
    pairs = max(1, at_once // room(n, m))
    height = min(len(x), max(1, round(pairs**0.5)))
    width = min(len(y), max(1, pairs // height))
    again = torch.is_grad_enabled() and len(x) * len(y) * room(n, m) > kept
    columns = _parts(y, orders[1], width)
    rows = [
        torch.cat([_checkpointed(tile, part, column) if again else tile(part, column) for column in columns], 1)
        for part in _parts(x, orders[0], height)
    ]
    back = [torch.argsort(order) for order in orders]
    return torch.cat(rows)[back[0]][:, back[1]]


def _parts(side: Prepared, order: Tensor, size: int) -> list[Prepared]:
    """`split` and not indices: its backward pass puts all parts together once."""
    values, lengths = (torch.split(part[order], size) for part in (side.values, side.lengths))
    return [Prepared(v[:, : int(own[-1])], own) for v, own in zip(values, lengths, strict=True)]


def _checkpointed(tile: Tile, x: Prepared, y: Prepared) -> Tensor:
    def again(x_values: Tensor, y_values: Tensor) -> Tensor:
        return tile(Prepared(x_values, x.lengths), Prepared(y_values, y.lengths))

    found: Tensor = checkpoint(again, x.values, y.values, use_reentrant=False)
    return found
