"""States moved over many steps by residual perceptrons, and gradients of weights from one product for all steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .codecs.mlp import MLPNetwork

_relu_backward = (
    torch.ops.aten.threshold_backward.grad_input
)  # the gradient where a ReLU was open, into memory that is there


class UnrollPlan(NamedTuple):
    """How states are moved: `n_substeps` of a step, `n_repeats` of them by each block, a frame after `frame_stride` of
    them.
    """

    n_substeps: int
    n_repeats: int
    frame_stride: int
    n_blocks: int
    n_layers: int

    def weight_slice(self, part: int) -> slice:
        """Where the weights of the block stand that moves a part."""
        begin = 2 * self.n_layers * ((part % self.n_substeps // self.n_repeats) % self.n_blocks)
        return slice(begin, begin + 2 * self.n_layers, 2)

    def block_rows(self, kept: Tensor, block: int) -> Tensor:
        """What a block did, in rows, of (part of any step, item, number)."""
        if self.n_blocks > 1:
            kept = kept.reshape(-1, self.n_blocks, self.n_repeats, *kept.shape[1:])[:, block]
        return kept.reshape(-1, kept.shape[-1])


def can_unroll(blocks: Iterable[nn.Module], y: Tensor) -> bool:
    """Whether this is training, of vectors, and in one precision: else what is kept for gradients is only a burden."""
    plain = all(isinstance(block, MLPNetwork) and block.shortcut is None for block in blocks)
    return plain and y.ndim == 2 and torch.is_grad_enabled() and not torch.is_autocast_enabled(y.device.type)


def unroll_states(
    blocks: Iterable[nn.Module], y: Tensor, spans: Tensor, forcing: Tensor | None, parts: int, n_parts: int, frames: int
) -> Tensor:
    """States (batch, step × frames, number) as `Residual` gives them, y ← y + span · block(y)."""
    own = [[layer for layer in block.modules() if isinstance(layer, nn.Linear)] for block in blocks]
    walk = UnrollPlan(parts, parts // n_parts, parts // frames, len(own), len(own[0]))
    weights = [number for layers in own for layer in layers for number in (layer.weight, layer.bias)]
    found: Tensor = _UnrollFunction.apply(walk, y, spans, forcing, *weights)  # type: ignore[no-untyped-call]
    return found


class _UnrollFunction(torch.autograd.Function):
    """Autograd would multiply, sum and add up the gradients of every weight once for every step."""

    @staticmethod
    def forward(
        ctx: Any, walk: UnrollPlan, y: Tensor, spans: Tensor, forcing: Tensor | None, *weights: Tensor
    ) -> Tensor:
        n_state, shares = y.shape[1], _substep_shares(walk, spans)
        states = y.new_empty(len(shares) + 1, *y.shape)
        states[0] = y
        widths = [weight.shape[1] for weight in weights[walk.weight_slice(0)]]
        seen = [y.new_empty(len(shares), len(y), width) for width in widths[1:]]  # what later layers are given
        first = states[:-1]
        if forcing is not None:
            first = y.new_empty(len(shares), len(y), widths[0])
            first[..., n_state:] = forcing.transpose(0, 1).repeat_interleave(walk.n_substeps, dim=0)
        maps = [weight.t() if weight.ndim == 2 else weight for weight in weights]
        places, inputs = states.unbind(0), [one.unbind(0) for one in (first, *seen)]
        out = torch.empty_like(y)
        for part, share in enumerate(shares):
            own = walk.weight_slice(part)
            if forcing is not None:
                inputs[0][part][:, :n_state] = places[part]
            for layer, (weight, before) in enumerate(zip(maps[own], inputs, strict=True)):
                last = layer == walk.n_layers - 1
                after = out if last else inputs[layer + 1][part]
                torch.addmm(maps[own.start + 2 * layer + 1], before[part], weight, out=after)
                if not last:
                    after.relu_()
            torch.addcmul(places[part], share, out, out=places[part + 1])
        ctx.walk = walk
        ctx.save_for_backward(spans, *weights, first, *seen)
        return states[walk.frame_stride :: walk.frame_stride].transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *given: Any) -> Any:
        walk: UnrollPlan = ctx.walk
        spans, *kept = ctx.saved_tensors
        weights, seen = kept[: -walk.n_layers], kept[-walk.n_layers :]
        back, shares = given[0].transpose(0, 1).unbind(0), _substep_shares(walk, spans)
        n_state, y = back[0].shape[1], torch.zeros_like(back[0])
        forces: Tensor | None = spans.new_zeros(spans.shape[1], len(y), seen[0].shape[2] - n_state)
        if not ctx.needs_input_grad[3]:
            forces = None
        moved = [one.new_empty(*seen[0].shape[:2], len(one)) for one in weights[walk.weight_slice(0)]]
        inputs, outputs = [one.unbind(0) for one in seen], [one.unbind(0) for one in moved]
        for part in reversed(range(len(shares))):
            if (part + 1) % walk.frame_stride == 0:
                y = y + back[part // walk.frame_stride]
            own = weights[walk.weight_slice(part)]
            grad = torch.mul(shares[part], y, out=outputs[-1][part])
            for layer in reversed(range(1, walk.n_layers)):
                grad = _relu_backward(grad @ own[layer], inputs[layer][part], 0, grad_input=outputs[layer - 1][part])
            first = grad @ own[0]
            y = y + first[:, :n_state]
            if forces is not None:
                forces[part // walk.n_substeps] += first[:, n_state:]
        grads: list[Tensor] = []
        for block in range(walk.n_blocks):
            for before, after in zip(seen, moved, strict=True):
                rows = walk.block_rows(after, block)
                grads += [rows.t() @ walk.block_rows(before, block), rows.sum(dim=0)]
        return None, y, None, None if forces is None else forces.transpose(0, 1), *grads


def _substep_shares(walk: UnrollPlan, spans: Tensor) -> tuple[Tensor, ...]:
    """How much of a block each part of each step is, (item, 1) each."""
    return (spans.t() / walk.n_repeats).repeat_interleave(walk.n_substeps, dim=0)[..., None].unbind(0)
