"""The fallback of the Rocket kernels in NumPy, one series at a time: bit-identical, with the same order of sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import GROUPS, TAPS, TRIPLES, KernelBank

Floats = NDArray[np.float32]


def features(series: Floats, bank: KernelBank) -> Floats:
    """Fractions above the thresholds, then longest runs, of one series (time, channel): (feature,)."""
    feature_blocks, thresholds = [], iter(np.split(bank.thresholds, bank.counts.reshape(-1).cumsum()[:-1]))
    for place in range(len(bank.dilations)):
        by_group = [tap_values(series, bank, place, group) for group in range(GROUPS)]
        for kernel, triple in enumerate(TRIPLES):
            row = kernel_output(*by_group[kernel % GROUPS], triple)
            above = row[slice(*bank.counted_range(place, kernel, len(series)))] > next(thresholds)[:, None]
            counts = np.stack([np.count_nonzero(above, axis=1), longest_runs(above)])
            feature_blocks.append(counts.astype(np.float32) / np.float32(above.shape[1]))
    return np.asarray(np.concatenate(feature_blocks, axis=1).reshape(-1))


def longest_runs(above: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The length of the longest run in every row of (threshold, time)."""
    steps = np.arange(1, above.shape[1] + 1)
    last_below = np.maximum.accumulate(np.where(above, 0, steps), axis=1)
    return np.asarray((steps - last_below).max(axis=1))


def tap_values(series: Floats, bank: KernelBank, place: int, group: int) -> tuple[Floats, Floats]:
    """What a group of kernels reads of a series at a dilation: three times every tap, (tap, time), and their sum."""
    summed = sum_channels(series, bank.channels[place, group])
    dilation, length = int(bank.dilations[place]), len(summed)
    before, after = bank.n_past_taps * dilation, (TAPS - 1 - bank.n_past_taps) * dilation
    padded = np.pad(summed, (before, after))
    seen = [padded[tap * dilation : tap * dilation + length] for tap in range(TAPS)]
    return np.float32(3) * np.stack(seen), _sum_in_order(seen)


def kernel_output(thrice: Floats, every: Floats, triple: tuple[int, int, int]) -> Floats:
    """What a kernel makes of it, (time,)."""
    i, j, k = triple
    return np.asarray(thrice[i] + thrice[j] + thrice[k] - every)


def sum_channels(series: Floats, channels: NDArray[Any]) -> Floats:
    """The sum of some channels, from the first slot on."""
    return _sum_in_order([series[:, channel] for channel in channels.tolist() if channel >= 0])


def _sum_in_order(terms: list[Floats]) -> Floats:
    """In the order in which they come."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
