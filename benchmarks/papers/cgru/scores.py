"""Scores of a matrix of distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.papers.cgru.data import Problem
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from timelike.score import mean_average_precision, nearest_accuracy

NAMES = ("accuracy", "f1", "map")


def scores(distances: NDArray[Any], given: Problem) -> dict[str, float]:
    """Accuracy and macro F1 of the nearest neighbour, and mean average precision."""
    truth, labels = np.asarray(given.queries.labels), np.asarray(given.gallery.labels)
    return {
        "accuracy": nearest_accuracy(distances, truth, labels),
        "f1": float(f1_score(truth, labels[distances.argmin(axis=1)], average="macro")),
        "map": mean_average_precision(distances, truth, labels),
    }
