"""Which head decides best about vectors that it has not seen: least squares, logistic regression or an RBF machine."""

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

from .decisions import Codes, Floats, Logistic, SupportVectors, scaled
from .squares import least_squares

_FEWEST = 20  # vectors to compare heads with: of fewer, folds say nothing
_MOST = 1000
_WIDE = 2000  # features from which on least squares are usual, and an RBF machine would keep too many numbers
_FOLDS = 5
_PENALTIES = (1.0, 10.0, 100.0)  # of RBF machines; the one that is chosen searches further

HEADS: dict[str, Callable[[Floats, Codes], Any]] = {
    "ridge": Logistic.squares,
    "logistic": Logistic.fit,
    "svm": SupportVectors.fit,
}
Rule = Callable[[Floats, Codes, Floats], NDArray[Any]]
"""From vectors, their classes and other vectors to the classes of these."""


def chosen(vectors: Floats, codes: Codes) -> Logistic | SupportVectors:
    """The usual head, unless another is clearly better in 5 folds.

    Usual is logistic regression up to 2000 features, and beyond it least squares. Clearly is by more vectors than the
    square root of those on which the two disagree, one standard error of a coin. An RBF machine is another up to 2000
    features. Nothing is compared below 20 vectors, nor where no class has two members, which is left to least squares;
    of many vectors 1000 are. A class with one member is always wrong when it is held out, for every head alike.

    >>> x = np.random.default_rng(0).standard_normal((60, 2))
    >>> ring = (np.square(x).sum(axis=1) > 1.4).astype(np.int64)  # not what a line could tell
    >>> type(chosen(x, ring)).__name__
    'SupportVectors'
    """
    head: Logistic | SupportVectors = HEADS[compared(vectors, codes)](vectors, codes)
    return head


def compared(vectors: Floats, codes: Codes) -> str:
    """The name of the best head."""
    candidates = _candidates(vectors.shape[1])
    usual = next(iter(candidates))
    if np.bincount(codes).max() < 2:
        return "ridge"
    if len(codes) < _FEWEST:
        return usual
    if len(codes) > _MOST:
        kept = _some(codes)
        vectors, codes = vectors[kept], codes[kept]
    folds = StratifiedKFold(min(_FOLDS, int(np.bincount(codes).max())), shuffle=True, random_state=0)
    points = turned(scaled(vectors))
    right = {name: np.zeros(len(codes), bool) for name in candidates}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        for known, held in folds.split(points, codes):
            if len(np.unique(codes[known])) < 2:  # all of the others are of one class, and there is nothing to tell
                continue
            for name, rule in candidates.items():
                right[name][held] = rule(points[known], codes[known], points[held]) == codes[held]
    best = max(right, key=lambda name: int(right[name].sum()))
    gained = int(right[best].sum()) - int(right[usual].sum())
    return best.split()[0] if gained > np.sqrt((right[best] != right[usual]).sum()) else usual


def _some(codes: Codes) -> NDArray[np.int64]:
    """As many as are compared, each class with its share where that is possible."""
    stratify = codes if np.bincount(codes).min() > 1 else None
    kept, _ = train_test_split(np.arange(len(codes)), train_size=_MOST, stratify=stratify, random_state=0)
    return np.sort(kept)


def turned(x: Floats) -> Floats:
    """Vectors with the same lengths and angles and no more numbers than there are vectors: the heads need no more."""
    if len(x) >= x.shape[1]:
        return x
    values, axes = eigh(x @ x.T, overwrite_a=True, check_finite=False, driver="evd")
    return np.asarray(axes * np.sqrt(np.maximum(values, 0)))


def _candidates(n_features: int) -> dict[str, Rule]:
    """The usual one first."""
    logistic = _rule(LogisticRegression(max_iter=300))
    if n_features > _WIDE:
        return {"ridge": _squares, "logistic": logistic}
    machines = {f"svm {c}": _rule(SVC(C=c, gamma=1 / n_features)) for c in _PENALTIES}
    return {"logistic": logistic, "ridge": _squares, **machines}


def _rule(machine: Any) -> Rule:
    return lambda x, codes, asked: np.asarray(machine.fit(x, codes).predict(asked))


def _squares(x: Floats, codes: Codes, asked: Floats) -> NDArray[Any]:
    classes = np.unique(codes)
    mean, targets = x.mean(axis=0), np.where(codes[:, None] == classes, 1.0, -1.0)
    found = least_squares(x - mean, targets)
    return np.asarray(classes[((asked - mean) @ found.weights + targets.mean(axis=0)).argmax(axis=1)])
