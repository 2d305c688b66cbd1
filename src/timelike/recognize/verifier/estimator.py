"""Verifier: whether two sequences, or a sequence and somebody enrolled, are of one identity, by any metric."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from ...align import Metric, named
from ...encode.base import Encoder
from ...models import Model, learned, options, parts
from ...models.locks import lock_of
from ...sequences import Sequences, as_sequences, concat
from ...sequences.arguments import RandomState, flag, shown, store, whole
from ...sequences.callers import outside
from ..decision import Decision
from .asking import Identity, checked_identity, decided, one_each, one_or_several, refuse_swapped, share
from .calibration import Gathered, Manner, calibrated, gathered
from .evaluation import Verification, evaluated
from .identity_rank import CalibrationWarning, warn_known
from .looking import stream_boundaries
from .normalization import Level, Normalization, levels, normalized
from .scoring import Against, Floats, Scorer, has_vectors
from .stream import VerifierStream
from .templates import Others, Template, asked_about, scores_against, some_of, template, usage
from .thresholds import BOUNDARIES, Boundaries
from .trials import Kept, Trials, kept_pairs

_MOST = 2**62  # of a number that is an identity
_ENROLL, _ACCEPTS = "Verifier.enroll(X, identity)", "Verifier.accepts(x, identity)"  # as errors name the calls


class Verifier(Model):
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

    metric = named.option()
    against = options.maybe(options.one_of(*get_args(Against)))
    normalize = options.maybe(options.one_of(*get_args(Normalization)))
    n_top = options.whole(2)

    metric_: Metric = learned.part(Metric)
    enrolled_: dict[Identity, Sequences] = learned.mapping(
        learned.either(learned.text(), learned.whole(-_MOST, _MOST)), learned.sequences()
    )
    thresholds_: dict[int, float] = learned.later(
        learned.mapping(learned.whole(1), learned.real(finite=False), holds=(1,))
    )
    manner_: tuple[Any, ...] = learned.later(
        learned.together(
            learned.text(*get_args(Against)), learned.maybe(learned.text(*get_args(Normalization))), learned.whole(2)
        ),
        with_="thresholds_",
    )
    false_accept_: float = learned.later(learned.real(0, 1), with_="thresholds_")
    false_reject_: float = learned.later(learned.real(0, 1), with_="thresholds_")
    n_impostors_: int = learned.later(learned.whole(1), with_="thresholds_")
    n_genuine_: int = learned.later(learned.whole(1), with_="thresholds_")
    promised_: float = learned.later(learned.real(0, 1), with_="thresholds_")
    n_identities_: int = learned.later(learned.whole(1), with_="thresholds_")
    least_: float = learned.later(learned.real(0), with_="thresholds_")
    cohort_: Sequences = learned.later(learned.sequences(), after="thresholds_")
    others_: Others | None = learned.derived()
    threshold_: float = learned.later(learned.real(finite=False), with_="thresholds_")
    templates_: dict[Identity, Template] = learned.derived()
    boundaries_: dict[int, Boundaries] = learned.later(
        learned.mapping(learned.whole(1), BOUNDARIES, holds=(1,)), after="thresholds_"
    )
    _call = "fit(X, y) or, if there is nothing to fit, calibrate(X, y)"

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

        The promise is over all pairs that count, of identities drawn as those of X were. It is not one for each
        identity, for each kind of identities or for each entry of `within`: where some kinds are more alike, more than
        `false_accept` of their impostors are accepted, and fewer of the others. For a promise of one kind, calibrate
        another `Verifier` with identities of that kind alone.

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
            Only pairs with the same entry count: a password, an activity. The rate is that of all of them together.
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

    # --- identities ---------------------------------------------------------------------------------------------------

    def enroll(self, X: Any, identity: Identity | None = None, *, extend: bool = False) -> Self:
        """Keep examples of an identity, a sequence or several; with `extend` they are added to those there are.

        In which order identities are enrolled, and whether examples come at once or in parts, changes nothing. Of more
        examples than calibration had of an identity only so many are compared, unless `against="mean"`, and a
        `CalibrationWarning` says so: with all of them more impostors than `false_accept` would be accepted.
        """
        refuse_swapped(X, _ENROLL)
        more = flag(extend, "extend")
        with self._changing() as made:
            given = made._opened(X, "X")[0]
            name = checked_identity(identity, made.enrolled_, _ENROLL)
            before = made.enrolled_.get(name)
            if before is not None and not more:
                raise ValueError(
                    f"identity={shown(name)} is enrolled already, with {len(before)} examples: extend=True adds to "
                    f"them, and forget({shown(name)}) first replaces them"
                )
            plain = given.replace(labels=None, groups=None, ids=None, channel_names=None).copy()
            whole = plain if before is None else concat([before, plain])
            made.templates_ = {**made.templates_, name: made._template(name, whole)}
            made.enrolled_ = dict(sorted({**made.enrolled_, name: whole}.items()))
            made._warn_unused([name])
        return self

    def forget(self, identity: Identity) -> Self:
        """Forget an identity and its examples."""
        with self._changing() as made:
            name = made._enrolled(identity, "Verifier.forget(identity)")
            made.enrolled_ = {one: held for one, held in made.enrolled_.items() if one != name}
            made.templates_ = {one: held for one, held in made.templates_.items() if one != name}
        return self

    def accepts(self, x: Any, identity: Identity | None = None) -> Decision:
        """Whether a sequence is of an identity that is enrolled; for several sequences, arrays (item,)."""
        refuse_swapped(x, _ACCEPTS)
        now = self._snapshot()
        asked, single = now._opened(x, "x")
        name = now._enrolled(identity, _ACCEPTS)
        threshold = now._threshold(now.templates_[name].n_examples)
        scores = now._against([name], asked)[0]
        return decided(scores[0] if single else scores, threshold, name)

    def identify(self, x: Any) -> Decision:
        """Which of the identities a sequence is of, if any: the one that is farthest above its threshold.

        `false_accept` is meant for one claim. Among n identities a stranger has n chances: calibrate for a rate that is
        n times smaller, to keep it.
        """
        now = self._snapshot()
        asked, single = now._opened(x, "x")
        if not now.enrolled_:
            raise ValueError("nobody is enrolled: call enroll(X, identity) first")
        names = list(now.enrolled_)
        limits = np.array([now._threshold(now.templates_[name].n_examples) for name in names])
        scores = now._against(names, asked)
        best, every = (scores - limits[:, None]).argmax(axis=0), np.arange(len(asked))
        found = decided(scores[best, every], limits[best])
        who = np.array([names[i] if yes else None for i, yes in zip(best, found.accepted, strict=True)], dtype=object)
        if single:
            return Decision(bool(found.accepted[0]), float(found.score[0]), float(limits[best[0]]), who[0])
        return Decision(found.accepted, found.score, found.threshold, who)

    def _template(self, name: Identity, examples: Sequences) -> Template:
        if hasattr(self, "thresholds_"):
            examples = some_of(examples, usage(self.thresholds_, len(examples), self._manner().against).n_compared)
        return template(self._scorer(), name, examples, self.others_, self._manner())

    def _warn_unused(self, names: Iterable[Identity]) -> None:
        """A warning where one of the identities has more examples than any of calibration, and some are not used."""
        against = self._manner().against
        if not hasattr(self, "thresholds_") or against == "mean":
            return
        most = max(self.thresholds_)
        more = [name for name in names if len(self.enrolled_[name]) > most]
        if not more:
            return
        warnings.warn(
            f"identity={shown(more[0])} has {len(self.enrolled_[more[0]])} examples, and there are thresholds for at "
            f"most {most}: {most} of them are compared, as with all of them more impostors than false_accept would be "
            "accepted. To use more, calibrate with more sequences of each identity, or with against='mean' in place of "
            f"{against!r}",
            CalibrationWarning,
            stacklevel=outside(),
        )

    def _against(self, names: list[Identity], sequences: Sequences) -> Floats:
        """Scores (identity, query)."""
        scorer, others, manner = self._scorer(), self.others_, self._manner()
        asked = asked_about(scorer, scorer.known(sequences), others, manner)
        return np.stack([scores_against(scorer, self.templates_[name], asked, others, manner) for name in names])

    def _enrolled(self, identity: Any, call: str) -> Identity:
        self._require_fitted()
        name = checked_identity(identity, self.enrolled_, call)
        if name not in self.enrolled_:
            known = ", ".join(map(shown, list(self.enrolled_)[:5])) or "nobody"
            raise ValueError(
                f"identity={shown(name)} is not enrolled ({known} is): call enroll(X, {shown(name)}) first"
            )
        return name

    # --- streams ------------------------------------------------------------------------------------------------------

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
        name = now._enrolled(identity, "Verifier.stream(identity)")
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

    # --- what all verbs share -----------------------------------------------------------------------------------------

    def _begin(self, metric: Metric) -> None:
        if isinstance(metric, Model):
            metric._refuse_frame(self.frame_, "X")
        self.metric_, self.enrolled_ = metric, {}
        self._derive()

    def _refuse_options(self) -> None:
        super()._refuse_options()
        metric = named.resolve(self.metric)
        if self.against == "center" and not has_vectors(metric):
            raise ValueError(
                f"against='center': {type(metric).__name__} makes no vectors, and so no mean of them; use 'mean' or "
                "'nearest', or an encoder"
            )

    @contextmanager
    def _changing(self) -> Iterator[Self]:
        """A copy to change, one thread at a time; it takes effect as a whole or, where it breaks off, not at all."""
        with lock_of(self):
            made = self._snapshot()
            yield made
            self.__dict__ = made.__dict__

    def _snapshot(self) -> Self:
        """A copy of what is known now, whatever other threads enroll, forget or calibrate meanwhile."""
        made = object.__new__(type(self))
        made.__dict__ = dict(self.__dict__)
        return made

    def _met(self, X: Any) -> Sequences:
        """The sequences to calibrate with; a metric that has nothing to learn, or has learned, needs no fit before."""
        self._refuse_options()
        metric = named.resolve(self.metric)
        if self.__sklearn_is_fitted__():
            then = self._made_with["metric"]
            if metric is not then and repr(metric) != repr(named.resolve(then)):
                raise ValueError(f"metric={metric!r} was {then!r} before: fit(X, y) begins anew with it")
            return self._asked(X)
        if named.learns(metric) and not parts.has_learned(metric):
            raise NotFittedError(
                f"metric={metric!r:.80} has yet to learn: call fit(X, y) before calibrate(X, y), or give a fitted one"
            )
        sequences = self._learn_from(X)
        self._begin(parts.ready(metric))
        self._made_with = self.get_params(deep=False)
        return sequences

    def _opened(self, value: Any, name: str) -> tuple[Sequences, bool]:
        """Sequences like those it knows, and whether it was a single one."""
        self._require_fitted()
        found, single = one_or_several(value, self.frame_, name)
        if len(found) == 0:
            raise ValueError(f"{name} holds no sequences: expected at least one")
        if not self._takes_missing():
            found.refuse_missing(type(self).__name__, name)
        self._refuse_frame(found.frame, name)
        return found, single

    def _takes_missing(self) -> bool:
        """If the metric does."""
        metric = getattr(self, "metric_", None) or self._meant("metric", parts.thawed(self.metric))
        return isinstance(metric, Metric) and metric._takes_missing()

    def _manner(self) -> Manner:
        usual: Against = "center" if has_vectors(self.metric_) else "nearest"
        return Manner(self.against or usual, self.normalize, self.n_top)

    def _scorer(self) -> Scorer:
        return Scorer(self.metric_, vectors=self._manner().against == "center")

    def _threshold(self, n_examples: int) -> float:
        """Of so many examples, or of the number that `usage` says."""
        if not hasattr(self, "thresholds_"):
            raise NotFittedError(
                "this Verifier has no threshold yet: call calibrate(X, y, false_accept=0.01) first, with sequences "
                "that the metric did not learn from"
            )
        if self.manner_ != self._manner():
            then = ", ".join(f"{name}={value!r}" for name, value in zip(Manner._fields, self.manner_, strict=True))
            raise ValueError(f"the threshold is one of {then}, and options are others now: calibrate(X, y) again")
        return self.thresholds_[usage(self.thresholds_, n_examples, self._manner().against).calibrated]

    def _among_others(self, scorer: Scorer, sequences: Sequences, labels: NDArray[Any], kept: Kept) -> Gathered:
        """Sequences ready to be tried against each other, normalized as calibration left it."""
        cohort, least = getattr(self, "cohort_", None), getattr(self, "least_", None)
        return gathered(scorer, sequences, labels, self._manner(), kept, cohort, least)

    def _check_learned(self, found: Mapping[str, Any]) -> None:
        super()._check_learned(found)
        if "manner_" in found and (self.manner_[1] is None) == ("cohort_" in found):
            word = "missing" if self.manner_[1] else "there"
            raise ValueError(f"cohort_ is {word}, and manner_ says that scores are normalized by {self.manner_[1]!r}")

    def _derive(self) -> None:
        """What is known of the cohort, which comes with calibration, and of the examples."""
        self.others_ = self._others(self._scorer())
        self.templates_ = {name: self._template(name, examples) for name, examples in self.enrolled_.items()}

    def _others(self, scorer: Scorer) -> Others | None:
        if not hasattr(self, "cohort_"):
            return None
        names = None if self.cohort_.labels is None else self.cohort_.labels.tolist()
        return Others(scorer.known(self.cohort_), names, self.least_)
