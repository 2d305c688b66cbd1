"""`VerifierStream`: takes samples one by one and decides as soon as it is certain."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..encode.base import Stream
from .calibration import ScoringOptions
from .decision import Decision
from .scorer import Scorer
from .stream_boundaries import StreamBoundaries
from .templates import ReferenceCohort, Template, prepare_queries, score_queries
from .validation import Identity


class VerifierStream:
    """Takes one sample at a time; at some of them it looks, and accepts or rejects if it can.

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
            raise ValueError("the stream has seen no sample: push() some before finish()")
        if not self.decision.is_certain:
            bound, score = float(self._boundaries.upper[-1]), self.decision.score
            self.decision = self._make_decision(bool(score >= bound), score, bound)
        return self.decision

    def _make_decision(self, accepted: bool | None, score: float, bound: float) -> Decision:
        return Decision(accepted, score, bound, self._identity if accepted else None)

    def _score(self, vector: Any) -> float:
        known = self._scorer.from_stream(vector, self._template.known.dtype)
        asked = prepare_queries(self._scorer, known, self._cohort, self._options)
        return float(score_queries(self._scorer, self._template, asked, self._cohort, self._options)[0])

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
