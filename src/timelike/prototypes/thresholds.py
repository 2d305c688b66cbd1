"""Thresholds: what `calibrate` learns from held-out examples: a temperature, and when to accept and to reject."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_float
from ..models import schema
from ..score.conformal_thresholds import max_exceedances, min_count, round_up

Floats = NDArray[np.float64]


class PrototypeThresholds(NamedTuple):
    """A temperature of class scores, the least similarity of a pair to accept, the most novelty of what is known.

    The temperature is that of scores by `inference`.
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
"""How a model declares them."""


def check_share(value: Any, name: str) -> float:
    """A rate between 0 and 1, neither of them.

    >>> check_share(1, "wrong")
    Traceback (most recent call last):
        ...
    ValueError: wrong=1: expected a share between 0 and 1, such as 0.05
    """
    if check_float(value, name, above=0.0) >= 1:
        raise ValueError(f"{name}={value}: expected a share between 0 and 1, such as 0.05")
    return float(value)


def novelty_threshold(known: Floats, unknown: Floats | None, false_reject: float) -> float:
    """The most novelty that passes for known.

    From n known examples alone: such that another one has more with a probability of at most `false_reject` = α, that
    is α (n + 1) − 1 of them at most, as in split conformal prediction (Vovk et al., 2005); fewer than 1 / α − 1 are an
    error. With unknown ones: where the share of known that pass plus that of unknown that do not is greatest (Youden,
    1950), the middle of it.

    >>> novelty_threshold(np.arange(19.0), None, 0.1)  # one of 19, and another one then with probability 2 / 20
    17.0
    >>> novelty_threshold(np.array([0.0, 1.0]), np.array([3.0, 4.0]), 0.1)
    2.0
    """
    if unknown is None:
        may = max_exceedances(len(known), false_reject)
        if may < 0:
            raise ValueError(
                f"false_reject={false_reject:g}: {len(known)} examples cannot show so small a rate, expected at least "
                f"{min_count(false_reject)}; give more, or false_reject={round_up(1 / (len(known) + 1)):g} or more"
            )
        return float(np.sort(known)[-1 - may])
    every = np.unique(np.concatenate([known, unknown]))
    middles = np.concatenate([[every[0] - 1.0], (every[1:] + every[:-1]) / 2, [every[-1]]])
    passed = np.searchsorted(np.sort(known), middles, side="right") / len(known)
    wrongly = np.searchsorted(np.sort(unknown), middles, side="right") / len(unknown)
    gain = passed - wrongly
    best = np.flatnonzero(gain == gain.max())
    return float(middles[best[len(best) // 2]])
