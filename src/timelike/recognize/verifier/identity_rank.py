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
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...models import Model
from ...sequences.callers import outside
from .scoring import Floats, Ids

N_DRAWS = 400
_KEPT = 0.6  # share of the draws that a threshold keeps; the median is a little too low where scores are sums of two
_EXACT = 1 + 1e-12  # 0.29 × 100 is 28.999…
_TINY = 1e-300  # rates below are as good as none, and their inverse is still a number
_ONE = {"identities": "identity", "examples": "example"}
_LEFT_OUT = {
    "identities": " (`within` and `apart` leave most pairs out)",
    "examples": " (most examples are of one class, and only pairs of two classes are impostors)",
}
_KEEPS = {
    "identities": "The threshold keeps it for every two of these identities by themselves, but",
    "examples": "The threshold is above all impostor pairs of these examples, but",
}
_CELLS = 1 << 22  # scores of draws that are there at a time


class CalibrationWarning(UserWarning):
    """A calibration whose rate is not promised: of too few identities, or of those that the metric was fitted on."""


class Bound(NamedTuple):
    """A threshold, the rate that is promised at it, and how many groups without a common unit tell it."""

    threshold: float
    promised: float
    n_apart: int

    @property
    def least_promised(self) -> float:
        """The least rate that so many groups can promise."""
        return 1 / (self.n_apart + 1)

    def knows_less(self, other: Bound, rate: float) -> bool:
        """Whether it can promise less than the other, of what is asked for."""
        return self.least_promised > max(other.least_promised, rate)


def allowed(count: int, rate: float) -> int:
    """How many of so many exchangeable scores may be beyond a threshold; less than 0 where they are too few to tell.

    One of count + 1 is among the highest k of them with probability k / (count + 1), and itself one of these k.

    >>> [allowed(count, 0.1) for count in (8, 9, 18, 19)]
    [-1, 0, 0, 1]
    """
    return floor(rate * (count + 1) * _EXACT) - 1


def least_count(rate: float) -> int:
    """How many exchangeable scores a rate needs: 1 / rate − 1, rounded up."""
    return ceil(1 / max(rate * _EXACT, _TINY)) - 1


def impostor_bound(scores: Floats, first: Ids, second: Ids, rate: float) -> Bound:
    """The least score to accept so that a trial of two new units is accepted with a probability of at most `rate`.

    `first` and `second` (trial,) say of which two units, identities or sequences, every score is. Where n pairs without
    a common unit are fewer than 1 / rate − 1, no rank of them keeps the rate: the threshold is then such that each pair
    of units keeps it by itself. A new pair is less alike than the most alike of these with probability n / (n + 1), and
    keeps it too.

    >>> pairs = np.triu_indices(4, 1)
    >>> impostor_bound(np.arange(6.0), *pairs, 0.4)[1:], impostor_bound(np.arange(6.0), *pairs, 0.1)[1:]
    ((0.4, 2), (0.3333333333333333, 2))
    """
    codes = _dense(np.concatenate([first, second]))[1].reshape(2, -1)
    n_units = int(codes.max()) + 1
    pairs, which = _dense(codes.min(axis=0) * n_units + codes.max(axis=0))
    if allowed(n_units // 2, rate) < 0 and len(pairs) == n_units * (n_units - 1) // 2:
        return _strictest(scores, which, n_units // 2, rate)  # which needs no draws
    rng = np.random.default_rng(0)  # a rule with a fixed seed: the same sequences have the same threshold
    return _bound(scores, which, pairings(pairs // n_units, pairs % n_units, n_units, rng), rate, rng)


def unit_bound(scores: Floats, units: Ids, rate: float) -> Bound:
    """The least score that a trial of a new unit has or exceeds with a probability of at most `rate`.

    >>> unit_bound(np.arange(9.0), np.arange(9), 0.2).threshold > 7.0  # one of nine, 8.0, and no more
    True
    """
    which = _dense(units)[1]
    return _bound(scores, which, np.tile(np.arange(int(which.max()) + 1), (N_DRAWS, 1)), rate, np.random.default_rng(0))


def _dense(numbers: Ids) -> tuple[Ids, Ids]:
    """Whole numbers from 0 that occur, in their order, and the place of each among them; without sorting if it can."""
    if numbers.max() > 8 * len(numbers):
        found, places = np.unique(numbers, return_inverse=True)
        return found, places.astype(np.int64)
    there = np.zeros(int(numbers.max()) + 1, bool)
    there[numbers] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[numbers]


def _bound(scores: Floats, which: Ids, drawn: Ids, rate: float, rng: np.random.Generator) -> Bound:
    """Of the thresholds of all draws (draw, group), by one score of every group drawn, that of most; −1 is no group."""
    sizes = (drawn >= 0).sum(axis=1)
    typical = int(np.median(sizes))
    if allowed(typical, rate) < 0:
        return _strictest(scores, which, typical, rate)
    may = np.array([allowed(size, rate) for size in range(sizes.max() + 1)])[sizes]
    order = np.argsort(which, kind="stable")
    counts = np.bincount(which)
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rows = max(1, _CELLS // drawn.shape[1])
    limits = []
    for start in range(0, len(drawn), rows):
        some = drawn[start : start + rows]
        trial = begins[some] + (rng.random(some.shape) * counts[some]).astype(np.int64)
        values = np.sort(np.where(some >= 0, scores[order[trial]], -np.inf), axis=1)
        places = values.shape[1] - 1 - may[start : start + rows]  # of the highest that may not be accepted
        ends = np.append(values, np.full((len(some), 1), np.inf), axis=1)
        limits.append(np.take_along_axis(ends, places[:, None], axis=1)[:, 0])
    ordered = np.sort(np.concatenate(limits))
    return Bound(float(np.nextafter(ordered[ceil(_KEPT * len(ordered)) - 1], np.inf)), rate, typical)


def _strictest(scores: Floats, which: Ids, n_apart: int, rate: float) -> Bound:
    """The threshold of the group that has the highest one, each by the rank of its own scores."""
    order = np.lexsort((scores, which))
    counts = np.bincount(which)
    may = np.array([max(0, allowed(count, rate)) for count in range(counts.max() + 1)])[counts]
    limit = float(np.nextafter(scores[order[np.cumsum(counts) - 1 - may]].max(), np.inf))
    most = float((np.bincount(which, scores >= limit) / counts).max())  # of the scores of a group
    return Bound(limit, 1 / (n_apart + 1) + most * n_apart / (n_apart + 1), n_apart)


def pairings(first: Ids, second: Ids, n_units: int, rng: np.random.Generator) -> Ids:
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
    drawn = [_greedy(first, second, n_units, rng) for _ in range(max(1, min(N_DRAWS, 50 * _CELLS // len(first))))]
    found = np.full((len(drawn), max(map(len, drawn))), -1)
    for row, some in zip(found, drawn, strict=True):
        row[: len(some)] = some
    return found


def _greedy(first: Ids, second: Ids, n_units: int, rng: np.random.Generator) -> Ids:
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


def warn_few(bound: Bound, rate: float, n_units: int, units: Literal["identities", "examples"]) -> None:
    """A warning where `false_accept` is not promised: what is, and how many pairs without a common unit would do."""
    if bound.promised <= rate:
        return
    needed, offered, n_apart = least_count(rate), rounded_up(bound.least_promised), bound.n_apart
    few = (
        f"{n_units} {units} make {n_apart} impostor pair{'s' if n_apart != 1 else ''} that share no {_ONE[units]}, and "
    )
    enough = n_units >= 2 * needed  # then it is the pairs that are few: others are left out, or of one identity
    lacking = f"pairs of more different {units}" if enough else f"more {units}, {2 * needed} or more"
    why = _LEFT_OUT[units] if enough else ""
    warnings.warn(
        f"false_accept={rate:g} cannot be promised: {few}{needed} are needed{why}. {_KEEPS[units]} a new pair may be "
        f"unlike all of them, and only {rounded_up(bound.promised):g} is promised; give {lacking}, or "
        f"false_accept={offered:g} or more, which rejects fewer genuine ones",
        CalibrationWarning,
        stacklevel=outside(),
    )


def warn_known(metric: Any, labels: NDArray[Any]) -> None:
    """A warning where a metric learned classes that are called like identities it is calibrated with.

    Whether they are the same is not known: different people may have the same number.
    """
    known = learned_classes(metric) & set(labels.tolist())
    if not known:
        return
    every = "all" if known == set(labels.tolist()) else f"{len(known)} of the"
    first = next(one for one in labels.tolist() if one in known)
    warnings.warn(
        f"y holds {first!r}: {every} {len(np.unique(labels))} identities are called like classes that the metric was "
        "fitted on. If these are the same identities, it tells them apart better than new ones, of whom it will accept "
        "more than false_accept: fit and calibrate with different identities. If they are others with the same names, "
        "give them names of their own",
        CalibrationWarning,
        stacklevel=outside(),
    )


def learned_classes(model: Any) -> set[Any]:
    """The classes that a model, or a part of it, was fitted to tell apart."""
    own = getattr(model, "trained_classes_", getattr(model, "classes_", ()))
    found = set(np.asarray(own).tolist())
    for name, value in getattr(model, "__dict__", {}).items():
        if name.endswith("_"):
            for part in value if isinstance(value, list | tuple) else (value,):
                found |= learned_classes(part) if isinstance(part, Model) else set()
    return found


def rounded_up(share: float) -> float:
    """To a few digits, so that it is one that can be kept.

    >>> rounded_up(1 / 3), rounded_up(1 / 99)
    (0.34, 0.0102)
    """
    digits = len(str(round(1 / share + 1))) + 1
    scale = 10.0**digits
    return ceil(scale * share * (1 - 1e-12)) / scale
