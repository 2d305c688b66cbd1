"""Templates: what is known of the examples of an identity, and scores against them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...models import fingerprint
from ...sequences import Sequences
from .calibration import Manner
from .normalization import Level, levels, normalized
from .scoring import Against, Floats, Known, Scorer, of_several


class Others(NamedTuple):
    """The cohort in use: what is known of it, who they are if that was said, and the least deviation of a level."""

    known: Known
    names: list[Any] | None
    least: float

    def without(self, identity: Any) -> NDArray[np.bool_] | None:
        """Who is left out of it: those who are the identity themselves."""
        return None if self.names is None else np.array([name == identity for name in self.names])


class Template(NamedTuple):
    """What is known of one identity: of its examples, or of their mean vector; how many they are; their level."""

    known: Known
    n_examples: int
    level: Level | None
    left_out: NDArray[np.bool_] | None


class Usage(NamedTuple):
    """How many examples of an identity are compared, and the number of them whose threshold is meant."""

    n_compared: int
    calibrated: int


def usage(sizes: Iterable[int], n_examples: int, against: Against) -> Usage:
    """What keeps the rate of a calibration with so many examples each, `sizes`, for an identity with `n_examples`.

    The nearest of more examples is nearer, for impostors too, so the threshold is that of the next larger number; of
    more than the largest, so many are compared. A mean vector of more examples is nearer to everybody as well, and no
    threshold of another number is known to be safe: as many are compared as the next smaller number. A mean score of
    more examples varies less around the same value, and has the threshold of the next smaller number.

    >>> [usage((1, 2, 3, 5), 4, against) for against in ("nearest", "center", "mean")]
    [Usage(n_compared=4, calibrated=5), Usage(n_compared=3, calibrated=3), Usage(n_compared=4, calibrated=3)]
    >>> usage((1, 2, 3, 5), 9, "nearest")
    Usage(n_compared=5, calibrated=5)
    """
    below, above = [n for n in sizes if n <= n_examples], [n for n in sizes if n >= n_examples]
    if against == "nearest" and above:
        return Usage(n_examples, min(above))
    return Usage(n_examples if against == "mean" else max(below), max(below))


def some_of(examples: Sequences, count: int) -> Sequences:
    """So many of the examples, as if drawn at random: which they are depends on what they hold, not on their order."""
    if count >= len(examples):
        return examples
    clocks = [()] * len(examples) if examples.times is None else [(np.asarray(one),) for one in examples.times]
    keys = [str(fingerprint(np.asarray(x), *clock)) for x, clock in zip(examples, clocks, strict=True)]
    return examples[np.argsort(np.array(keys), kind="stable")[:count]]


def template(scorer: Scorer, identity: Any, examples: Sequences, others: Others | None, manner: Manner) -> Template:
    """Ready for scores."""
    known = scorer.known(examples)
    if manner.against == "center":
        known = scorer.centers(known, np.arange(len(examples))[None])
    if others is None:
        return Template(known, len(examples), None, None)
    left_out = others.without(identity)
    level = levels(scorer.scores(known, others.known), manner.n_top, others.least, left_out)
    return Template(known, len(examples), level, left_out)


class Asked(NamedTuple):
    """What is known of queries, and their scores against the cohort where these count."""

    known: Known
    cohort: Floats | None


def asked_about(scorer: Scorer, known: Known, others: Others | None, manner: Manner) -> Asked:
    """What all identities have in common."""
    counts = others is not None and manner.normalize == "as-norm"
    return Asked(known, scorer.scores(known, others.known) if others is not None and counts else None)


def scores_against(scorer: Scorer, one: Template, asked: Asked, others: Others | None, manner: Manner) -> Floats:
    """Of queries against one identity, (query,)."""
    scores = scorer.scores(one.known, asked.known)
    if others is not None and one.level is not None:
        first, second = Level(*(part[:, None] for part in one.level)), None
        if asked.cohort is not None:
            second = levels(asked.cohort, manner.n_top, others.least, one.left_out)
        scores = normalized(scores, first, second)
    return of_several(scores, manner.against)
