"""What reads classes off representations: the heads of `tl.EmbeddingClassifier`, given vectors instead of series."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timelike.encode.heads.numpy_heads import NearestHead, SVMHead

Vectors = NDArray[np.float32]
HEADS: dict[str, Any] = {"svm": SVMHead, "1-nn": NearestHead}


def accuracy(head: str, train: Vectors, labels: NDArray[Any], test: Vectors, truth: NDArray[Any]) -> float:
    """Share of the test part that the head gets right."""
    classes, codes = np.unique(labels, return_inverse=True)
    fitted = HEADS[head].fit(train.astype(np.float64), codes)
    return float(np.mean(classes[fitted.predict(test.astype(np.float64))] == truth))


def accuracies(train: Vectors, labels: NDArray[Any], test: Vectors, truth: NDArray[Any]) -> dict[str, float]:
    """Of both heads."""
    return {head: accuracy(head, train, labels, test, truth) for head in HEADS}
