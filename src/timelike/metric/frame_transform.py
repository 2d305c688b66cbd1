"""`FrameTransform`, the network h of single frames, and distances between the frames of padded sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..align.layers.costs import frame_costs
from ..core.parameters import check_bool, check_int
from ..core.validation.tensors import valid_mask
from .strided_convolutions import make_front

_FRONT_OUTPUTS = 32  # default outputs after convolutions, which have more channels than the sequences

PairingFunction = Callable[[Tensor, Tensor], Tensor]
"""How sequences of x are paired with those of y: `paired_frame_distances` or `pairwise_frame_distances`."""


class FramePairTable(NamedTuple):
    """The inputs of an alignment prediction for pairs of sequences, 0 in the padding.

    `distances` D and `positions` D_t (pair, n, m), the lengths of both sides (pair,), and a mask `inside` of the steps
    (pair, n, m), or None without padding. The first row is step `first` of x: a table may hold only some rows.
    """

    distances: Tensor
    positions: Tensor
    x_lengths: Tensor
    y_lengths: Tensor
    inside: Tensor | None
    first: int = 0

    @classmethod
    def from_distances(cls, distances: Tensor, x_lengths: Tensor, y_lengths: Tensor, first: int = 0) -> FramePairTable:
        """Build a table from distances with arbitrary padding."""
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

    def count_rows(self) -> Tensor:
        """The number of rows inside each pair, (pair,)."""
        return (self.x_lengths - self.first).clamp(0, self.distances.shape[1])

    def transpose(self) -> FramePairTable:
        """The same pairs with x and y exchanged; only for complete tables."""
        assert self.first == 0
        inside = None if self.inside is None else self.inside.mT
        return FramePairTable(self.distances.mT, self.positions.mT, self.y_lengths, self.x_lengths, inside)


def sum_dtype(x: Tensor) -> torch.dtype:
    """The dtype of sums: float64 where available, so that the order of summation does not matter after rounding."""
    return torch.float32 if x.device.type == "mps" else torch.float64  # MPS has no float64


def paired_frame_distances(x: Tensor, y: Tensor) -> Tensor:
    """Distances (item, n, m) of the frames of x[0] and y[0], x[1] and y[1] …; x is (item, n, feature), y likewise.

    >>> paired_frame_distances(torch.tensor([[[0.0, 0.0], [3.0, 4.0]]]), torch.tensor([[[0.0, 0.0]]]))
    tensor([[[0.],
             [5.]]])
    """
    return _euclidean_distances(x, y)


def pairwise_frame_distances(x: Tensor, y: Tensor) -> Tensor:
    """Distances (pair, n, m) of the frames of every x with every y, pairs in the order x[0] y[0], x[0] y[1] …"""
    (k, n), (p, m) = x.shape[:2], y.shape[:2]
    table = _euclidean_distances(x.reshape(k * n, -1), y.reshape(p * m, -1))
    return table.reshape(k, n, p, m).transpose(1, 2).reshape(k * p, n, m)


def to_full_precision(x: Tensor) -> Tensor:
    """Convert half precision to float32, because differences in half precision are mostly noise."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def _euclidean_distances(x: Tensor, y: Tensor) -> Tensor:
    """‖x_i − y_j‖, not squared, with gradient 0 for equal frames."""
    if to_full_precision(x) is not x:
        return _euclidean_distances(to_full_precision(x), to_full_precision(y)).to(x.dtype)
    if x.dtype != torch.float32 or sum_dtype(x) == torch.float32:
        return frame_costs("euclidean", x, y)
    # a matrix product is many times faster than differences; in double precision cancellation does not matter
    a, b = x.double(), y.double()
    sizes = a.square().sum(-1)[..., :, None] + b.square().sum(-1)[..., None, :]
    squares = sizes - 2 * (a @ b.mT)
    apart = squares > 1e-14 * sizes.detach()  # smaller distances are below the resolution of float32
    return squares.where(apart, 1.0).sqrt().where(apart, 0.0).float()


class FrameTransform(nn.Module):
    """h: a three-layer perceptron of each frame, optional self-attention, and normalization to length 1.

    The paper's h has as many outputs as inputs and does not mention a norm; the authors' code scales the output to
    length 1, which the thresholds of the losses (0.5) rely on. `normalize=False` leaves it out. A single number of
    length 1 would only be a sign, so the default is at least two outputs. Without perceptron and attention the frames
    are unchanged. With `front="strided"` convolutions come first (see `StridedConvolutions`): a frame then depends on
    earlier frames, and there are a quarter as many.

    >>> h = FrameTransform(3, hidden=8)
    >>> h(torch.randn(2, 5, 3), torch.tensor([5, 2])).detach().norm(dim=-1).round(decimals=4)
    tensor([[1., 1., 1., 1., 1.],
            [1., 1., 0., 0., 0.]])
    """

    def __init__(
        self,
        n_channels: int,
        *,
        hidden: int = 1024,
        n_outputs: int | None = None,
        normalize: bool = True,
        transform: bool = True,
        self_attention: bool = False,
        front: Literal["strided"] | None = None,
        strides: tuple[int, int] = (2, 2),
    ) -> None:
        super().__init__()
        self.n_channels = check_int(n_channels, "n_channels", 1)
        if front is not None and not transform:
            raise ValueError(f"front={front!r} with transform=False: there is no network of frames to read for")
        self.front = make_front(front, self.n_channels, strides)
        if self.front is not None:
            n_channels = self.front.n_outputs
        check_int(hidden, "hidden", 1)
        for name, flag in (("normalize", normalize), ("transform", transform), ("self_attention", self_attention)):
            check_bool(flag, name)
        if n_outputs is not None and not transform and n_outputs != n_channels:
            raise ValueError(f"n_outputs={n_outputs} with transform=False: the frames keep their {n_channels} channels")
        least = 2 if normalize and transform else 1
        usual = max(n_channels, least) if self.front is None else _FRONT_OUTPUTS
        self.n_outputs = usual if n_outputs is None else check_int(n_outputs, "n_outputs", 1)
        if self_attention and self.n_outputs == 1:
            raise ValueError("self_attention=True normalises frames of one number to zero: use n_outputs=2 or more")
        self.normalize = normalize and (transform or self_attention)
        self.perceptron = make_mlp(n_channels, hidden, self.n_outputs) if transform else None
        self.attention = SelfAttention(self.n_outputs) if self_attention else None

    def output_lengths(self, lengths: Tensor) -> Tensor:
        """The number of output frames for sequences of these lengths (item,)."""
        return lengths if self.front is None else self.front.output_lengths(lengths)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(item, time, channel) → (item, time', output), 0 past the last frame of each sequence."""
        if self.front is not None:
            x, lengths = self.front(x, lengths)
        steps = valid_mask(lengths, x.shape[1], x.device)
        frames = x.masked_fill(~steps[..., None], 0.0)  # a nan in the padding would reach the gradients of the weights
        if self.perceptron is not None:
            frames = self.perceptron(frames)
        if self.attention is not None:
            frames = self.attention(frames, steps)
        if self.normalize:
            large = frames.detach().abs().amax(-1, keepdim=True).clamp(min=1.0)  # large squares would overflow
            frames = F.normalize(frames / large, dim=-1, eps=1e-6)
        return frames.masked_fill(~steps[..., None], 0.0)


def make_mlp(n_in: int, hidden: int, n_out: int) -> nn.Sequential:
    """Three layers with ReLUs between them."""
    return nn.Sequential(
        nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, n_out)
    )


class SelfAttention(nn.Module):
    """Self-attention over the frames of a sequence: SA-TAP (Su & Wen, ICLR 2022, eq. 12–13).

    X_p = X + P with sinusoidal positions P, X_a = softmax(X_p W_q (X_p W_k)ᵀ / √d) X_p W_v, and the output is
    LN(X_a + X_p). One head, no biases.

    `scale` is the amplitude of the positions, which the paper does not state; 0.1 is that of the few-shot toolbox (TRX)
    adapted by the authors.

    >>> SelfAttention(4)(torch.randn(2, 5, 4), torch.ones(2, 5, dtype=torch.bool)).shape
    torch.Size([2, 5, 4])
    """

    def __init__(self, n_features: int, *, scale: float = 0.1) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(n_features, n_features, bias=False) for _ in range(3))
        self.norm = nn.LayerNorm(n_features)
        self.scale = scale

    def forward(self, x: Tensor, steps: Tensor) -> Tensor:
        """(item, time, feature) and a mask of the steps (item, time) → (item, time, feature)."""
        x = x + self.scale * sinusoidal_positions(x.shape[1], x.shape[2]).to(x)
        attended = F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), steps[:, None, :])
        normed: Tensor = self.norm(attended + x)
        return normed


def sinusoidal_positions(time: int, features: int) -> Tensor:
    """Positions (time, feature): sines and cosines of wavelengths from 2π to 10 000 · 2π (Vaswani et al., 2017).

    >>> sinusoidal_positions(2, 3)
    tensor([[0.0000, 1.0000, 0.0000],
            [0.8415, 0.5403, 0.0022]], dtype=torch.float64)
    """
    even = torch.arange(0, features, 2, dtype=torch.float64)
    angles = torch.arange(time, dtype=torch.float64)[:, None] * 10_000 ** (-even / features)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :features]
