"""Statistics of many series of one length at once, some of whose values may be missing: what each number is."""

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
STRETCHES = 8  # in which the mean is taken; the deviation in half as many
BANDS = 6  # of frequencies, each twice as wide as the one below it
CROSSED = 12  # channels up to which all pairs are correlated
_FLAT = 1e-9  # a deviation relative to the values below which a channel does not vary, but for rounding


@dataclass(frozen=True)
class Block:
    """Series of one length, and of each channel its mean, deviation and which values are there."""

    values: Floats
    """(item, time, channel), nan where one is missing."""

    @cached_property
    def there(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.values)

    @cached_property
    def counts(self) -> Floats:
        """How many values there are, at least one: a channel without any has zeros everywhere."""
        return np.asarray(np.maximum(self.there.sum(axis=1, keepdims=True), 1), np.float64)

    @cached_property
    def filled(self) -> Floats:
        return np.where(self.there, self.values, 0.0)

    @cached_property
    def mean(self) -> Floats:
        return np.asarray(self.filled.sum(axis=1, keepdims=True) / self.counts)

    @cached_property
    def centered(self) -> Floats:
        """Zero where a value is missing, and where a channel does not vary."""
        apart = np.where(self.there, self.filled - self.mean, 0.0)
        largest = np.abs(self.filled).max(axis=1, keepdims=True)
        return np.where(np.abs(apart).max(axis=1, keepdims=True) <= _FLAT * largest, 0.0, apart)

    @cached_property
    def deviation(self) -> Floats:
        return np.asarray(np.sqrt((self.centered**2).sum(axis=1, keepdims=True) / self.counts))

    @cached_property
    def standard(self) -> Floats:
        """Mean 0 and deviation 1, or zeros."""
        return np.asarray(self.centered / np.where(self.deviation > 0, self.deviation, 1.0))


def statistics(values: Floats) -> Floats:
    """All statistics of series of one length, (item, statistic); channel after channel, then what joins channels."""
    block = Block(values)
    own = np.stack(list(_of_channels(block)), axis=2)  # (item, channel, statistic)
    return np.concatenate([own.reshape(len(values), -1), *_of_all(block)], axis=1)


def _of_channels(block: Block) -> Iterator[Floats]:
    """One number for every item and channel, (item, channel), statistic after statistic."""
    yield block.mean[:, 0]
    yield block.deviation[:, 0]
    yield from _order(block)
    yield from _moments(block)
    yield from _trend(block)
    yield from _stretches(block)
    yield from _changes(block)
    yield from _memory(block)
    yield from _spectrum(block)
    yield 1 - block.there.mean(axis=1)


def _order(block: Block) -> Iterator[Floats]:
    """Least, largest, quantiles (linear between neighbours), and when the extremes are, as a share of the time."""
    ordered = np.sort(block.values, axis=1)  # missing values come last
    last = block.there.sum(axis=1) - 1
    for level in (0.0, *QUANTILES, 1.0):
        place = level * np.maximum(last, 0)
        below = np.floor(place).astype(np.int64)
        low, high = (
            np.take_along_axis(ordered, np.minimum(at, np.maximum(last, 0))[:, None], axis=1)[:, 0]
            for at in (below, below + 1)
        )
        yield np.where(last < 0, 0.0, low + (place - below) * (high - low))
    steps = max(block.values.shape[1] - 1, 1)
    yield np.where(block.there, block.values, -np.inf).argmax(axis=1) / steps
    yield np.where(block.there, block.values, np.inf).argmin(axis=1) / steps


def _moments(block: Block) -> Iterator[Floats]:
    """Skewness and kurtosis."""
    for power in (3, 4):
        yield (block.standard**power).sum(axis=1) / block.counts[:, 0]


def _trend(block: Block) -> Iterator[Floats]:
    """Slope against time from 0 to 1 by least squares, and the bend: the share of a parabola in what is left."""
    n_steps = block.values.shape[1]
    clock = np.linspace(-0.5, 0.5, n_steps)[None, :, None] if n_steps > 1 else np.zeros((1, 1, 1))
    ours = np.where(block.there, clock, 0.0)
    ours = np.where(block.there, ours - ours.sum(axis=1, keepdims=True) / block.counts, 0.0)
    yield _ratio((ours * block.centered).sum(axis=1), (ours**2).sum(axis=1))
    bent = np.where(block.there, clock**2, 0.0)
    bent = np.where(block.there, bent - bent.sum(axis=1, keepdims=True) / block.counts, 0.0)
    yield _ratio((bent * block.centered).sum(axis=1), (bent**2).sum(axis=1))


def _stretches(block: Block) -> Iterator[Floats]:
    """Means of eighths and deviations of quarters of the time; of a stretch without values, those of the whole."""
    for begin, end in _cuts(block.values.shape[1], STRETCHES):
        yield block.mean[:, 0] + _mean(block.centered[:, begin:end], block.there[:, begin:end])
    for begin, end in _cuts(block.values.shape[1], STRETCHES // 2):
        part, there = block.centered[:, begin:end], block.there[:, begin:end]
        square = _mean(part**2, there) - _mean(part, there) ** 2
        yield np.sqrt(np.maximum(square, 0.0))


def _changes(block: Block) -> Iterator[Floats]:
    """From one step to the next: mean and root of the mean square of changes, largest rise and fall, crossings."""
    both = block.there[:, 1:] & block.there[:, :-1]
    steps = np.where(both, block.centered[:, 1:] - block.centered[:, :-1], 0.0)
    yield _mean(np.abs(steps), both)
    yield np.sqrt(_mean(steps**2, both))
    yield steps.max(axis=1, initial=0.0)
    yield steps.min(axis=1, initial=0.0)
    yield _mean((both & ((block.centered[:, 1:] > 0) != (block.centered[:, :-1] > 0))).astype(np.float64), both)
    turns = (steps[:, 1:] > 0) != (steps[:, :-1] > 0)
    yield _mean(turns.astype(np.float64), both[:, 1:] & both[:, :-1])


def _memory(block: Block) -> Iterator[Floats]:
    """Autocorrelations."""
    n_steps = block.values.shape[1]
    for lag in LAGS:
        if lag >= n_steps:
            yield np.zeros(block.mean[:, 0].shape)
            continue
        both = block.there[:, lag:] & block.there[:, :-lag]
        yield _mean(block.standard[:, lag:] * block.standard[:, :-lag], both)


def _spectrum(block: Block) -> Iterator[Floats]:
    """Shares of power in octaves below the highest frequency, the mean frequency, and the entropy of the spectrum."""
    n_steps = block.values.shape[1]
    power = np.abs(np.fft.rfft(block.standard, axis=1)[:, 1:]) ** 2
    share = power / np.maximum(power.sum(axis=1, keepdims=True), 1e-300)
    frequency = np.arange(1, share.shape[1] + 1) / max(n_steps, 1)
    edges = [0.5 / 2**octave for octave in range(BANDS)] + [0.0]
    for high, low in pairwise(edges):
        yield share[:, (frequency > low) & (frequency <= high)].sum(axis=1)
    yield (share * frequency[None, :, None]).sum(axis=1)
    yield -(share * np.log(np.maximum(share, 1e-300))).sum(axis=1)


def _of_all(block: Block) -> Iterator[Floats]:
    """What is not of one channel, (item, statistic): the logarithm of the length, and correlations of few channels."""
    n_items, n_steps, n_channels = block.values.shape
    yield np.full((n_items, 1), np.log(n_steps))
    if n_channels <= CROSSED:
        pairs = [(i, j) for i in range(n_channels) for j in range(i)]
        both = [block.there[:, :, i] & block.there[:, :, j] for i, j in pairs]
        products = [block.standard[:, :, i] * block.standard[:, :, j] for i, j in pairs]
        for product, there in zip(products, both, strict=True):
            yield _mean(product[:, :, None], there[:, :, None])


def _mean(values: Floats, there: NDArray[np.bool_]) -> Floats:
    """Over time, of the values that are there; 0 where there are none."""
    return _ratio(np.where(there, values, 0.0).sum(axis=1), there.sum(axis=1).astype(np.float64))


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.asarray(above / np.where(below > 0, below, 1.0))


def _cuts(n_steps: int, n_parts: int) -> list[tuple[int, int]]:
    """Where parts of the time begin and end; none is empty, so those of a short series overlap."""
    begin = [n_steps * part // n_parts for part in range(n_parts)]
    return [(first, max(n_steps * (part + 1) // n_parts, first + 1)) for part, first in enumerate(begin)]
