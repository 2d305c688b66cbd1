"""Dilated convolutions of series, how often each exceeds its thresholds and how long without a break, in arrays.

A kernel has nine taps, three of weight 2 and six of weight −1. Tap k reads (k − 4)·d steps from now where kernels are
centred, and (k − 8)·d where they look back only, with 0 before the first step and after the last. Sums are taken in one
order everywhere and comparisons counted, so a feature has the same bits on every instruction set, whatever else is
encoded with it, and in `fallback`.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..machine import PackedSequences, kernels, use_kernels

TAPS = 9
TRIPLES = tuple(combinations(range(TAPS), 3))
"""The taps of weight 2 of every kernel."""
GROUPS = 21
"""Kernel k sees the channels of group k modulo this."""


class KernelBank(NamedTuple):
    """Kernels at some dilations, and the thresholds that their outputs are compared with.

    Kernels whose number plus that of the dilation is odd count only where they are wholly inside of the series, unless
    it is no longer than they are; the others count at every step.
    """

    dilations: NDArray[np.int64]
    """(dilation,)"""
    channels: NDArray[np.int64]
    """(dilation, group, slot): the channels that are added up, −1 in slots that are not used."""
    counts: NDArray[np.int64]
    """(dilation, kernel): how many thresholds each has."""
    thresholds: NDArray[np.float32]
    """(threshold,), in the order of the counts."""
    centred: bool
    """Whether kernels look as far ahead as back, or back only."""

    @property
    def n_past_taps(self) -> int:
        """How many taps are before the one that reads the present step."""
        return TAPS // 2 if self.centred else TAPS - 1

    def counted_range(self, place: int, kernel: int, length: int) -> tuple[int, int]:
        """The first step at which the outputs of a kernel at a dilation count, and the one after the last."""
        dilation = int(self.dilations[place])
        if (place + kernel) % 2 == 0 or length <= (TAPS - 1) * dilation:
            return 0, length
        return self.n_past_taps * dilation, length - (TAPS - 1 - self.n_past_taps) * dilation


def features(steps: PackedSequences, bank: KernelBank, *, threads: int) -> NDArray[np.float32]:
    """Shares of the steps at which outputs exceed thresholds, and of the longest runs of such steps.

    (item, feature): as many shares as there are thresholds, and then as many runs. `steps` are float32 (step, channel)
    and contiguous, every sequence at least one step long.
    """
    out = np.empty((len(steps.lengths), 2 * len(bank.thresholds)), np.float32)
    # a dilation beyond every series reads nothing but the present step, as one of its length does: scratch memory then
    # grows with the series and not with the bank
    longest = steps.lengths.max(initial=1)
    bank = bank._replace(dilations=np.minimum(bank.dilations, longest))
    if use_kernels():
        arrays = (bank.dilations, bank.channels, bank.counts, bank.thresholds)
        kernels.rocket_features(steps, arrays, 0, threads=threads, out=out, centred=bank.centred)
        return out
    from . import fallback

    with np.errstate(over="ignore", invalid="ignore"):
        for item, series in enumerate(steps.items()):
            out[item] = fallback.features(series, bank)
    return out
