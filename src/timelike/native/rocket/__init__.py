"""Dilated convolutions of series, how often each exceeds its thresholds and how long without a break, in arrays.

A kernel has nine taps, three of weight 2 and six of weight −1; tap 8 is now and tap k is (8 − k)·d steps ago, with 0
before the first step. Sums are taken in one order everywhere and comparisons counted, so a feature has the same bits on
every instruction set, in any company, and in `twin`.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..machine import Steps, kernels, use_kernels

TAPS = 9
TRIPLES = tuple(combinations(range(TAPS), 3))
"""The taps of weight 2 of every kernel."""
GROUPS = 21
"""Kernel k sees the channels of group k modulo this."""


class Bank(NamedTuple):
    """Kernels at some dilations, and the thresholds that their outputs are compared with.

    Kernels whose number plus that of the dilation is odd see no step before the first, unless the series is shorter
    than they are.
    """

    difference: bool
    """Whether steps are taken less the one before them; the first is 0 then."""
    dilations: NDArray[np.int64]
    """(dilation,)"""
    channels: NDArray[np.int64]
    """(dilation, group, slot): the channels that are added up, −1 in slots that are not used."""
    counts: NDArray[np.int64]
    """(dilation, kernel): how many thresholds each has."""
    thresholds: NDArray[np.float32]
    """(threshold,), in the order of the counts."""


def features(steps: Steps, banks: list[Bank], *, threads: int) -> NDArray[np.float32]:
    """Shares of the steps at which outputs exceed thresholds, and of the longest stretches of such steps.

    (item, feature): those of all banks in turn, each with as many shares as it has thresholds, and then as many
    stretches. `steps` are float32 (step, channel) and contiguous, every sequence at least one step long.
    """
    ends = np.cumsum([2 * len(bank.thresholds) for bank in banks]).tolist()
    out = np.empty((len(steps.lengths), ends[-1]), np.float32)
    for bank, end in zip(banks, ends, strict=True):
        _fill(steps, bank, out, end - 2 * len(bank.thresholds), threads)
    return out


def _fill(steps: Steps, bank: Bank, out: NDArray[Any], first: int, threads: int) -> None:
    if use_kernels():
        kernels.rocket_features(steps, bank, first, threads=threads, out=out)
        return
    from . import twin

    with np.errstate(over="ignore", invalid="ignore"):
        for item, series in enumerate(steps.items()):
            out[item, first : first + 2 * len(bank.thresholds)] = twin.features(series, bank)
