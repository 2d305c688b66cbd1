"""`AlignedFramesNetwork`: a network h of frames, and a differentiable aligner that compares its outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ... import align
from ...align.layers import OPW, OT, TCOT, Sinkhorn, SoftDTW, TransportOutput
from ...core.parameters import check_bool
from ..distance_network import AlignmentNetwork, DistanceNetwork, Features
from ..frame_transform import FrameTransform
from ..tap.network import TAPNetwork

ALIGNERS_BY_NAME: dict[str, Callable[[int], nn.Module]] = {
    "softdtw": lambda n: SoftDTW(),
    "opw": lambda n: OPW(),
    "tcot": lambda n: TCOT(),
    "sinkhorn": lambda n: Sinkhorn(),
    "tap": lambda n: TAPNetwork(n, transform=False),
}


ALIGNER_LAYERS: dict[type[align.Aligner], Callable[..., nn.Module]] = {
    align.SoftDTW: SoftDTW,
    align.OPW: OPW,
    align.TCOT: TCOT,
    align.Sinkhorn: Sinkhorn,
    align.OT: OT,
}


class AlignedFramesNetwork(AlignmentNetwork):
    """d(x, y) = aligner(h(x), h(y)), such as HM+SoftDTW (Su & Wen, TAP, ICLR 2022, table 1).

    Parameters
    ----------
    n_channels : int
        Channels of the sequences.
    aligner : {"softdtw", "opw", "tcot", "sinkhorn", "tap"}, Aligner, DistanceNetwork or Module
        An aligner, such as `tl.SoftDTW(gamma=0.1)`, selects the layer of that name with the same options. A module is
        called as `aligner(x, y, x_lengths, y_lengths)` with (item, time, output) and returns the distances (item,), or
        a record with `cost` and `plan`: `nn.SoftDTW(gamma=0.1)`, `nn.OPW(deviation=2.0)`.
    hidden, n_outputs, normalize, transform, self_attention, front, strides
        The transformation h, see `FrameTransform`.
    symmetric : bool, optional
        Whether a module of your own is symmetric; needed only for such modules.

    Examples
    --------
    >>> import torch
    >>> from timelike.metric import AlignedFramesNetwork
    >>> metric = AlignedFramesNetwork(3, aligner="softdtw", hidden=16)
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
        if isinstance(aligner, str) and aligner not in ALIGNERS_BY_NAME:
            raise ValueError(
                f"aligner={aligner!r}: expected a module or one of {', '.join(map(repr, ALIGNERS_BY_NAME))}"
            )
        if not isinstance(aligner, (str, nn.Module, *ALIGNER_LAYERS)):
            names = ", ".join(kind.__name__ for kind in ALIGNER_LAYERS)
            raise TypeError(f"aligner={aligner!r}: expected a module, a word, or one of {names}, which have gradients")
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
        n = self.transformation.n_outputs
        self.aligner: nn.Module = ALIGNERS_BY_NAME[aligner](n) if isinstance(aligner, str) else _aligner_layer(aligner)
        self.n_channels = self.transformation.n_channels
        self.symmetric = _is_symmetric(self.aligner) if symmetric is None else check_bool(symmetric, "symmetric")

    def features(self, x: Tensor, lengths: Tensor) -> Features:
        """h of each frame, and the features of the aligner if it is a network."""
        frames, lengths = self.transformation(x, lengths), self.transformation.output_lengths(lengths).to(x.device)
        return (
            self.aligner.features(frames, lengths)
            if isinstance(self.aligner, DistanceNetwork)
            else Features(frames, lengths)
        )

    def pair_distances(self, x: Features, y: Features) -> Tensor:
        """The aligner's distances of x[0] and y[0], x[1] and y[1] and so on, (item,)."""
        if isinstance(self.aligner, DistanceNetwork):
            return self.aligner.pair_distances(x, y)
        output = self.aligner(x.values, y.values, x.lengths, y.lengths)
        distances: Tensor = output if isinstance(output, Tensor) else output.cost
        return distances

    def distance_tile(self, x: Features, y: Features) -> Tensor:
        """The distances of all pairs, (item of x, item of y), computed as one batch of pairs."""
        if isinstance(self.aligner, DistanceNetwork):
            return self.aligner.distance_matrix(x, y)
        first, second = (torch.arange(len(side), device=side.values.device) for side in (x, y))
        pairs = x.take(first.repeat_interleave(len(y))), y.take(second.repeat(len(x)))
        return self.pair_distances(*pairs).reshape(len(x), len(y))

    def numbers_per_pair(self, x_time: int, y_time: int) -> int:
        """The frames of both sequences, and a few matrices."""
        if isinstance(self.aligner, DistanceNetwork):
            return self.aligner.numbers_per_pair(x_time, y_time)
        return 1 + 8 * x_time * y_time + (x_time + y_time) * self.transformation.n_outputs

    def align_pairs(self, x: Features, y: Features) -> tuple[Tensor, Tensor]:
        """Distances (item,), and the alignment (item, n, m).

        For soft-DTW the expected alignment, in which each step of the path counts 1; for transport the plan, with rows
        that sum to 1.
        """
        if isinstance(self.aligner, AlignmentNetwork):
            return self.aligner.align_pairs(x, y)
        padded_pair = x.values, y.values, x.lengths, y.lengths
        if isinstance(self.aligner, SoftDTW):
            return self.aligner(*padded_pair), self.aligner.alignment(*padded_pair)
        output = self.aligner(*padded_pair)
        if not isinstance(output, TransportOutput):
            raise TypeError(f"{type(self.aligner).__name__} gives distances only: it has no alignment to return")
        return output.cost, output.plan * x.lengths[:, None, None]

    def plan(self, x: Features, y: Features) -> Tensor:
        """The alignment (item, n, m), whose entries sum to 1."""
        return self.aligner.plan(x, y) if isinstance(self.aligner, AlignmentNetwork) else super().plan(x, y)


def _aligner_layer(aligner: Any) -> nn.Module:
    kind = ALIGNER_LAYERS.get(type(aligner))
    if kind is None:
        module: nn.Module = aligner
        return module
    return kind(**{field.name: getattr(aligner, field.name) for field in fields(aligner) if field.init})


def _is_symmetric(aligner: nn.Module) -> bool:
    if isinstance(aligner, DistanceNetwork):
        return aligner.symmetric
    return isinstance(aligner, SoftDTW | OPW | TCOT | Sinkhorn | OT)
