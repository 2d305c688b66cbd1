"""Causal networks with a maximum over time, for sequences of any length: values and gradients, on arrays.

`autograd` is the same for tensors, with gradients, and chooses between these kernels and `fallback`.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..machine import kernels

Values = TypeVar("Values")
"""Arrays in this module, tensors in `autograd` and `fallback`."""

Arrays = NDArray[Any]

# maximum number of stored activations, a gigabyte; the backward pass recomputes the rest
_MAX_ACTIVATIONS = 1 << 28


class CausalWeights(NamedTuple, Generic[Values]):
    """Blocks with dilations 1, 2, 4, …, each with two convolutions, leaky ReLUs and a shortcut.

    `weights` (tap, input, output) and `biases` are those of the two convolutions of each block; tap 0 is the present
    step. Each block has one of `shortcuts` (output, input) and `shortcut_biases`, empty if the input itself is added.
    float32 for the kernels.
    """

    weights: list[Values]
    biases: list[Values]
    shortcuts: list[Values]
    shortcut_biases: list[Values]


class PackedRows(NamedTuple):
    """Rows (step, channel) in which item i has `lengths[i]` from `starts[i]` on; float32 and int64."""

    rows: Arrays
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


class CausalActivations(NamedTuple):
    """Activations stored for the backward pass, from `starts` on for each item; -1 for items that are not stored."""

    values: Arrays
    starts: NDArray[np.int64]


def forward(
    network: CausalWeights[Arrays], slope: float, steps: PackedRows, *, keep: bool, threads: int
) -> tuple[Arrays, NDArray[np.int64], CausalActivations | None]:
    """The maxima (item, output), their positions and, if requested, the data for `backward`.

    A position is twice the first step with the maximum, plus one if the sum before the last leaky ReLU is positive.
    """
    shape = len(steps.lengths), network.weights[-1].shape[2]
    out, where = np.empty(shape, np.float32), np.empty(shape, np.int64)
    kept = _allocate_activations(network, steps) if keep else None
    kernels.causal_forward(*network, slope, *steps, *(kept or (None, None)), threads=threads, out=out, where=where)
    return out, where, kept


def _allocate_activations(network: CausalWeights[Arrays], steps: PackedRows) -> CausalActivations:
    """For as many items, from the shortest on, as the memory allows."""
    counts = np.empty_like(steps.lengths)
    kernels.causal_kept(*network, steps.lengths, out=counts)
    order = np.argsort(counts, kind="stable")
    ends = counts[order].cumsum()
    fits = ends <= _MAX_ACTIVATIONS
    starts = np.full_like(counts, -1)
    starts[order[fits]] = (ends - counts[order])[fits]
    return CausalActivations(kernels.room(int(counts[order[fits]].sum())), starts)


def backward(
    network: CausalWeights[Arrays],
    slope: float,
    steps: PackedRows,
    where: NDArray[np.int64],
    kept: CausalActivations,
    gradient: Arrays,
    *,
    wanted: bool,
    threads: int,
) -> tuple[Arrays | None, CausalWeights[Arrays]]:
    """The gradients of the rows, if requested, and of the network, from the gradients of the maxima."""
    out = np.zeros_like(steps.rows) if wanted else None
    weight_gradients = CausalWeights(*([np.empty_like(one) for one in part] for part in network))
    kernels.causal_backward(
        *network,
        slope,
        *steps,
        *kept,
        where,
        gradient,
        threads=threads,
        out=out,
        to_weights=weight_gradients.weights,
        to_biases=weight_gradients.biases,
        to_shortcuts=weight_gradients.shortcuts,
        to_shortcut_biases=weight_gradients.shortcut_biases,
    )
    return out, weight_gradients
