"""`VerifierStream`, samples one by one and a decision as soon as it is certain, and the verbs that lead to one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from ...encode.base import Encoder, Stream
from ...models import learned
from ...sequences.arguments import whole
from ..decision import Decision
from .asking import Identity, share
from .calibration import Manner
from .identities import Enrolling
from .looking import stream_boundaries
from .scoring import Scorer, has_vectors
from .templates import Others, Template, asked_about, scores_against, some_of, template, usage
from .thresholds import BOUNDARIES, Boundaries
from .trials import kept_pairs


class VerifierStream:
    """Takes one sample at a time; after some of them it looks, and accepts or rejects if it can.

    Both bounds were calibrated for all looks together, so that looking often accepts no more impostors. A decision
    stands: for another sequence begin another stream. The cost of a sample does not grow where that of the encoder does
    not.
    """

    def __init__(
        self,
        scorer: Scorer,
        inner: Stream,
        template: Template,
        others: Others | None,
        manner: Manner,
        boundaries: Boundaries,
        identity: Identity,
    ) -> None:
        self._identity = identity
        self._scorer, self._inner, self._template = scorer, inner, template
        self._others, self._manner, self._boundaries = others, manner, boundaries
        self._bound = np.inf
        self.n_samples = 0
        self.decision: Decision | None = None

    def push(self, sample: Any) -> Decision:
        """The decision with this sample, a frame, or a number where there is one channel; `None` while it is open."""
        if self.decision is not None and self.decision.certain:
            return self.decision
        vector = self._inner.push(sample)
        self.n_samples += 1
        score = self._score(vector)
        self.decision = self._decided(self._looked(score), score, self._bound)
        return self.decision

    def finish(self) -> Decision:
        """The decision when no further sample comes: accepted or rejected."""
        if self.decision is None:
            raise ValueError("the stream has seen no sample: push() some before finish()")
        if not self.decision.certain:
            bound, score = float(self._boundaries.upper[-1]), self.decision.score
            self.decision = self._decided(bool(score >= bound), score, bound)
        return self.decision

    def _decided(self, accepted: bool | None, score: float, bound: float) -> Decision:
        return Decision(accepted, score, bound, self._identity if accepted else None)

    def _score(self, vector: Any) -> float:
        known = self._scorer.pushed(vector, self._template.known.dtype)
        asked = asked_about(self._scorer, known, self._others, self._manner)
        return float(scores_against(self._scorer, self._template, asked, self._others, self._manner)[0])

    def _looked(self, score: float) -> bool | None:
        """What a look says; between looks nothing."""
        looks, upper, lower = self._boundaries
        place = int(np.searchsorted(looks, self.n_samples))
        if place == len(looks) or looks[place] != self.n_samples:
            return None
        self._bound = float(upper[place])
        if score >= self._bound:
            return True
        return False if score <= lower[place] else None


class Streaming(Enrolling):
    """A verifier that may decide before a sequence is over."""

    boundaries_: dict[int, Boundaries] = learned.later(
        learned.mapping(learned.whole(1), BOUNDARIES, holds=(1,)), after="thresholds_"
    )

    def calibrate_stream(
        self,
        X: Any,
        y: Any = None,
        *,
        false_accept: float = 0.01,
        false_reject: float = 0.01,
        n_looks: int = 8,
        within: Any = None,
        apart: Any = None,
    ) -> Self:
        """Learn from prefixes of sequences when a stream may decide before its end; after `calibrate`.

        A stream looks `n_looks` times, and once more at its end. The bounds are such that an impostor, of two new
        identities, is accepted at any of these looks with a probability of at most `false_accept`, and a genuine claim
        of a new identity rejected before the end with at most `false_reject`. Both are ranks over identities, as in
        `calibrate`: fewer than 1 / `false_reject` − 1 identities reject nobody early. Looks share one bound on a scale
        on which the impostors have mean 0 and deviation 1 at each of them.

        Other parameters are those of `calibrate`.
        """
        rates = share(false_accept, "false_accept"), share(false_reject, "false_reject")
        with self._changing() as made:
            made._require_stream()
            made._threshold(1)
            sequences = made._asked(X)
            labels = made._classes(sequences, y, "there is no identity")
            kept = kept_pairs(within, apart, len(sequences))
            one = made._among_others(Scorer(made.metric_, vectors=True), sequences, labels, kept)
            made.boundaries_ = stream_boundaries(one, sequences, whole(n_looks, "n_looks", 1), rates)
        return self

    def stream(self, identity: Identity) -> VerifierStream:
        """Samples of somebody who claims to be an identity, one by one, and a decision as soon as it is certain.

        >>> import numpy as np
        >>> import timelike as tl
        >>> X = [np.sin(np.arange(40) / pace + phase) for pace in range(2, 8) for phase in np.arange(6) / 6]
        >>> y = np.repeat(np.arange(6), 6)
        >>> gate = tl.Verifier(tl.Rocket(n_features=500, causal=True, random_state=0)).fit(X)
        >>> stream = gate.calibrate(X, y, false_accept=0.4)
        >>> stream = stream.calibrate_stream(X, y, false_accept=0.4).enroll(X[:3], "anna").stream("anna")
        >>> decisions = [stream.push(sample) for sample in X[4]]
        >>> decisions[0].certain, stream.finish().accepted
        (False, True)
        """
        now = self._snapshot()
        now._require_stream()
        name = now._enrolled(identity)
        now._threshold(1)
        if not hasattr(now, "boundaries_"):
            raise NotFittedError(
                "this Verifier has no bounds for streams yet: call calibrate_stream(X, y) after calibrate(X, y)"
            )
        scorer, manner = Scorer(now.metric_, vectors=True), now._manner()
        others = now._others(scorer)
        used = usage(now.boundaries_, len(now.enrolled_[name]), manner.against)
        known = template(scorer, name, some_of(now.enrolled_[name], used.n_compared), others, manner)
        inner = now.metric_.stream()  # type: ignore[attr-defined]
        return VerifierStream(scorer, inner, known, others, manner, now.boundaries_[used.calibrated], name)

    def _require_stream(self) -> None:
        self._require_fitted()
        if not has_vectors(self.metric_) or not hasattr(self.metric_, "stream"):
            raise TypeError(
                f"{type(self.metric_).__name__} reads no streams: use an encoder that does, such as "
                "Rocket(causal=True), CausalEncoder, RecurrentEncoder or SiameseGRU"
            )
        if isinstance(self.metric_, Encoder):
            self.metric_._require_stream()
