"""Vectors of a network, computed in batches of similar lengths; results do not depend on the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..sequences import Sequences
from ..sequences.moments import RESCALE_HINT
from ..train.batches import similar_length_batches
from ..train.double_precision import double_precision_copy
from ..train.torch_threads import torch_threads

BATCH_STEPS = 1 << 17  # steps per batch, which bounds the memory


def encode_batches(
    network: nn.Module,
    ready: Sequences,
    threads: int,
    *,
    is_batch_invariant: bool = False,
    batch_steps: int = BATCH_STEPS,
    call: Callable[[Any, Tensor, Any], Tensor] | None = None,
) -> NDArray[np.float32]:
    """Vectors (item, feature) of standardized sequences, by a network (x, lengths) → vectors.

    They are computed in double precision and rounded once, unless the network is batch invariant; `call` replaces the
    call of the network.

    >>> import timelike as tl
    >>> network = tl.encode.CausalNetwork(1, n_features=4, channels=2, depth=1, reduced_size=3)
    >>> encode_batches(network, tl.Sequences([[1.0, 2.0], [3.0]]), 1).shape
    (2, 4)
    """
    forward_network = network if is_batch_invariant else double_precision_copy(network)
    dtype = next((weight.dtype for weight in forward_network.parameters()), torch.float64)
    vectors = np.empty((0, 0), np.float32)
    with torch_threads(threads), torch.no_grad():
        for chosen in similar_length_batches(ready.lengths, batch_steps):
            x, lengths = ready[chosen].to_tensor()
            padded_lengths = None if bool((lengths == x.shape[1]).all()) else lengths
            outputs = (
                forward_network(x.to(dtype), padded_lengths)
                if call is None
                else call(forward_network, x.to(dtype), lengths)
            ).numpy()
            if outputs.ndim != 2 or len(outputs) != len(chosen):
                name, shape = type(network).__name__, tuple(x.shape)
                raise ValueError(f"{name} returns {outputs.shape} for sequences {shape}: expected (item, feature)")
            if not vectors.size:
                vectors = np.empty((len(ready), outputs.shape[1]), np.float32)
            vectors[chosen] = outputs
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise ValueError(f"X: sequence {bad[0]} has values so large that its vector overflows: {RESCALE_HINT}")
    return vectors
