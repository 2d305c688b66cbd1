"""The kernels of Rocket: sampling of dilations, channels and thresholds for given sequences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...models import schema
from ...native.rocket import GROUPS, TAPS, TRIPLES, KernelBank
from ...sequences import Sequences

Ints = NDArray[np.int64]

_MAX_DILATIONS = 32
_MAX_CHANNELS = 9  # channels that a kernel adds up
_MAX_KERNEL_STEPS = 1 << 24  # length of a kernel
_TYPICAL_QUANTILE = 0.9  # fraction of the sequences that are no longer than the typical length
_QUANTILE_STEPS = 128  # steps of a sequence used for quantiles
_GOLDEN_RATIO = (np.sqrt(5) + 1) / 2


def sample_kernels(ready: Sequences, n_thresholds: int, *, centred: bool, rng: np.random.Generator) -> KernelBank:
    """Kernels with `n_thresholds` thresholds in total for standardized sequences."""
    dilations, weights = dilations_and_weights(typical_length(ready.lengths), n_thresholds)
    counts = thresholds_per_kernel(n_thresholds, weights)
    channels = sample_channel_subsets(ready.frame[0], len(dilations), rng)
    bank = KernelBank(dilations, channels, counts, np.zeros(n_thresholds, np.float32), centred)
    return bank._replace(thresholds=_sample_thresholds(ready, bank, rng))


def typical_length(lengths: Ints) -> int:
    """A length that few sequences exceed; the maximum may be an outlier, which would make most kernels too long.

    >>> typical_length(np.array([20] * 20 + [9000]))
    20
    """
    return int(np.quantile(lengths, _TYPICAL_QUANTILE, method="higher"))


def dilations_and_weights(length: int, n_features: int) -> tuple[Ints, Ints]:
    """Dilations 2^0, …, 2^m with evenly spaced exponents, rounded down, and the number of exponents of each.

    The longest kernel, 8·2^m + 1 steps, is as long as a series of the given length, and at most 2^24 steps.

    >>> dilations_and_weights(33, 10_000)
    (array([1, 2, 3, 4]), array([16,  9,  6,  1]))
    """
    most = max(np.log2(max(min(length, _MAX_KERNEL_STEPS) - 1, 1) / (TAPS - 1)), 0.0)
    number = int(np.clip(n_features // len(TRIPLES), 1, _MAX_DILATIONS))
    powers = np.floor(np.exp2(np.linspace(0, most, number)) + 1e-9).astype(np.int64)
    values, times = np.unique(powers, return_counts=True)
    return values, times


def thresholds_per_kernel(n_features: int, weights: Ints) -> Ints:
    """The number of thresholds (dilation, kernel): dilations by weight, kernels evenly.

    >>> thresholds_per_kernel(170, np.array([2, 1])).sum(axis=1)
    array([113,  57])
    """
    ends = n_features * weights.cumsum() // weights.sum()
    each = np.diff(ends, prepend=0)
    number = np.arange(len(TRIPLES) + 1)
    return np.stack([np.diff(number * features // len(TRIPLES)) for features in each.tolist()])


def sample_channel_subsets(n_channels: int, n_dilations: int, rng: np.random.Generator) -> Ints:
    """The channels that each group of kernels adds up at each dilation, (dilation, group, slot).

    Sizes are 1 to 9 with logarithms evenly distributed, as in MiniRocket.
    """
    slots = min(n_channels, _MAX_CHANNELS)
    chosen = np.full((n_dilations, GROUPS, slots), -1, np.int64)
    for places in chosen.reshape(-1, slots):
        size = int(2 ** rng.uniform(0, np.log2(slots + 1)))
        places[:size] = np.sort(
            rng.choice(n_channels, size, replace=False)
        )  # sorted, so that equal subsets are summed once
    return chosen


def _sample_thresholds(ready: Sequences, bank: KernelBank, rng: np.random.Generator) -> NDArray[np.float32]:
    """Quantiles of the outputs of each kernel for a random sequence; the levels follow the golden ratio."""
    _, starts, lengths = ready.buffers()
    items = rng.integers(len(ready), size=bank.counts.shape)
    kernels = [np.repeat(np.arange(len(TRIPLES)), counts) for counts in bank.counts]
    levels = np.arange(1, len(bank.thresholds) + 1) * _GOLDEN_RATIO % 1
    ends, thresholds = bank.counts.sum(axis=1).cumsum(), []
    with np.errstate(over="ignore", invalid="ignore"):
        for place, kernel in enumerate(kernels):
            rows = np.sort(_kernel_outputs(ready, bank, place, starts[items[place]], lengths[items[place]]), axis=1)
            thresholds.append(_row_quantiles(rows[kernel], levels[ends[place] - len(kernel) : ends[place]]))
    return np.concatenate(thresholds)


def _kernel_outputs(ready: Sequences, bank: KernelBank, place: int, starts: Ints, lengths: Ints) -> NDArray[np.float32]:
    """The outputs of every kernel for its own sequence at evenly spaced steps, (kernel, step)."""
    steps = np.arange(_QUANTILE_STEPS) * lengths[:, None] // _QUANTILE_STEPS
    ahead = (np.arange(TAPS) - bank.n_past_taps) * bank.dilations[place]
    at = steps + ahead[:, None, None]  # (tap, kernel, step)
    inside = (at >= 0) & (at < lengths[:, None])
    channels = bank.channels[place, np.arange(len(TRIPLES)) % GROUPS]
    taps = _sum_channels(ready, channels, starts[:, None] + np.where(inside, at, 0))
    taps = np.where(inside, taps, np.float32(0))
    every, thrice = taps.sum(axis=0), np.float32(3) * taps
    i, j, k = np.array(TRIPLES).T
    kernel = np.arange(len(TRIPLES))
    return np.asarray(thrice[i, kernel] + thrice[j, kernel] + thrice[k, kernel] - every)


def _sum_channels(ready: Sequences, channels: Ints, rows: Ints) -> NDArray[np.float32]:
    """The sums of every kernel's channels at rows (tap, kernel, step) of the values."""
    values, _, _ = ready.buffers()
    total = values[rows, channels[:, :1]]
    for slot in channels.T[1:]:
        used = np.flatnonzero(slot >= 0)
        total[:, used] += values[rows[:, used], slot[used, None]]
    return np.asarray(total)


def _row_quantiles(rows: NDArray[np.float32], levels: NDArray[Any]) -> NDArray[np.float32]:
    """One quantile of each sorted row, with linear interpolation."""
    place = levels * (rows.shape[1] - 1)
    below = place.astype(np.int64)
    share = (place - below).astype(np.float32)
    low, high = (np.take_along_axis(rows, at[:, None], axis=1)[:, 0] for at in (below, below + 1))
    return np.asarray(low + share * (high - low))


def _check_bank(bank: KernelBank, name: str, scope: schema.CheckScope) -> None:
    """Raise an error unless dilations, counts, channels and `centred` are as `fit` makes them."""
    longest = min(scope.model.length_, _MAX_KERNEL_STEPS) if scope.model.length is not None else _MAX_KERNEL_STEPS
    most = max((longest - 1) // (TAPS - 1), 1)
    if bank.dilations.max(initial=1) > most:
        raise ValueError(
            f"{name}.dilations holds {bank.dilations.max()}: expected at most {most}, a kernel of {longest} steps"
        )
    if bank.counts.max(initial=0) > len(bank.thresholds) or bank.counts.sum() != len(bank.thresholds):
        raise ValueError(f"{name}.counts do not add up to the {len(bank.thresholds)} thresholds")
    if bank.channels.shape[2] > math.prod(scope.model.frame_) or (bank.channels[..., 0] < 0).any():
        raise ValueError(f"{name}.channels has a group without a channel, or more channels than there are")
    if bank.centred == scope.model.causal:
        raise ValueError(f"{name}.centred is {bank.centred}: expected the opposite of causal={scope.model.causal}")


BANK_SCHEMA = schema.record(
    KernelBank,
    check=_check_bank,
    dilations=schema.array("dilation", dtype="int64", least=1),
    channels=schema.indices("dilation", GROUPS, "slot", below=lambda model: math.prod(model.frame_), least=-1),
    counts=schema.array("dilation", len(TRIPLES), dtype="int64", least=0),
    thresholds=schema.array("threshold", dtype="float32"),
    centred=schema.boolean(),
)
"""The schema of kernels for fitted attributes."""
