"""Distances of all pairs by a `DistanceNetwork`, in blocks of similar lengths, and in tiles within a block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ..sequences import Sequences
from ..train.batches import similar_length_batches
from .frame_transform import to_full_precision

if TYPE_CHECKING:
    from .distance_network import DistanceNetwork, Features

BLOCK_NUMBERS = 1 << 25  # of all pairs of a block together: 128 MB in float32
_BATCH_STEPS = 1 << 15  # of a part whose features are made together: a layer of 1024 units has 256 MB of them
TILE_NUMBERS = 1 << 22  # numbers of a tile: about what a cache holds, and enough to keep the kernels busy
# numbers that a backward pass may keep; beyond, tiles are computed again when it comes to them
MAX_KEPT_NUMBERS = 1 << 28

TileFunction: TypeAlias = "Callable[[Features, Features], Tensor]"


class FeatureBatch(NamedTuple):
    """The features of some sequences of similar lengths, whose positions are `ids`."""

    ids: NDArray[np.int64]
    features: Features

    @property
    def padded_length(self) -> int:
        """The padded length."""
        return self.features.values.shape[1]

    def take_items(self, begin: int, count: int) -> FeatureBatch:
        """Some of them."""
        some = slice(begin, begin + count)
        return FeatureBatch(self.ids[some], self.features.take(some))


@torch.no_grad()
def feature_batches(
    network: DistanceNetwork, sequences: Sequences, dtype: torch.dtype = torch.float32
) -> list[FeatureBatch]:
    """The sequences, sorted by length and cut so that there is little padding: their features, rounded."""
    like = next(network.parameters(), torch.empty(0))
    found = []
    for ids in similar_length_batches(sequences.lengths, _BATCH_STEPS):
        values, own = sequences[ids].to_tensor()
        made = network.features(values.to(like.device, like.dtype), own)
        found.append(FeatureBatch(ids, replace(made, values=made.values.to(dtype))))
    return found


def select_features(known: list[FeatureBatch], wanted: NDArray[np.int64]) -> list[FeatureBatch]:
    """Those of the known features whose positions are wanted, with their place among the wanted as their position."""
    order = np.argsort(wanted)
    found = []
    for part in known:
        place = np.searchsorted(wanted, part.ids, sorter=order).clip(max=len(wanted) - 1)
        own = np.flatnonzero(wanted[order[place]] == part.ids)
        if len(own):
            found.append(FeatureBatch(order[place[own]], part.features.take(torch.from_numpy(own))))
    return found


def fill_distances(
    network: DistanceNetwork,
    x: Sequences,
    y: Sequences | None,
    out: NDArray[Any],
    report: Callable[[int, int], Any] | None = None,
    *,
    exact: DistanceNetwork | None = None,
) -> None:
    """Distances of all pairs into `out`; of x with itself when y is None, each pair once if that is enough.

    Features are made by `double_precision_copy`, the network in double precision, or by the network itself.
    """
    reader = network if exact is None else exact
    dtype = next((weight.dtype for weight in network.parameters()), torch.float32)
    rows = feature_batches(reader, x, dtype)
    columns = rows if y is None or y is x else feature_batches(reader, y, dtype)
    compare_batches(network, rows, columns, out, report, symmetric=y is None and network.symmetric)


@torch.no_grad()
def compare_batches(
    network: DistanceNetwork,
    rows: list[FeatureBatch],
    columns: list[FeatureBatch],
    out: NDArray[Any],
    report: Callable[[int, int], Any] | None = None,
    *,
    symmetric: bool = False,
    measure: TileFunction | None = None,
) -> None:
    """Distances of all rows and columns into `out`; with `symmetric` the columns are the rows, and each pair is one.

    `measure` is what else is computed of all pairs of two sides, in place of the distances.
    """
    measure, done = measure or network.distance_matrix, 0
    for a, b in _iterate_blocks(network, rows, columns, symmetric):
        found = to_full_precision(measure(a.features, b.features)).cpu().numpy()
        out[np.ix_(a.ids, b.ids)] = found
        done += found.size
        if symmetric and a.ids[0] != b.ids[0]:
            out[np.ix_(b.ids, a.ids)] = found.T
            done += found.size
        if report is not None:
            report(done, out.size)


def _iterate_blocks(
    network: DistanceNetwork, rows: list[FeatureBatch], columns: list[FeatureBatch], symmetric: bool
) -> Iterator[tuple[FeatureBatch, FeatureBatch]]:
    """Blocks that cover all pairs; with `symmetric`, where both sides are the same, none below the diagonal."""
    for p, one in enumerate(rows):
        for q, two in enumerate(columns[p:] if symmetric else columns, p if symmetric else 0):
            same = symmetric and p == q
            pairs = max(1, BLOCK_NUMBERS // network.numbers_per_pair(one.padded_length, two.padded_length))
            height = min(len(one.ids), math.isqrt(pairs))
            width = height if same else max(1, pairs // height)
            for i in range(0, len(one.ids), height):
                for j in range(i if same else 0, len(two.ids), width):
                    yield one.take_items(i, height), two.take_items(j, width)


def compute_in_tiles(
    tile: TileFunction,
    x: Features,
    y: Features,
    footprint: Callable[[int, int], int],
    *,
    tile_numbers: int = TILE_NUMBERS,
    max_kept: int = MAX_KEPT_NUMBERS,
) -> Tensor:
    """`tile` of all of x and all of y, (item of x, item of y), from tiles of alike lengths.

    Both sides are sorted by length, so that a tile is hardly longer than what is in it.
    """
    n_x, n_y = len(x), len(y)
    if not n_x or not n_y:
        return x.values.new_zeros(n_x, n_y)
    orders = [torch.argsort(side.lengths, stable=True) for side in (x, y)]
    pair = footprint(*(int(side.lengths.max()) for side in (x, y)))
    pairs = max(1, tile_numbers // pair)
    height = min(n_x, max(1, round(pairs**0.5)))
    width = min(n_y, max(1, pairs // height))
    recompute = torch.is_grad_enabled() and n_x * n_y * pair > max_kept
    columns = _split_by_order(y, orders[1], width)
    rows = [
        torch.cat([_checkpoint_tile(tile, part, column) if recompute else tile(part, column) for column in columns], 1)
        for part in _split_by_order(x, orders[0], height)
    ]
    back = [torch.argsort(order) for order in orders]
    return torch.cat(rows)[back[0]][:, back[1]]


def _split_by_order(side: Features, order: Tensor, size: int) -> list[Features]:
    """`split` and not indices: its backward pass puts all parts together once."""
    values, lengths = (torch.split(part[order], size) for part in (side.values, side.lengths))
    return [replace(side, values=v[:, : int(own[-1])], lengths=own) for v, own in zip(values, lengths, strict=True)]


def _checkpoint_tile(tile: TileFunction, x: Features, y: Features) -> Tensor:
    def recompute_tile(x_values: Tensor, y_values: Tensor) -> Tensor:
        return tile(replace(x, values=x_values), replace(y, values=y_values))

    found: Tensor = checkpoint(recompute_tile, x.values, y.values, use_reentrant=False)
    return found
