"""The base of `Verifier`: options, metric, cohort and thresholds, and the sequences it is asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self, get_args

from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from ...align import Metric, named
from ...models import Model, learned, options, parts
from ...models.locks import lock_of
from ...sequences import Sequences
from .asking import Identity, one_or_several
from .calibration import Gathered, Manner, gathered
from .normalization import Normalization
from .scoring import Against, Scorer, has_vectors
from .templates import Others, usage
from .trials import Kept

_MOST = 2**62  # of a number that is an identity


class Calibrating(Model):
    """What is known without any identity: a metric, thresholds, and a cohort to normalize by."""

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
    _call = "fit(X, y) or, if there is nothing to fit, calibrate(X, y)"

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
        """What is known of the cohort: it comes with calibration."""
        self.others_ = self._others(self._scorer())

    def _others(self, scorer: Scorer) -> Others | None:
        if not hasattr(self, "cohort_"):
            return None
        names = None if self.cohort_.labels is None else self.cohort_.labels.tolist()
        return Others(scorer.known(self.cohort_), names, self.least_)
