"""Templates: what is known of the examples of an identity, and scores against them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from .calibration import Manner
from .normalization import Level, levels, normalized
from .scoring import Floats, Known, Scorer, of_several


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
