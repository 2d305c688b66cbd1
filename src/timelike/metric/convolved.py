"""Convolutions over the tables of pairs: compiled where that is possible, else torch's, with gradients either way."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..native import convolve as compiled
from .frame_distances import Table


def convolved(table: Table, layers: list[nn.Conv2d]) -> Tensor:
    """Distances and positions as two channels through all layers, to one (pair, n, m) that is 0 in the padding.

    A ReLU follows every layer but the last. To every layer the padding looks like the zeros beyond a matrix without it.
    """
    weights, biases = [layer.weight for layer in layers], [_bias(layer) for layer in layers]
    if _compiles(table, weights):
        found: Tensor = _Convolved.apply(table, len(layers), table.distances, *weights, *biases)  # type: ignore[no-untyped-call]
        return found
    return _by_torch(table, weights, biases)


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
    """The compiled layers; what is differentiated twice is torch's."""

    @staticmethod
    def forward(ctx: Any, table: Table, layers: int, distances: Tensor, *parameters: Tensor) -> Tensor:
        keep = any(ctx.needs_input_grad)
        stack, tables = _arrays(table, layers, parameters)
        found, kept = compiled.forward(stack, tables, keep=keep, threads=torch.get_num_threads())
        ctx.rest, ctx.layers = table[1:], layers
        # as tensors, so that a checkpoint can throw them away and make them again
        ctx.save_for_backward(*map(torch.from_numpy, kept or ()), distances, *parameters)
        return torch.from_numpy(found)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        values, starts, distances, *parameters = ctx.saved_tensors
        table, layers = Table(distances, *ctx.rest), ctx.layers
        if torch.is_grad_enabled():
            found = _by_torch(table, list(parameters[:layers]), list(parameters[layers:]))
            asked = [part for part in (distances, *parameters) if part.requires_grad]
            given = iter(torch.autograd.grad(found, asked, gradients[0], create_graph=True))
            return None, None, *(next(given) if part.requires_grad else None for part in (distances, *parameters))
        stack, tables = _arrays(table, layers, parameters)
        outside = np.ascontiguousarray(gradients[0].numpy(force=True))
        kept = compiled.Kept(values.numpy(), starts.numpy())
        out, weights, biases = compiled.backward(stack, tables, kept, outside, threads=torch.get_num_threads())
        return None, None, *map(torch.from_numpy, (out, *weights, *biases))


def _arrays(table: Table, layers: int, parameters: Any) -> tuple[compiled.Stack, compiled.Tables]:
    arrays = [np.ascontiguousarray(part.numpy(force=True)) for part in parameters]
    sides = (table.distances, table.positions)
    distances, positions = (np.ascontiguousarray(part.numpy(force=True)) for part in sides)
    lengths = (np.ascontiguousarray(part.numpy(force=True), np.int64) for part in (table.rows(), table.y_lengths))
    return compiled.Stack(arrays[:layers], arrays[layers:]), compiled.Tables(distances, positions, *lengths)
