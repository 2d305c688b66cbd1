"""The statistics of `StatisticsEncoder`, for many series of equal length with missing values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LAGS = (1, 2, 3, 5, 8, 13)
N_SEGMENTS = 8  # segments for means; half as many for deviations
N_BANDS = 6  # frequency bands, each twice as wide as the one below it
MAX_CORRELATED_CHANNELS = 12  # correlations are left out for more channels
_CONSTANT_TOLERANCE = 1e-9  # relative deviations below this are rounding of a constant


@dataclass(frozen=True)
class SeriesBlock:
    """Series of equal length, with the mask of present values, mean and deviation of each channel."""

    values: Floats
    """(item, time, channel), nan for missing values."""

    @cached_property
    def valid_mask(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.values)

    @cached_property
    def counts(self) -> Floats:
        """The number of present values, at least 1; a channel without any has zero statistics."""
        return np.asarray(np.maximum(self.valid_mask.sum(axis=1, keepdims=True), 1), np.float64)

    @cached_property
    def zero_filled(self) -> Floats:
        return np.where(self.valid_mask, self.values, 0.0)

    @cached_property
    def mean(self) -> Floats:
        return np.asarray(self.zero_filled.sum(axis=1, keepdims=True) / self.counts)

    @cached_property
    def centered(self) -> Floats:
        """Values minus the mean; 0 for missing values and in constant channels."""
        apart = np.where(self.valid_mask, self.zero_filled - self.mean, 0.0)
        largest = np.abs(self.zero_filled).max(axis=1, keepdims=True)
        return np.where(np.abs(apart).max(axis=1, keepdims=True) <= _CONSTANT_TOLERANCE * largest, 0.0, apart)

    @cached_property
    def deviation(self) -> Floats:
        return np.asarray(np.sqrt((self.centered**2).sum(axis=1, keepdims=True) / self.counts))

    @cached_property
    def z_scores(self) -> Floats:
        """Values scaled to mean 0 and deviation 1; 0 in constant channels."""
        return np.asarray(self.centered / np.where(self.deviation > 0, self.deviation, 1.0))


def compute_statistics(values: Floats) -> Floats:
    """All statistics of series of one length, (item, statistic): channel by channel, then joint ones."""
    block = SeriesBlock(values)
    own = np.stack(list(_channel_statistics(block)), axis=2)  # (item, channel, statistic)
    return np.concatenate([own.reshape(len(values), -1), *_joint_statistics(block)], axis=1)


def _channel_statistics(block: SeriesBlock) -> Iterator[Floats]:
    """The statistics of single channels, each (item, channel)."""
    yield block.mean[:, 0]
    yield block.deviation[:, 0]
    yield from _order_statistics(block)
    yield from _higher_moments(block)
    yield from _trend_statistics(block)
    yield from _segment_statistics(block)
    yield from _change_statistics(block)
    yield from _autocorrelations(block)
    yield from _spectral_statistics(block)
    yield 1 - block.valid_mask.mean(axis=1)


def _order_statistics(block: SeriesBlock) -> Iterator[Floats]:
    """Minimum, quantiles (linearly interpolated), maximum, and the times of maximum and minimum, from 0 to 1."""
    ordered = np.sort(block.values, axis=1)  # missing values come last
    last = block.valid_mask.sum(axis=1) - 1
    for level in (0.0, *QUANTILES, 1.0):
        place = level * np.maximum(last, 0)
        below = np.floor(place).astype(np.int64)
        low, high = (
            np.take_along_axis(ordered, np.minimum(at, np.maximum(last, 0))[:, None], axis=1)[:, 0]
            for at in (below, below + 1)
        )
        yield np.where(last < 0, 0.0, low + (place - below) * (high - low))
    steps = max(block.values.shape[1] - 1, 1)
    yield np.where(block.valid_mask, block.values, -np.inf).argmax(axis=1) / steps
    yield np.where(block.valid_mask, block.values, np.inf).argmin(axis=1) / steps


def _higher_moments(block: SeriesBlock) -> Iterator[Floats]:
    """Skewness and kurtosis."""
    for power in (3, 4):
        yield (block.z_scores**power).sum(axis=1) / block.counts[:, 0]


def _trend_statistics(block: SeriesBlock) -> Iterator[Floats]:
    """Least-squares coefficients of time, from 0 to 1, and of its centred square."""
    n_steps = block.values.shape[1]
    clock = np.linspace(-0.5, 0.5, n_steps)[None, :, None] if n_steps > 1 else np.zeros((1, 1, 1))
    ours = np.where(block.valid_mask, clock, 0.0)
    ours = np.where(block.valid_mask, ours - ours.sum(axis=1, keepdims=True) / block.counts, 0.0)
    yield _safe_ratio((ours * block.centered).sum(axis=1), (ours**2).sum(axis=1))
    bent = np.where(block.valid_mask, clock**2, 0.0)
    bent = np.where(block.valid_mask, bent - bent.sum(axis=1, keepdims=True) / block.counts, 0.0)
    yield _safe_ratio((bent * block.centered).sum(axis=1), (bent**2).sum(axis=1))


def _segment_statistics(block: SeriesBlock) -> Iterator[Floats]:
    """Means of eighths and deviations of quarters of the time; an interval without values has the overall mean."""
    for begin, end in _segment_bounds(block.values.shape[1], N_SEGMENTS):
        yield block.mean[:, 0] + _masked_mean(block.centered[:, begin:end], block.valid_mask[:, begin:end])
    for begin, end in _segment_bounds(block.values.shape[1], N_SEGMENTS // 2):
        part, there = block.centered[:, begin:end], block.valid_mask[:, begin:end]
        square = _masked_mean(part**2, there) - _masked_mean(part, there) ** 2
        yield np.sqrt(np.maximum(square, 0.0))


def _change_statistics(block: SeriesBlock) -> Iterator[Floats]:
    """Mean and root mean square of changes between steps, largest rise and fall, mean crossings, turning points."""
    both = block.valid_mask[:, 1:] & block.valid_mask[:, :-1]
    steps = np.where(both, block.centered[:, 1:] - block.centered[:, :-1], 0.0)
    yield _masked_mean(np.abs(steps), both)
    yield np.sqrt(_masked_mean(steps**2, both))
    yield steps.max(axis=1, initial=0.0)
    yield steps.min(axis=1, initial=0.0)
    yield _masked_mean((both & ((block.centered[:, 1:] > 0) != (block.centered[:, :-1] > 0))).astype(np.float64), both)
    turns = (steps[:, 1:] > 0) != (steps[:, :-1] > 0)
    yield _masked_mean(turns.astype(np.float64), both[:, 1:] & both[:, :-1])


def _autocorrelations(block: SeriesBlock) -> Iterator[Floats]:
    """Autocorrelations at fixed lags; 0 for lags beyond the length."""
    n_steps = block.values.shape[1]
    for lag in LAGS:
        if lag >= n_steps:
            yield np.zeros(block.mean[:, 0].shape)
            continue
        both = block.valid_mask[:, lag:] & block.valid_mask[:, :-lag]
        yield _masked_mean(block.z_scores[:, lag:] * block.z_scores[:, :-lag], both)


def _spectral_statistics(block: SeriesBlock) -> Iterator[Floats]:
    """Fractions of power in octaves below the highest frequency, mean frequency, and spectral entropy."""
    n_steps = block.values.shape[1]
    power = np.abs(np.fft.rfft(block.z_scores, axis=1)[:, 1:]) ** 2
    share = power / np.maximum(power.sum(axis=1, keepdims=True), 1e-300)
    frequency = np.arange(1, share.shape[1] + 1) / max(n_steps, 1)
    edges = [0.5 / 2**octave for octave in range(N_BANDS)] + [0.0]
    for high, low in pairwise(edges):
        yield share[:, (frequency > low) & (frequency <= high)].sum(axis=1)
    yield (share * frequency[None, :, None]).sum(axis=1)
    yield -(share * np.log(np.maximum(share, 1e-300))).sum(axis=1)


def _joint_statistics(block: SeriesBlock) -> Iterator[Floats]:
    """The logarithm of the length, and the correlations of channels if there are few, each (item, 1)."""
    n_items, n_steps, n_channels = block.values.shape
    yield np.full((n_items, 1), np.log(n_steps))
    if n_channels <= MAX_CORRELATED_CHANNELS:
        pairs = [(i, j) for i in range(n_channels) for j in range(i)]
        both = [block.valid_mask[:, :, i] & block.valid_mask[:, :, j] for i, j in pairs]
        products = [block.z_scores[:, :, i] * block.z_scores[:, :, j] for i, j in pairs]
        for product, there in zip(products, both, strict=True):
            yield _masked_mean(product[:, :, None], there[:, :, None])


def _masked_mean(values: Floats, there: NDArray[np.bool_]) -> Floats:
    """The mean of present values over time; 0 if there are none."""
    return _safe_ratio(np.where(there, values, 0.0).sum(axis=1), there.sum(axis=1).astype(np.float64))


def _safe_ratio(numerator: Floats, denominator: Floats) -> Floats:
    return np.asarray(numerator / np.where(denominator > 0, denominator, 1.0))


def _segment_bounds(n_steps: int, n_parts: int) -> list[tuple[int, int]]:
    """Start and end of equal parts of the time; none is empty, so those of a short series overlap."""
    begin = [n_steps * part // n_parts for part in range(n_parts)]
    return [(first, max(n_steps * (part + 1) // n_parts, first + 1)) for part, first in enumerate(begin)]
