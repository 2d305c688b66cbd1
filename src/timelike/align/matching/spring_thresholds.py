"""The threshold of `Spring`, set from examples of the query and from streams without it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Distances = NDArray[np.float64]


class SpringCalibration(NamedTuple):
    """The data behind a threshold: sorted distances of the `examples` and of matches in the `background`."""

    threshold: float
    examples: Distances
    background: Distances

    @property
    def n_missed(self) -> int:
        """How many of the examples the threshold would miss."""
        return int((self.examples > self.threshold).sum())

    @property
    def n_false_alarms(self) -> int:
        """How many segments of the background, none overlapping another, are within it."""
        return int((self.background <= self.threshold).sum())


def threshold_from_examples(examples: Distances, misses: float | None) -> float:
    """The threshold under which a new example like these is missed with a chance of at most `misses`.

    The ⌈(n + 1)(1 − misses)⌉-th of the n distances, the least first (conformal); without `misses` the largest, by which
    one of n + 1 is missed in the mean.

    >>> costs = np.array([1.0, 2.0, 3.0, 4.0])
    >>> threshold_from_examples(costs, None), threshold_from_examples(costs, 0.4)
    (4.0, 3.0)
    """
    count = len(examples)
    if misses is None:
        return float(examples[-1])
    rank = math.ceil((count + 1) * (1 - misses) - 1e-9)
    if rank > count:
        needed = math.ceil(1 / misses - 1e-9) - 1
        raise ValueError(
            f"misses={misses} cannot be promised by {count} examples: give at least {needed}, or misses >= "
            f"{math.ceil(1000 / (count + 1)) / 1000:g}"
        )
    return float(examples[max(rank, 1) - 1])


def threshold_between(examples: Distances, background: Distances) -> float:
    """The threshold with the fewest errors, missed examples and false alarms together, in the middle of its gap.

    Of gaps with as few errors the widest is taken, for there the next ones are most likely to fall on their own side.

    >>> threshold_between(np.array([1.0, 2.0]), np.array([6.0, 9.0]))
    4.0
    """
    every = np.unique(np.concatenate([examples, background]))
    errors = (examples[:, None] > every).sum(axis=0) + (background[:, None] <= every).sum(axis=0)
    nothing = every[0] > 0 and len(examples) < errors.min()  # a threshold below all of them
    if nothing:
        return float(every[0] / 2)
    ends = np.append(every[1:], every[-1])
    fewest = np.flatnonzero(errors == errors.min())
    chosen = fewest[(ends - every)[fewest].argmax()]
    middle = (every[chosen] + ends[chosen]) / 2
    return float(middle if middle < ends[chosen] else every[chosen])  # neighbours in floating point have no middle
