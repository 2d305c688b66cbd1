"""`Verifier`: whether two sequences, or a sequence and an enrolled identity, belong together, by any metric."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from ..align import Metric, metric_names
from ..core.parameters import check_bool, check_int, format_value, store_parameters
from ..core.random import RandomState
from ..core.threads import object_lock
from ..core.warnings import find_stack_level
from ..encode.base import Encoder
from ..models import Model, components, options, schema
from ..score.calibration import CalibrationWarning, Floats
from ..sequences import Sequences, as_sequences, concat
from ..sequences.validation import as_one_or_many
from .calibration import ScoringOptions, TrialCollection, calibrate_thresholds, prepare_trials
from .decision import Decision, make_decision
from .evaluation import Verification, evaluate_pairs
from .normalization import CohortStatistics, Normalization, cohort_statistics, normalize_scores
from .scorer import Scorer, TemplateAggregation, has_vectors
from .stream import BOUNDARIES_SCHEMA, StreamBoundaries, VerifierStream, calibrate_boundaries
from .templates import (
    ReferenceCohort,
    Template,
    example_usage,
    make_template,
    prepare_queries,
    score_queries,
    select_examples,
)
from .trials import PairFilter, Trials, make_pair_filter
from .validation import (
    Identity,
    check_rate,
    refuse_swapped_arguments,
    validate_entries,
    validate_identity,
    warn_known_classes,
)

_MAX_IDENTITY = 2**62  # of a number that is an identity
_ENROLL_CALL, _ACCEPTS_CALL = "Verifier.enroll(X, identity)", "Verifier.accepts(x, identity)"  # as errors name them


class Verifier(Model):
    """Accept or reject a claimed identity, by any metric and a calibrated threshold.

        s(x, y) = −d(x, y),   accepted where s ≥ t,   t such that P(s ≥ t) ≤ `false_accept` for two new identities

    A score is higher for sequences that are more alike: a distance with the opposite sign, optionally normalized by
    scores against a cohort of others, z-norm (s − μ_x) / σ_x or AS-norm ½ ((s − μ_x) / σ_x + (s − μ_y) / σ_y), where
    μ_x and σ_x are mean and deviation of the `n_top` highest scores of x against the cohort (Matějka et al., "Analysis
    of score normalization in multilingual speaker recognition", 2017). A deviation is at least a hundredth of that of
    all scores, so that copies in a cohort do no harm.

    Use it for claims such as "this is Anna": thresholds come from pairs of identities that need not be known to the
    metric. If all identities are known beforehand and every query is one of them, a classifier is better. A metric that
    learned classes with a network often recognizes only these: for strangers, try `Discriminant(classes="open")`, or
    `Fused` of it and an elastic distance.

    Parameters
    ----------
    metric : Metric or str
        Any metric or encoder, or the name of one, as in `Neighbors`. If it is fitted or has nothing to learn, `fit` is
        not needed; otherwise `fit(X, y)` fits a copy.
    aggregation : {"mean", "nearest", "center"} or None
        The score against several examples: the mean of their scores, the highest, or the score of their mean vector.
        None means "center" if the metric has vectors, as encoders do, and "nearest" otherwise.
    normalize : {None, "z-norm", "as-norm"}
        How scores are normalized; z-norm uses the first of two sequences, or the examples, only.
    n_top : int
        How many cohort members, the most similar ones, are used; all of them if there are fewer.

    Attributes
    ----------
    threshold_ : float
        The lowest score that is accepted; `thresholds_` has one threshold for each number of examples.
    promised_rate_ : float
        The largest probability with which a pair of two new identities is accepted: `false_accept`, or, with too few
        identities, 1 / (n + 1) for n pairs without a common identity, plus the fraction of calibration pairs accepted.
        Exact for one draw of such pairs; for the threshold that 60 % of many draws keep, `false_accept` / 0.6 is
        proven, and simulations keep `false_accept`.
    false_accept_, false_reject_ : float
        Fractions of the calibration pairs that the threshold decides wrongly; `n_impostors_` and `n_genuine_` are the
        numbers of pairs, `n_identities_` that of identities.
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

    metric = metric_names.metric_option()
    aggregation = options.nullable(options.choice(*get_args(TemplateAggregation)))
    normalize = options.nullable(options.choice(*get_args(Normalization)))
    n_top = options.integer(2)

    metric_: Metric = schema.estimator(Metric)
    enrolled_: dict[Identity, Sequences] = schema.dict_of(
        schema.union(schema.string(), schema.integer(-_MAX_IDENTITY, _MAX_IDENTITY)), schema.sequences()
    )
    thresholds_: dict[int, float] = schema.not_required(
        schema.dict_of(schema.integer(1), schema.real(finite=False), holds=(1,))
    )
    scoring_options_: tuple[Any, ...] = schema.not_required(
        schema.tuple_of(
            schema.string(*get_args(TemplateAggregation)),
            schema.nullable(schema.string(*get_args(Normalization))),
            schema.integer(2),
        ),
        with_="thresholds_",
    )
    false_accept_: float = schema.not_required(schema.real(0, 1), with_="thresholds_")
    false_reject_: float = schema.not_required(schema.real(0, 1), with_="thresholds_")
    n_impostors_: int = schema.not_required(schema.integer(1), with_="thresholds_")
    n_genuine_: int = schema.not_required(schema.integer(1), with_="thresholds_")
    promised_rate_: float = schema.not_required(schema.real(0, 1), with_="thresholds_")
    n_identities_: int = schema.not_required(schema.integer(1), with_="thresholds_")
    min_deviation_: float = schema.not_required(schema.real(0), with_="thresholds_")
    cohort_: Sequences = schema.not_required(schema.sequences(), after="thresholds_")
    reference_cohort_: ReferenceCohort | None = schema.derived_value()
    threshold_: float = schema.not_required(schema.real(finite=False), with_="thresholds_")
    templates_: dict[Identity, Template] = schema.derived_value()
    boundaries_: dict[int, StreamBoundaries] = schema.not_required(
        schema.dict_of(schema.integer(1), BOUNDARIES_SCHEMA, holds=(1,)), after="thresholds_"
    )
    _fit_call = "fit(X, y) or, if there is nothing to fit, calibrate(X, y)"

    def __init__(
        self,
        metric: Metric | str = "dtw",
        *,
        aggregation: TemplateAggregation | None = None,
        normalize: Normalization | None = None,
        n_top: int = 100,
    ) -> None:
        store_parameters(self, locals())

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a copy of the metric if it is not fitted; clears earlier calibration and enrolled identities.

        Calibrate with other sequences: pairs that the metric was trained on look safer than they are.
        """
        with self._atomic_change() as verifier, verifier._atomic_fit():
            sequences = verifier._validate_fit_input(X)
            verifier._set_metric(metric_names.fit_metric_copy(verifier.metric, sequences, y))
        return self

    def calibrate(
        self,
        X: Any,
        y: Any = None,
        *,
        false_accept: float = 0.01,
        cohort: Any = None,
        within: Any = None,
        across: Any = None,
    ) -> Self:
        """Set the threshold by pairs of sequences that the metric was not trained on; y, or X's labels, are identities.

        Every pair of two identities is an impostor pair. At the threshold, two new identities like these are mistaken
        for one with a probability of at most `false_accept`. The number of identities matters, not that of pairs: m
        identities make m / 2 pairs without a common identity, of which at most `false_accept` (m / 2 + 1) − 1 are
        accepted (decision 0057). That is exact for one draw of such pairs. The threshold is one that 60 % of many draws
        keep: `false_accept` / 0.6 is proven for it, and simulations keep `false_accept`. Impostors with equal scores
        are accepted all or none.

        The promise is over all pairs that count, of identities drawn as those of X were. It is not one for each
        identity, for each kind of identities or for each entry of `within`: where some kinds are more alike, more than
        `false_accept` of their impostors are accepted, and fewer of the others. For a promise of one kind, calibrate
        another `Verifier` with identities of that kind alone.

        Fewer than 2 / `false_accept` − 2 identities, 198 for 0.01, cannot promise it: the threshold then keeps the rate
        for every two identities of X by themselves, and a `CalibrationWarning` and `promised_rate_` state the rate that
        is promised instead.

        Several examples of one identity score differently from one, so there is a threshold for every number of them
        (1, 2, 3, 5, 8, … as far as X has them for enough identities). In between, and beyond, the rate holds too: the
        nearest of several examples is accepted by the threshold of the next larger number, a mean vector uses the next
        smaller number of examples, and beyond the largest number a fixed choice of that many is compared. Scores by
        `aggregation="mean"` have the threshold of the next smaller number.

        Parameters
        ----------
        false_accept : float
            Between 0 and 1.
        cohort : Sequences, optional
            Others to normalize by, preferably people who will neither be enrolled nor make claims. Otherwise X is the
            cohort, if it has three identities or more: cohort members that share a label with one of the two compared
            identities are excluded, here and for enrolled identities; a claimant is unknown and must not be among them.
        within : array (item,), optional
            Count only pairs with the same entry, such as a password or an activity. The rate is over all of them.
        across : array (item,), optional
            Count only pairs with different entries, such as the recording from which several sequences were cut.
        """
        rate = check_rate(false_accept, "false_accept")
        with self._atomic_change() as verifier:
            sequences = verifier._validate_calibration_input(X)
            labels = verifier._validate_classes(sequences, y, "there is no identity")
            collection = verifier._prepare_calibration(sequences, labels, cohort, within, across)
            warn_known_classes(verifier.metric_, labels)
            result = calibrate_thresholds(collection, rate)
            for name, value in result._asdict().items():
                setattr(verifier, f"{name}_", value)
            verifier.threshold_, verifier.scoring_options_ = result.thresholds[1], tuple(verifier._scoring_options())
            verifier.__dict__.pop("boundaries_", None)  # they were of another cohort
            verifier._fitted_parameters = verifier.get_params(deep=False)
            verifier._derive_attributes()
            verifier._warn_unused_examples(verifier.enrolled_)
        return self

    def _prepare_calibration(
        self, sequences: Sequences, labels: NDArray[Any], cohort: Any, within: Any, across: Any
    ) -> TrialCollection:
        """Sequences ready for trials against each other; stores the cohort."""
        self.__dict__.pop("cohort_", None)
        if self.normalize is not None:
            # a copy, so that later changes to the caller's arrays do not change a score
            self.cohort_ = (
                sequences.replace(labels=labels) if cohort is None else self._validate_cohort(cohort)
            ).copy()
        elif cohort is not None:
            raise ValueError("cohort has no effect with normalize=None: use normalize='as-norm', or no cohort")
        pair_filter = make_pair_filter(within, across, len(sequences))
        collection = prepare_trials(
            self._make_scorer(), sequences, labels, self._scoring_options(), pair_filter, getattr(self, "cohort_", None)
        )
        self.min_deviation_ = 0.0 if collection.cohort is None else collection.cohort.min_deviation
        return collection

    def _validate_cohort(self, cohort: Any) -> Sequences:
        others = as_sequences(cohort, "cohort")
        self.metric_._validate_sides(others, None, ("cohort", "cohort"))
        self._refuse_frame(others.frame, "cohort")
        return others

    # --- pairs --------------------------------------------------------------------------------------------------------

    def verify(self, x: Any, y: Any) -> Decision:
        """Whether two sequences are of one identity; for collections, arrays (len x, len y)."""
        now = self._snapshot()
        (first, one), (second, other) = now._validate_one_or_many(x, "x"), now._validate_one_or_many(y, "y")
        threshold, scores = now._threshold(1), now._pair_scores(first, second)
        return make_decision(scores[(0 if one else slice(None)), (0 if other else slice(None))], threshold)

    def scores(self, X: Any, Y: Any = None) -> Floats:
        """Scores of all pairs, (len X, len Y), of X with itself if Y is None: −d, normalized if `normalize` is set."""
        now = self._snapshot()
        first = now._validate_predict_input(X)
        return now._pair_scores(first, first if Y is None else now._validate_one_or_many(Y, "Y")[0])

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        within: Any = None,
        across: Any = None,
        prior: float = 0.01,
        confidence: float = 0.95,
        n_resamples: int = 500,
        random_state: RandomState = None,
    ) -> Verification:
        """Evaluate on pairs of other sequences: EER, minDCF, DET and ROC curves, and errors at the threshold.

        Intervals are bootstrapped over subjects: over identities, or over `groups` (item,) where these are given.
        `prior` is the fraction of genuine claims that minDCF assumes; `within` and `across` are those of `calibrate`.

        >>> import numpy as np
        >>> import timelike as tl
        >>> X = [np.sin(np.arange(30) / pace + phase) for pace in range(2, 8) for phase in np.arange(5) / 5]
        >>> evaluation = tl.Verifier("dtw").fit(X).evaluate(X, np.repeat(np.arange(6), 5), random_state=0)
        >>> print(round(evaluation.equal_error_rate.mean, 2), evaluation.n_impostors)
        0.1 375
        """
        now = self._snapshot()
        sequences = now._validate_predict_input(X)
        labels = now._validate_classes(sequences, y, "there is no identity")
        subjects = labels if groups is None else validate_entries(groups, "groups", len(sequences))
        trials, scores = now._score_trials(sequences, labels, within, across)
        first, second = np.nonzero(trials.impostor | trials.genuine)
        return evaluate_pairs(
            scores[first, second],
            trials.genuine[first, second],
            np.stack([subjects[first], subjects[second]], axis=1),
            now._threshold(1) if hasattr(now, "thresholds_") else None,
            prior=prior,
            confidence=confidence,
            n_resamples=n_resamples,
            random_state=random_state,
        )

    def _score_trials(
        self, sequences: Sequences, labels: NDArray[Any], within: Any, across: Any
    ) -> tuple[Trials, Floats]:
        """All pairs that count, and the scores of all, as in calibration."""
        self._require_cohort()
        pair_filter = make_pair_filter(within, across, len(sequences))
        collection = self._prepare_trials(self._make_scorer(), sequences, labels, pair_filter)
        return collection.make_pairs(), collection.score_single(collection.known)

    def _pair_scores(self, first: Sequences, second: Sequences) -> Floats:
        self._require_cohort()
        scores = self._make_scorer().score_pairs(first, second)
        if self.normalize is None:
            return scores
        left = CohortStatistics(*(part[:, None] for part in self._cohort_statistics(first)))
        return normalize_scores(scores, left, None if self.normalize == "z-norm" else self._cohort_statistics(second))

    def _require_cohort(self) -> None:
        if self.normalize is not None and self.reference_cohort_ is None:
            raise NotFittedError(f"normalize={self.normalize!r} needs a cohort: call calibrate(X, y) first")

    def _cohort_statistics(self, sequences: Sequences) -> CohortStatistics:
        assert self.reference_cohort_ is not None
        scorer = self._make_scorer()
        scores = scorer.scores(scorer.precompute(sequences), self.reference_cohort_.known)
        return cohort_statistics(scores, self.n_top, self.reference_cohort_.min_deviation)

    # --- identities ---------------------------------------------------------------------------------------------------

    def enroll(self, X: Any, identity: Identity | None = None, *, extend: bool = False) -> Self:
        """Store examples of an identity, one sequence or several; with `extend`, add them to the existing ones.

        The result does not depend on the order of identities, nor on whether examples come at once or in parts. If
        there are more examples than calibration had per identity, only that many are compared, unless
        `aggregation="mean"`, with a `CalibrationWarning`: with all of them, more impostors than `false_accept`
        would be accepted.
        """
        refuse_swapped_arguments(X, _ENROLL_CALL)
        more = check_bool(extend, "extend")
        with self._atomic_change() as verifier:
            examples = verifier._validate_one_or_many(X, "X")[0]
            name = validate_identity(identity, verifier.enrolled_, _ENROLL_CALL)
            previous = verifier.enrolled_.get(name)
            if previous is not None and not more:
                raise ValueError(
                    f"identity={format_value(name)} is enrolled already, with {len(previous)} examples: extend=True "
                    f"adds to them, and forget({format_value(name)}) first replaces them"
                )
            new_examples = examples.replace(labels=None, groups=None, ids=None, channel_names=None).copy()
            all_examples = new_examples if previous is None else concat([previous, new_examples])
            verifier.templates_ = {**verifier.templates_, name: verifier._make_template(name, all_examples)}
            verifier.enrolled_ = dict(sorted({**verifier.enrolled_, name: all_examples}.items()))
            verifier._warn_unused_examples([name])
        return self

    def forget(self, identity: Identity) -> Self:
        """Remove an identity and its examples."""
        with self._atomic_change() as verifier:
            name = verifier._validate_enrolled(identity, "Verifier.forget(identity)")
            verifier.enrolled_ = {other: value for other, value in verifier.enrolled_.items() if other != name}
            verifier.templates_ = {other: value for other, value in verifier.templates_.items() if other != name}
        return self

    def accepts(self, x: Any, identity: Identity | None = None) -> Decision:
        """Whether a sequence belongs to an enrolled identity; for several sequences, arrays (item,)."""
        refuse_swapped_arguments(x, _ACCEPTS_CALL)
        now = self._snapshot()
        queries, single = now._validate_one_or_many(x, "x")
        name = now._validate_enrolled(identity, _ACCEPTS_CALL)
        threshold = now._threshold(now.templates_[name].n_examples)
        scores = now._identity_scores([name], queries)[0]
        return make_decision(scores[0] if single else scores, threshold, name)

    def identify(self, x: Any) -> Decision:
        """The enrolled identity that a sequence belongs to, if any: the one farthest above its threshold.

        `false_accept` is the rate of one claim. Among n identities a stranger has n chances: to keep the rate,
        calibrate for one that is n times smaller.
        """
        now = self._snapshot()
        queries, single = now._validate_one_or_many(x, "x")
        if not now.enrolled_:
            raise ValueError("nobody is enrolled: call enroll(X, identity) first")
        names = list(now.enrolled_)
        limits = np.array([now._threshold(now.templates_[name].n_examples) for name in names])
        scores = now._identity_scores(names, queries)
        best, every = (scores - limits[:, None]).argmax(axis=0), np.arange(len(queries))
        decision = make_decision(scores[best, every], limits[best])
        identities = np.array(
            [names[i] if is_accepted else None for i, is_accepted in zip(best, decision.accepted, strict=True)],
            dtype=object,
        )
        if single:
            return Decision(bool(decision.accepted[0]), float(decision.score[0]), float(limits[best[0]]), identities[0])
        return Decision(decision.accepted, decision.score, decision.threshold, identities)

    def _make_template(self, name: Identity, examples: Sequences) -> Template:
        if hasattr(self, "thresholds_"):
            examples = select_examples(
                examples, example_usage(self.thresholds_, len(examples), self._scoring_options().aggregation).n_compared
            )
        return make_template(self._make_scorer(), name, examples, self.reference_cohort_, self._scoring_options())

    def _warn_unused_examples(self, names: Iterable[Identity]) -> None:
        """Warn if an identity has more examples than any in calibration, so that some are not used."""
        aggregation = self._scoring_options().aggregation
        if not hasattr(self, "thresholds_") or aggregation == "mean":
            return
        max_examples = max(self.thresholds_)
        exceeding = [name for name in names if len(self.enrolled_[name]) > max_examples]
        if not exceeding:
            return
        warnings.warn(
            f"identity={format_value(exceeding[0])} has {len(self.enrolled_[exceeding[0]])} examples, and there are "
            f"thresholds for at most {max_examples}: {max_examples} of them are compared, as with all of them more "
            "impostors than false_accept would be accepted. To use more, calibrate with more sequences of each "
            f"identity, or with aggregation='mean' in place of {aggregation!r}",
            CalibrationWarning,
            stacklevel=find_stack_level(),
        )

    def _identity_scores(self, names: list[Identity], sequences: Sequences) -> Floats:
        """Scores (identity, query)."""
        scorer, cohort, options = self._make_scorer(), self.reference_cohort_, self._scoring_options()
        queries = prepare_queries(scorer, scorer.precompute(sequences), cohort, options)
        return np.stack([score_queries(scorer, self.templates_[name], queries, cohort, options) for name in names])

    def _validate_enrolled(self, identity: Any, call: str) -> Identity:
        self._require_fitted()
        name = validate_identity(identity, self.enrolled_, call)
        if name not in self.enrolled_:
            enrolled_names = ", ".join(map(format_value, list(self.enrolled_)[:5])) or "nobody"
            raise ValueError(
                f"identity={format_value(name)} is not enrolled ({enrolled_names} is): call "
                f"enroll(X, {format_value(name)}) first"
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
        across: Any = None,
    ) -> Self:
        """Learn from prefixes of sequences when a stream may decide early; call it after `calibrate`.

        A stream looks `n_looks` times, and once more at its end. The bounds are such that an impostor, of two new
        identities, is accepted at any of these looks with a probability of at most `false_accept`, and a genuine claim
        of a new identity rejected before the end with at most `false_reject`. Both are ranks over identities, as in
        `calibrate`: fewer than 1 / `false_reject` − 1 identities reject nobody early. Looks share one bound on a scale
        on which the impostors have mean 0 and deviation 1 at each of them.

        Other parameters are those of `calibrate`.
        """
        rates = check_rate(false_accept, "false_accept"), check_rate(false_reject, "false_reject")
        with self._atomic_change() as verifier:
            verifier._require_stream()
            verifier._threshold(1)
            sequences = verifier._validate_predict_input(X)
            labels = verifier._validate_classes(sequences, y, "there is no identity")
            pair_filter = make_pair_filter(within, across, len(sequences))
            collection = verifier._prepare_trials(
                Scorer(verifier.metric_, vectors=True), sequences, labels, pair_filter
            )
            verifier.boundaries_ = calibrate_boundaries(collection, sequences, check_int(n_looks, "n_looks", 1), rates)
        return self

    def stream(self, identity: Identity) -> VerifierStream:
        """A stream that takes samples one by one and verifies the claimed identity as soon as it is certain.

        >>> import numpy as np
        >>> import timelike as tl
        >>> X = [np.sin(np.arange(40) / pace + phase) for pace in range(2, 8) for phase in np.arange(6) / 6]
        >>> y = np.repeat(np.arange(6), 6)
        >>> gate = tl.Verifier(tl.Rocket(n_features=500, causal=True, random_state=0)).fit(X)
        >>> stream = gate.calibrate(X, y, false_accept=0.4)
        >>> stream = stream.calibrate_stream(X, y, false_accept=0.4).enroll(X[:3], "anna").stream("anna")
        >>> decisions = [stream.push(sample) for sample in X[4]]
        >>> decisions[0].is_certain, stream.finish().accepted
        (False, True)
        """
        now = self._snapshot()
        now._require_stream()
        name = now._validate_enrolled(identity, "Verifier.stream(identity)")
        now._threshold(1)
        if not hasattr(now, "boundaries_"):
            raise NotFittedError(
                "this Verifier has no bounds for streams yet: call calibrate_stream(X, y) after calibrate(X, y)"
            )
        scorer, options = Scorer(now.metric_, vectors=True), now._scoring_options()
        cohort = now._make_cohort(scorer)
        usage = example_usage(now.boundaries_, len(now.enrolled_[name]), options.aggregation)
        template = make_template(scorer, name, select_examples(now.enrolled_[name], usage.n_compared), cohort, options)
        inner = now.metric_.stream()  # type: ignore[attr-defined]
        return VerifierStream(scorer, inner, template, cohort, options, now.boundaries_[usage.n_calibrated], name)

    def _require_stream(self) -> None:
        self._require_fitted()
        if not has_vectors(self.metric_) or not hasattr(self.metric_, "stream"):
            raise TypeError(
                f"{type(self.metric_).__name__} reads no streams: use an encoder that does, such as "
                "Rocket(causal=True), CausalEncoder, RecurrentEncoder or SiameseGRU"
            )
        if isinstance(self.metric_, Encoder):
            self.metric_._require_stream()

    # --- shared by all methods ----------------------------------------------------------------------------------------

    def _set_metric(self, metric: Metric) -> None:
        if isinstance(metric, Model):
            metric._refuse_frame(self.frame_, "X")
        self.metric_, self.enrolled_ = metric, {}
        self._derive_attributes()

    def _refuse_options(self) -> None:
        super()._refuse_options()
        metric = metric_names.resolve_metric(self.metric)
        if self.aggregation == "center" and not has_vectors(metric):
            raise ValueError(
                f"aggregation='center': {type(metric).__name__} has no vectors, and so no mean of them; use 'mean' "
                "or 'nearest', or an encoder"
            )

    @contextmanager
    def _atomic_change(self) -> Iterator[Self]:
        """A copy to change, one thread at a time; the change takes effect as a whole or, on error, not at all."""
        with object_lock(self):
            verifier = self._snapshot()
            yield verifier
            self.__dict__ = verifier.__dict__

    def _snapshot(self) -> Self:
        """A copy of the current state, unaffected by what other threads enroll, forget or calibrate."""
        snapshot = object.__new__(type(self))
        snapshot.__dict__ = dict(self.__dict__)
        return snapshot

    def _validate_calibration_input(self, X: Any) -> Sequences:
        """The sequences to calibrate with; fits nothing if the metric is fitted or has nothing to learn."""
        self._refuse_options()
        metric = metric_names.resolve_metric(self.metric)
        if self.__sklearn_is_fitted__():
            fitted_metric = self._fitted_parameters["metric"]
            if metric is not fitted_metric and repr(metric) != repr(metric_names.resolve_metric(fitted_metric)):
                raise ValueError(f"metric={metric!r} was {fitted_metric!r} before: fit(X, y) begins anew with it")
            return self._validate_predict_input(X)
        if metric_names.is_estimator(metric) and not components.is_fitted(metric):
            raise NotFittedError(
                f"metric={metric!r:.80} is not fitted yet: call fit(X, y) before calibrate(X, y), or give a fitted one"
            )
        sequences = self._validate_fit_input(X)
        self._set_metric(components.fitted_copy(metric))
        self._fitted_parameters = self.get_params(deep=False)
        return sequences

    def _validate_one_or_many(self, value: Any, name: str) -> tuple[Sequences, bool]:
        """Validated sequences, and whether a single one was given."""
        self._require_fitted()
        sequences, is_single = as_one_or_many(value, self.frame_, name)
        if len(sequences) == 0:
            raise ValueError(f"{name} holds no sequences: expected at least one")
        if not self._takes_missing():
            sequences.refuse_missing(type(self).__name__, name)
        self._refuse_frame(sequences.frame, name)
        return sequences, is_single

    def _takes_missing(self) -> bool:
        """Whether the metric takes missing values."""
        return metric_names.takes_missing(self)

    def _scoring_options(self) -> ScoringOptions:
        usual: TemplateAggregation = "center" if has_vectors(self.metric_) else "nearest"
        return ScoringOptions(self.aggregation or usual, self.normalize, self.n_top)

    def _make_scorer(self) -> Scorer:
        return Scorer(self.metric_, vectors=self._scoring_options().aggregation == "center")

    def _threshold(self, n_examples: int) -> float:
        """The threshold for this number of examples, or for the number that `example_usage` gives."""
        if not hasattr(self, "thresholds_"):
            raise NotFittedError(
                "this Verifier has no threshold yet: call calibrate(X, y, false_accept=0.01) first, with sequences "
                "that the metric did not learn from"
            )
        if self.scoring_options_ != self._scoring_options():
            calibrated_options = ", ".join(
                f"{name}={value!r}" for name, value in zip(ScoringOptions._fields, self.scoring_options_, strict=True)
            )
            raise ValueError(
                f"the threshold was calibrated with {calibrated_options}, and options have changed: calibrate(X, y) "
                "again"
            )
        return self.thresholds_[
            example_usage(self.thresholds_, n_examples, self._scoring_options().aggregation).n_calibrated
        ]

    def _prepare_trials(
        self, scorer: Scorer, sequences: Sequences, labels: NDArray[Any], pair_filter: PairFilter
    ) -> TrialCollection:
        """Sequences ready for trials against each other, normalized as in calibration."""
        cohort, least = getattr(self, "cohort_", None), getattr(self, "min_deviation_", None)
        return prepare_trials(scorer, sequences, labels, self._scoring_options(), pair_filter, cohort, least)

    def _check_attributes(self, attributes: Mapping[str, Any]) -> None:
        super()._check_attributes(attributes)
        if "scoring_options_" in attributes and (self.scoring_options_[1] is None) == ("cohort_" in attributes):
            word = "missing" if self.scoring_options_[1] else "there"
            raise ValueError(
                f"cohort_ is {word}, but the normalization in scoring_options_ is {self.scoring_options_[1]!r}"
            )

    def _derive_attributes(self) -> None:
        """Recompute the cohort, which calibration sets, and the templates of enrolled identities."""
        self.reference_cohort_ = self._make_cohort(self._make_scorer())
        self.templates_ = {name: self._make_template(name, examples) for name, examples in self.enrolled_.items()}

    def _make_cohort(self, scorer: Scorer) -> ReferenceCohort | None:
        if not hasattr(self, "cohort_"):
            return None
        names = None if self.cohort_.labels is None else self.cohort_.labels.tolist()
        return ReferenceCohort(scorer.precompute(self.cohort_), names, self.min_deviation_)
