"""GRUs and LSTMs over many sequences of different lengths: last states and gradients, on arrays.

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

# numbers kept for the gradients, half a gigabyte in float32; beyond, the backward pass recomputes steps
_MAX_NUMBERS = 1 << 27


class RecurrentLayers(NamedTuple, Generic[Values]):
    """Input weights and state weights of every layer, alternating; rows (gate, unit) as in torch.

    The gates are r z n for a GRU and i f g o for an LSTM.
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

    Values past a length are arbitrary.
    """

    values: Values
    lengths: Values


def forward(
    kind: Kind, layers: RecurrentLayers[Arrays], x: PaddedBatch[Arrays], *, keep: bool, threads: int
) -> tuple[Arrays, Arrays | None]:
    """The last states (item, hidden) of the last layer, and the data for `backward`, if requested. Kernels only."""
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
    """The gradients of the sequences, if requested, and of the layers, from those of the last states. Kernels only."""
    by_x = np.zeros_like(x.values) if to_inputs else None
    layer_gradients = RecurrentLayers(*([np.empty_like(one) for one in part] for part in layers))
    kernels.recurrent_backward(
        kind == "lstm",
        *layers,
        *x,
        kept,
        gradient,
        budget=_MAX_NUMBERS,
        threads=threads,
        to_x=by_x,
        to_weights=layer_gradients.weights,
        to_biases=layer_gradients.biases,
    )
    return by_x, layer_gradients
