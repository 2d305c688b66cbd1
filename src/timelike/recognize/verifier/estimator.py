"""Verifier: whether two sequences, or a sequence and somebody enrolled, are of one identity, by any metric."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from ...align import Metric, named
from ...models import learned
from ...sequences import Sequences, as_sequences
from ...sequences.arguments import RandomState, store
from ..decision import Decision
from .asking import decided, one_each, share
from .calibration import Gathered, calibrated, gathered
from .evaluation import Verification, evaluated
from .identity_rank import warn_known
from .normalization import Level, Normalization, levels, normalized
from .scoring import Against, Floats
from .stream import Streaming
from .trials import Trials, kept_pairs


class Verifier(Streaming):
    """Accept or reject: is this the one it is said to be? By any metric, with a threshold that is calibrated.

        s(x, y) = −d(x, y),   accepted where s ≥ t,   t such that P(s ≥ t) ≤ `false_accept` for two new identities

    A score is the higher the more alike two sequences are: a distance with the other sign, or that normalized by
    scores against a cohort of others, z-norm (s − μ_x) / σ_x or AS-norm ½ ((s − μ_x) / σ_x + (s − μ_y) / σ_y), where
    μ_x and σ_x are mean and deviation of the `n_top` highest scores of x against the cohort (Matějka et al., "Analysis
    of score normalization in multilingual speaker recognition", 2017). A deviation is at least a hundredth of that of
    all scores, so that copies in a cohort do no harm.

    For gates and claims, "this is Anna": thresholds come from pairs of identities that the metric need not know. Where
    all identities are known beforehand and somebody is one of them for certain, a classifier is better. A metric that
    learned classes with a network often knows these only: `Discriminant(classes="open")`, or `Fused` of it and an
    elastic distance, are the ones to try for strangers.

    Parameters
    ----------
    metric : Metric or str
        Any metric or encoder, or the name of one, as in `Neighbors`. One that is fitted, or has nothing to learn, needs
        no `fit`; of another, `fit(X, y)` fits a copy.
    against : {"mean", "nearest", "center"} or None
        The score against several examples: the mean over them, the highest, or that of their mean vector. None is the
        mean vector where the metric has vectors, as encoders do, and otherwise the highest.
    normalize : {None, "z-norm", "as-norm"}
        How scores are normalized; z-norm by the first of two sequences, or by the examples, alone.
    n_top : int
        How many of the cohort, those most alike, count; all where it has fewer.

    Attributes
    ----------
    threshold_ : float
        From which score on a pair is accepted; `thresholds_` has one for every number of examples.
    promised_ : float
        The probability with which a pair of two new identities is accepted at most: `false_accept`, or, with too few
        identities for it, 1 / (n + 1) of n pairs that share none, and what is accepted of a pair of calibration. Exact
        for one draw of such pairs; for the threshold that 60 % of many draws keep, `false_accept` / 0.6 is proven, and
        `false_accept` is kept in simulations.
    false_accept_, false_reject_ : float
        Shares of the pairs of calibration that are wrongly decided at it; `n_impostors_` and `n_genuine_` are their
        numbers, `n_identities_` that of identities.
    enrolled_ : dict
        The examples of every identity.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> t = np.arange(30)
    >>> paces = np.geomspace(1, 8, 20)  # of 20 identities, of whom there are three sequences each
    >>> X = [np.sin(t / pace + rng.uniform(0, 0.5)) for pace in paces for _ in range(3)]
    >>> gate = tl.Verifier(tl.DTW(window=3)).calibrate(X, np.repeat(np.arange(20), 3), false_accept=0.1)
    >>> gate.enroll([np.sin(t / 2.5), np.sin(t / 2.5 + 0.3)], "anna")
    Verifier(metric=DTW(window=3))
    >>> gate.accepts(np.sin(t / 2.5 + 0.1), "anna").accepted, gate.accepts(np.sin(t / 3.5), "anna").accepted
    (True, False)
    """

    threshold_: float = learned.later(learned.real(finite=False), with_="thresholds_")

    def __init__(
        self,
        metric: Metric | str = "dtw",
        *,
        against: Against | None = None,
        normalize: Normalization | None = None,
        n_top: int = 100,
    ) -> None:
        store(self, locals())

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a copy of the metric, where it has yet to learn; what was calibrated and enrolled before is forgotten.

        Calibrate with other sequences: pairs that a metric learned from look safer than they are.
        """
        with self._changing() as made, made._fitting():
            sequences = made._learn_from(X)
            made._begin(named.ready(made.metric, *((sequences,) if y is None else (sequences, y))))
        return self

    def calibrate(
        self,
        X: Any,
        y: Any = None,
        *,
        false_accept: float = 0.01,
        cohort: Any = None,
        within: Any = None,
        apart: Any = None,
    ) -> Self:
        """Set the threshold by pairs of sequences that the metric did not learn from; y, or X's labels, say whose.

        Every pair of two identities is an impostor. At the threshold, two new identities like these are taken for one
        with a probability of at most `false_accept`. That is a matter of how many identities there are, not of how many
        pairs: m identities make m / 2 pairs that share none, of which at most `false_accept` (m / 2 + 1) − 1 are
        accepted (decision 0057). That is exact for one draw of such pairs. The threshold is one that 60 % of many draws
        keep: `false_accept` / 0.6 is proven of it, and simulations keep `false_accept`. Impostors with the same score
        are accepted all or none.

        Fewer than 2 / `false_accept` − 2 identities, 198 for 0.01, cannot promise it: the threshold then keeps the rate
        for every two identities of X by themselves, and a `CalibrationWarning` says what is promised instead, as
        `promised_` does.

        Several examples of one identity score otherwise than one, so there is a threshold for every number of them
        (1, 2, 3, 5, 8, … as far as X has them for enough identities). In between, and beyond, the rate holds too: the
        nearest of several examples is accepted by the threshold of the next larger number, a mean vector is that of the
        next smaller number of examples, and of more examples than the largest number so many are compared, always the
        same. Scores by `against="mean"` have the threshold of the next smaller number.

        Parameters
        ----------
        false_accept : float
            Between 0 and 1.
        cohort : Sequences, optional
            Others to normalize by, best of people who will neither be enrolled nor ask. Otherwise X is the cohort, if
            it has three identities or more: here and for who is enrolled, those of the cohort whose labels say that
            they are one of the two are left out; but who asks is not known, and must not be one of them.
        within : array (item,), optional
            Only pairs with the same entry count: a password, an activity.
        apart : array (item,), optional
            Only pairs with different entries count: a recording, from which several sequences were cut.
        """
        rate = share(false_accept, "false_accept")
        with self._changing() as made:
            sequences = made._met(X)
            labels = made._classes(sequences, y, "there is no identity")
            one = made._gathered(sequences, labels, cohort, within, apart)
            warn_known(made.metric_, labels)
            found = calibrated(one, rate)
            for name, value in found._asdict().items():
                setattr(made, f"{name}_", value)
            made.threshold_, made.manner_ = found.thresholds[1], tuple(made._manner())
            made.__dict__.pop("boundaries_", None)  # they were of another cohort
            made._made_with = made.get_params(deep=False)
            made._derive()
            made._warn_unused(made.enrolled_)
        return self

    def _gathered(self, sequences: Sequences, labels: NDArray[Any], cohort: Any, within: Any, apart: Any) -> Gathered:
        """Sequences ready to be tried against each other; the cohort is kept."""
        self.__dict__.pop("cohort_", None)
        if self.normalize is not None:
            # a copy, as what the caller does to the arrays later must not move a score
            self.cohort_ = (sequences.replace(labels=labels) if cohort is None else self._cohort(cohort)).copy()
        elif cohort is not None:
            raise ValueError("cohort is given and normalize=None: use normalize='as-norm', or no cohort")
        kept = kept_pairs(within, apart, len(sequences))
        one = gathered(self._scorer(), sequences, labels, self._manner(), kept, getattr(self, "cohort_", None))
        self.least_ = 0.0 if one.cohort is None else one.cohort.least
        return one

    def _cohort(self, cohort: Any) -> Sequences:
        others = as_sequences(cohort, "cohort")
        self.metric_._refuse(others, None, ("cohort", "cohort"))
        self._refuse_frame(others.frame, "cohort")
        return others

    # --- pairs --------------------------------------------------------------------------------------------------------

    def verify(self, x: Any, y: Any) -> Decision:
        """Whether two sequences are of one identity; for collections, arrays (len x, len y)."""
        now = self._snapshot()
        (first, one), (second, other) = now._opened(x, "x"), now._opened(y, "y")
        threshold, scores = now._threshold(1), now._scores(first, second)
        return decided(scores[(0 if one else slice(None)), (0 if other else slice(None))], threshold)

    def scores(self, X: Any, Y: Any = None) -> Floats:
        """How alike all pairs are, (len X, len Y), of X with itself when Y is None: −d, or that normalized."""
        now = self._snapshot()
        first = now._asked(X)
        return now._scores(first, first if Y is None else now._opened(Y, "Y")[0])

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        within: Any = None,
        apart: Any = None,
        prior: float = 0.01,
        confidence: float = 0.95,
        n_resamples: int = 500,
        random_state: RandomState = None,
    ) -> Verification:
        """How well pairs of other sequences are told apart: EER, minDCF, DET and ROC, and errors at the threshold.

        Intervals are bootstrapped over subjects: over identities, or over `groups` (item,) where these are given.
        `prior` is the share of genuine claims that minDCF assumes; `within` and `apart` are those of `calibrate`.

        >>> import numpy as np
        >>> import timelike as tl
        >>> X = [np.sin(np.arange(30) / pace + phase) for pace in range(2, 8) for phase in np.arange(5) / 5]
        >>> found = tl.Verifier("dtw").fit(X).evaluate(X, np.repeat(np.arange(6), 5), random_state=0)
        >>> print(round(found.equal_error_rate.mean, 2), found.n_impostors)
        0.1 375
        """
        now = self._snapshot()
        sequences = now._asked(X)
        labels = now._classes(sequences, y, "there is no identity")
        subjects = labels if groups is None else one_each(groups, "groups", len(sequences))
        one, scores = now._tried(sequences, labels, within, apart)
        first, second = np.nonzero(one.impostor | one.genuine)
        return evaluated(
            scores[first, second],
            one.genuine[first, second],
            np.stack([subjects[first], subjects[second]], axis=1),
            now._threshold(1) if hasattr(now, "thresholds_") else None,
            prior=prior,
            confidence=confidence,
            n_resamples=n_resamples,
            random_state=random_state,
        )

    def _tried(self, sequences: Sequences, labels: NDArray[Any], within: Any, apart: Any) -> tuple[Trials, Floats]:
        """All pairs that count, and the scores of all, as in calibration."""
        self._require_cohort()
        kept = kept_pairs(within, apart, len(sequences))
        one = self._among_others(self._scorer(), sequences, labels, kept)
        return one.pairs(), one.compared(one.known)

    def _scores(self, first: Sequences, second: Sequences) -> Floats:
        self._require_cohort()
        found = self._scorer().pairs(first, second)
        if self.normalize is None:
            return found
        left = Level(*(part[:, None] for part in self._level(first)))
        return normalized(found, left, None if self.normalize == "z-norm" else self._level(second))

    def _require_cohort(self) -> None:
        if self.normalize is not None and self.others_ is None:
            raise NotFittedError(f"normalize={self.normalize!r} needs a cohort: call calibrate(X, y) first")

    def _level(self, sequences: Sequences) -> Level:
        assert self.others_ is not None
        scorer = self._scorer()
        scores = scorer.scores(scorer.known(sequences), self.others_.known)
        return levels(scores, self.n_top, self.others_.least)
