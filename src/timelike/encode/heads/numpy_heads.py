"""Classifiers and regressors of vectors, fitted with scikit-learn and stored as plain arrays for saving."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import expit, logsumexp, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ...models import schema
from .ridge_loo import fit_ridge_loo

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_HARD_MARGIN_C = 1e12  # C of a hard margin: libsvm multiplies by it, so it must be finite
_PENALTIES = [*(10.0**power for power in range(-4, 5)), _HARD_MARGIN_C]
_MAX_SEARCH_VECTORS = 10_000  # more vectors are subsampled for the search
_RELATIVE_ROUNDING = 1e-6  # relative rounding of features between batches
_MAX_ITERATIONS = 1_000_000  # of libsvm, which would not end if no hard margin exists


@dataclass(frozen=True)
class NearestHead:
    """The target of the nearest vector; the first of equally near ones."""

    vectors: Floats
    targets: NDArray[Any]

    @classmethod
    def fit(cls, vectors: Floats, targets: NDArray[Any]) -> Self:
        """Store the vectors and targets."""
        return cls(vectors, targets)

    def predict(self, vectors: Floats) -> NDArray[Any]:
        """The target of the nearest vector, (item,)."""
        return np.asarray(self.targets[cdist(vectors, self.vectors).argmin(axis=1)])

    def predict_proba(self, vectors: Floats) -> Floats:
        """Probability 1 for the class of the nearest vector, (item, class)."""
        return np.asarray(np.eye(int(self.targets.max()) + 1)[self.predict(vectors)])


def _fit_scaler(vectors: Floats) -> Any:
    """Means and deviations; features that vary only by float32 rounding, which is noise, are not scaled."""
    scaler = StandardScaler().fit(vectors)
    scaler.scale_[scaler.scale_ <= _RELATIVE_ROUNDING * np.abs(vectors).max(axis=0)] = 1.0
    return scaler


def standardize_features(vectors: Floats) -> Floats:
    """Features with mean 0 and deviation 1; constant ones are only centred."""
    return np.asarray(_fit_scaler(vectors).transform(vectors))


@dataclass(frozen=True)
class LinearHead:
    """A linear map, fitted on standardized vectors and stored for unscaled ones."""

    coefficients: Floats
    intercepts: Floats

    @classmethod
    def fit_ridge(cls, vectors: Floats, targets: NDArray[Any]) -> Self:
        """Fit least squares with a penalty chosen by leave-one-out."""
        if len(vectors) == 1:  # leave-one-out needs two vectors
            return cls(np.zeros((1, vectors.shape[1])), np.asarray(targets, np.float64))
        scaler = _fit_scaler(vectors)
        ridge = fit_ridge_loo(scaler.transform(vectors), np.asarray(targets, np.float64)[:, None])
        return cls._from_standardized(ridge.weights.T, np.array([np.mean(targets)]), scaler)

    @classmethod
    def _from_standardized(cls, weights: Floats, intercepts: Floats, scaler: Any) -> Self:
        coefficients = weights / scaler.scale_
        return cls(coefficients, intercepts - coefficients @ scaler.mean_)

    def values(self, vectors: Floats) -> Floats:
        """All outputs, (item, output)."""
        return np.asarray(vectors @ self.coefficients.T + self.intercepts)

    def predict(self, vectors: Floats) -> NDArray[Any]:
        """The first output of every vector, (item,)."""
        return self.values(vectors)[:, 0]


@dataclass(frozen=True)
class LogisticHead(LinearHead):
    """A linear map whose outputs are log-odds; a single output is that of the second of two classes."""

    @classmethod
    def fit(cls, vectors: Floats, codes: Codes) -> Self:
        """Fit logistic regression with scikit-learn's penalty."""
        scaler = _fit_scaler(vectors)
        model = LogisticRegression(max_iter=2000).fit(scaler.transform(vectors), codes)
        return cls._from_standardized(model.coef_, model.intercept_, scaler)

    @classmethod
    def fit_least_squares(cls, vectors: Floats, codes: Codes) -> Self:
        """Fit least squares to 1 for a vector's own class and −1 for others; one factor turns outputs into log-odds.

        The penalty minimizes the leave-one-out error, the factor maximizes the leave-one-out likelihood.
        """
        scaler = _fit_scaler(vectors)
        targets = np.where(codes[:, None] == np.arange(codes.max() + 1), 1.0, -1.0)
        ridge = fit_ridge_loo(scaler.transform(vectors), targets)
        sharp = log_odds_scale(ridge.loo_predictions, codes[ridge.items])
        return cls._from_standardized(sharp * ridge.weights.T, sharp * targets.mean(axis=0), scaler)

    def predict(self, vectors: Floats) -> NDArray[Any]:
        """The most probable class, (item,)."""
        return np.asarray(self.predict_proba(vectors).argmax(axis=1))

    def predict_proba(self, vectors: Floats) -> Floats:
        """Probabilities (item, class)."""
        values = self.values(vectors)
        if values.shape[1] == 1:
            values = np.concatenate([np.zeros_like(values), values], axis=1)
        return np.asarray(softmax(values, axis=1))


def log_odds_scale(values: Floats, codes: Codes) -> float:
    """The factor that turns values (item, class) into the log-odds under which the classes are most likely.

    >>> values = np.array([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    >>> round(log_odds_scale(values, np.array([0, 0, 0, 1])), 2)  # log 3 over the difference of 2
    0.55
    """

    def negative_log_likelihood(logarithm: float) -> float:
        odds = np.exp(logarithm) * values
        return float((logsumexp(odds, axis=1) - odds[np.arange(len(codes)), codes]).mean())

    return float(np.exp(minimize_scalar(negative_log_likelihood, bounds=(-5, 5), method="bounded").x))


@dataclass(frozen=True)
class SVMHead:
    """An SVM with the kernel exp(−γ‖x − y‖²): one machine for every pair of classes, and a majority vote.

    `slopes` and `offsets` turn decisions into probabilities (Platt, 1999), one of each per class, or one for two
    classes; they are empty if a class had too few members.
    """

    vectors: Floats
    weights: Floats
    counts: Codes
    intercepts: Floats
    gamma: Floats
    slopes: Floats
    offsets: Floats

    @classmethod
    def fit(cls, vectors: Floats, codes: Codes) -> Self:
        """Choose C from 10⁻⁴ to 10⁴ or ∞ by 5-fold search, or ∞ for few vectors; then fit on all vectors."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # raised if no hard margin exists
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            machine = SVC(C=_search_penalty(vectors, codes), gamma="scale", max_iter=_MAX_ITERATIONS)
            slopes, offsets = _fit_sigmoids(machine, vectors, codes)
            machine.fit(vectors, codes)
        sign = -1.0 if len(machine.classes_) == 2 else 1.0  # scikit-learn swaps two classes
        return cls(
            machine.support_vectors_,
            sign * machine.dual_coef_,
            machine.n_support_.astype(np.int64),
            sign * machine.intercept_,
            np.array(machine._gamma, np.float64),
            slopes,
            offsets,
        )

    def pairwise_decisions(self, vectors: Floats) -> Floats:
        """Decisions (item, pair of classes), positive for the first class; pairs are (0, 1), (0, 2), …, (1, 2), …."""
        kernel = np.exp(-self.gamma * cdist(vectors, self.vectors, "sqeuclidean"))
        ends = np.cumsum(self.counts)
        of = [slice(end - count, end) for count, end in zip(self.counts, ends, strict=True)]
        columns = [
            kernel[:, of[i]] @ self.weights[j - 1, of[i]] + kernel[:, of[j]] @ self.weights[i, of[j]]
            for i, j in combinations(range(len(of)), 2)
        ]
        return np.stack(columns, axis=1) + self.intercepts

    def predict(self, vectors: Floats) -> NDArray[Any]:
        """The class with most votes, (item,)."""
        return np.asarray(self._count_votes(self.pairwise_decisions(vectors)).argmax(axis=1))

    def _count_votes(self, decisions: Floats) -> Floats:
        votes = np.zeros((len(decisions), len(self.counts)))
        for pair, (i, j) in enumerate(combinations(range(len(self.counts)), 2)):
            votes[:, i] += decisions[:, pair] > 0
            votes[:, j] += decisions[:, pair] <= 0
        return votes

    def scores(self, vectors: Floats) -> Floats:
        """Votes (item, class), with ties broken by the sum of decisions, as in scikit-learn."""
        decisions = self.pairwise_decisions(vectors)
        sums = np.zeros((len(decisions), len(self.counts)))
        for pair, (i, j) in enumerate(combinations(range(len(self.counts)), 2)):
            sums[:, i] += decisions[:, pair]
            sums[:, j] -= decisions[:, pair]
        return np.asarray(self._count_votes(decisions) + sums / (3 * (np.abs(sums) + 1)))

    def predict_proba(self, vectors: Floats) -> Floats:
        """Probabilities (item, class); they need not agree with the vote."""
        if len(self.slopes) == 0:
            raise ValueError(
                'this SVM has no probabilities, because a class has fewer than 2 members: use head="logistic", or more '
                "sequences"
            )
        if len(self.counts) == 2:
            second = expit(self.slopes[0] * self.pairwise_decisions(vectors)[:, 0] - self.offsets[0])
            return np.stack([1 - second, second], axis=1)
        each = expit(-(self.slopes * self.scores(vectors) + self.offsets))
        total = each.sum(axis=1, keepdims=True)
        return np.where(total > 0, each / np.where(total > 0, total, 1), 1 / len(self.counts))


def _search_penalty(vectors: Floats, codes: Codes) -> float:
    counts = np.bincount(codes)
    if len(codes) < 50 or len(codes) / len(counts) < 5 or counts.min() < 2:
        return _HARD_MARGIN_C
    if len(codes) > _MAX_SEARCH_VECTORS:
        vectors, _, codes, _ = train_test_split(
            vectors, codes, train_size=_MAX_SEARCH_VECTORS, stratify=codes, random_state=0
        )
    search = GridSearchCV(SVC(gamma="scale", max_iter=_MAX_ITERATIONS), {"C": _PENALTIES}, cv=5)
    return float(search.fit(vectors, codes).best_params_["C"])


def _fit_sigmoids(machine: Any, vectors: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """Slopes and offsets of sigmoids, fitted to decisions about held-out vectors."""
    fewest = int(np.bincount(codes).min())
    if fewest < 2:
        return np.empty(0), np.empty(0)
    folds = StratifiedKFold(min(5, fewest), shuffle=True, random_state=0)
    calibration = CalibratedClassifierCV(machine, method="sigmoid", cv=folds, ensemble=False).fit(vectors, codes)
    curves = calibration.calibrated_classifiers_[0].calibrators
    return np.array([curve.a_ for curve in curves]), np.array([curve.b_ for curve in curves])


# --- schemas of the heads for fitted attributes ----------------------------------------------------------------------


def vector_size(model: Any) -> int:
    """The size of the vectors of a model's encoder, which its head must match."""
    size: int = model.encoder_._n_features_out
    return size


def _check_outputs(head: LogisticHead, name: str, scope: schema.CheckScope) -> None:
    n_outputs, n_classes = len(head.intercepts), scope.size("class")
    if n_outputs != n_classes and (n_outputs, n_classes) != (1, 2):
        raise ValueError(f"{name} has {n_outputs} outputs for {n_classes} classes: expected one each, or one for two")


def _check_svm(head: SVMHead, name: str, scope: schema.CheckScope) -> None:
    n_classes, n_curves = len(head.counts), len(head.slopes)
    if head.counts.sum() != len(head.vectors):
        raise ValueError(f"{name}.counts add up to {head.counts.sum()}: expected the {len(head.vectors)} vectors")
    if len(head.weights) != n_classes - 1 or len(head.intercepts) != n_classes * (n_classes - 1) // 2:
        raise ValueError(f"{name} has weights and intercepts for another number of classes than {n_classes}")
    if n_curves not in (0, 1 if n_classes == 2 else n_classes):
        raise ValueError(f"{name}.slopes are {n_curves}: expected one for every class, one for two, or none")


LINEAR_SCHEMA = schema.record(LinearHead, coefficients=schema.array(1, vector_size), intercepts=schema.array(1))
LOGISTIC_SCHEMA = schema.record(
    LogisticHead,
    check=_check_outputs,
    coefficients=schema.array("output", vector_size),
    intercepts=schema.array("output"),
)
NEAREST_CLASS_SCHEMA = schema.record(
    NearestHead, vectors=schema.array("vector", vector_size), targets=schema.indices("vector", below="class")
)
NEAREST_NUMBER_SCHEMA = schema.record(
    NearestHead, vectors=schema.array("vector", vector_size), targets=schema.array("vector")
)
SVM_SCHEMA = schema.record(
    SVMHead,
    check=_check_svm,
    vectors=schema.array("vector", vector_size),
    weights=schema.array("machine", "vector"),
    counts=schema.array("class", dtype="int64", least=0),
    intercepts=schema.array("pair"),
    gamma=schema.array(least=0),
    slopes=schema.array("curve"),
    offsets=schema.array("curve"),
)
