"""The fallback of the Rocket kernels in NumPy, one series at a time: bit-identical, with the same order of sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import GROUPS, TAPS, TRIPLES, KernelBank

Floats = NDArray[np.float32]

_TRIPLES = np.array(TRIPLES)
_MAX_COMPARISONS = 1 << 18  # of outputs with thresholds at once


def features(series: Floats, bank: KernelBank) -> Floats:
    """Fractions above the thresholds, then longest runs, of one series (time, channel): (feature,)."""
    out = np.empty((2, len(bank.thresholds)), np.float32)
    first = 0
    for place, counts in enumerate(bank.counts):
        outputs = _all_outputs(series, bank, place)
        kernel_of_threshold = np.repeat(np.arange(len(TRIPLES)), counts)
        for odd in (0, 1):  # what every second kernel has in common is the range of steps at which it counts
            chosen = np.flatnonzero(kernel_of_threshold % 2 == odd)
            begin, end = bank.counted_range(place, odd, len(series))
            size = max(1, _MAX_COMPARISONS // (end - begin))
            for some in (chosen[at : at + size] for at in range(0, len(chosen), size)):
                above = outputs[begin:end, kernel_of_threshold[some]] > bank.thresholds[first + some]
                results = np.stack([np.count_nonzero(above, axis=0), longest_runs(above)])
                out[:, first + some] = results.astype(np.float32) / np.float32(end - begin)
        first += len(kernel_of_threshold)
    return out.reshape(-1)


def longest_runs(above: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The length of the longest run in every column of (time, threshold)."""
    steps = np.arange(1, len(above) + 1, dtype=np.int32)[:, None]
    last_below = steps * ~above
    np.maximum.accumulate(last_below, axis=0, out=last_below)
    return np.asarray((steps - last_below).max(axis=0))


def _all_outputs(series: Floats, bank: KernelBank, place: int) -> Floats:
    """What every kernel makes of a series at a dilation, (time, kernel)."""
    outputs = np.empty((len(TRIPLES), len(series)), np.float32)
    for group in range(GROUPS):
        kernels = np.arange(group, len(TRIPLES), GROUPS)
        outputs[kernels] = kernel_output(*tap_values(series, bank, place, group), tuple(_TRIPLES[kernels].T))
    return np.ascontiguousarray(outputs.T)


def tap_values(series: Floats, bank: KernelBank, place: int, group: int) -> tuple[Floats, Floats]:
    """What a group of kernels reads of a series at a dilation: three times every tap, (tap, time), and their sum."""
    summed = sum_channels(series, bank.channels[place, group])
    dilation, length = int(bank.dilations[place]), len(summed)
    before, after = bank.n_past_taps * dilation, (TAPS - 1 - bank.n_past_taps) * dilation
    padded = np.pad(summed, (before, after))
    seen = [padded[tap * dilation : tap * dilation + length] for tap in range(TAPS)]
    return np.float32(3) * np.stack(seen), _sum_in_order(seen)


def kernel_output(thrice: Floats, every: Floats, triple: tuple[Any, ...]) -> Floats:
    """What a kernel makes of it, (time,), or several (kernel, time) with the taps of each in `triple`."""
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
