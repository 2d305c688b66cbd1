"""The fallback of the recurrent kernels: torch's own cells, on any device, in any precision, with gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence

from . import Kind, RecurrentLayers


def last_states(kind: Kind, layers: RecurrentLayers[Tensor], x: Tensor, lengths: Tensor | None) -> Tensor:
    """The state (item, hidden) of the last layer at the end of every sequence; without lengths, of the padded length.

    With lengths it is differentiable any number of times; without, torch's fused LSTM is differentiable once.
    """
    flat = layers.torch_parameters()
    depth, run = len(flat) // 4, torch.lstm if kind == "lstm" else torch.gru
    start = x.new_zeros(depth, len(x), layers.hidden)
    begin: Any = (start, start) if kind == "lstm" else start
    settings = True, depth, 0.0, False, False  # biases, layers, dropout, training, bidirectional
    if lengths is None:
        return run(x, begin, flat, *settings, True)[1][-1]
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    states = run(packed.data, packed.batch_sizes, begin, flat, *settings)[1][-1]
    assert packed.unsorted_indices is not None
    return states.index_select(0, packed.unsorted_indices)
