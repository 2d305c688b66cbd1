"""`TAPNetwork`: predicts the alignment of two sequences with a small network g, and computes their distance from it."""

from __future__ import annotations

import abc
import math
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from ...core.parameters import check_bool, check_choice, check_int
from ...native.convolve import ConvolutionStack, PairTables
from ...native.convolve.autograd import convolve_tables, is_kernel_supported
from ..distance_network import AlignmentNetwork, Features, compute_in_tiles
from ..frame_transform import (
    FramePairTable,
    FrameTransform,
    PairingFunction,
    paired_frame_distances,
    pairwise_frame_distances,
    sum_dtype,
)

STRIPE_NUMBERS = 1 << 26  # numbers in a stripe of a long pair, without gradients
TILE_NUMBERS = 1 << 23  # numbers in a tile: each call transforms the weights, so tiles should hold several pairs
MAX_KEPT_NUMBERS = 1 << 29  # numbers stored for a backward pass; recomputing them takes a third of a step

VariantName = Literal["cnn", "cnn_large", "cnn_deep", "attention"]
KERNEL_SIZES: dict[str, tuple[int, ...]] = {"cnn": (5, 5, 3), "cnn_large": (7, 7, 5), "cnn_deep": (5, 5, 5, 3)}
"""Kernel sizes: the paper's, larger ones, and one additional layer (Su & Wen, ICLR 2022, table 10)."""


class TAPNetwork(AlignmentNetwork):
    """Temporal alignment prediction (Su & Wen, ICLR 2022): d(x, y) = ⟨T, D⟩ with T predicted from x and y.

    D_ij = ‖h(x_i) − h(y_j)‖, D_t,ij = |i/n − j/m|, S = −(D + g(D, D_t)), A = softmax of S over the steps of y, and
    T = A / n: every step of x, the query, has the same mass. So d(x, y) is not d(y, x) and d(x, x) not 0.

    Parameters
    ----------
    n_channels : int
        Channels of the sequences.
    variant : {"cnn", "cnn_large", "cnn_deep", "attention"}
        g: convolutions of sizes 5-5-3, larger ones (7-7-5), one additional layer (5-5-5-3), or TAP-trans instead.
    hidden, n_outputs, normalize, transform, self_attention, front, strides
        The transformation h, see `FrameTransform`; with `transform=False` the frames are compared as they are, and
        `self_attention=True` makes it SA-TAP.
    n_kernels : int
        Outputs of the inner convolutions; the paper has 64 for few-shot learning.
    last_relu : bool
        ReLU after the last convolution: in the paper, not in the authors' code.
    symmetrize : bool
        The mean of both directions.

    Examples
    --------
    >>> import torch
    >>> from timelike.metric import TAPNetwork
    >>> network = TAPNetwork(3, hidden=16)
    >>> x, y = torch.randn(4, 9, 3), torch.randn(4, 7, 3)
    >>> network(x, y, torch.tensor([9, 8, 7, 1])).shape
    torch.Size([4])
    """

    def __init__(
        self,
        n_channels: int,
        *,
        variant: VariantName = "cnn",
        hidden: int = 1024,
        n_outputs: int | None = None,
        n_kernels: int = 30,
        normalize: bool = True,
        last_relu: bool = False,
        symmetrize: bool = False,
        transform: bool = True,
        self_attention: bool = False,
        front: Literal["strided"] | None = None,
        strides: tuple[int, int] = (2, 2),
    ) -> None:
        super().__init__()
        check_choice(variant, "variant", get_args(VariantName))
        check_bool(last_relu, "last_relu")
        check_int(n_kernels, "n_kernels", 1)
        self.transformation = FrameTransform(
            n_channels,
            hidden=hidden,
            n_outputs=n_outputs,
            normalize=normalize,
            transform=transform,
            self_attention=self_attention,
            front=front,
            strides=strides,
        )
        self.n_channels = self.transformation.n_channels
        self.scores: AlignmentScores = (
            AttentionScores(self.transformation.n_outputs)
            if variant == "attention"
            else ConvolutionScores(KERNEL_SIZES[variant], n_kernels=n_kernels, last_relu=last_relu)
        )
        self.symmetric = check_bool(symmetrize, "symmetrize")

    def features(self, x: Tensor, lengths: Tensor) -> Features:
        """h of each frame, and the extra features of the prediction."""
        frames = self.transformation(x, lengths)
        own = self.transformation.output_lengths(lengths).to(x.device)
        return Features(torch.cat([frames, self.scores.extra_features(frames)], -1), own)

    def pair_distances(self, x: Features, y: Features) -> Tensor:
        """The distances of x[0] and y[0], x[1] and y[1] and so on, (item,); long pairs are computed in stripes."""
        at_once = STRIPE_NUMBERS // self.numbers_per_pair(x.values.shape[1], y.values.shape[1])
        if torch.is_grad_enabled() or len(x) <= at_once:
            return self._distances(x, y, paired_frame_distances)
        if len(x) > 1:
            some = [slice(first, first + max(1, at_once)) for first in range(0, len(x), max(1, at_once))]
            return torch.cat([self.pair_distances(x.take(part), y.take(part)) for part in some])
        forth = self._striped_distances(x, y)
        return (forth + self._striped_distances(y, x)) / 2 if self.symmetric else forth

    def numbers_per_pair(self, x_time: int, y_time: int) -> int:
        """The outputs of all layers for each pair of steps, with a margin."""
        return (x_time + 4) * (y_time + 4) * self.scores.numbers_per_step_pair() * (2 if self.symmetric else 1)

    def distance_matrix(self, x: Features, y: Features) -> Tensor:
        """The distances of all pairs, (item of x, item of y), in tiles of alike lengths."""
        return compute_in_tiles(
            self.distance_tile, x, y, self.numbers_per_pair, tile_numbers=TILE_NUMBERS, max_kept=MAX_KEPT_NUMBERS
        )

    def align_pairs(self, x: Features, y: Features) -> tuple[Tensor, Tensor]:
        """Distances (item,) from x to y and the attention A (item, n, m): each row sums to 1, padding is 0."""
        table = self._pair_table(x, y, paired_frame_distances)
        attention = self._attention(table, self._extra_distances(x, y, paired_frame_distances))
        if table.inside is not None:
            attention = attention * table.inside
        return _attention_cost(attention, table), attention.to(table.distances.dtype)

    def plan(self, x: Features, y: Features) -> Tensor:
        """The alignment T (item, n, m) that is predicted: its entries sum to 1, and ⟨T, D⟩ is the distance."""
        plan = self.align_pairs(x, y)[1] / x.lengths[:, None, None]
        if not self.symmetric:
            return plan
        return (plan + self.align_pairs(y, x)[1].mT / y.lengths[:, None, None]) / 2

    def norm_ratio(self, x: Features, y: Features) -> Tensor:
        """‖g‖ / ‖D‖ of each pair, (item,): how much the prediction departs from the distances (table 3).

        g is defined as −S − D, so that the ratio also exists for TAP-trans.
        """
        return self._pair_norm_ratios(x, y, paired_frame_distances)

    def norm_ratios(self, x: Features, y: Features) -> Tensor:
        """The same of all pairs, (item of x, item of y)."""

        def tile(some: Features, others: Features) -> Tensor:
            return self._pair_norm_ratios(some, others, pairwise_frame_distances).reshape(len(some), len(others))

        return compute_in_tiles(tile, x, y, self.numbers_per_pair)

    def _pair_norm_ratios(self, x: Features, y: Features, between: PairingFunction) -> Tensor:
        table = self._pair_table(x, y, between)
        change: Tensor = -self.scores(table, self._extra_distances(x, y, between)) - table.distances
        if table.inside is not None:
            change = change * table.inside
        both = change, table.distances
        size, base = (torch.linalg.vector_norm(part, dim=(1, 2), dtype=sum_dtype(part)) for part in both)
        ratio: Tensor = size / base.clamp(min=torch.finfo(base.dtype).tiny)
        return ratio.to(table.distances.dtype)

    def _split_features(self, x: Features) -> tuple[Tensor, Tensor]:
        n_frame = self.transformation.n_outputs
        return x.values[..., :n_frame], x.values[..., n_frame:]

    def _pair_table(self, x: Features, y: Features, between: PairingFunction) -> FramePairTable:
        n, m = x.lengths, y.lengths
        if between is pairwise_frame_distances:
            n, m = n.repeat_interleave(len(y)), m.repeat(len(x))
        return FramePairTable.from_distances(between(self._split_features(x)[0], self._split_features(y)[0]), n, m)

    def _extra_distances(
        self, x: Features, y: Features, between: PairingFunction, *, back: bool = False
    ) -> Tensor | None:
        return self.scores.extra_distances(self._split_features(x)[1], self._split_features(y)[1], between, back=back)

    def _attention(self, table: FramePairTable, apart: Tensor | None) -> Tensor:
        scores = self.scores(table, apart)
        if table.inside is not None:
            past = torch.arange(scores.shape[2], device=scores.device) >= table.y_lengths[:, None]
            scores = scores.masked_fill(past[:, None], -torch.inf)
        return torch.softmax(scores, -1, dtype=None if torch.is_grad_enabled() else sum_dtype(scores))

    def _distances(self, x: Features, y: Features, between: PairingFunction) -> Tensor:
        table = self._pair_table(x, y, between)
        forth = _attention_cost(self._attention(table, self._extra_distances(x, y, between)), table)
        if not self.symmetric:
            return forth
        table = table.transpose()
        return (
            forth + _attention_cost(self._attention(table, self._extra_distances(x, y, between, back=True)), table)
        ) / 2

    def _striped_distances(self, x: Features, y: Features) -> Tensor:
        """Distances computed in stripes of rows, to limit memory: a row of the attention depends on few others."""
        (frames, extra), (n, m) = self._split_features(x), (x.values.shape[1], y.values.shape[1])
        steps = max(1, STRIPE_NUMBERS // (len(x) * m * self.scores.numbers_per_step_pair()))
        total = x.values.new_zeros(len(x), dtype=sum_dtype(x.values))
        for start in range(0, n, steps):
            first = max(0, start - self.scores.reach)
            some, own = slice(first, start + steps + self.scores.reach), slice(start - first, start - first + steps)
            table = FramePairTable.from_distances(
                paired_frame_distances(frames[:, some], self._split_features(y)[0]), x.lengths, y.lengths, first
            )
            attention = self._attention(
                table, self.scores.extra_distances(extra[:, some], self._split_features(y)[1], paired_frame_distances)
            )
            total += (attention[:, own] * table.distances[:, own]).sum((1, 2), dtype=total.dtype)
        return (total / x.lengths).to(x.values.dtype)

    def distance_tile(self, x: Features, y: Features) -> Tensor:
        """The distances of all pairs, (item of x, item of y), at once."""
        if len(x) == len(y) == 1:
            return self.pair_distances(x, y)[:, None]
        return self._distances(x, y, pairwise_frame_distances).reshape(len(x), len(y))


def _attention_cost(attention: Tensor, table: FramePairTable) -> Tensor:
    """⟨A, D⟩ / n; padded rows have attention, but distance 0."""
    total = (attention * table.distances).sum((1, 2), dtype=sum_dtype(attention))
    return (total / table.x_lengths).to(table.distances.dtype)


class AlignmentScores(nn.Module, abc.ABC):
    """Similarities S (pair, n, m) of the steps of pairs; a softmax over a row is an attention."""

    n_extra_features: int = 0  # additional features per frame
    reach: int = 0  # number of rows before and after that a row depends on

    @abc.abstractmethod
    def numbers_per_step_pair(self) -> int:
        """The approximate memory for each pair of steps, in numbers."""

    def extra_features(self, frames: Tensor) -> Tensor:
        """The additional features (item, time, n_extra_features) of frames (item, time, feature)."""
        return frames[..., :0]

    def extra_distances(self, x: Tensor, y: Tensor, between: PairingFunction, *, back: bool = False) -> Tensor | None:
        """Distances of the additional features: (pair, n, m) from x to y, or (pair, m, n) from y to x with `back`."""
        return None

    @abc.abstractmethod
    def forward(self, table: FramePairTable, extra_distances: Tensor | None) -> Tensor:
        """S, with arbitrary finite numbers in the padding."""


class ConvolutionScores(AlignmentScores):
    """S = −(D + g(D, D_t)) with convolutions g over both as channels (Su & Wen, ICLR 2022, section 3.1).

    All layers but the last have `n_kernels` outputs and a ReLU. `last_relu` adds a ReLU after the last layer, as in the
    paper but not in the authors' code.

    >>> from timelike.metric.frame_transform import paired_frame_distances
    >>> x = torch.randn(4, 6, 2)
    >>> lengths = torch.tensor([6, 5, 6, 2]), torch.tensor([6, 6, 3, 1])
    >>> table = FramePairTable.from_distances(paired_frame_distances(x, x), *lengths)
    >>> ConvolutionScores(n_kernels=3)(table, None).shape
    torch.Size([4, 6, 6])
    """

    def __init__(
        self, sizes: tuple[int, ...] = KERNEL_SIZES["cnn"], *, n_kernels: int = 30, last_relu: bool = False
    ) -> None:
        super().__init__()
        widths = [2, *[check_int(n_kernels, "n_kernels", 1)] * (len(sizes) - 1), 1]
        self.layers = nn.ModuleList(
            nn.Conv2d(widths[i], widths[i + 1], size, padding=size // 2) for i, size in enumerate(sizes)
        )
        self.n_kernels, self.last_relu, self.reach = n_kernels, last_relu, sum(size // 2 for size in sizes)

    def numbers_per_step_pair(self) -> int:
        """The inputs and outputs of g, the values its gradients need, and in torch two layers at a time."""
        graded = torch.is_grad_enabled()
        if is_kernel_supported(self._convolution_stack().weights):
            return 16 + (self.n_kernels if graded else 0)
        return 32 + self.n_kernels * (len(self.layers) - 1 if graded else 2)

    def forward(self, table: FramePairTable, extra_distances: Tensor | None) -> Tensor:
        """−(D + g)."""
        return -(table.distances + self.correction(table))

    def correction(self, table: FramePairTable) -> Tensor:
        """g(D, D_t), (pair, n, m), 0 in the padding."""
        tables = PairTables(table.distances, table.positions, table.count_rows(), table.y_lengths)
        outputs = convolve_tables(self._convolution_stack(), tables, table.inside)
        return outputs.relu() if self.last_relu else outputs

    def _convolution_stack(self) -> ConvolutionStack[Tensor]:
        layers = [layer for layer in self.layers if isinstance(layer, nn.Conv2d)]
        biases = [layer.bias for layer in layers if layer.bias is not None]
        return ConvolutionStack([layer.weight for layer in layers], biases)


class AttentionScores(AlignmentScores):
    """S = −(‖W_q x_i − W_k y_j‖ / √30 + 50 D_t): TAP-trans (Su & Wen, ICLR 2022, appendix A.7).

    `width` is the 30 and `weight` the 50.

    >>> from timelike.metric.frame_transform import paired_frame_distances
    >>> scores, x = AttentionScores(2), torch.randn(4, 6, 2)
    >>> table = FramePairTable.from_distances(paired_frame_distances(x, x), torch.full((4,), 6), torch.full((4,), 6))
    >>> extra = scores.extra_features(x)
    >>> scores(table, scores.extra_distances(extra, extra, paired_frame_distances)).shape
    torch.Size([4, 6, 6])
    """

    def __init__(self, n_features: int, *, width: int = 30, weight: float = 50.0) -> None:
        super().__init__()
        self.query, self.key = (nn.Linear(n_features, width, bias=False) for _ in range(2))
        self.width, self.weight, self.n_extra_features = width, weight, 2 * width

    def numbers_per_step_pair(self) -> int:
        """A few matrices, in both precisions."""
        return 48

    def extra_features(self, frames: Tensor) -> Tensor:
        """The projections of frames as queries and as keys, side by side."""
        return torch.cat([self.query(frames), self.key(frames)], -1)

    def extra_distances(self, x: Tensor, y: Tensor, between: PairingFunction, *, back: bool = False) -> Tensor:
        """Distances of the queries of x and the keys of y; with `back` of the queries of y and the keys of x."""
        (x_query, x_key), (y_query, y_key) = x.chunk(2, -1), y.chunk(2, -1)
        return between(x_key, y_query).mT if back else between(x_query, y_key)

    def forward(self, table: FramePairTable, extra_distances: Tensor | None) -> Tensor:
        """−(D_s + λ D_t)."""
        assert extra_distances is not None
        return -(extra_distances / math.sqrt(self.width) + self.weight * table.positions)
