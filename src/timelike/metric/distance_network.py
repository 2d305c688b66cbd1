"""`DistanceNetwork`, a network from two sequences to a distance, `AlignmentNetwork`, which also aligns them, and their
distances of all pairs: in blocks of similar lengths, and in tiles within a block.
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

BLOCK_NUMBERS = 1 << 25  # of all pairs of a block together: 128 MB in float32
_BATCH_STEPS = 1 << 15  # of a part whose features are made together: a layer of 1024 units has 256 MB of them
TILE_NUMBERS = 1 << 22  # numbers of a tile: about what a cache holds, and enough to keep the kernels busy
# numbers that a backward pass may keep; beyond, tiles are computed again when it comes to them
MAX_KEPT_NUMBERS = 1 << 28


@dataclass(frozen=True)
class Features:
    """What is computed from each sequence alone: (item, time, feature), with any values past the lengths (item,)."""

    values: Tensor
    lengths: Tensor

    def __len__(self) -> int:
        return len(self.values)

    def take(self, items: Tensor | slice) -> Features:
        """Some of them."""
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

    What depends on one sequence alone is computed once for each (`features`); what depends on two is computed for given
    pairs (`pair_distances`) or for all of them (`distance_matrix`).
    Steps past a length change neither values nor gradients.
    """

    symmetric: bool = True  # whether exchanging the two changes nothing
    n_channels: int | None = None  # of the sequences, where only so many will do
    # whether a sequence becomes one vector, so that pairs cost little beside sequences
    is_vector_distance: bool = False

    @property
    def stride(self) -> int:
        """Of how many time steps a frame of the features is made, by the convolutions that read sequences first."""
        front: StridedConvolutions | None = getattr(self, "front", None)
        return 1 if front is None else front.stride

    @abc.abstractmethod
    def features(self, x: Tensor, lengths: Tensor) -> Features:
        """What is compared of sequences (item, time, channel) with these lengths (item,)."""

    @abc.abstractmethod
    def pair_distances(self, x: Features, y: Features) -> Tensor:
        """The distances of x[0] and y[0], x[1] and y[1] and so on, (item,)."""

    def distance_matrix(self, x: Features, y: Features) -> Tensor:
        """The distances of all pairs, (item of x, item of y)."""
        first = torch.arange(len(x), device=x.values.device).repeat_interleave(len(y))
        second = torch.arange(len(y), device=y.values.device).repeat(len(x))
        return self.pair_distances(x.take(first), y.take(second)).reshape(len(x), len(y))

    def numbers_per_pair(self, x_time: int, y_time: int) -> int:
        """About how many numbers one pair of such lengths takes in `distance_matrix`, to choose the size of blocks."""
        return 1 + x_time + y_time

    def penalty(self) -> Tensor | float:
        """A term added to the loss, independent of the items compared."""
        return 0.0

    def logged_values(self) -> dict[str, Tensor | float]:
        """Values to log after every training step, independent of the items compared."""
        return {}

    def training_distances(self, x: Features, y: Features, *, pairs_only: bool = False) -> DistanceOutput:
        """The distances of all pairs, or with `pairs_only` of x[0] and y[0] and so on, for a step of training.

        A network whose penalty or logged values depend on what it compares replaces this method.
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
        """The features of both sides of pairs, whose shapes, dtypes and lengths are checked first."""
        first, second = (
            validate_network_input(self, side, name, self.n_channels) for side, name in ((x, "x"), (y, "y"))
        )
        refuse_mismatch(first, second)
        refuse_meta_device(first, "x", "give it on a device that computes")
        lengths = validate_lengths(x_lengths, x.shape, "x_lengths"), validate_lengths(y_lengths, y.shape, "y_lengths")
        return self.features(first, lengths[0]), self.features(second, lengths[1])


class AlignmentNetwork(DistanceNetwork):
    """A distance through an alignment, of frames that the same network h has transformed.

    `Features.values` begin with the frames after h; what a method needs beside them follows.
    """

    transformation: FrameTransform

    @property
    def front(self) -> StridedConvolutions | None:
        """The convolutions that read sequences first."""
        return self.transformation.front

    @abc.abstractmethod
    def align_pairs(self, x: Features, y: Features) -> tuple[Tensor, Tensor]:
        """Distances (item,) from x to y, and the alignment (item, n, m) as it is predicted, 0 in the padding."""

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
        """Some of them."""
        some = slice(begin, begin + count)
        return FeatureBatch(self.ids[some], self.features.take(some))


@torch.no_grad()
def feature_batches(
    network: DistanceNetwork, sequences: Sequences, dtype: torch.dtype = torch.float32
) -> list[FeatureBatch]:
    """The sequences, sorted by length and cut so that there is little padding: their features, rounded."""
    like = next(network.parameters(), torch.empty(0))
    batches = []
    for ids in similar_length_batches(sequences.lengths, _BATCH_STEPS):
        values, own = sequences[ids].to_tensor()
        features = network.features(values.to(like.device, like.dtype), own)
        batches.append(FeatureBatch(ids, replace(features, values=features.values.to(dtype))))
    return batches


def select_features(batches: list[FeatureBatch], wanted: NDArray[np.int64]) -> list[FeatureBatch]:
    """Those of the known features whose positions are wanted, with their place among the wanted as their position."""
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

    distances: Tensor = checkpoint(recompute_tile, x.values, y.values, use_reentrant=False)
    return distances
