"""GRUs and LSTMs over padded sequences, on tensors: the kernels where they apply, otherwise the fallback."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from .. import recurrent
from ..machine import use_kernels
from . import Kind, PaddedBatch, RecurrentLayers, fallback


def last_states(cells: nn.RNNBase, x: Tensor, lengths: Tensor | None = None) -> Tensor:
    """The state (item, hidden) of the last layer after the last step of each sequence (item, time, channel).

    `cells` is an `nn.GRU` or `nn.LSTM`: its parameters are read, but it is not called.
    If lengths is None, all sequences have all steps. Values past a length affect neither values nor gradients.

    >>> cells = nn.GRU(2, 3, batch_first=True)
    >>> last_states(cells, torch.randn(4, 10, 2), torch.tensor([10, 1, 7, 2])).shape
    torch.Size([4, 3])
    """
    kind, layers = (
        cast(Kind, cells.mode.lower()),
        _layers_from_torch([part for layer in cells.all_weights for part in layer]),
    )
    if not _is_kernel_supported(layers, x, lengths):
        return fallback.last_states(kind, layers, x, lengths)
    flat = layers.weights + layers.biases
    own = torch.full((len(x),), x.shape[1]) if lengths is None else lengths
    if torch.is_grad_enabled() and any(part.requires_grad for part in (x, *flat)):
        graded: Tensor = _LastStates.apply(kind, own, x, *flat)[0]  # type: ignore[no-untyped-call]
        return graded
    states, _ = recurrent.forward(kind, *_to_arrays(layers, x, own), keep=False, threads=torch.get_num_threads())
    return torch.from_numpy(states)


def _layers_from_torch(flat: list[Tensor]) -> RecurrentLayers[Tensor]:
    """From torch's order: two weights and two biases for every layer."""
    return RecurrentLayers(
        [part for k, part in enumerate(flat) if k % 4 < 2], [part for k, part in enumerate(flat) if k % 4 >= 2]
    )


def _is_kernel_supported(layers: RecurrentLayers[Tensor], x: Tensor, lengths: Tensor | None) -> bool:
    parts = (x, *layers.weights, *layers.biases)
    plain = all(part.device.type == "cpu" and part.dtype == x.dtype for part in parts)
    if not plain or x.dtype not in (torch.float32, torch.float64) or torch.is_autocast_enabled("cpu"):
        return False
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():  # tensors without numbers
        return False
    # torch raises the error for input that does not fit
    fits = x.ndim == 3 and x.numel() > 0 and x.shape[2] == layers.weights[0].shape[1]
    return fits and (lengths is None or _is_within(lengths, x)) and use_kernels()


def _is_within(lengths: Tensor, x: Tensor) -> bool:
    if lengths.shape != x.shape[:1] or lengths.dtype != torch.int64:
        return False
    least, most = torch.aminmax(lengths)
    return int(least) >= 1 and int(most) <= x.shape[1]


class _LastStates(torch.autograd.Function):
    """The compiled layers, and what their gradients need; second derivatives go to the fallback."""

    @staticmethod
    def forward(kind: Kind, lengths: Tensor, x: Tensor, *flat: Tensor) -> tuple[Tensor, Tensor]:
        given = _to_arrays(_layers_from_flat(flat), x, lengths)
        states, kept = recurrent.forward(kind, *given, keep=True, threads=torch.get_num_threads())
        assert kept is not None
        return torch.from_numpy(states), torch.from_numpy(kept)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.kind, ctx.threads = inputs[0], torch.get_num_threads()  # backward may run in a thread with others
        ctx.save_for_backward(output[1], *inputs[1:])
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)  # else zeros are made for what is kept, as large as that

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
        needed = ctx.needs_input_grad[2:]
        if gradient is None:
            return None, None, *(None for _ in needed)
        kept, lengths, x, *flat = ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative will be taken
            return None, None, *_gradients_by_fallback(ctx.kind, lengths, [x, *flat], needed, gradient)
        given = _to_arrays(_layers_from_flat(flat), x, lengths)
        outside = np.ascontiguousarray(gradient.numpy(force=True))
        how = {"to_inputs": needed[0], "threads": ctx.threads}
        by_x, layer_gradients = recurrent.backward(ctx.kind, *given, kept.numpy(), outside, **how)
        to_x = None if by_x is None else torch.from_numpy(by_x)
        return None, None, to_x, *map(torch.from_numpy, (*layer_gradients.weights, *layer_gradients.biases))


def _layers_from_flat(flat: Any) -> RecurrentLayers[Tensor]:
    half = len(flat) // 2
    return RecurrentLayers(list(flat[:half]), list(flat[half:]))


def _gradients_by_fallback(
    kind: Kind, lengths: Tensor, given: list[Tensor], needed: tuple[bool, ...], gradient: Tensor
) -> tuple[Tensor | None, ...]:
    with torch.enable_grad():
        # views, because one tensor may be given twice
        x, *flat = (part.view_as(part) for part in given)
        states = fallback.last_states(kind, _layers_from_flat(flat), x, lengths)
        differentiated = [part for part, wanted in zip((x, *flat), needed, strict=True) if wanted]
        gradients = iter(torch.autograd.grad(states, differentiated, gradient, create_graph=True))
    return tuple(next(gradients) if wanted else None for wanted in needed)


def _to_arrays(
    layers: RecurrentLayers[Tensor], x: Tensor, lengths: Tensor
) -> tuple[RecurrentLayers[Any], PaddedBatch[Any]]:
    def plain(part: Tensor) -> Any:
        return np.ascontiguousarray(part.numpy(force=True))

    arrays = RecurrentLayers([plain(part) for part in layers.weights], [plain(part) for part in layers.biases])
    return arrays, PaddedBatch(plain(x), plain(lengths))
