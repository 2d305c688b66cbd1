"""How alike every step of one sequence is to every step of another: the networks that predict an alignment."""

from __future__ import annotations

import abc
import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..sequences.arguments import whole
from .frame_distances import Between, Table

Variant = Literal["cnn", "l", "d", "attention"]
SIZES: dict[str, tuple[int, ...]] = {"cnn": (5, 5, 3), "l": (7, 7, 5), "d": (5, 5, 5, 3)}
"""Kernel sizes: the paper's, larger ones, and one layer more (Su & Wen, ICLR 2022, table 10)."""


class Scores(nn.Module, abc.ABC):
    """Similarities S (pair, n, m) of the steps of pairs; a softmax over a row is an attention."""

    n_extra: int = 0  # numbers of a frame that it needs beside those whose distances are taken

    @abc.abstractmethod
    def room(self) -> int:
        """About how many numbers there are for each pair of steps."""

    def extra(self, frames: Tensor) -> Tensor:
        """These numbers, (item, time, n_extra), from frames (item, time, feature)."""
        return frames[..., :0]

    def apart(self, x: Tensor, y: Tensor, between: Between, *, back: bool = False) -> Tensor | None:
        """What else is computed from these numbers of x and y: (pair, n, m) for x to y, (pair, m, n) for y to x."""
        return None

    @abc.abstractmethod
    def forward(self, table: Table, apart: Tensor | None) -> Tensor:
        """S, anything finite in the padding."""


class Convolutions(Scores):
    """S = −(D + g(D, D_t)) with convolutions g over both as channels (Su & Wen, ICLR 2022, section 3.1).

    All layers but the last have `kernels` outputs and a ReLU. The paper has one after the last layer as well, the
    authors' code has not: `last_relu`. To every layer the padding looks like the zeros beyond a matrix without it.

    >>> from timelike.metric.frame_distances import rowwise
    >>> x = torch.randn(4, 6, 2)
    >>> table = Table.of(rowwise(x, x), torch.tensor([6, 5, 6, 2]), torch.tensor([6, 6, 3, 1]))
    >>> Convolutions(kernels=3)(table, None).shape
    torch.Size([4, 6, 6])
    """

    at_once: int = 1 << 24  # numbers of a stripe of one long pair

    def __init__(self, sizes: tuple[int, ...] = SIZES["cnn"], *, kernels: int = 30, last_relu: bool = False) -> None:
        super().__init__()
        widths = [2, *[whole(kernels, "kernels", 1)] * (len(sizes) - 1), 1]
        self.layers = nn.ModuleList(
            nn.Conv2d(widths[i], widths[i + 1], size, padding=size // 2) for i, size in enumerate(sizes)
        )
        self.kernels, self.last_relu = kernels, last_relu

    def room(self) -> int:
        """Two layers, one made of the other, and what is there before and after."""
        return 2 * self.kernels + 12

    def forward(self, table: Table, apart: Tensor | None) -> Tensor:
        """−(D + g)."""
        return -(table.distances + self.correction(table))

    def correction(self, table: Table) -> Tensor:
        """g(D, D_t), (pair, n, m), 0 in the padding; without gradients in stripes of rows, if it is long."""
        pairs, n, m = table.distances.shape
        steps = max(1, self.at_once // (pairs * m * self.room()))
        if torch.is_grad_enabled() or n <= steps:
            return self._convolved(table)
        reach = sum(int(layer.kernel_size[0]) // 2 for layer in self._convolutions())
        found = []
        for start in range(0, n, steps):
            first = max(0, start - reach)
            stripe = self._convolved(table.stripe(first, start + steps + reach))
            found.append(stripe[:, start - first : start - first + steps])
        return torch.cat(found, 1)

    def _convolutions(self) -> list[nn.Conv2d]:
        return [layer for layer in self.layers if isinstance(layer, nn.Conv2d)]

    def _convolved(self, table: Table) -> Tensor:
        # channels innermost: the order in which the convolutions are fastest
        z = torch.stack([table.distances, table.positions], -1).permute(0, 3, 1, 2)
        inside = None if table.inside is None else table.inside[:, None].to(z.dtype)
        *layers, last = self._convolutions()
        for layer in layers:
            z = layer(z)
            if inside is not None:
                z.mul_(inside)  # in place, as the ReLU: the backward pass needs only what the next layer reads
            z.relu_()
        found = _to_one(z, last)
        if inside is not None:
            found = found * inside[:, 0]
        return found.relu() if self.last_relu else found


def _to_one(z: Tensor, layer: nn.Conv2d) -> Tensor:
    """A convolution to one channel: every step times all taps as one product of matrices, then put where they belong.

    Kernels for convolutions compute a block of outputs at once, and of one output they waste most.
    """
    assert layer.bias is not None
    size = layer.kernel_size[0]
    taps = layer.weight[0].flip(1, 2).flatten(1).mT  # (tap, channel)
    spread = taps @ z.permute(0, 2, 3, 1).flatten(1, 2).mT
    return F.fold(spread, z.shape[2:], size, padding=size // 2)[:, 0] + layer.bias


class Attention(Scores):
    """S = −(‖W_q x_i − W_k y_j‖ / √30 + 50 D_t): TAP-trans (Su & Wen, ICLR 2022, appendix A.7).

    `width` is the 30 and `weight` the 50.

    >>> from timelike.metric.frame_distances import rowwise
    >>> scores, x = Attention(2), torch.randn(4, 6, 2)
    >>> table = Table.of(rowwise(x, x), torch.full((4,), 6), torch.full((4,), 6))
    >>> scores(table, scores.apart(scores.extra(x), scores.extra(x), rowwise)).shape
    torch.Size([4, 6, 6])
    """

    def __init__(self, n_features: int, *, width: int = 30, weight: float = 50.0) -> None:
        super().__init__()
        self.query, self.key = (nn.Linear(n_features, width, bias=False) for _ in range(2))
        self.width, self.weight, self.n_extra = width, weight, 2 * width

    def room(self) -> int:
        """A few matrices, in both precisions."""
        return 20

    def extra(self, frames: Tensor) -> Tensor:
        """As the one that asks, and as the one that is asked."""
        return torch.cat([self.query(frames), self.key(frames)], -1)

    def apart(self, x: Tensor, y: Tensor, between: Between, *, back: bool = False) -> Tensor:
        """Distances of what x asks and y answers; or of what y asks and x answers."""
        (x_query, x_key), (y_query, y_key) = x.chunk(2, -1), y.chunk(2, -1)
        return between(x_key, y_query).mT if back else between(x_query, y_key)

    def forward(self, table: Table, apart: Tensor | None) -> Tensor:
        """−(D_s + λ D_t)."""
        assert apart is not None
        return -(apart / math.sqrt(self.width) + self.weight * table.positions)
