"""Convolutions over the tables of many pairs, each at its own size, by the kernels: values and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _kernels, _use_kernels

Lengths = NDArray[np.int64]
SIZES = {5: 3, 7: 5}
"""Which last layer belongs to which inner ones."""


class Stack(NamedTuple):
    """Weights (output, input, row, column) and biases of the layers: two channels to `width`, again and again, to one.

    float32; a ReLU follows every layer but the last.
    """

    weights: list[NDArray[Any]]
    biases: list[NDArray[Any]]

    def shape(self) -> tuple[int, int, int, int]:
        """Layers, width, size of the inner kernels and of the last."""
        return len(self.weights), len(self.weights[0]), self.weights[0].shape[2], self.weights[-1].shape[2]


class Tables(NamedTuple):
    """Both channels, (pair, n, m) and float32, and how many rows and columns of each pair count."""

    distances: NDArray[Any]
    positions: NDArray[Any]
    rows: Lengths
    columns: Lengths


class Kept(NamedTuple):
    """What the gradients need of the values: the outputs of the layers, from `starts` on for each pair."""

    values: NDArray[Any]
    starts: Lengths


def able(sizes: Sequence[int]) -> bool:
    """Whether there are kernels for layers of these sizes.

    >>> able((5, 4, 3))
    False
    """
    inner, last = sizes[:-1], sizes[-1]
    fits = len(inner) in range(1, 9) and len(set(inner)) == 1 and SIZES.get(inner[0]) == last
    return fits and _use_kernels()


def forward(stack: Stack, tables: Tables, *, keep: bool, threads: int) -> tuple[NDArray[Any], Kept | None]:
    """The one channel that comes out, (pair, n, m), 0 in the padding; and what `backward` needs, if it is kept."""
    out = np.zeros_like(tables.distances)
    if not keep:
        _kernels.convolve_forward(*stack, *tables, None, None, threads=threads, out=out)
        return out, None
    counts = np.empty_like(tables.rows)
    _kernels.convolve_kept(*stack.shape(), tables.rows, tables.columns, out=counts)
    kept = Kept(np.empty(counts.sum(), np.float32), counts.cumsum() - counts)
    _kernels.convolve_forward(*stack, *tables, *kept, threads=threads, out=out)
    return out, kept


def backward(
    stack: Stack, tables: Tables, kept: Kept, gradient: NDArray[Any], *, threads: int
) -> tuple[NDArray[Any], list[NDArray[Any]], list[NDArray[Any]]]:
    """From the gradient of `forward`'s output, those of the distances, the weights and the biases."""
    out = np.zeros_like(gradient)
    weights, biases = ([np.empty_like(one) for one in part] for part in stack)
    into: Any = {"out": out, "to_weights": weights, "to_biases": biases}
    _kernels.convolve_backward(*stack, *tables, *kept, gradient, threads=threads, **into)
    return out, weights, biases
