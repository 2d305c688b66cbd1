"""`DistanceNetwork`, a network from two sequences to a distance, and `AlignmentNetwork`, which also aligns them."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..core.validation.tensors import refuse_meta_device, refuse_mismatch, validate_lengths, validate_network_input
from .pairwise import compute_in_tiles

if TYPE_CHECKING:
    from .frame_transform import FrameTransform


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
        found = self.align_pairs(x, y)[1]
        return found / found.sum((1, 2), keepdim=True)

    def pool_frames(self, x: Features) -> Tensor:
        """The mean of the frames of each sequence after h, (item, output): the vector of a linear probe (TAP, A.9)."""
        return x.values[..., : self.transformation.n_outputs].sum(1) / x.lengths[:, None]
