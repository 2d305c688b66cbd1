"""The twin of the convolutions in NumPy, one series after the other: the same sums in the same order, the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import GROUPS, TAPS, TRIPLES, Bank

Floats = NDArray[np.float32]


def features(series: Floats, bank: Bank) -> Floats:
    """Shares and then longest stretches of one series (time, channel), (feature,)."""
    found, thresholds = [], iter(np.split(bank.thresholds, bank.counts.reshape(-1).cumsum()[:-1]))
    for place, dilation in enumerate(bank.dilations.tolist()):
        by_group = [outputs(series, bank, place, group) for group in range(GROUPS)]
        for kernel, bounds in zip(range(len(TRIPLES)), thresholds, strict=False):
            row = by_group[kernel % GROUPS][kernel // GROUPS]
            above = row[first_step(len(series), dilation, place + kernel) :] > bounds[:, None]
            counts = np.stack([np.count_nonzero(above, axis=1), longest(above)])
            found.append(counts.astype(np.float32) / np.float32(above.shape[1]))
    return np.concatenate(found, axis=1).reshape(-1)


def longest(above: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The most steps that follow each other in every row of (threshold, time)."""
    steps = np.arange(1, above.shape[1] + 1)
    last_below = np.maximum.accumulate(np.where(above, 0, steps), axis=1)
    return np.asarray((steps - last_below).max(axis=1))


def first_step(length: int, dilation: int, number: int) -> int:
    """From where on outputs count: all of them, or for odd numbers those that see no step before the first."""
    reach = (TAPS - 1) * dilation
    return reach if number % 2 and length > reach else 0


def outputs(series: Floats, bank: Bank, place: int, group: int) -> Floats:
    """What the kernels of a group make of a series at a dilation, (kernel, time)."""
    summed = total(series, bank.channels[place, group])
    if bank.difference:
        summed = np.diff(summed, prepend=summed[:1])
    dilation, length = int(bank.dilations[place]), len(summed)
    padded = np.concatenate([np.zeros((TAPS - 1) * dilation, np.float32), summed])
    taps = [padded[tap * dilation : tap * dilation + length] for tap in range(TAPS)]
    every = _sum(taps)
    thrice = np.float32(3) * np.stack(taps)
    i, j, k = np.array(TRIPLES)[group::GROUPS].T
    return np.asarray(thrice[i] + thrice[j] + thrice[k] - every)


def total(series: Floats, channels: NDArray[Any]) -> Floats:
    """The sum of some channels, from the first slot on."""
    return _sum([series[:, channel] for channel in channels.tolist() if channel >= 0])


def _sum(terms: list[Floats]) -> Floats:
    """In the order in which they come."""
    found = terms[0]
    for term in terms[1:]:
        found = found + term
    return found
