"""Causal networks over sequences of any lengths, and the maximum over time: values and gradients, of arrays.

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

# numbers of activations at most, a gigabyte; what is beyond is computed again for the gradients
_MAX_ACTIVATIONS = 1 << 28


class CausalWeights(NamedTuple, Generic[Values]):
    """Blocks of dilations 1, 2, 4, …: of each two convolutions with leaky ReLUs, and a shortcut.

    `weights` (tap, input, output) and `biases` of two convolutions for each block, tap 0 being now; `shortcuts`
    (output, input) and `shortcut_biases` one for each, empty where the input itself is added. float32 for the kernels.
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
    """What the gradients need of the values: activations, from `starts` on for each item, -1 for those not kept."""

    values: Arrays
    starts: NDArray[np.int64]


def forward(
    network: CausalWeights[Arrays], slope: float, steps: PackedRows, *, keep: bool, threads: int
) -> tuple[Arrays, NDArray[np.int64], CausalActivations | None]:
    """The maxima (item, output), where they are, and what `backward` needs, if it is kept.

    Of each maximum twice the first step that has it, plus one where the sums before the last leaky ReLU are positive.
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
    """From gradients of the maxima, those of the rows, if they are wanted, and of the network."""
    out = np.zeros_like(steps.rows) if wanted else None
    found = CausalWeights(*([np.empty_like(one) for one in part] for part in network))
    kernels.causal_backward(
        *network,
        slope,
        *steps,
        *kept,
        where,
        gradient,
        threads=threads,
        out=out,
        to_weights=found.weights,
        to_biases=found.biases,
        to_shortcuts=found.shortcuts,
        to_shortcut_biases=found.shortcut_biases,
    )
    return out, found
