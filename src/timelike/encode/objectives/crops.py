"""Crops of series: sampling, extraction, augmentation, and encoding in a few calls of a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ...sequences import Sequences

Ints = NDArray[np.int64]

_MAX_CALLS = 6  # calls of the network, each of which has an overhead
_MIN_SAVING = 0.05  # fraction of the steps that another call must save


class Crops(NamedTuple):
    """Starts of crops in the packed steps, and their lengths; arrays of the same shape."""

    starts: Ints
    lengths: Ints


class CropTriplets(NamedTuple):
    """Anchors (item,), positives inside them (item,), and negatives of any series (item, negative)."""

    anchors: Crops
    positives: Crops
    negatives: Crops


def sample_triplets(
    sequences: Sequences, ids: Ints, n_negatives: int, rng: np.random.Generator, *, shares_negatives: bool = False
) -> CropTriplets:
    """Sample anchors anywhere in the series at `ids`, positives inside them, negatives anywhere in any series.

    Negatives are (item, negative), or (1, negative) if all items share them.

    If all series have the same length, a batch has one length of anchors and one of positives and negatives, so that
    it is two arrays; otherwise every crop has its own length. Lengths range from one step to the whole series.
    """
    _, starts, lengths = sequences.buffers()
    own, shape = lengths[ids], (1 if shares_negatives else len(ids), n_negatives)
    others = rng.integers(len(lengths), size=shape)
    equal = bool((lengths == lengths[0]).all())
    many = 1 if equal else len(ids)
    positive = np.broadcast_to(rng.integers(1, own[:many] + 1), len(ids))
    anchor = np.broadcast_to(rng.integers(positive[:many], own[:many] + 1), len(ids))
    negative = np.broadcast_to(positive[: shape[0], None], shape) if equal else rng.integers(1, lengths[others] + 1)
    begin = rng.integers(0, own - anchor + 1)
    inside = rng.integers(0, anchor - positive + 1)
    elsewhere = rng.integers(0, lengths[others] - negative + 1)
    return CropTriplets(
        Crops(starts[ids] + begin, anchor),
        Crops(starts[ids] + begin + inside, positive),
        Crops(starts[others] + elsewhere, negative),
    )


def sample_crop_pairs(
    sequences: Sequences, ids: Ints, min_share: float, rng: np.random.Generator
) -> tuple[Crops, Crops]:
    """Sample two crops of each series at `ids`, each at least the fraction `min_share` of it, and one step."""
    _, starts, lengths = sequences.buffers()
    own = lengths[ids]
    shortest = np.maximum(1, np.ceil(min_share * own).astype(np.int64))
    sizes = [rng.integers(shortest, own + 1) for _ in range(2)]
    first, second = (Crops(starts[ids] + rng.integers(0, own - size + 1), size) for size in sizes)
    return first, second


CropTransform = Callable[[Tensor, Ints, np.random.Generator], tuple[Tensor, Ints]]
"""Maps crops (crop, time, channel) and their lengths to randomly changed crops."""


class CropAugmentation(NamedTuple):
    """Random changes of a crop that preserve its class: noise, scaling and speed.

    x(t) becomes (1 + s) x(v t) + ε: s normal with deviation `scaling`, one for each channel, v log-uniform up to
    `stretch` both ways, ε white with deviation `jitter`.
    """

    jitter: float = 0.1
    scaling: float = 0.2
    stretch: float = 1.25

    def __call__(self, x: Tensor, lengths: Ints, rng: np.random.Generator) -> tuple[Tensor, Ints]:
        """Change every crop (crop, time, channel) of lengths (crop,) independently; values past the end are 0."""
        count, _, channels = x.shape
        most = np.log(self.stretch)
        sizes = np.maximum(1, np.rint(lengths * np.exp(rng.uniform(-most, most, count)))).astype(np.int64)
        crops = _resample_crops(x, lengths, sizes)
        factors = 1 + self.scaling * rng.standard_normal((count, 1, channels), np.float32)
        noise = self.jitter * rng.standard_normal(tuple(crops.shape), np.float32)
        beyond = torch.from_numpy(np.arange(crops.shape[1]) >= sizes[:, None])
        changed = crops * torch.from_numpy(factors) + torch.from_numpy(noise)
        return changed.masked_fill(beyond[..., None], 0.0), sizes


def _resample_crops(x: Tensor, lengths: Ints, sizes: Ints) -> Tensor:
    """Resample crops from `lengths` to `sizes` by linear interpolation; the first and the last step are preserved."""
    last = (lengths - 1)[:, None]
    places = np.arange(sizes.max()) * (last / np.maximum(1, sizes - 1)[:, None])
    before = np.minimum(places.astype(np.int64), last)
    after, item = np.minimum(before + 1, last), np.arange(len(x))[:, None]
    share = torch.from_numpy((places - before).clip(0, 1).astype(np.float32))[..., None]
    return x[item, before] * (1 - share) + x[item, after] * share


def extract_crops(steps: Tensor, crops: Crops) -> Tensor:
    """The crops (crop, time, channel) of packed steps (time, channel), zeros past the end of each."""
    longest = int(crops.lengths.max())
    ahead = np.arange(longest)
    places = crops.starts[..., None] + np.minimum(ahead, crops.lengths[..., None] - 1)
    values = steps[torch.from_numpy(places)]
    if (crops.lengths == longest).all():
        return values
    beyond = torch.from_numpy(ahead >= crops.lengths[..., None])
    return values.masked_fill(beyond[..., None], 0.0)


def encode_padded_batches(network: nn.Module, sides: Sequence[tuple[Tensor, Tensor]]) -> list[Tensor]:
    """Vectors of several padded batches (item, time, channel) with lengths (item,), computed together.

    If padding costs time, items are sorted by length and split into a few groups, each padded to its longest.
    """
    longest = max(x.shape[1] for x, _ in sides)
    steps = torch.cat([F.pad(x, (0, 0, 0, longest - x.shape[1])) for x, _ in sides])
    lengths = torch.cat([side for _, side in sides])
    if has_padding_cost(network):
        order = torch.argsort(lengths, stable=True)
        group_features = [
            _encode_group(network, steps, lengths, order[group]) for group in group_by_length(lengths[order].tolist())
        ]
        features = torch.cat(group_features)[torch.argsort(order)]
    else:
        features = network(steps, lengths)
    return list(torch.split(features, [len(side) for _, side in sides]))


def has_padding_cost(network: nn.Module) -> bool:
    """Whether padding costs a network time and memory; with compiled kernels it does not."""
    method = getattr(network, "has_padding_cost", None)
    return method is None or bool(method())


def _encode_group(network: nn.Module, steps: Tensor, lengths: Tensor, chosen: Tensor) -> Tensor:
    own = lengths[chosen]
    longest = int(own[-1])
    features: Tensor = network(steps[chosen, :longest], None if int(own[0]) == longest else own)
    return features


def group_by_length(lengths: list[int]) -> list[slice]:
    """Split sorted lengths into groups so that padding to the longest of a group wastes little.

    >>> group_by_length([3, 3, 4, 90, 100])
    [slice(0, 3, None), slice(3, 5, None)]
    """
    parts = [slice(0, len(lengths))]
    while len(parts) < _MAX_CALLS:
        saved, where, number = max((*_best_split(lengths, part), number) for number, part in enumerate(parts))
        if saved <= _MIN_SAVING * sum(lengths):
            break
        part = parts[number]
        parts[number : number + 1] = [slice(part.start, where), slice(where, part.stop)]
    return parts


def _best_split(lengths: list[int], part: slice) -> tuple[int, int]:
    """The steps of padding that the best split of a group saves, and its position."""
    last = lengths[part.stop - 1]
    savings = ((i - part.start) * (last - lengths[i - 1]) for i in range(part.start + 1, part.stop))
    return max(((saved, part.start + 1 + k) for k, saved in enumerate(savings)), default=(0, part.start))
