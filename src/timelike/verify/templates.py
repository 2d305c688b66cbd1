"""`Template`: the examples of an identity as they are compared, and scores of queries against them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..models import fingerprint
from ..score.calibration import Floats
from ..sequences import Sequences
from .calibration import ScoringOptions
from .normalization import CohortStatistics, cohort_statistics, normalize_scores
from .scorer import PrecomputedExamples, Scorer, TemplateAggregation, aggregate_examples


class ReferenceCohort(NamedTuple):
    """The cohort in use: its precomputed items, its identities if known, and the smallest deviation."""

    known: PrecomputedExamples
    names: list[Any] | None
    min_deviation: float

    def members_of(self, identity: Any) -> NDArray[np.bool_] | None:
        """Mask of the cohort members that are this identity; None if identities are not known."""
        return None if self.names is None else np.array([name == identity for name in self.names])


class Template(NamedTuple):
    """One identity: its examples or their mean vector, how many there are, and their scores against the cohort."""

    known: PrecomputedExamples
    n_examples: int
    statistics: CohortStatistics | None
    excluded: NDArray[np.bool_] | None


class ExampleUsage(NamedTuple):
    """How many examples of an identity are compared, and the number of examples whose threshold applies."""

    n_compared: int
    n_calibrated: int


def example_usage(sizes: Iterable[int], n_examples: int, aggregation: TemplateAggregation) -> ExampleUsage:
    """How to keep the rate, for an identity with `n_examples`, of a calibration with templates of these `sizes`.

    The nearest of more examples is nearer, for impostors too, so the threshold is that of the next larger number;
    beyond the largest number, only that many are compared. A mean vector of more examples is nearer to everybody as
    well, and no threshold of another number is known to be safe: only the next smaller number of examples is compared.
    A mean score of more examples varies less around the same value, and has the threshold of the next smaller number.

    >>> example_usage((1, 2, 3, 5), 4, "nearest")
    ExampleUsage(n_compared=4, n_calibrated=5)
    >>> example_usage((1, 2, 3, 5), 4, "center")
    ExampleUsage(n_compared=3, n_calibrated=3)
    >>> example_usage((1, 2, 3, 5), 4, "mean")
    ExampleUsage(n_compared=4, n_calibrated=3)
    >>> example_usage((1, 2, 3, 5), 9, "nearest")
    ExampleUsage(n_compared=5, n_calibrated=5)
    """
    below, above = [n for n in sizes if n <= n_examples], [n for n in sizes if n >= n_examples]
    if aggregation == "nearest" and above:
        return ExampleUsage(n_examples, min(above))
    return ExampleUsage(n_examples if aggregation == "mean" else max(below), max(below))


def select_examples(examples: Sequences, count: int) -> Sequences:
    """`count` examples in a pseudo-random choice that depends on their contents, not on their order."""
    if count >= len(examples):
        return examples
    clocks = [()] * len(examples) if examples.times is None else [(np.asarray(times),) for times in examples.times]
    keys = [str(fingerprint(np.asarray(x), *clock)) for x, clock in zip(examples, clocks, strict=True)]
    return examples[np.argsort(np.array(keys), kind="stable")[:count]]


def make_template(
    scorer: Scorer, identity: Any, examples: Sequences, cohort: ReferenceCohort | None, options: ScoringOptions
) -> Template:
    """The template of an identity with these examples."""
    items = scorer.precompute(examples)
    if options.aggregation == "center":
        items = scorer.mean_vectors(items, np.arange(len(examples))[None])
    if cohort is None:
        return Template(items, len(examples), None, None)
    excluded = cohort.members_of(identity)
    statistics = cohort_statistics(scorer.scores(items, cohort.known), options.n_top, cohort.min_deviation, excluded)
    return Template(items, len(examples), statistics, excluded)


class QueryItems(NamedTuple):
    """Precomputed queries, and their scores against the cohort if these are needed."""

    known: PrecomputedExamples
    cohort: Floats | None


def prepare_queries(
    scorer: Scorer, items: PrecomputedExamples, cohort: ReferenceCohort | None, options: ScoringOptions
) -> QueryItems:
    """Compute the parts of queries that are common to all identities."""
    is_needed = cohort is not None and options.normalize == "as-norm"
    return QueryItems(items, scorer.scores(items, cohort.known) if cohort is not None and is_needed else None)


def score_queries(
    scorer: Scorer, template: Template, queries: QueryItems, cohort: ReferenceCohort | None, options: ScoringOptions
) -> Floats:
    """Scores of queries against one template, (query,)."""
    scores = scorer.scores(template.known, queries.known)
    if cohort is not None and template.statistics is not None:
        first, second = CohortStatistics(*(part[:, None] for part in template.statistics)), None
        if queries.cohort is not None:
            second = cohort_statistics(queries.cohort, options.n_top, cohort.min_deviation, template.excluded)
        scores = normalize_scores(scores, first, second)
    return aggregate_examples(scores, options.aggregation)
