"""`VerifierStream`, which decides as soon as it is certain, and the calibration of its decision bounds.

The bounds limit the fraction of impostors ever accepted and of genuine claims rejected early.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..encode.base import Stream
from ..models import schema
from ..score.calibration import Floats, ThresholdBound, impostor_bound, max_exceedances, unit_bound, warn_few_pairs
from ..sequences import Sequences
from .calibration import ScoringOptions, TrialCollection
from .decision import Decision
from .scorer import Scorer
from .templates import ReferenceCohort, Template, prepare_queries, score_queries
from .trials import Claims
from .validation import Identity

_FIRST_LOOK_SHARE = 0.125  # of the median length
_LAST_LOOK_SHARE = 0.1  # of the sequences are longer than the last look


class StreamBoundaries(NamedTuple):
    """Numbers of samples at which a stream looks, and the scores from which it accepts and up to which it rejects.

    The last entry of `upper` is for the end, however long the sequence is.
    """

    looks: NDArray[np.int64]
    upper: Floats
    lower: Floats


def _check_ends(boundaries: StreamBoundaries, name: str, scope: schema.CheckScope) -> None:
    looks, bounds = len(boundaries.looks), len(boundaries.upper)
    if bounds != looks + 1:
        raise ValueError(f"{name}.upper has {bounds} entries: expected {looks + 1}, one for each look and for the end")


BOUNDARIES_SCHEMA = schema.record(
    StreamBoundaries,
    looks=schema.array("look", dtype="int64", least=1),
    upper=schema.array("one more", finite=False),
    lower=schema.array("look", finite=False),
    check=_check_ends,
)
"""The schema of a verifier's `boundaries_`."""


class VerifierStream:
    """Takes one sample at a time; at some of them it accepts or rejects if it is certain.

    Both bounds were calibrated for all looks together, so that frequent looks accept no more impostors. A decision is
    final: start a new stream for the next sequence. The cost of a sample is constant if that of the encoder is.
    """

    def __init__(
        self,
        scorer: Scorer,
        inner: Stream,
        template: Template,
        cohort: ReferenceCohort | None,
        options: ScoringOptions,
        boundaries: StreamBoundaries,
        identity: Identity,
    ) -> None:
        self._identity = identity
        self._scorer, self._inner, self._template = scorer, inner, template
        self._cohort, self._options, self._boundaries = cohort, options, boundaries
        self._bound = np.inf
        self.n_samples = 0
        self.decision: Decision | None = None

    def push(self, sample: Any) -> Decision:
        """The decision after this sample, a frame or a number (one channel); `accepted` is None while it is open."""
        if self.decision is not None and self.decision.is_certain:
            return self.decision
        vector = self._inner.push(sample)
        self.n_samples += 1
        score = self._score(vector)
        self.decision = self._make_decision(self._check_look(score), score, self._bound)
        return self.decision

    def finish(self) -> Decision:
        """The final decision, when no further sample comes: accepted or rejected."""
        if self.decision is None:
            raise ValueError("the stream has no samples: push() some before finish()")
        if not self.decision.is_certain:
            bound, score = float(self._boundaries.upper[-1]), self.decision.score
            self.decision = self._make_decision(bool(score >= bound), score, bound)
        return self.decision

    def _make_decision(self, accepted: bool | None, score: float, bound: float) -> Decision:
        return Decision(accepted, score, bound, self._identity if accepted else None)

    def _score(self, vector: Any) -> float:
        query = self._scorer.from_stream(vector, self._template.known.dtype)
        queries = prepare_queries(self._scorer, query, self._cohort, self._options)
        return float(score_queries(self._scorer, self._template, queries, self._cohort, self._options)[0])

    def _check_look(self, score: float) -> bool | None:
        """The outcome of a look: None if it is open, or if there is no look at this sample."""
        looks, upper, lower = self._boundaries
        place = int(np.searchsorted(looks, self.n_samples))
        if place == len(looks) or looks[place] != self.n_samples:
            return None
        self._bound = float(upper[place])
        if score >= self._bound:
            return True
        return False if score <= lower[place] else None


def choose_looks(lengths: NDArray[np.int64], n_looks: int) -> NDArray[np.int64]:
    """Numbers of samples at which a stream looks, in a geometric progression.

    `Prototypes` has a rule of its own, with equal gaps (`prototypes.stream.choose_looks`).

    >>> choose_looks(np.array([80, 100, 120]), 4)
    array([ 12,  26,  54, 115])
    """
    first, last = (
        max(1.0, _FIRST_LOOK_SHARE * float(np.median(lengths))),
        float(np.quantile(lengths, 1 - _LAST_LOOK_SHARE)) - 1,
    )
    looks = np.unique(np.geomspace(first, max(first, last), n_looks).astype(np.int64))
    return np.asarray(looks[looks < lengths.max()])


def calibrate_boundaries(
    collection: TrialCollection, sequences: Sequences, n_looks: int, rates: tuple[float, float]
) -> dict[int, StreamBoundaries]:
    """Boundaries by number of examples: templates are whole sequences, probes are prefixes."""
    looks = choose_looks(sequences.lengths, n_looks)
    probes = [collection.scorer.precompute(Sequences([x[:look] for x in sequences])) for look in looks.tolist()]
    probe_scores = [(probe, collection.score_single(probe)) for probe in (*probes, collection.known)]
    has_ended = np.vstack([sequences.lengths <= looks[:, None], np.zeros(len(sequences), bool)])
    boundaries, bounds_by_size = {}, dict[int, ThresholdBound]()
    for size, trials in collection.trials_by_size(ordered=True):
        is_counted = trials.impostor | trials.genuine
        scores = np.stack([collection.score_templates(trials, *probe_and_scores) for probe_and_scores in probe_scores])
        scores = np.where(has_ended[:, None, :], np.nan, scores)[:, is_counted]
        bounds, bounds_by_size[size] = compute_boundaries(looks, scores, collection.make_claims(trials), rates)
        if bounds_by_size[size].is_weaker_than(bounds_by_size[1], rates[0]):  # too few have so many sequences
            break
        boundaries[size] = bounds
    warn_few_pairs(bounds_by_size[1], rates[0], len(collection.classes), "identities")
    return boundaries


def compute_boundaries(
    looks: NDArray[np.int64], scores: Floats, claims: Claims, rates: tuple[float, float]
) -> tuple[StreamBoundaries, ThresholdBound]:
    """From the scores of trials at every look and at the end, (look + 1, trial); nan if a sequence ended before.

    An impostor of two new identities ever reaches `upper`, including the end, with a probability of at most the
    first of the `rates`, and a genuine claim of a new identity ever down to `lower` before the end with at most the
    second; with too few identities to show that, nobody is rejected early. Also returns the bound for impostors.
    """
    impostor, genuine = claims.impostor, claims.genuine
    has_impostors = (~np.isnan(scores[:-1, impostor])).any(axis=1)
    looks, scores = looks[has_impostors], scores[np.append(has_impostors, True)]
    early, lower = scores[:-1, genuine], np.full(len(looks), -np.inf)
    has_genuine, owners = np.flatnonzero((~np.isnan(early)).any(axis=1)), claims.first[genuine]
    if len(has_genuine) and max_exceedances(len(np.unique(owners)), rates[1]) >= 0:
        peaks = _PeakScores(-early[has_genuine])
        lower[has_genuine] = -peaks.bounds(unit_bound(peaks.highest, owners, rates[1]).threshold)
    peaks = _PeakScores(scores[:, impostor])
    bound = impostor_bound(peaks.highest, claims.first[impostor], claims.second[impostor], rates[0])
    return StreamBoundaries(looks, peaks.bounds(bound.threshold), lower), bound


class _PeakScores:
    """The highest score of every trial (look, trial) over all looks, on one scale: mean 0 and deviation 1 at each."""

    def __init__(self, scores: Floats) -> None:
        self._scores, self._is_present = scores, ~np.isnan(scores)
        self._mean = np.mean(scores, axis=1, where=self._is_present, keepdims=True)
        spread = np.std(scores, axis=1, where=self._is_present, keepdims=True)
        self._deviation = np.where(spread > 0, spread, 1.0)
        # a sequence that has ended reaches no bound
        self._scaled = np.where(self._is_present, (scores - self._mean) / self._deviation, -np.inf)
        self.highest: Floats = self._scaled.max(axis=0)

    def bounds(self, peak: float) -> Floats:
        """A bound for each look, such that trials whose highest score is below the peak stay below it."""
        if not np.abs(peak) < np.finfo(np.float64).max:  # most ended before the first look
            return np.full(len(self._scores), np.inf)
        below = np.where(self._is_present & (self._scaled < peak), self._scores, -np.inf).max(axis=1)
        exact = (self._mean + peak * self._deviation)[:, 0]
        return np.asarray(np.maximum(exact, np.nextafter(below, np.inf)))  # guards against rounding
