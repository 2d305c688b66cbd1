"""`DistanceNetwork`, `AlignmentNetwork`, and the distances of all pairs, in blocks and tiles of similar length.

A `DistanceNetwork` maps two sequences to a distance; an `AlignmentNetwork` also aligns them.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ..core.validation.tensors import refuse_meta_device, refuse_mismatch, validate_lengths, validate_network_input
from ..sequences import Sequences
from ..train.batches import similar_length_batches
from .frame_transform import FrameTransform, to_full_precision
from .strided_convolutions import StridedConvolutions

BLOCK_NUMBERS = 1 << 25  # numbers for all pairs of a block: 128 MB in float32
_BATCH_STEPS = 1 << 15  # time steps in a batch of features: 256 MB for a layer of 1024 units
TILE_NUMBERS = 1 << 22  # numbers in a tile: fits a cache, and is enough to keep the kernels busy
# numbers stored for a backward pass; beyond, tiles are recomputed
MAX_KEPT_NUMBERS = 1 << 28


@dataclass(frozen=True)
class Features:
    """Features of each sequence alone, (item, time, feature); values past the lengths (item,) are arbitrary."""

    values: Tensor
    lengths: Tensor

    def __len__(self) -> int:
        return len(self.values)

    def take(self, items: Tensor | slice) -> Features:
        """A subset of the items."""
        return Features(self.values[items], self.lengths[items])


TileFunction = Callable[[Features, Features], Tensor]


@dataclass(frozen=True)
class DistanceOutput:
    """Distances of a training step, a penalty that is added to the loss, and values to log."""

    distances: Tensor
    penalty: Tensor | float
    logged_values: dict[str, Tensor | float]


class DistanceNetwork(nn.Module, abc.ABC):
    """A network from two sequences to a distance.

    `features` computes the part that depends on one sequence alone, once per sequence; `pair_distances` and
    `distance_matrix` compute the distances of paired items and of all pairs. Steps past a length change neither values
    nor gradients.
    """

    symmetric: bool = True  # whether d(x, y) = d(y, x)
    n_channels: int | None = None  # the required number of channels; None accepts any
    # whether a sequence becomes one vector, so that pairs are cheap compared with sequences
    is_vector_distance: bool = False

    @property
    def stride(self) -> int:
        """The number of time steps per frame of the features, from strided convolutions."""
        front: StridedConvolutions | None = getattr(self, "front", None)
        return 1 if front is None else front.stride

    @abc.abstractmethod
    def features(self, x: Tensor, lengths: Tensor) -> Features:
        """The features of sequences (item, time, channel) with lengths (item,)."""

    @abc.abstractmethod
    def pair_distances(self, x: Features, y: Features) -> Tensor:
        """The distances of x[0] and y[0], x[1] and y[1] and so on, (item,)."""

    def distance_matrix(self, x: Features, y: Features) -> Tensor:
        """The distances of all pairs, (item of x, item of y)."""
        first = torch.arange(len(x), device=x.values.device).repeat_interleave(len(y))
        second = torch.arange(len(y), device=y.values.device).repeat(len(x))
        return self.pair_distances(x.take(first), y.take(second)).reshape(len(x), len(y))

    def numbers_per_pair(self, x_time: int, y_time: int) -> int:
        """The approximate memory of a pair of these lengths in `distance_matrix`, in numbers; sets the block size."""
        return 1 + x_time + y_time

    def penalty(self) -> Tensor | float:
        """A term added to the loss, independent of the items compared."""
        return 0.0

    def logged_values(self) -> dict[str, Tensor | float]:
        """Values to log after every training step, independent of the items compared."""
        return {}

    def training_distances(self, x: Features, y: Features, *, pairs_only: bool = False) -> DistanceOutput:
        """The distances for a training step: of all pairs, or with `pairs_only` of x[0] and y[0] and so on.

        Override it if the penalty or the logged values depend on the items compared.
        """
        return DistanceOutput(
            self.pair_distances(x, y) if pairs_only else self.distance_matrix(x, y),
            self.penalty(),
            self.logged_values(),
        )

    def forward(self, x: Tensor, y: Tensor, x_lengths: Any = None, y_lengths: Any = None) -> Tensor:
        """The distance of each x and its y, (item,), of x (item, time, channel) and y (item, time, channel)."""
        return self.pair_distances(*self.pair_features(x, y, x_lengths, y_lengths))

    def pair_features(self, x: Any, y: Any, x_lengths: Any = None, y_lengths: Any = None) -> tuple[Features, Features]:
        """Validate both sides of pairs and compute their features."""
        first, second = (
            validate_network_input(self, side, name, self.n_channels) for side, name in ((x, "x"), (y, "y"))
        )
        refuse_mismatch(first, second)
        refuse_meta_device(first, "x", "give it on a device that computes")
        lengths = validate_lengths(x_lengths, x.shape, "x_lengths"), validate_lengths(y_lengths, y.shape, "y_lengths")
        return self.features(first, lengths[0]), self.features(second, lengths[1])


class AlignmentNetwork(DistanceNetwork):
    """A distance through an alignment of frames transformed by a network h.

    `Features.values` begin with the transformed frames; further features of a method follow.
    """

    transformation: FrameTransform

    @property
    def front(self) -> StridedConvolutions | None:
        """The strided convolutions before the network h, or None."""
        return self.transformation.front

    @abc.abstractmethod
    def align_pairs(self, x: Features, y: Features) -> tuple[Tensor, Tensor]:
        """Distances (item,) from x to y, and the unnormalized alignment (item, n, m), 0 in the padding."""

    @abc.abstractmethod
    def distance_tile(self, x: Features, y: Features) -> Tensor:
        """The distances of all pairs, (item of x, item of y), at once."""

    def distance_matrix(self, x: Features, y: Features) -> Tensor:
        """The distances of all pairs, (item of x, item of y), in tiles of alike lengths."""
        return compute_in_tiles(self.distance_tile, x, y, self.numbers_per_pair)

    def plan(self, x: Features, y: Features) -> Tensor:
        """The alignment T (item, n, m), whose entries sum to 1."""
        alignments = self.align_pairs(x, y)[1]
        return alignments / alignments.sum((1, 2), keepdim=True)

    def pool_frames(self, x: Features) -> Tensor:
        """The mean of the frames of each sequence after h, (item, output): the vector of a linear probe (TAP, A.9)."""
        return x.values[..., : self.transformation.n_outputs].sum(1) / x.lengths[:, None]


class FeatureBatch(NamedTuple):
    """The features of some sequences of similar lengths, whose positions are `ids`."""

    ids: NDArray[np.int64]
    features: Features

    @property
    def padded_length(self) -> int:
        """The padded length."""
        return self.features.values.shape[1]

    def take_items(self, begin: int, count: int) -> FeatureBatch:
        """A subset of the items."""
        some = slice(begin, begin + count)
        return FeatureBatch(self.ids[some], self.features.take(some))


@torch.no_grad()
def feature_batches(
    network: DistanceNetwork, sequences: Sequences, dtype: torch.dtype = torch.float32
) -> list[FeatureBatch]:
    """The rounded features of the sequences, in batches of similar length with little padding."""
    like = next(network.parameters(), torch.empty(0))
    batches = []
    for ids in similar_length_batches(sequences.lengths, _BATCH_STEPS):
        values, own = sequences[ids].to_tensor()
        features = network.features(values.to(like.device, like.dtype), own)
        batches.append(FeatureBatch(ids, replace(features, values=features.values.to(dtype))))
    return batches


def select_features(batches: list[FeatureBatch], wanted: NDArray[np.int64]) -> list[FeatureBatch]:
    """The features of the `wanted` positions, renumbered by their place in `wanted`."""
    order = np.argsort(wanted)
    selected = []
    for part in batches:
        place = np.searchsorted(wanted, part.ids, sorter=order).clip(max=len(wanted) - 1)
        own = np.flatnonzero(wanted[order[place]] == part.ids)
        if len(own):
            selected.append(FeatureBatch(order[place[own]], part.features.take(torch.from_numpy(own))))
    return selected


def fill_distances(
    network: DistanceNetwork,
    x: Sequences,
    y: Sequences | None,
    out: NDArray[Any],
    report: Callable[[int, int], Any] | None = None,
    *,
    exact: DistanceNetwork | None = None,
) -> None:
    """Write the distances of all pairs to `out`; of x with itself if y is None, each pair once if symmetric.

    Features are computed by `exact`, a copy of the network in double precision, or by the network itself.
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
    """Write the distances of all rows and columns to `out`; with `symmetric`, rows and columns are the same.

    `measure` replaces the distance matrix of the network by another function of two sides.
    """
    measure, done = measure or network.distance_matrix, 0
    for a, b in _iterate_blocks(network, rows, columns, symmetric):
        block = to_full_precision(measure(a.features, b.features)).cpu().numpy()
        out[np.ix_(a.ids, b.ids)] = block
        done += block.size
        if symmetric and a.ids[0] != b.ids[0]:
            out[np.ix_(b.ids, a.ids)] = block.T
            done += block.size
        if report is not None:
            report(done, out.size)


def _iterate_blocks(
    network: DistanceNetwork, rows: list[FeatureBatch], columns: list[FeatureBatch], symmetric: bool
) -> Iterator[tuple[FeatureBatch, FeatureBatch]]:
    """Blocks that cover all pairs; with `symmetric`, only those on and above the diagonal."""
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
    """Compute `tile` for all pairs of x and y, (item of x, item of y), in tiles of similar lengths.

    Both sides are sorted by length, so that tiles have little padding.
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
    """Split a side in this order; `torch.split`, because its backward pass concatenates all parts once."""
    values, lengths = (torch.split(part[order], size) for part in (side.values, side.lengths))
    return [replace(side, values=v[:, : int(own[-1])], lengths=own) for v, own in zip(values, lengths, strict=True)]


def _checkpoint_tile(tile: TileFunction, x: Features, y: Features) -> Tensor:
    def recompute_tile(x_values: Tensor, y_values: Tensor) -> Tensor:
        return tile(replace(x, values=x_values), replace(y, values=y_values))

    distances: Tensor = checkpoint(recompute_tile, x.values, y.values, use_reentrant=False)
    return distances
