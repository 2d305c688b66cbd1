"""Convolutions over the tables of pairs: compiled where that is possible, else torch's, with gradients either way."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..native import convolve as compiled
from .frames import Table


def convolved(table: Table, layers: list[nn.Conv2d]) -> Tensor:
    """Distances and positions as two channels through all layers, to one (pair, n, m) that is 0 in the padding.

    A ReLU follows every layer but the last. To every layer the padding looks like the zeros beyond a matrix without it.
    """
    weights, biases = [layer.weight for layer in layers], [_bias(layer) for layer in layers]
    if not _compiles(table, weights):
        return _by_torch(table, weights, biases)
    if not torch.is_grad_enabled() or not any(part.requires_grad for part in (table.distances, *weights, *biases)):
        found, _ = compiled.forward(*_arrays(table, weights, biases), keep=False, threads=torch.get_num_threads())
        return torch.from_numpy(found)
    graded: Tensor = _Convolved.apply(*table, len(layers), *weights, *biases)[0]  # type: ignore[no-untyped-call]
    return graded


def _bias(layer: nn.Conv2d) -> Tensor:
    assert layer.bias is not None
    return layer.bias


def _compiles(table: Table, weights: list[Tensor]) -> bool:
    parts = (table.distances, *weights)
    plain = all(part.device.type == "cpu" and part.dtype == torch.float32 for part in parts)
    return plain and not torch.is_autocast_enabled("cpu") and compiled.able([weight.shape[2] for weight in weights])


def _by_torch(table: Table, weights: list[Tensor], biases: list[Tensor]) -> Tensor:
    # channels innermost: the order in which the convolutions are fastest
    z = torch.stack([table.distances, table.positions], -1).permute(0, 3, 1, 2)
    inside = None if table.inside is None else table.inside[:, None].to(z.dtype)
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        z = F.conv2d(z, weight, bias, padding=weight.shape[2] // 2)
        if inside is not None:
            z.mul_(inside)  # in place, as the ReLU: the backward pass needs only what the next layer reads
        z.relu_()
    found = _to_one(z, weights[-1]) + biases[-1]
    return found if inside is None else found * inside[:, 0]


def _to_one(z: Tensor, weight: Tensor) -> Tensor:
    """A convolution to one channel: every step times all taps as one product of matrices, then put where they belong.

    Kernels for convolutions compute a block of outputs at once, and of one output they waste most.
    """
    size = weight.shape[2]
    taps = weight[0].flip(1, 2).flatten(1).mT  # (tap, channel)
    spread = taps @ z.permute(0, 2, 3, 1).flatten(1, 2).mT
    return F.fold(spread, z.shape[2:], size, padding=size // 2)[:, 0]


class _Convolved(torch.autograd.Function):
    """The compiled layers, and what their gradients need; what is differentiated twice is torch's."""

    @staticmethod
    def forward(*given: Any) -> tuple[Tensor, Tensor, Tensor]:
        table, weights, biases = _taken_apart(given)
        found, kept = compiled.forward(*_arrays(table, weights, biases), keep=True, threads=torch.get_num_threads())
        assert kept is not None
        return torch.from_numpy(found), torch.from_numpy(kept.values), torch.from_numpy(kept.starts)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.plain = {place: part for place, part in enumerate(inputs) if not isinstance(part, Tensor)}
        # as tensors, so that a checkpoint can throw them away and make them again
        ctx.save_for_backward(*output[1:], *(part for part in inputs if isinstance(part, Tensor)))
        ctx.mark_non_differentiable(*output[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        values, starts, *tensors = ctx.saved_tensors
        saved = iter(tensors)
        given = [ctx.plain[place] if place in ctx.plain else next(saved) for place in range(len(ctx.needs_input_grad))]
        if torch.is_grad_enabled():  # somebody will ask for the gradient of this gradient
            return _gradients_in_torch(given, ctx.needs_input_grad, gradients[0])
        arrays, kept = _arrays(*_taken_apart(given)), compiled.Kept(values.numpy(), starts.numpy())
        outside = np.ascontiguousarray(gradients[0].numpy(force=True))
        out, (weights, biases) = compiled.backward(*arrays, kept, outside, threads=torch.get_num_threads())
        rest = len(given) - 1 - len(weights) - len(biases)
        return torch.from_numpy(out), *(None,) * rest, *map(torch.from_numpy, (*weights, *biases))


def _taken_apart(given: Any) -> tuple[Table, list[Tensor], list[Tensor]]:
    """Table, weights and biases from the fields of a table, the number of layers, weights and biases."""
    size = len(Table._fields)
    layers = given[size]
    return Table(*given[:size]), list(given[size + 1 : size + 1 + layers]), list(given[size + 1 + layers :])


def _gradients_in_torch(given: list[Any], needed: tuple[bool, ...], gradient: Tensor) -> tuple[Tensor | None, ...]:
    with torch.enable_grad():
        # views, because one tensor may be given twice
        views = [part.view_as(part) if isinstance(part, Tensor) else part for part in given]
        found = _by_torch(*_taken_apart(views))
        asked = [part for part, wanted in zip(views, needed, strict=True) if wanted]
        by_asked = iter(torch.autograd.grad(found, asked, gradient, create_graph=True))
    return tuple(next(by_asked) if wanted else None for wanted in needed)


def _arrays(table: Table, weights: list[Tensor], biases: list[Tensor]) -> tuple[compiled.Stack, compiled.Tables]:
    def plain(part: Tensor, dtype: Any = np.float32) -> Any:
        return np.ascontiguousarray(part.numpy(force=True), dtype)

    lengths = (plain(part, np.int64) for part in (table.rows(), table.y_lengths))
    stack = compiled.Stack([plain(part) for part in weights], [plain(part) for part in biases])
    return stack, compiled.Tables(plain(table.distances), plain(table.positions), *lengths)
