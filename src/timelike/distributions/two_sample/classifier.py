"""`ClassifierTest`: two samples differ if a classifier distinguishes them on held-out items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone

from ...core.memory import refuse_beyond_memory
from ...core.parameters import check_float, check_int
from ...core.random import MAX_RESAMPLES, RandomState, check_random_state, check_seed
from ...encode import Rocket
from ..kernels.base import fit_if_needed
from ..validation import Sample, as_vectors, is_vector_sample, pool_samples
from .permutations import (
    Allocations,
    ExchangeableUnits,
    exchangeable_units,
    make_allocations,
    permutation_p_value,
    refuse_unexchangeable,
)
from .result import TestResult
from .samples import validate_samples

Floats = NDArray[np.float64]
_SCORE_DIGITS = 12  # scores that agree in this many digits count as ties


@dataclass(frozen=True)
class ClassifierTest:
    """Whether two collections differ, by how well a classifier distinguishes them (Lopez-Paz and Oquab, 2017).

    The statistic is the AUC of scores of held-out items: ½ for equal distributions, up to 1. The p-value is that of
    permutations, and exact, as in `TwoSample`.

    By default the classifier is a ridge regression on features, of `Rocket` for sequences, in five random folds,
    independent of the samples. Its held-out scores are linear in the labels, so that one matrix product refits it for
    every permutation, and all items count. Any other classifier learns from one half of the items and scores the other
    half, whose sides are permuted.

    Use it if a difference is in few of many features, where a kernel of all of them has little power, or if an AUC is
    easier to interpret than an MMD²; in few dimensions `TwoSample` detects more kinds of differences.

    Parameters
    ----------
    classifier : estimator, optional
        With `fit(X, y)` and `decision_function` or `predict_proba`, of scikit-learn or of this library. Its input is an
        array for vectors and `Sequences` for sequences.
    n_permutations : int
    n_folds : int
        Number of folds of the ridge regression.
    regularization : float
        λ of the ridge regression, in units of the mean squared length of the standardized features.
    random_state : int, Generator or None

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.standard_normal((2, 60, 5))
    >>> test = tl.distributions.ClassifierTest(random_state=0)
    >>> test.test(x, y).p_value > 0.05, test.test(x, y + [1, 0, 0, 0, 0]).p_value < 0.01
    (True, True)
    """

    classifier: Any = None
    _: KW_ONLY
    n_permutations: int = 1000
    n_folds: int = 5
    regularization: float = 1.0
    random_state: RandomState = None

    def __post_init__(self) -> None:
        check_int(self.n_permutations, "n_permutations", 1, MAX_RESAMPLES)
        check_int(self.n_folds, "n_folds", 2)
        check_float(self.regularization, "regularization", above=0.0)
        check_seed(self.random_state, "random_state")
        if self.classifier is not None and not (
            hasattr(self.classifier, "fit") and (_score_method(self.classifier) is not None)
        ):
            raise TypeError(
                f"classifier={self.classifier!r:.80}: expected an estimator with fit and decision_function or "
                "predict_proba, or None for a ridge regression"
            )

    def test(self, X: Any, Y: Any, *, groups: Any = None) -> TestResult:
        """Whether X and Y differ; all as in `TwoSample.test`."""
        X, Y, units = validate_samples(X, Y, None, groups)
        samples = X, Y
        rng = check_random_state(self.random_state)
        if self.classifier is None:
            sides, observed, null, how = self._test_ridge(samples, units, rng)
        else:
            sides, observed, null, how = self._test_classifier(samples, units, rng)
        is_enumerated = sides.n_allocations - 1 <= self.n_permutations
        return TestResult(
            observed,
            permutation_p_value(null, observed),
            null,
            how,
            (len(samples[0]), len(samples[1])),
            sides.n_allocations,
            is_enumerated,
            units.unit_name,
            statistic_name="AUC",
        )

    def _allocations(self, units: ExchangeableUnits, rng: np.random.Generator) -> tuple[Allocations, Allocations]:
        """The observed allocation, and the permuted ones, of items."""
        permuted_units = make_allocations(units, self.n_permutations, rng)
        return units.items(units.in_x[None]), units.items(permuted_units)

    # --- ridge, refitted for every permutation ------------------------------------------------------------------------

    def _test_ridge(
        self, samples: Sequence[Sample], units: ExchangeableUnits, rng: np.random.Generator
    ) -> tuple[ExchangeableUnits, float, Floats, str]:
        vectors, how = standardized_features(pool_samples(samples), rng)
        refuse_beyond_memory(
            3 * 8 * len(vectors) ** 2,
            f"a ridge regression of {len(vectors)} items",
            "give fewer of them, or a classifier",
        )
        smoother = held_out_smoother(vectors, assign_folds(units, self.n_folds, rng), self.regularization)
        observed, permuted = self._allocations(units, rng)
        values = [refitted_auc(smoother, some) for some in (observed, permuted)]
        return units, float(values[0][0]), values[1], f"ridge regression on {how}"

    # --- any classifier, on a held-out half -----------------------------------------------------------------------

    def _test_classifier(
        self, samples: Sequence[Sample], units: ExchangeableUnits, rng: np.random.Generator
    ) -> tuple[ExchangeableUnits, float, Floats, str]:
        half = assign_folds(units, 2, rng, stratify=True)
        sample, labels = pool_samples(samples), units.in_x[units.unit_of].astype(int)
        learn, rest = np.flatnonzero(half == 0), np.flatnonzero(half == 1)
        if len(np.unique(labels[learn])) < 2 or len(np.unique(labels[rest])) < 2:
            raise ValueError(
                "X or Y has too few items, or groups, for two halves: expected two of each; use classifier=None"
            )
        n_x = int(labels[rest].sum())
        held_out_units = exchangeable_units(
            n_x, len(rest) - n_x, _held_out_groups(units.unit_of[rest], labels[rest], units)
        )
        refuse_unexchangeable(held_out_units)
        model = clone(self.classifier).fit(_classifier_input(sample[learn]), labels[learn])
        order = np.argsort(1 - labels[rest], kind="stable")  # X first, as an exchange has it
        scores = _predict_scores(model, _classifier_input(sample[rest[order]]))
        observed, permuted = self._allocations(held_out_units, rng)
        values = [allocation_auc(np.broadcast_to(scores, some.shape), some) for some in (observed, permuted)]
        return held_out_units, float(values[0][0]), values[1], f"{self.classifier!r:.80} on a held-out half"


def standardized_features(sample: Sample, rng: np.random.Generator) -> tuple[Floats, str]:
    """Standardized features and their name: vectors themselves, or those of `Rocket` for sequences."""
    if is_vector_sample(sample):
        vectors, how = as_vectors(sample, "X and Y"), "vectors"
    else:
        encoder = fit_if_needed(Rocket(n_features=2000, random_state=0), sample, rng)
        vectors, how = encoder.encode(sample).astype(np.float64), f"{encoder!r}"
    largest = np.abs(vectors).max(axis=0)
    vectors = vectors / np.where(largest > 0, largest, 1.0)  # first, so that no square vanishes or overflows
    spread = vectors.std(axis=0)
    return (vectors - vectors.mean(axis=0)) / np.where(spread > 0, spread, 1.0), how


def assign_folds(
    units: ExchangeableUnits, n_folds: int, rng: np.random.Generator, *, stratify: bool = False
) -> NDArray[np.int64]:
    """A random fold for every item: whole units, and both parts of a group in one fold.

    Stratify by sides only if the test does not permute the training items.
    """
    partner = np.arange(units.n_units)
    partner[units.pairs[:, 1]] = units.pairs[:, 0]
    whole_units = np.unique(partner)
    order = rng.permutation(whole_units)
    if stratify:
        order = order[np.argsort(units.in_x[order], kind="stable")]
    fold = np.empty(units.n_units, np.int64)
    fold[order] = np.arange(len(order)) % min(n_folds, len(order))
    return np.asarray(fold[partner][units.unit_of])


def held_out_smoother(vectors: Floats, fold: NDArray[np.int64], regularization: float) -> Floats:
    """A such that A y are the scores of all items by a ridge regression fitted to the labels y of the other folds.

    Features and labels are centred on the training part, and the intercept is left out of the score: the mean of the
    training labels is smaller if a fold has more of X, which would bias scores the wrong way.
    """
    inner = vectors @ vectors.T / max(vectors.shape[1], 1)
    smoother: Floats = np.zeros(inner.shape)
    for one in np.unique(fold):
        inside, rest = np.flatnonzero(fold == one), np.flatnonzero(fold != one)
        among, to = inner[np.ix_(rest, rest)], inner[np.ix_(inside, rest)]
        middle = among.mean(axis=0)
        centred_gram = among - middle - middle[:, None] + middle.mean()
        centred_products = to - to.mean(axis=1, keepdims=True) - middle + middle.mean()
        coefficients = np.linalg.solve(centred_gram + regularization * np.eye(len(rest)), centred_products.T).T
        smoother[np.ix_(inside, rest)] = coefficients - coefficients.mean(axis=1, keepdims=True)
    return smoother


def refitted_auc(smoother: Floats, sides: Allocations) -> Floats:
    """The AUC of every allocation, of a classifier that was fitted to it."""
    return allocation_auc((2.0 * sides - 1) @ smoother.T, sides)


def allocation_auc(scores: Floats, sides: Allocations) -> Floats:
    """The AUC of every allocation (allocation, item), ties counted half.

    >>> allocation_auc(np.array([[3.0, 1.0, 2.0, 1.0]]), np.array([[True, True, False, False]]))
    array([0.625])
    """
    largest = np.abs(scores).max(axis=1, keepdims=True)
    rounded_scores = np.round(scores / np.where(largest > 0, largest, 1.0), _SCORE_DIGITS)
    n_x = sides.sum(axis=1)
    ranks = (rankdata(rounded_scores, axis=1) * sides).sum(axis=1)
    return np.asarray((ranks - n_x * (n_x + 1) / 2) / (n_x * (sides.shape[1] - n_x)))


def _score_method(classifier: Any) -> str | None:
    return next((name for name in ("decision_function", "predict_proba") if hasattr(classifier, name)), None)


def _predict_scores(model: Any, items: Any) -> Floats:
    method = _score_method(model)
    scores: Floats = np.asarray(getattr(model, str(method))(items), np.float64)
    if not np.isfinite(scores).all():
        raise ValueError(f"classifier gave nan or infinity as {method}: expected finite scores")
    return np.asarray(scores[:, -1], np.float64) if scores.ndim == 2 else scores


def _classifier_input(sample: Sample) -> Any:
    """The input of a classifier: an array for vectors, otherwise sequences."""
    return as_vectors(sample, "X and Y") if is_vector_sample(sample) else sample


def _held_out_groups(
    unit_of: NDArray[np.int64], labels: NDArray[np.int64], units: ExchangeableUnits
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The groups of held-out items, X first: both parts of a group have one name."""
    partner = np.arange(units.n_units)
    partner[units.pairs[:, 1]] = units.pairs[:, 0]
    groups = partner[unit_of]
    return groups[labels == 1], groups[labels == 0]
