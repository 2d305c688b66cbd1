"""Rocket features on arrays: dilated convolutions, the fraction of steps above each threshold and the longest run.

A kernel has nine taps, three of weight 2 and six of weight −1. Tap k reads (k − 4)·d steps from now where kernels are
centred, and (k − 8)·d where they are causal, with 0 before the first step and after the last. Sums have the same
order everywhere and comparisons are counted, so a feature is bit-identical on every instruction set, in every batch
and in `fallback`.
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
    """Kernels with dilations, and the thresholds for their outputs.

    If the number of a kernel plus that of its dilation is odd, it counts only at steps where it lies entirely inside
    the series, unless the series is not longer than the kernel; other kernels count at every step.
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
    """The fractions of steps at which outputs exceed thresholds, and those of the longest runs of such steps.

    The result is (item, feature): one fraction per threshold, then one run per threshold. `steps` are float32 (step,
    channel) and contiguous; every sequence has at least one step.
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
