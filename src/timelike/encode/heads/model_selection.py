"""Selection of a head by cross-validation: ridge regression, logistic regression or an RBF SVM."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.svm import SVC

from .numpy_heads import Codes, Floats, LogisticHead, SVMHead, standardize_features
from .ridge_loo import fit_ridge_loo

_MIN_VECTORS = 20  # heads are compared only with at least this number of vectors
_MAX_VECTORS = 1000
_WIDE_FEATURES = 2000  # beyond this least squares are the default, and an RBF SVM would be too large
_N_FOLDS = 5
_PENALTIES = (1.0, 10.0, 100.0)  # of RBF SVMs in the comparison; the selected head searches a finer grid

HEADS: dict[str, Callable[[Floats, Codes], Any]] = {
    "ridge": LogisticHead.fit_least_squares,
    "logistic": LogisticHead.fit,
    "svm": SVMHead.fit,
}
PredictionRule = Callable[[Floats, Codes, Floats], NDArray[Any]]
"""Maps vectors, their classes and query vectors to the classes of the queries."""


def fit_best_head(vectors: Floats, codes: Codes) -> LogisticHead | SVMHead:
    """Fit the default head, or another one that is clearly better in 5-fold cross-validation.

    The default is logistic regression up to 2000 features, and least squares beyond. Another head is clearly better if
    it wins by more than the square root of the number of vectors on which the two disagree, one standard error. An RBF
    SVM is compared up to 2000 features. Below 20 vectors nothing is compared; if no class has two members, least
    squares is used; of many vectors, 1000 are compared. A class with one member is wrong for every head if held out.

    >>> x = np.random.default_rng(0).standard_normal((60, 2))
    >>> ring = (np.square(x).sum(axis=1) > 1.4).astype(np.int64)  # not linearly separable
    >>> type(fit_best_head(x, ring)).__name__
    'SVMHead'
    """
    head: LogisticHead | SVMHead = HEADS[select_head(vectors, codes)](vectors, codes)
    return head


def select_head(vectors: Floats, codes: Codes) -> str:
    """The name of the selected head."""
    candidates = _candidate_rules(vectors.shape[1])
    usual = next(iter(candidates))
    if np.bincount(codes).max() < 2:
        return "ridge"
    if len(codes) < _MIN_VECTORS:
        return usual
    if len(codes) > _MAX_VECTORS:
        subset = _stratified_subset(codes)
        vectors, codes = vectors[subset], codes[subset]
    folds = StratifiedKFold(min(_N_FOLDS, int(np.bincount(codes).max())), shuffle=True, random_state=0)
    points = gram_coordinates(standardize_features(vectors))
    right = {name: np.zeros(len(codes), bool) for name in candidates}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        for train, test in folds.split(points, codes):
            if len(np.unique(codes[train])) < 2:  # a single class cannot be fitted
                continue
            for name, rule in candidates.items():
                right[name][test] = rule(points[train], codes[train], points[test]) == codes[test]
    best = max(right, key=lambda name: int(right[name].sum()))
    gained = int(right[best].sum()) - int(right[usual].sum())
    return best.split()[0] if gained > np.sqrt((right[best] != right[usual]).sum()) else usual


def _stratified_subset(codes: Codes) -> NDArray[np.int64]:
    """Positions of the vectors to compare, stratified by class if possible."""
    stratify = codes if np.bincount(codes).min() > 1 else None
    positions, _ = train_test_split(np.arange(len(codes)), train_size=_MAX_VECTORS, stratify=stratify, random_state=0)
    return np.sort(positions)


def gram_coordinates(x: Floats) -> Floats:
    """Vectors with the same inner products in at most as many dimensions as there are vectors, enough for all heads."""
    if len(x) >= x.shape[1]:
        return x
    values, axes = eigh(x @ x.T, overwrite_a=True, check_finite=False, driver="evd")
    return np.asarray(axes * np.sqrt(np.maximum(values, 0)))


def _candidate_rules(n_features: int) -> dict[str, PredictionRule]:
    """The heads to compare, the default first."""
    logistic = _sklearn_rule(LogisticRegression(max_iter=300))
    if n_features > _WIDE_FEATURES:
        return {"ridge": _ridge_rule, "logistic": logistic}
    machines = {f"svm {c}": _sklearn_rule(SVC(C=c, gamma=1 / n_features)) for c in _PENALTIES}
    return {"logistic": logistic, "ridge": _ridge_rule, **machines}


def _sklearn_rule(machine: Any) -> PredictionRule:
    return lambda x, codes, queries: np.asarray(machine.fit(x, codes).predict(queries))


def _ridge_rule(x: Floats, codes: Codes, queries: Floats) -> NDArray[Any]:
    classes = np.unique(codes)
    mean, targets = x.mean(axis=0), np.where(codes[:, None] == classes, 1.0, -1.0)
    ridge = fit_ridge_loo(x - mean, targets)
    return np.asarray(classes[((queries - mean) @ ridge.weights + targets.mean(axis=0)).argmax(axis=1)])
