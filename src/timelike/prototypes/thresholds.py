"""`PrototypeThresholds`: the temperature and the thresholds that `calibrate` learns from held-out examples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_float
from ..models import schema
from ..score.calibration import impostor_bound, max_exceedances, min_count, round_up, temperature, warn_few_pairs

Floats = NDArray[np.float64]


class PrototypeThresholds(NamedTuple):
    """Temperature of class scores, smallest similarity of an accepted pair, largest novelty of a known sequence.

    The temperature is that of scores of the head `inference`.
    """

    temperature: float
    pair: float
    novelty: float
    inference: str


THRESHOLDS_SCHEMA = schema.record(
    PrototypeThresholds,
    temperature=schema.real(0),
    pair=schema.real(finite=False),
    novelty=schema.real(finite=False),
    inference=schema.string(),
)
"""The schema of a model's `thresholds_`."""


def check_share(value: Any, name: str) -> float:
    """A rate strictly between 0 and 1.

    >>> check_share(1, "error_rate")
    Traceback (most recent call last):
        ...
    ValueError: error_rate=1: expected a fraction between 0 and 1, such as 0.05
    """
    if check_float(value, name, above=0.0) >= 1:
        raise ValueError(f"{name}={value}: expected a fraction between 0 and 1, such as 0.05")
    return float(value)


def calibrate_thresholds(
    codes: NDArray[np.int64],
    similarities: Floats,
    class_scores: Floats,
    novelty: Floats,
    unknown_novelty: Floats | None,
    *,
    false_accept: float,
    false_reject: float,
    inference: str,
) -> PrototypeThresholds:
    """Temperature and thresholds from held-out examples of the classes `codes` (item,).

    `similarities` (item, item) are those of all pairs, `class_scores` (item, class), `novelty` (item,) that of the
    examples, and `unknown_novelty` that of examples of no class, if there are any.
    """
    first, second = np.triu_indices(len(codes), 1)
    impostors = codes[first] != codes[second]
    first, second = first[impostors], second[impostors]
    pairs = impostor_bound(similarities[first, second], first, second, false_accept)
    thresholds = PrototypeThresholds(
        temperature=temperature(class_scores, codes, classes=np.arange(class_scores.shape[1])),
        pair=pairs.threshold,
        novelty=novelty_threshold(novelty, unknown_novelty, false_reject),
        inference=inference,
    )
    warn_few_pairs(pairs, false_accept, len(codes), "examples")
    return thresholds


def require_both_kinds_of_pairs(codes: NDArray[np.int64]) -> None:
    """Raise an error unless some pair is of one class and some pair of two."""
    first, second = np.triu_indices(len(codes), 1)
    same = codes[first] == codes[second]
    if not same.any() or same.all():
        kind = "of two classes" if same.any() else "of one class"
        raise ValueError(f"X has no pair {kind}, and a threshold needs pairs of both kinds: give more examples")


def novelty_threshold(known_novelty: Floats, unknown_novelty: Floats | None, false_reject: float) -> float:
    """The largest novelty that counts as known.

    From n known examples alone: a new one exceeds it with a probability of at most `false_reject` = α, so at most α (n
    + 1) − 1 of them do, as in split conformal prediction (Vovk et al., 2005); fewer than 1 / α − 1 examples are an
    error. With unknown examples: the threshold with the largest sum of the fraction of known examples below it and of
    unknown ones above it (Youden, 1950), the middle one of several.

    >>> novelty_threshold(np.arange(19.0), None, 0.1)  # one of 19 exceeds it, and a new one with probability 2 / 20
    17.0
    >>> novelty_threshold(np.array([0.0, 1.0]), np.array([3.0, 4.0]), 0.1)
    2.0
    """
    if unknown_novelty is None:
        n_allowed = max_exceedances(len(known_novelty), false_reject)
        if n_allowed < 0:
            raise ValueError(
                f"false_reject={false_reject:g}: {len(known_novelty)} examples cannot show so small a rate, expected "
                f"at least {min_count(false_reject)}; give more, or "
                f"false_reject={round_up(1 / (len(known_novelty) + 1)):g} or more"
            )
        return float(np.sort(known_novelty)[-1 - n_allowed])
    every = np.unique(np.concatenate([known_novelty, unknown_novelty]))
    middles = np.concatenate([[every[0] - 1.0], (every[1:] + every[:-1]) / 2, [every[-1]]])
    known_rate = np.searchsorted(np.sort(known_novelty), middles, side="right") / len(known_novelty)
    unknown_rate = np.searchsorted(np.sort(unknown_novelty), middles, side="right") / len(unknown_novelty)
    gain = known_rate - unknown_rate
    best = np.flatnonzero(gain == gain.max())
    return float(middles[best[len(best) // 2]])
