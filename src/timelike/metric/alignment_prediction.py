"""How alike every step of one sequence is to every step of another: the networks that predict an alignment."""

from __future__ import annotations

import abc
import math
from typing import Literal

import torch
from torch import Tensor, nn

from ..sequences.arguments import whole
from .convolved import convolved
from .frame_distances import Between, Table

Variant = Literal["cnn", "l", "d", "attention"]
SIZES: dict[str, tuple[int, ...]] = {"cnn": (5, 5, 3), "l": (7, 7, 5), "d": (5, 5, 5, 3)}
"""Kernel sizes: the paper's, larger ones, and one layer more (Su & Wen, ICLR 2022, table 10)."""


class Scores(nn.Module, abc.ABC):
    """Similarities S (pair, n, m) of the steps of pairs; a softmax over a row is an attention."""

    n_extra: int = 0  # numbers of a frame that it needs beside those whose distances are taken
    reach: int = 0  # rows before and after that a row depends on

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
    authors' code has not: `last_relu`.

    >>> from timelike.metric.frame_distances import rowwise
    >>> x = torch.randn(4, 6, 2)
    >>> table = Table.of(rowwise(x, x), torch.tensor([6, 5, 6, 2]), torch.tensor([6, 6, 3, 1]))
    >>> Convolutions(kernels=3)(table, None).shape
    torch.Size([4, 6, 6])
    """

    def __init__(self, sizes: tuple[int, ...] = SIZES["cnn"], *, kernels: int = 30, last_relu: bool = False) -> None:
        super().__init__()
        widths = [2, *[whole(kernels, "kernels", 1)] * (len(sizes) - 1), 1]
        self.layers = nn.ModuleList(
            nn.Conv2d(widths[i], widths[i + 1], size, padding=size // 2) for i, size in enumerate(sizes)
        )
        self.kernels, self.last_relu, self.reach = kernels, last_relu, sum(size // 2 for size in sizes)

    def room(self) -> int:
        """Two layers, one made of the other, or all that the gradients need; and what is there before and after."""
        layers = len(self.layers) - 1 if torch.is_grad_enabled() else 2
        return layers * self.kernels + 32

    def forward(self, table: Table, apart: Tensor | None) -> Tensor:
        """−(D + g)."""
        return -(table.distances + self.correction(table))

    def correction(self, table: Table) -> Tensor:
        """g(D, D_t), (pair, n, m), 0 in the padding."""
        found = convolved(table, [layer for layer in self.layers if isinstance(layer, nn.Conv2d)])
        return found.relu() if self.last_relu else found


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
        return 48

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
