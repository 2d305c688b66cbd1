"""Which parts of which series a training step compares: Algorithm 1 of the T-Loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..sequences import Sequences

Ints = NDArray[np.int64]


class Crops(NamedTuple):
    """Where crops begin in the packed steps, and how long they are; arrays of one shape."""

    starts: Ints
    lengths: Ints


class Triplets(NamedTuple):
    """Of each series in a batch: an anchor (item,), a part of it (item,), and crops of others (item, negative)."""

    anchors: Crops
    positives: Crops
    negatives: Crops


def draw(sequences: Sequences, ids: Ints, n_negatives: int, rng: np.random.Generator) -> Triplets:
    """Anchors anywhere in the series at `ids`, positives inside them, negatives anywhere in any series.

    Series of equal lengths share one length of anchors, and one of positives and negatives, so that a batch is two
    arrays; otherwise every crop has a length of its own. Lengths cover the full range, from one step to all of them.
    """
    _, starts, lengths = sequences.buffers()
    own, shape = lengths[ids], (len(ids), n_negatives)
    others = rng.integers(len(lengths), size=shape)
    equal = bool((lengths == lengths[0]).all())
    many = 1 if equal else len(ids)
    positive = np.broadcast_to(rng.integers(1, own[:many] + 1), len(ids))
    anchor = np.broadcast_to(rng.integers(positive[:many], own[:many] + 1), len(ids))
    negative = np.broadcast_to(positive[:, None], shape) if equal else rng.integers(1, lengths[others] + 1)
    begin = rng.integers(0, own - anchor + 1)
    inside = rng.integers(0, anchor - positive + 1)
    elsewhere = rng.integers(0, lengths[others] - negative + 1)
    return Triplets(
        Crops(starts[ids] + begin, anchor),
        Crops(starts[ids] + begin + inside, positive),
        Crops(starts[others] + elsewhere, negative),
    )


def cut(steps: Tensor, crops: Crops) -> Tensor:
    """(crop, time, channel) of packed steps (time, channel), zeros past the end of each."""
    longest = int(crops.lengths.max())
    ahead = np.arange(longest)
    places = crops.starts[..., None] + np.minimum(ahead, crops.lengths[..., None] - 1)
    found = steps[torch.from_numpy(places)]
    if (crops.lengths == longest).all():
        return found
    beyond = torch.from_numpy(ahead >= crops.lengths[..., None])
    return found.masked_fill(beyond[..., None], 0.0)
