"""What reads classes off representations: the SVM rule of the thesis, and the nearest neighbour."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

Vectors = NDArray[np.float32]
CS = [*(10.0**power for power in range(-4, 5)), float("inf")]


def svm(vectors: Vectors, labels: NDArray[Any]) -> Any:
    """An RBF machine, fitted: C by five folds, infinite where there is too little to choose by."""
    machine = SVC(C=float("inf"))
    if len(vectors) < 50 or len(vectors) / len(np.unique(labels)) < 5:
        return machine.fit(vectors, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class of fewer than five series
        return GridSearchCV(machine, {"C": CS}, cv=5).fit(vectors, labels)


def nearest(vectors: Vectors, labels: NDArray[Any]) -> Any:
    return KNeighborsClassifier(1).fit(vectors, labels)


def accuracies(train: Vectors, labels: NDArray[Any], test: Vectors, truth: NDArray[Any]) -> dict[str, float]:
    """Of both heads."""
    return {name: float(head(train, labels).score(test, truth)) for name, head in (("svm", svm), ("1-nn", nearest))}
