"""A stream of samples through the kernels of Rocket, with running counts and a ring buffer of past samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...native.rocket import GROUPS, TAPS, TRIPLES, KernelBank
from ..base import Floats, StandardizedStream

_INITIAL_RING = 64  # initial size of the ring buffer, in samples


class RocketStream(StandardizedStream):
    """A stream through causal kernels, bit-equal to encoding all samples at once, at constant cost per sample."""

    def __init__(
        self, bank: KernelBank, n_features: int, mean: NDArray[np.float64], scale: NDArray[np.float64]
    ) -> None:
        super().__init__(mean, scale)
        self._counts = _ThresholdCounts(bank)
        self._n_features = n_features
        self._last_sample = self._next_sample = mean  # fill values, now and after this sample

    def _fill_missing(self, frame: NDArray[np.float64]) -> NDArray[np.float64]:
        """Replace missing values by the last ones."""
        self._next_sample = super()._fill_missing(np.where(np.isnan(frame), self._last_sample, frame))
        return self._next_sample

    def _advance(self, x: Floats) -> Floats:
        self._last_sample = self._next_sample  # set here, so that a sample that raised an error is ignored
        frame = x.reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            vector = np.concatenate(self._counts.push(frame))
        return vector[: self._n_features]


class _ThresholdCounts:
    """Counts and runs of steps above every threshold, and the past samples that the next outputs need."""

    def __init__(self, bank: KernelBank) -> None:
        self.bank, self.n_samples = bank, 0
        longest = (TAPS - 1) * int(bank.dilations.max()) + 1
        self.longest_ring = longest
        # (time, dilation, group); grows with the number of samples, up to the longest kernel
        self.ring = np.zeros((min(longest, _INITIAL_RING), *bank.channels.shape[:2]), np.float32)
        self.back = np.arange(TAPS - 1, -1, -1)[:, None] * bank.dilations  # (tap, dilation)
        number, kernel = np.indices(bank.counts.shape)
        self.output_positions = np.repeat(np.arange(bank.counts.size), bank.counts.reshape(-1))  # of each threshold
        odd = (number + kernel) % 2 == 1
        self.reach = np.where(odd, (TAPS - 1) * bank.dilations[number], 0).reshape(-1)[self.output_positions]
        self.counts, self.run, self.longest = np.zeros((3, len(bank.thresholds)), np.int64)

    def push(self, frame: Floats) -> tuple[Floats, Floats]:
        if self.n_samples == len(self.ring) < self.longest_ring:
            more = min(self.n_samples, self.longest_ring - self.n_samples)
            self.ring = np.concatenate([self.ring, np.zeros((more, *self.ring.shape[1:]), np.float32)])
        self.ring[self.n_samples % len(self.ring)] = self._sum_channels(frame)
        within = self.n_samples != self.reach  # at `reach` all taps are inside for the first time: counts restart
        above = self._kernel_outputs()[self.output_positions] > self.bank.thresholds
        self.counts = self.counts * within + above
        self.run = (self.run * within + 1) * above
        self.longest = np.maximum(self.longest * within, self.run)
        self.n_samples += 1
        steps = (self.n_samples - np.where(self.reach < self.n_samples, self.reach, 0)).astype(np.float32)
        return self.counts.astype(np.float32) / steps, self.longest.astype(np.float32) / steps

    def _sum_channels(self, frame: Floats) -> Floats:
        """The sums of the channels of every group, (dilation, group)."""
        padded = np.append(frame, np.float32(0))  # unused slots refer to this zero
        summed: Any = padded[self.bank.channels[..., 0]]
        for slot in range(1, self.bank.channels.shape[2]):
            summed = summed + padded[self.bank.channels[..., slot]]
        return np.asarray(summed)

    def _kernel_outputs(self) -> Floats:
        """The current outputs of all kernels, dilation by dilation."""
        places = (self.n_samples - self.back) % len(self.ring)
        mask = (self.back <= self.n_samples)[..., None]  # samples before the first are zero
        taps = self.ring[places, np.arange(len(self.bank.dilations))] * mask  # (tap, dilation, group)
        every = taps[0]
        for tap in taps[1:]:
            every = every + tap
        kernels, (i, j, k) = np.arange(len(TRIPLES)) % GROUPS, np.array(TRIPLES).T
        thrice = np.float32(3) * taps
        outputs = thrice[i, :, kernels] + thrice[j, :, kernels] + thrice[k, :, kernels] - every[:, kernels].T
        return np.asarray(outputs.T.reshape(-1))
