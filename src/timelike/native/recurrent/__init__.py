"""GRUs and LSTMs over many sequences, each to its own end: last states and gradients, of arrays.

`autograd` is the same for tensors, with gradients, and chooses between these kernels and `fallback`.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..machine import kernels

Kind = Literal["gru", "lstm"]
"""Which cells."""

Values = TypeVar("Values")
"""Arrays in this module, tensors in `autograd` and `fallback`."""

Arrays = NDArray[Any]

# numbers kept for the gradients, half a gigabyte in float32; beyond, steps are computed again on the way back
_MAX_NUMBERS = 1 << 27


class RecurrentLayers(NamedTuple, Generic[Values]):
    """What acts on inputs and what acts on states, layer by layer, in turn; rows as torch has them, (gate, unit).

    Gates are r z n of a GRU, i f g o of an LSTM.
    """

    weights: list[Values]
    biases: list[Values]

    @property
    def hidden(self: RecurrentLayers[Any]) -> int:
        """Units of a layer."""
        return int(self.weights[1].shape[1])

    def torch_parameters(self) -> list[Values]:
        """Two weights, then two biases, of every layer: the order of torch's parameters."""
        pairs = range(0, len(self.weights), 2)
        return [part for k in pairs for part in (*self.weights[k : k + 2], *self.biases[k : k + 2])]


class PaddedBatch(NamedTuple, Generic[Values]):
    """Sequences (item, time, channel) and their lengths (item,): at least 1, and int64.

    Past a length there may be any number.
    """

    values: Values
    lengths: Values


def forward(
    kind: Kind, layers: RecurrentLayers[Arrays], x: PaddedBatch[Arrays], *, keep: bool, threads: int
) -> tuple[Arrays, Arrays | None]:
    """The last states (item, hidden) of the last layer; and what `backward` needs, if it is kept. Kernels only."""
    out = np.empty((len(x.values), layers.hidden), x.values.dtype)
    lstm = kind == "lstm"
    kept = kernels.recurrent_forward(lstm, *layers, *x, keep=keep, budget=_MAX_NUMBERS, threads=threads, out=out)
    return out, kept


def backward(
    kind: Kind,
    layers: RecurrentLayers[Arrays],
    x: PaddedBatch[Arrays],
    kept: Arrays,
    gradient: Arrays,
    *,
    to_inputs: bool,
    threads: int,
) -> tuple[Arrays | None, RecurrentLayers[Arrays]]:
    """From the gradient by the last states, those by the sequences, if needed, and by the layers. Kernels only."""
    by_x = np.zeros_like(x.values) if to_inputs else None
    found = RecurrentLayers(*([np.empty_like(one) for one in part] for part in layers))
    kernels.recurrent_backward(
        kind == "lstm",
        *layers,
        *x,
        kept,
        gradient,
        budget=_MAX_NUMBERS,
        threads=threads,
        to_x=by_x,
        to_weights=found.weights,
        to_biases=found.biases,
    )
    return by_x, found
