"""Siamese and coupled GRUs that are trained and tuned alike: one budget in steps, one grid of learning rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from benchmarks.model_options import build_preset
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

import timelike as tl
from timelike.score import mean_average_precision, nearest_accuracy

STEPS, FRAMES, PER_CLASS = 200, 64, 4
RATES = (1e-2, 3e-2, 1e-1)
SCORES = ("accuracy", "map", "auc")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "siamese": ("SiameseGRU", {}),
    "coupled": ("CoupledGRU", {"coupling_bias": 0.0, "sync": "last"}),
    "coupled-2": ("CoupledGRU", {"coupling_bias": -2.0, "sync": "last"}),
}


class Parts(NamedTuple):
    """What is learned from and searched, what says which learning rate is kept, and what is asked at the end."""

    learned: tl.Sequences
    chosen_by: tl.Sequences
    asked: tl.Sequences


def budget(quick: bool = False) -> dict[str, Any]:
    """How every network of these programs is trained: so many steps of one cycle, the last weights kept."""
    steps = 2 if quick else STEPS
    given = {
        "max_steps": steps,
        "schedule": "one_cycle",
        "validation": 0.0,
        "max_frames": FRAMES,
        "n_per_class": PER_CLASS,
    }
    return given | {"max_epochs": None, "patience": None, "progress": False}


def plain(method: str, *, rate: float, quick: bool = False, **options: Any) -> Any:
    """The paper's network, without a front end, and the paper's loss and optimiser."""
    kind, own = METHODS[method]
    return build_preset(kind, "paper", learning_rate=rate, **budget(quick), **own, **options)


def tuned(make: Callable[[float], Any], parts: Parts, rates: tuple[float, ...] = RATES) -> tuple[Any, dict[str, Any]]:
    """The best of some learning rates by the mean average precision of what is held out, and what became of each."""
    found = {}
    for rate in rates:
        metric = make(rate).fit(parts.learned)
        found[rate] = metric, judged(metric, parts.chosen_by, parts.learned)["map"]
    best = max(found, key=lambda rate: found[rate][1])
    return found[best][0], {"rate": best, "validation": {f"{rate:g}": score for rate, (_, score) in found.items()}}


def judged(metric: Any, asked: tl.Sequences, searched: tl.Sequences) -> dict[str, float]:
    """Scores of a metric's distances."""
    return scored(metric.pairwise(asked, searched, n_jobs=torch.get_num_threads()), asked, searched)


def scored(distances: NDArray[Any], asked: tl.Sequences, searched: tl.Sequences) -> dict[str, float]:
    """Accuracy of the nearest neighbour, mean average precision, and the area under the curve of same and different.

    >>> two = tl.Sequences([[0.0], [1.0]], labels=["a", "b"])
    >>> scored(np.array([[0.0, 1.0], [1.0, 0.5]]), two, two)
    {'accuracy': 1.0, 'map': 1.0, 'auc': 1.0}
    """
    truth, labels = np.asarray(asked.labels), np.asarray(searched.labels)
    same = truth[:, None] == labels
    return {
        "accuracy": nearest_accuracy(distances, truth, labels),
        "map": mean_average_precision(distances, truth, labels),
        "auc": float(roc_auc_score(same.ravel(), -distances.ravel())),
    }
