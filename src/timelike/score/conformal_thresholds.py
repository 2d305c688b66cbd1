"""Thresholds by a rank over identities: pairs that share an identity are not independent witnesses, identities are.

A draw puts the identities into pairs, each identity into one of them, and takes one trial of each pair. These n scores
and that of two new identities are exchangeable, whatever identities have to do with scores, so the rank of split
conformal prediction (Vovk et al., 2005) is exact for them: accept at most α (n + 1) − 1 of them. Many draws have a
threshold each, and one that three in five of them keep is used: it depends on no single draw, and all pairs have a part
in it (decision 0057). What is exact for one draw is not for this quantile of many: α / 0.6 is what is proven of it, and
simulations keep α.
"""

from __future__ import annotations

import warnings
from math import ceil, floor
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.warnings import find_stack_level

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

N_DRAWS = 400
# share of the draws that a threshold keeps; the median is a little too low where scores are sums of two
_KEPT_SHARE = 0.6
_ROUNDING_FACTOR = 1 + 1e-12  # 0.29 × 100 is 28.999…
_MIN_RATE = 1e-300  # rates below are as good as none, and their inverse is still a number
_SINGULARS = {"identities": "identity", "examples": "example"}
_LEFT_OUT_REASONS = {
    "identities": " (`within` and `across` leave most pairs out)",
    "examples": " (most examples are of one class, and only pairs of two classes are impostors)",
}
_KEPT_PROMISES = {
    "identities": "The threshold keeps it for every two of these identities by themselves, but",
    "examples": "The threshold is above all impostor pairs of these examples, but",
}
_MAX_CELLS = 1 << 22  # scores of draws that are there at a time


class CalibrationWarning(UserWarning):
    """A calibration whose rate is not promised: of too few identities, or of those that the metric was fitted on."""


class ThresholdBound(NamedTuple):
    """A threshold, the rate that is promised at it, and how many groups without a common unit tell it."""

    threshold: float
    promised_rate: float
    n_independent: int

    @property
    def min_promised_rate(self) -> float:
        """The least rate that so many groups can promise."""
        return 1 / (self.n_independent + 1)

    def is_weaker_than(self, other: ThresholdBound, rate: float) -> bool:
        """Whether it promises a lower rate than the other."""
        return self.min_promised_rate > max(other.min_promised_rate, rate)


def max_exceedances(count: int, rate: float) -> int:
    """How many of so many exchangeable scores may be beyond a threshold; less than 0 where they are too few to tell.

    One of count + 1 is among the highest k of them with probability k / (count + 1), and itself one of these k.

    >>> [max_exceedances(count, 0.1) for count in (8, 9, 18, 19)]
    [-1, 0, 0, 1]
    """
    return floor(rate * (count + 1) * _ROUNDING_FACTOR) - 1


def min_count(rate: float) -> int:
    """How many exchangeable scores a rate needs: 1 / rate − 1, rounded up."""
    return ceil(1 / max(rate * _ROUNDING_FACTOR, _MIN_RATE)) - 1


def impostor_bound(scores: Floats, first: Ids, second: Ids, rate: float) -> ThresholdBound:
    """The least score to accept so that a trial of two new units is accepted with a probability of at most `rate`.

    `first` and `second` (trial,) say of which two units, identities or sequences, every score is. Where n pairs without
    a common unit are fewer than 1 / rate − 1, no rank of them keeps the rate: the threshold is then such that each pair
    of units keeps it by itself. A new pair is less alike than the most alike of these with probability n / (n + 1), and
    keeps it too.

    >>> pairs = np.triu_indices(4, 1)
    >>> impostor_bound(np.arange(6.0), *pairs, 0.4)[1:], impostor_bound(np.arange(6.0), *pairs, 0.1)[1:]
    ((0.4, 2), (0.3333333333333333, 2))
    """
    codes = _compact_codes(np.concatenate([first, second]))[1].reshape(2, -1)
    n_units = int(codes.max()) + 1
    pairs, which = _compact_codes(codes.min(axis=0) * n_units + codes.max(axis=0))
    if max_exceedances(n_units // 2, rate) < 0 and len(pairs) == n_units * (n_units - 1) // 2:
        return _strictest_bound(scores, which, n_units // 2, rate)  # which needs no draws
    rng = np.random.default_rng(0)  # a rule with a fixed seed: the same sequences have the same threshold
    return _quantile_bound(scores, which, sample_pairings(pairs // n_units, pairs % n_units, n_units, rng), rate, rng)


def unit_bound(scores: Floats, units: Ids, rate: float) -> ThresholdBound:
    """The least score that a trial of a new unit has or exceeds with a probability of at most `rate`.

    >>> unit_bound(np.arange(9.0), np.arange(9), 0.2).threshold > 7.0  # one of nine, 8.0, and no more
    True
    """
    which = _compact_codes(units)[1]
    return _quantile_bound(
        scores, which, np.tile(np.arange(int(which.max()) + 1), (N_DRAWS, 1)), rate, np.random.default_rng(0)
    )


def _compact_codes(numbers: Ids) -> tuple[Ids, Ids]:
    """Whole numbers from 0 that occur, in their order, and the place of each among them; without sorting if it can."""
    if numbers.max() > 8 * len(numbers):
        found, places = np.unique(numbers, return_inverse=True)
        return found, places.astype(np.int64)
    there = np.zeros(int(numbers.max()) + 1, bool)
    there[numbers] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[numbers]


def _quantile_bound(scores: Floats, which: Ids, drawn: Ids, rate: float, rng: np.random.Generator) -> ThresholdBound:
    """Of the thresholds of all draws (draw, group), by one score of every group drawn, that of most; −1 is no group."""
    sizes = (drawn >= 0).sum(axis=1)
    typical = int(np.median(sizes))
    if max_exceedances(typical, rate) < 0:
        return _strictest_bound(scores, which, typical, rate)
    may = np.array([max_exceedances(size, rate) for size in range(sizes.max() + 1)])[sizes]
    order = np.argsort(which, kind="stable")
    counts = np.bincount(which)
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rows = max(1, _MAX_CELLS // drawn.shape[1])
    limits = []
    for start in range(0, len(drawn), rows):
        some = drawn[start : start + rows]
        trial = begins[some] + (rng.random(some.shape) * counts[some]).astype(np.int64)
        values = np.sort(np.where(some >= 0, scores[order[trial]], -np.inf), axis=1)
        places = values.shape[1] - 1 - may[start : start + rows]  # of the highest that may not be accepted
        ends = np.append(values, np.full((len(some), 1), np.inf), axis=1)
        limits.append(np.take_along_axis(ends, places[:, None], axis=1)[:, 0])
    ordered = np.sort(np.concatenate(limits))
    return ThresholdBound(float(np.nextafter(ordered[ceil(_KEPT_SHARE * len(ordered)) - 1], np.inf)), rate, typical)


def _strictest_bound(scores: Floats, which: Ids, n_apart: int, rate: float) -> ThresholdBound:
    """The threshold of the group that has the highest one, each by the rank of its own scores."""
    order = np.lexsort((scores, which))
    counts = np.bincount(which)
    may = np.array([max(0, max_exceedances(count, rate)) for count in range(counts.max() + 1)])[counts]
    limit = float(np.nextafter(scores[order[np.cumsum(counts) - 1 - may]].max(), np.inf))
    most = float((np.bincount(which, scores >= limit) / counts).max())  # of the scores of a group
    return ThresholdBound(limit, 1 / (n_apart + 1) + most * n_apart / (n_apart + 1), n_apart)


def sample_pairings(first: Ids, second: Ids, n_units: int, rng: np.random.Generator) -> Ids:
    """Ways to put units into pairs, each unit in one at most: positions (draw, pair) of pairs; −1 where none is left.

    `first` < `second` (pair,), sorted, are the pairs there are; none could be added to a pairing.
    """
    if len(first) == n_units * (n_units - 1) // 2:  # everybody is compared with everybody
        order = rng.permuted(np.tile(np.arange(n_units), (N_DRAWS, 1)), axis=1)[:, : n_units // 2 * 2]
        low, high = np.sort(order.reshape(N_DRAWS, -1, 2), axis=2).transpose(2, 0, 1)
        found: Ids = low * n_units - low * (low + 1) // 2 + high - low - 1
        return found
    if 2 * len(first) == n_units:  # everybody is compared with one other
        return np.tile(np.arange(len(first)), (N_DRAWS, 1))
    drawn = [
        _greedy_matching(first, second, n_units, rng)
        for _ in range(max(1, min(N_DRAWS, 50 * _MAX_CELLS // len(first))))
    ]
    found = np.full((len(drawn), max(map(len, drawn))), -1)
    for row, some in zip(found, drawn, strict=True):
        row[: len(some)] = some
    return found


def _greedy_matching(first: Ids, second: Ids, n_units: int, rng: np.random.Generator) -> Ids:
    """Pairs in random order, each taken whose two units are free: in rounds, those that come first for both at once."""
    left, rank, taken = np.arange(len(first)), rng.permutation(len(first)), []
    while len(left):
        best = np.full(n_units, len(first))
        np.minimum.at(best, first[left], rank[left])
        np.minimum.at(best, second[left], rank[left])
        here = left[(best[first[left]] == rank[left]) & (best[second[left]] == rank[left])]
        taken.append(here)
        busy = np.zeros(n_units, bool)
        busy[first[here]] = busy[second[here]] = True
        left = left[~(busy[first[left]] | busy[second[left]])]
    return np.concatenate(taken)


def warn_few_pairs(bound: ThresholdBound, rate: float, n_units: int, units: Literal["identities", "examples"]) -> None:
    """A warning where `false_accept` is not promised: what is, and how many pairs without a common unit would do."""
    if bound.promised_rate <= rate:
        return
    needed, offered, n_apart = min_count(rate), round_up(bound.min_promised_rate), bound.n_independent
    pairs = "pair" if n_apart == 1 else "pairs"
    few = f"{n_units} {units} make {n_apart} impostor {pairs} that share no {_SINGULARS[units]}, and "
    enough = n_units >= 2 * needed  # then it is the pairs that are few: others are left out, or of one identity
    lacking = f"pairs of more different {units}" if enough else f"more {units}, {2 * needed} or more"
    why = _LEFT_OUT_REASONS[units] if enough else ""
    warnings.warn(
        f"false_accept={rate:g} cannot be promised: {few}{needed} are needed{why}. {_KEPT_PROMISES[units]} a new pair "
        f"may be unlike all of them, and only {round_up(bound.promised_rate):g} is promised; give {lacking}, or "
        f"false_accept={offered:g} or more, which rejects fewer genuine ones",
        CalibrationWarning,
        stacklevel=find_stack_level(),
    )


def round_up(share: float) -> float:
    """To a few digits, so that it is one that can be kept.

    >>> round_up(1 / 3), round_up(1 / 99)
    (0.34, 0.0102)
    """
    digits = len(str(round(1 / share + 1))) + 1
    scale = 10.0**digits
    return ceil(scale * share * (1 - 1e-12)) / scale
