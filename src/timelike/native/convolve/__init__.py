"""Convolutions over the tables of many pairs, each at its own size: values and gradients, on arrays.

`autograd` is the same for tensors, with gradients, and chooses between these kernels and `fallback`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..machine import kernels, use_kernels

Values = TypeVar("Values")
"""Arrays in this module, tensors in `autograd` and `fallback`."""

KERNEL_SIZES = {5: 3, 7: 5}
"""Which last layer belongs to which inner ones: those the kernels are compiled for, the networks of TAP's paper."""


class ConvolutionStack(NamedTuple, Generic[Values]):
    """Weights (output, input, row, column) and biases of the layers: from two channels through `width` to one.

    float32 for the kernels; a ReLU follows every layer except the last.
    """

    weights: list[Values]
    biases: list[Values]


class PairTables(NamedTuple, Generic[Values]):
    """Both channels, (pair, n, m), 0 in the padding, and the numbers of rows and columns of each pair.

    float32 and int64 for the kernels.
    """

    distances: Values
    positions: Values
    rows: Values
    columns: Values


class ConvolutionActivations(NamedTuple):
    """The input of the last layer, stored for the backward pass, from `starts` on for each pair."""

    values: NDArray[Any]
    starts: NDArray[np.int64]


Arrays = NDArray[Any]


def has_kernels(sizes: Sequence[int]) -> bool:
    """Whether there are kernels for layers of these sizes.

    >>> has_kernels((5, 4, 3))
    False
    """
    inner, last = sizes[:-1], sizes[-1]
    fits = len(inner) in range(1, 9) and len(set(inner)) == 1 and KERNEL_SIZES.get(inner[0]) == last
    return fits and use_kernels()


def forward(
    stack: ConvolutionStack[Arrays], tables: PairTables[Arrays], *, keep: bool, threads: int
) -> tuple[Arrays, ConvolutionActivations | None]:
    """The output channel, (pair, n, m), 0 in the padding, and the data for `backward`, if requested."""
    out = np.zeros_like(tables.distances)
    if not keep:
        kernels.convolve_forward(*stack, *tables, None, None, threads=threads, out=out)
        return out, None
    kept = _allocate_activations(len(stack.biases[0]), tables)
    kernels.convolve_forward(*stack, *tables, *kept, threads=threads, out=out)
    return out, kept


def _allocate_activations(width: int, tables: PairTables[Arrays]) -> ConvolutionActivations:
    """One array for all pairs, as autograd saves it as one tensor; they begin with lines of the cache."""
    counts = np.empty_like(tables.rows)
    kernels.convolve_kept(width, tables.rows, tables.columns, out=counts)
    return ConvolutionActivations(kernels.room(int(counts.sum())), counts.cumsum() - counts)


def backward(
    stack: ConvolutionStack[Arrays],
    tables: PairTables[Arrays],
    kept: ConvolutionActivations,
    gradient: Arrays,
    *,
    by_distances: bool = True,
    threads: int,
) -> tuple[Arrays | None, ConvolutionStack[Arrays]]:
    """The gradients of the distances, if requested, and of the stack, from the gradient of the output of `forward`."""
    out = np.zeros_like(gradient) if by_distances else None
    stack_gradients = ConvolutionStack(*([np.empty_like(one) for one in part] for part in stack))
    kernels.convolve_backward(
        *stack,
        *tables,
        *kept,
        gradient,
        threads=threads,
        out=out,
        to_weights=stack_gradients.weights,
        to_biases=stack_gradients.biases,
    )
    return out, stack_gradients
