"""Convolutions over tables of pairs, on tensors: the kernels where they apply, otherwise the fallback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import convolve
from . import ConvolutionActivations, ConvolutionStack, PairTables, fallback


def convolve_tables(stack: ConvolutionStack[Tensor], tables: PairTables[Tensor], inside: Tensor | None) -> Tensor:
    """Distances and positions as two channels through all layers, to one (pair, n, m) that is 0 in the padding.

    A ReLU follows every layer except the last. Every layer sees zeros in the padding, as beyond the border of a matrix.
    `inside` (pair, n, m) is the mask of steps, None if there is no padding.
    """
    if not is_kernel_supported([*stack.weights, tables.distances]):
        return fallback.forward(stack, tables, inside)
    weights, biases = stack
    if not torch.is_grad_enabled() or not any(part.requires_grad for part in (tables.distances, *weights, *biases)):
        outputs, _ = convolve.forward(*_to_arrays(stack, tables), keep=False, threads=torch.get_num_threads())
        return torch.from_numpy(outputs)
    graded: Tensor = _ConvolveTables.apply(*tables, inside, *weights, *biases)[0]  # type: ignore[no-untyped-call]
    return graded


def is_kernel_supported(parts: Sequence[Tensor]) -> bool:
    """Whether the kernels support these weights and, if given, tables."""
    plain = all(part.device.type == "cpu" and part.dtype == torch.float32 for part in parts)
    sizes = [part.shape[2] for part in parts if part.ndim == 4]
    # mixed precision is a wish for fewer digits and torch's own convolutions
    return plain and not torch.is_autocast_enabled("cpu") and convolve.has_kernels(sizes)


class _ConvolveTables(torch.autograd.Function):
    """The compiled layers, and what their gradients need; second derivatives go to the fallback."""

    @staticmethod
    def forward(*given: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        stack, tables, _ = _from_flat(given)
        outputs, kept = convolve.forward(*_to_arrays(stack, tables), keep=True, threads=torch.get_num_threads())
        assert kept is not None
        return torch.from_numpy(outputs), torch.from_numpy(kept.values), torch.from_numpy(kept.starts)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor | None, ...], output: tuple[Tensor, ...]) -> None:
        # as tensors, so that a checkpoint can throw them away and make them again
        ctx.save_for_backward(*output[1:], *inputs)
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)  # or zeros as large as what is kept would be made for it

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        values, starts, *given = ctx.saved_tensors
        if gradients[0] is None:
            return (None,) * len(given)
        if torch.is_grad_enabled():  # a second derivative will be taken
            return _gradients_by_fallback(given, ctx.needs_input_grad, gradients[0])
        stack, tables, _ = _from_flat(given)
        kept, outside = (
            ConvolutionActivations(values.numpy(), starts.numpy()),
            np.ascontiguousarray(gradients[0].numpy(force=True)),
        )
        by_distances, threads = ctx.needs_input_grad[0], torch.get_num_threads()
        arrays = _to_arrays(stack, tables)
        out, stack_gradients = convolve.backward(*arrays, kept, outside, by_distances=by_distances, threads=threads)
        nothing = (None,) * len(PairTables._fields)  # for positions, rows, columns and `inside`
        return (
            None if out is None else torch.from_numpy(out),
            *nothing,
            *map(torch.from_numpy, (*stack_gradients.weights, *stack_gradients.biases)),
        )


def _from_flat(given: Any) -> tuple[ConvolutionStack[Tensor], PairTables[Tensor], Tensor | None]:
    """From the tables, `inside`, and as many weights as biases: autograd takes nothing but single tensors."""
    size = len(PairTables._fields)
    layers = list(given[size + 1 :])
    half = len(layers) // 2
    return ConvolutionStack(layers[:half], layers[half:]), PairTables(*given[:size]), given[size]


def _gradients_by_fallback(
    given: list[Tensor | None], needed: tuple[bool, ...], gradient: Tensor
) -> tuple[Tensor | None, ...]:
    with torch.enable_grad():
        # views, because one tensor may be given twice
        views = [None if part is None else part.view_as(part) for part in given]
        outputs = fallback.forward(*_from_flat(views))
        differentiated = [part for part, wanted in zip(views, needed, strict=True) if wanted and part is not None]
        gradients = iter(torch.autograd.grad(outputs, differentiated, gradient, create_graph=True))
    return tuple(next(gradients) if wanted else None for wanted in needed)


def _to_arrays(
    stack: ConvolutionStack[Tensor], tables: PairTables[Tensor]
) -> tuple[ConvolutionStack[Any], PairTables[Any]]:
    def plain(part: Tensor, dtype: Any = np.float32) -> Any:
        return np.ascontiguousarray(part.numpy(force=True), dtype)

    lengths = (plain(part, np.int64) for part in (tables.rows, tables.columns))
    arrays = PairTables(plain(tables.distances), plain(tables.positions), *lengths)
    return ConvolutionStack([plain(part) for part in stack.weights], [plain(part) for part in stack.biases]), arrays
