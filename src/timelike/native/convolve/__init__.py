"""Convolutions over the tables of many pairs, each at its own size: values and gradients, of arrays.

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
    """Weights (output, input, row, column) and biases of the layers: two channels to `width`, again and again, to one.

    float32 for the kernels; a ReLU follows every layer but the last.
    """

    weights: list[Values]
    biases: list[Values]


class PairTables(NamedTuple, Generic[Values]):
    """Both channels, (pair, n, m), 0 where a pair has no step, and how many rows and columns of each pair count.

    float32 and int64 for the kernels.
    """

    distances: Values
    positions: Values
    rows: Values
    columns: Values


class ConvolutionActivations(NamedTuple):
    """What the gradients need of the values: what the last layer reads, from `starts` on for each pair."""

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
    """The one channel that comes out, (pair, n, m), 0 in the padding; and what `backward` needs, if it is kept."""
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
    """From the gradient of `forward`'s output, those of the distances, where they are wanted, and of the stack."""
    out = np.zeros_like(gradient) if by_distances else None
    found = ConvolutionStack(*([np.empty_like(one) for one in part] for part in stack))
    kernels.convolve_backward(
        *stack, *tables, *kept, gradient, threads=threads, out=out, to_weights=found.weights, to_biases=found.biases
    )
    return out, found
