"""Scores of a matrix of distances, and how much memory making it took."""

from __future__ import annotations

import resource
from pathlib import Path
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


def reset_peak() -> None:
    """Let the peak of memory be counted from here on, where the system can do it."""
    switch = Path("/proc/self/clear_refs")
    if switch.exists():
        switch.write_text("5")


def peak_memory() -> int:
    """The most bytes this process has held since `reset_peak`, or ever where that could not be done."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
