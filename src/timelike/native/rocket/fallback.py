"""The fallback of the Rocket kernels in NumPy, one series at a time: bit-identical, with the same order of sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import GROUPS, TAPS, TRIPLES, KernelBank

Floats = NDArray[np.float32]

_TAPS_OF_WEIGHT_2 = np.array(TRIPLES).T  # (three, kernel)
_GROUP_OF_KERNEL = np.arange(len(TRIPLES)) % GROUPS
_BLOCK_STEPS = 1024  # whose outputs are made at once
_MAX_COMPARISONS = 1 << 18  # of outputs with thresholds at once


def features(series: Floats, bank: KernelBank) -> Floats:
    """Fractions above the thresholds, then longest runs, of one series (time, channel): (feature,)."""
    out = np.empty((2, len(bank.thresholds)), np.float32)
    first = 0
    for place, counts in enumerate(bank.counts):
        outputs = kernel_outputs(series, bank, place)
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


def kernel_outputs(series: Floats, bank: KernelBank, place: int) -> Floats:
    """What every kernel makes of a series at a dilation, (time, kernel)."""
    dilation, length = int(bank.dilations[place]), len(series)
    before = bank.n_past_taps * dilation
    padded = np.zeros((length + (TAPS - 1) * dilation, GROUPS), np.float32)
    padded[before : before + length] = sum_channels(series, bank.channels[place])
    out = np.empty((length, len(TRIPLES)), np.float32)
    for begin in range(0, length, _BLOCK_STEPS):
        end = min(begin + _BLOCK_STEPS, length)
        taps = [padded[tap * dilation + begin : tap * dilation + end] for tap in range(TAPS)]
        every = taps[0]
        for tap in taps[1:]:
            every = every + tap
        thrice = np.float32(3) * np.concatenate(taps, axis=1)  # (time, tap and group)
        i, j, k = (thrice[:, columns] for columns in _TAPS_OF_WEIGHT_2 * GROUPS + _GROUP_OF_KERNEL)
        out[begin:end] = i + j + k - every[:, _GROUP_OF_KERNEL]
    return out


def sum_channels(series: Floats, channels: NDArray[np.int64]) -> Floats:
    """The sums of the channels (group, slot), from the first slot on, (time, group)."""
    # slots that are not used, −1, read the zeros at the end: they change nothing but the sign of a zero
    padded = np.concatenate([series, np.zeros_like(series[:, :1])], axis=1)
    total = padded[:, channels[:, 0]]
    for slot in channels.T[1:]:
        total = total + padded[:, slot]
    return np.asarray(total)
