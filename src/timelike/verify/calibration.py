"""Calibration of a `Verifier`: scores of all trials, normalized without the two compared identities, and thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..score.calibration import Floats, Ids, ThresholdBound, impostor_bound, warn_few_pairs
from ..sequences import Sequences
from .normalization import CohortStatistics, Normalization, min_deviation, normalize_scores, pairwise_cohort_statistics
from .scorer import PrecomputedExamples, Scorer, TemplateAggregation, aggregate_examples
from .trials import TEMPLATE_SIZES, Claims, PairFilter, Trials, make_trials, refuse_one_kind


class ScoringOptions(NamedTuple):
    """How scores of several examples are aggregated, and how scores are normalized."""

    aggregation: TemplateAggregation
    normalize: Normalization | None
    n_top: int


class CalibrationCohort(NamedTuple):
    """Sequences to normalize by: precomputed items, identity codes (−1: no trial identity), smallest deviation."""

    known: PrecomputedExamples
    codes: Ids
    min_deviation: float


class TrialCollection(NamedTuple):
    """Sequences of known identities, ready for trials against each other or against their own prefixes."""

    scorer: Scorer
    known: PrecomputedExamples
    classes: NDArray[Any]
    codes: Ids
    cohort: CalibrationCohort | None
    options: ScoringOptions
    pair_filter: PairFilter

    @property
    def is_ordered(self) -> bool:
        """Whether the score of (x, y) differs from that of (y, x)."""
        return not self.scorer.metric.symmetric or self.options.normalize == "z-norm"

    def make_pairs(self, *, ordered: bool = False) -> Trials:
        """All pairs that the filter keeps; an error unless there are both kinds."""
        trials = make_trials(self.codes, 1, self.pair_filter, ordered=ordered or self.is_ordered)
        refuse_one_kind(trials, self.classes, self.pair_filter)
        return trials

    def trials_by_size(self, *, ordered: bool = False) -> Iterator[tuple[int, Trials]]:
        """Numbers of examples per template with their trials, as long as there are impostors."""
        yield 1, self.make_pairs(ordered=ordered)
        for size in TEMPLATE_SIZES[1:]:
            trials = make_trials(self.codes, size, self.pair_filter, ordered=True)
            if not trials.impostor.any():
                return
            yield size, trials

    def make_claims(self, trials: Trials) -> Claims:
        """The trials that count, in the order of `np.nonzero`, with their identities."""
        template, item = np.nonzero(trials.impostor | trials.genuine)
        kinds = trials.impostor[template, item], trials.genuine[template, item]
        return Claims(trials.codes[template], self.codes[item], *kinds)

    def score_single(self, probes: PrecomputedExamples) -> Floats:
        """Scores (item, item) of single sequences against probes, one of each sequence."""
        return self._normalize_scores(self.known, self.codes, probes)

    def score_templates(self, trials: Trials, probes: PrecomputedExamples, pairs: Floats) -> Floats:
        """Scores (template, item) of templates against probes, whose scores as pairs are known."""
        if self.options.aggregation == "center" and trials.members.shape[1] > 1:
            return self._normalize_scores(self.scorer.mean_vectors(self.known, trials.members), trials.codes, probes)
        return aggregate_examples(pairs[trials.members], self.options.aggregation)

    def _normalize_scores(self, first: PrecomputedExamples, codes: Ids, probes: PrecomputedExamples) -> Floats:
        scores = self.scorer.scores(first, probes)
        if self.cohort is None:
            return scores
        left = CohortStatistics(*(part[:, self.codes] for part in self._cohort_statistics(first, codes)))
        if self.options.normalize == "z-norm":
            return normalize_scores(scores, left, None)
        return normalize_scores(
            scores, left, CohortStatistics(*(part[:, codes].T for part in self._cohort_statistics(probes, self.codes)))
        )

    def _cohort_statistics(self, items: PrecomputedExamples, own: Ids) -> CohortStatistics:
        """Statistics of each item without its own identity and that of the other, (some, identity)."""
        assert self.cohort is not None
        scores = self.scorer.scores(items, self.cohort.known)
        return pairwise_cohort_statistics(
            scores, own, self.cohort.codes, len(self.classes), self.options.n_top, self.cohort.min_deviation
        )


def prepare_trials(
    scorer: Scorer,
    sequences: Sequences,
    labels: NDArray[Any],
    options: ScoringOptions,
    pair_filter: PairFilter,
    cohort: Sequences | None,
    least: float | None = None,
) -> TrialCollection:
    """A `TrialCollection`; `least` is the smallest deviation, by default that of these scores against the cohort."""
    classes, codes = np.unique(labels, return_inverse=True)
    items = scorer.precompute(sequences)
    calibration_cohort = None if cohort is None else _prepare_cohort(scorer, items, cohort, classes, least)
    return TrialCollection(scorer, items, classes, codes.astype(np.int64), calibration_cohort, options, pair_filter)


def _prepare_cohort(
    scorer: Scorer, items: PrecomputedExamples, cohort: Sequences, classes: NDArray[Any], least: float | None
) -> CalibrationCohort:
    cohort_items = scorer.precompute(cohort)
    codes_by_label = {label: i for i, label in enumerate(classes.tolist())}
    names = [None] * len(cohort) if cohort.labels is None else cohort.labels.tolist()
    codes = np.array([codes_by_label.get(name, -1) for name in names], np.int64)
    return CalibrationCohort(
        cohort_items, codes, min_deviation(scorer.scores(items, cohort_items)) if least is None else least
    )


class CalibrationResult(NamedTuple):
    """Thresholds by number of examples, the promised rate, fractions of wrongly decided pairs, and numbers of pairs."""

    thresholds: dict[int, float]
    promised_rate: float
    false_accept: float
    false_reject: float
    n_impostors: int
    n_genuine: int
    n_identities: int


def calibrate_thresholds(collection: TrialCollection, rate: float) -> CalibrationResult:
    """Thresholds at which an impostor of two new identities is accepted with a probability of at most `rate`."""
    pairs = collection.make_pairs()  # raises before anything is compared if calibration is impossible
    scores, bounds = collection.score_single(collection.known), dict[int, ThresholdBound]()
    for size, trials in collection.trials_by_size():
        template_scores = collection.score_templates(trials, collection.known, scores)
        template, item = np.nonzero(trials.impostor)
        bound = impostor_bound(template_scores[template, item], trials.codes[template], collection.codes[item], rate)
        if bounds and bound.is_weaker_than(bounds[1], rate):  # too few have so many sequences
            break
        bounds[size] = bound
    impostors, genuine, limit = scores[pairs.impostor], scores[pairs.genuine], bounds[1].threshold
    warn_few_pairs(bounds[1], rate, len(collection.classes), "identities")
    return CalibrationResult(
        {size: bound.threshold for size, bound in bounds.items()},
        bounds[1].promised_rate,
        float(np.mean(impostors >= limit)),
        float(np.mean(genuine < limit)),
        len(impostors),
        len(genuine),
        len(collection.classes),
    )
