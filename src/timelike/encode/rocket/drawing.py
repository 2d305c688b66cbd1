"""The kernels of Rocket: their dilations, channels and thresholds, drawn for the sequences they are to describe."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...native.rocket import GROUPS, TAPS, TRIPLES, Bank, twin
from ...sequences import Sequences

Ints = NDArray[np.int64]

_DILATIONS = 32  # at most
_SLOTS = 9  # channels that are added up at most
_USUAL = 0.9  # share of the sequences that the longest kernel fits into
_GOLDEN = (np.sqrt(5) + 1) / 2


def draw(ready: Sequences, n_features: int, *, difference: bool, rng: np.random.Generator) -> Bank:
    """As many features of standardized sequences; `difference` for those of steps less the one before them."""
    dilations, weights = dilated(usual_length(ready.lengths), n_features)
    counts = spread(n_features, weights)
    channels = subsets(ready.frame[0], len(dilations), rng)
    bank = Bank(difference, dilations, channels, counts, np.zeros(n_features, np.float32))
    return bank._replace(thresholds=_thresholds(ready, bank, rng))


def usual_length(lengths: Ints) -> int:
    """A length that few sequences exceed: the longest may be a stray one, which most kernels would be made for.

    >>> usual_length(np.array([20] * 20 + [9000]))
    20
    """
    return int(np.quantile(lengths, _USUAL, method="higher"))


def dilated(length: int, n_features: int) -> tuple[Ints, Ints]:
    """Dilations 2^0, …, 2^m rounded down, exponents evenly spaced, and how many exponents led to each.

    The longest kernel, 8·2^m + 1 steps, is as long as a series of the given length.

    >>> dilated(33, 10_000)
    (array([1, 2, 3, 4]), array([16,  9,  6,  1]))
    """
    most = max(np.log2(max(length - 1, 1) / (TAPS - 1)), 0.0)
    number = int(np.clip(n_features // len(TRIPLES), 1, _DILATIONS))
    powers = np.floor(np.exp2(np.linspace(0, most, number)) + 1e-9).astype(np.int64)
    values, times = np.unique(powers, return_counts=True)
    return values, times


def spread(n_features: int, weights: Ints) -> Ints:
    """How many thresholds every kernel has at every dilation, (dilation, kernel): by weight, and then evenly.

    >>> spread(170, np.array([2, 1])).sum(axis=1)
    array([113,  57])
    """
    ends = n_features * weights.cumsum() // weights.sum()
    each = np.diff(ends, prepend=0)
    number = np.arange(len(TRIPLES) + 1)
    return np.stack([np.diff(number * features // len(TRIPLES)) for features in each.tolist()])


def subsets(n_channels: int, n_dilations: int, rng: np.random.Generator) -> Ints:
    """The channels that each group of kernels adds up at each dilation, (dilation, group, slot).

    Sizes are 1 to 9 with logarithms evenly distributed, as in MiniRocket.
    """
    slots = min(n_channels, _SLOTS)
    chosen = np.full((n_dilations, GROUPS, slots), -1, np.int64)
    for places in chosen.reshape(-1, slots):
        size = int(2 ** rng.uniform(0, np.log2(slots + 1)))
        places[:size] = rng.choice(n_channels, size, replace=False)
    return chosen


def _thresholds(ready: Sequences, bank: Bank, rng: np.random.Generator) -> NDArray[np.float32]:
    """Quantiles of what each kernel makes of a sequence drawn for it; their levels follow the golden ratio."""
    found = np.empty(len(bank.thresholds), np.float32)
    ends = bank.counts.reshape(-1).cumsum().reshape(bank.counts.shape)
    drawn = rng.integers(len(ready), size=bank.counts.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for place, kernel in np.argwhere(bank.counts > 0).tolist():
            taps, every = twin.taps(ready[int(drawn[place, kernel])], bank, place, kernel % GROUPS)
            row = np.sort(twin.output(taps, every, TRIPLES[kernel]))
            end = int(ends[place, kernel])
            features = np.arange(end - bank.counts[place, kernel], end)
            found[features] = _at(row, (features + 1) * _GOLDEN % 1)
    return found


def _at(row: NDArray[np.float32], levels: NDArray[Any]) -> NDArray[Any]:
    """Quantiles of what is sorted, linear in between."""
    place = levels * (len(row) - 1)
    return np.asarray(np.interp(place, np.arange(len(row)), row))
