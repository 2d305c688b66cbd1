"""Templates: what is known of the examples of an identity, and scores against them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..models import fingerprint
from ..score.conformal_thresholds import Floats
from ..sequences import Sequences
from .calibration import ScoringOptions
from .normalization import CohortStatistics, cohort_statistics, normalize_scores
from .scorer import PrecomputedItems, Scorer, TemplateAggregation, aggregate_examples


class ReferenceCohort(NamedTuple):
    """The cohort in use: what is known of it, who they are if that was said, and the least deviation of a level."""

    known: PrecomputedItems
    names: list[Any] | None
    min_deviation: float

    def members_of(self, identity: Any) -> NDArray[np.bool_] | None:
        """Who is left out of it: those who are the identity themselves."""
        return None if self.names is None else np.array([name == identity for name in self.names])


class Template(NamedTuple):
    """What is known of one identity: of its examples, or of their mean vector; how many they are; their level."""

    known: PrecomputedItems
    n_examples: int
    statistics: CohortStatistics | None
    excluded: NDArray[np.bool_] | None


class ExampleUsage(NamedTuple):
    """How many examples of an identity are compared, and the number of them whose threshold is meant."""

    n_compared: int
    n_calibrated: int


def example_usage(sizes: Iterable[int], n_examples: int, aggregation: TemplateAggregation) -> ExampleUsage:
    """What keeps the rate of a calibration with so many examples each, `sizes`, for an identity with `n_examples`.

    The nearest of more examples is nearer, for impostors too, so the threshold is that of the next larger number; of
    more than the largest, so many are compared. A mean vector of more examples is nearer to everybody as well, and no
    threshold of another number is known to be safe: as many are compared as the next smaller number. A mean score of
    more examples varies less around the same value, and has the threshold of the next smaller number.

    >>> [example_usage((1, 2, 3, 5), 4, aggregation) for aggregation in ("nearest", "center", "mean")]
    [Usage(n_compared=4, calibrated=5), Usage(n_compared=3, calibrated=3), Usage(n_compared=4, calibrated=3)]
    >>> example_usage((1, 2, 3, 5), 9, "nearest")
    Usage(n_compared=5, calibrated=5)
    """
    below, above = [n for n in sizes if n <= n_examples], [n for n in sizes if n >= n_examples]
    if aggregation == "nearest" and above:
        return ExampleUsage(n_examples, min(above))
    return ExampleUsage(n_examples if aggregation == "mean" else max(below), max(below))


def select_examples(examples: Sequences, count: int) -> Sequences:
    """So many of the examples, as if drawn at random: which they are depends on what they hold, not on their order."""
    if count >= len(examples):
        return examples
    clocks = [()] * len(examples) if examples.times is None else [(np.asarray(one),) for one in examples.times]
    keys = [str(fingerprint(np.asarray(x), *clock)) for x, clock in zip(examples, clocks, strict=True)]
    return examples[np.argsort(np.array(keys), kind="stable")[:count]]


def make_template(
    scorer: Scorer, identity: Any, examples: Sequences, others: ReferenceCohort | None, manner: ScoringOptions
) -> Template:
    """Ready for scores."""
    known = scorer.precompute(examples)
    if manner.aggregation == "center":
        known = scorer.mean_vectors(known, np.arange(len(examples))[None])
    if others is None:
        return Template(known, len(examples), None, None)
    left_out = others.members_of(identity)
    level = cohort_statistics(scorer.scores(known, others.known), manner.n_top, others.min_deviation, left_out)
    return Template(known, len(examples), level, left_out)


class QueryItems(NamedTuple):
    """What is known of queries, and their scores against the cohort where these count."""

    known: PrecomputedItems
    cohort: Floats | None


def prepare_queries(
    scorer: Scorer, known: PrecomputedItems, others: ReferenceCohort | None, manner: ScoringOptions
) -> QueryItems:
    """What all identities have in common."""
    counts = others is not None and manner.normalize == "as-norm"
    return QueryItems(known, scorer.scores(known, others.known) if others is not None and counts else None)


def score_queries(
    scorer: Scorer, one: Template, asked: QueryItems, others: ReferenceCohort | None, manner: ScoringOptions
) -> Floats:
    """Of queries against one identity, (query,)."""
    scores = scorer.scores(one.known, asked.known)
    if others is not None and one.statistics is not None:
        first, second = CohortStatistics(*(part[:, None] for part in one.statistics)), None
        if asked.cohort is not None:
            second = cohort_statistics(asked.cohort, manner.n_top, others.min_deviation, one.excluded)
        scores = normalize_scores(scores, first, second)
    return aggregate_examples(scores, manner.aggregation)
