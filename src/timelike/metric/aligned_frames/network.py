"""Aligned: the network h of frames, and an aligner with a gradient that compares what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ... import align
from ...align.layers import OPW, OT, TCOT, Sinkhorn, SoftDTW, Transport
from ...sequences.arguments import flag
from ..comparer import Aligning, Comparer, Features
from ..frames import Transformation
from ..tap.network import TAPNetwork

ALIGNERS: dict[str, Callable[[int], nn.Module]] = {
    "softdtw": lambda n: SoftDTW(),
    "opw": lambda n: OPW(),
    "tcot": lambda n: TCOT(),
    "sinkhorn": lambda n: Sinkhorn(),
    "tap": lambda n: TAPNetwork(n, transform=False),
}


LAYERS: dict[type[align.Aligner], Callable[..., nn.Module]] = {
    align.SoftDTW: SoftDTW,
    align.OPW: OPW,
    align.TCOT: TCOT,
    align.Sinkhorn: Sinkhorn,
    align.OT: OT,
}


class Aligned(Aligning):
    """d(x, y) = aligner(h(x), h(y)): HM+SoftDTW and its like (Su & Wen, TAP, ICLR 2022, table 1) are one line each.

    Parameters
    ----------
    n_channels : int
        Of the sequences.
    aligner : {"softdtw", "opw", "tcot", "sinkhorn", "tap"}, Aligner, Comparer or Module
        An aligner, such as `tl.SoftDTW(gamma=0.1)`, stands for the layer of that name with the same options.
        A module is called as `aligner(x, y, x_lengths, y_lengths)` with (item, time, output) and gives the distances
        (item,), or a record with `cost` and `plan`: `nn.SoftDTW(gamma=0.1)`, `nn.OPW(deviation=2.0)`.
    hidden, n_outputs, normalize, transform, self_attention, front, strides
        The transformation h, see `Transformation`.
    symmetric : bool, optional
        Whether a module of your own gives the same for y and x; the ones named above know.

    Examples
    --------
    >>> import torch
    >>> from timelike.metric import Aligned
    >>> metric = Aligned(3, aligner="softdtw", hidden=16)
    >>> metric(torch.randn(2, 9, 3), torch.randn(2, 7, 3)).shape
    torch.Size([2])
    """

    def __init__(
        self,
        n_channels: int,
        *,
        aligner: str | align.Aligner | nn.Module = "softdtw",
        hidden: int = 1024,
        n_outputs: int | None = None,
        normalize: bool = True,
        transform: bool = True,
        self_attention: bool = False,
        front: Literal["strided"] | None = None,
        strides: tuple[int, int] = (2, 2),
        symmetric: bool | None = None,
    ) -> None:
        super().__init__()
        if isinstance(aligner, str) and aligner not in ALIGNERS:
            raise ValueError(f"aligner={aligner!r}: expected a module or one of {', '.join(map(repr, ALIGNERS))}")
        if not isinstance(aligner, (str, nn.Module, *LAYERS)):
            known = ", ".join(kind.__name__ for kind in LAYERS)
            raise TypeError(f"aligner={aligner!r}: expected a module, a word, or one of {known}, which have gradients")
        self.transformation = Transformation(
            n_channels,
            hidden=hidden,
            n_outputs=n_outputs,
            normalize=normalize,
            transform=transform,
            self_attention=self_attention,
            front=front,
            strides=strides,
        )
        n = self.transformation.n_outputs
        self.aligner: nn.Module = ALIGNERS[aligner](n) if isinstance(aligner, str) else _layer(aligner)
        self.n_channels = self.transformation.n_channels
        self.symmetric = _symmetric(self.aligner) if symmetric is None else flag(symmetric, "symmetric")

    def features(self, x: Tensor, lengths: Tensor) -> Features:
        """h of every frame, and what the aligner does with each sequence alone."""
        frames, lengths = self.transformation(x, lengths), self.transformation.frames(lengths).to(x.device)
        return (
            self.aligner.features(frames, lengths) if isinstance(self.aligner, Comparer) else Features(frames, lengths)
        )

    def rows(self, x: Features, y: Features) -> Tensor:
        """The aligner's distances of x[0] and y[0], x[1] and y[1] and so on, (item,)."""
        if isinstance(self.aligner, Comparer):
            return self.aligner.rows(x, y)
        found = self.aligner(x.values, y.values, x.lengths, y.lengths)
        distances: Tensor = found if isinstance(found, Tensor) else found.cost
        return distances

    def tile(self, x: Features, y: Features) -> Tensor:
        """Side by side, every x with every y."""
        if isinstance(self.aligner, Comparer):
            return self.aligner.matrix(x, y)
        first, second = (torch.arange(len(side), device=side.values.device) for side in (x, y))
        pairs = x.take(first.repeat_interleave(len(y))), y.take(second.repeat(len(x)))
        return self.rows(*pairs).reshape(len(x), len(y))

    def footprint(self, x_time: int, y_time: int) -> int:
        """Frames side by side, and a few matrices."""
        if isinstance(self.aligner, Comparer):
            return self.aligner.footprint(x_time, y_time)
        return 1 + 8 * x_time * y_time + (x_time + y_time) * self.transformation.n_outputs

    def attend(self, x: Features, y: Features) -> tuple[Tensor, Tensor]:
        """Distances (item,), and the alignment (item, n, m).

        Of soft-DTW the expected one, in which steps on the way count 1; of transport the plan with rows that sum to 1.
        """
        if isinstance(self.aligner, Aligning):
            return self.aligner.attend(x, y)
        given = x.values, y.values, x.lengths, y.lengths
        if isinstance(self.aligner, SoftDTW):
            return self.aligner(*given), self.aligner.alignment(*given)
        found = self.aligner(*given)
        if not isinstance(found, Transport):
            raise TypeError(f"{type(self.aligner).__name__} gives distances only: it has no alignment to look at")
        return found.cost, found.plan * x.lengths[:, None, None]

    def plan(self, x: Features, y: Features) -> Tensor:
        """The alignment (item, n, m), whose entries sum to 1."""
        return self.aligner.plan(x, y) if isinstance(self.aligner, Aligning) else super().plan(x, y)


def _layer(aligner: Any) -> nn.Module:
    kind = LAYERS.get(type(aligner))
    if kind is None:
        found: nn.Module = aligner
        return found
    return kind(**{field.name: getattr(aligner, field.name) for field in fields(aligner) if field.init})


def _symmetric(aligner: nn.Module) -> bool:
    if isinstance(aligner, Comparer):
        return aligner.symmetric
    return isinstance(aligner, SoftDTW | OPW | TCOT | Sinkhorn | OT)
