"""What training adds to a causal network over the weights it was drawn with: losses, budgets, crops.

    python -m benchmarks.papers.tloss.study --data DIR
    python -m benchmarks.papers.tloss.study --data DIR --only default --budget 20

Every setting of `CausalEncoder` learns without labels from the official training part. Vectors of the test part are
then classified by heads that learn from those of the training part, and looked up among them (mean average precision),
by Euclidean distance and by cosine, as they are, standardized and whitened. Options were chosen on the first six sets;
the other six were looked at once, after the choice. A row is one data set, one setting and one seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program
from benchmarks.papers.tloss import study_report as report
from benchmarks.papers.tloss.data import Known, Problem, known_sets, problem, thinned
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import timelike as tl
from timelike.encode.base import normalize_vectors
from timelike.encode.whitening import VectorScaling, Whitener
from timelike.score import mean_average_precision

DEVELOPMENT = ("NATOPS", "BasicMotions", "GunPoint", "Lightning7", "ArrowHead", "CricketX")
CONFIRMING = ("FaceFour", "JapaneseVowels", "PickupGestureWiimoteZ", "ArticularyWordRecognition", "Ham", "OSULeaf")
UNTRAINED, DEFAULT = "untrained", "default"
OTHERS: dict[str, dict[str, Any]] = {
    "50 steps": {"max_steps": 50},
    "500 steps": {"max_steps": 500},
    "no augmentation": {"augment": False},
    "crops from a quarter on": {"min_crop": 0.25},
    "softmax": {"loss": "nt_xent", "learning_rate": 1e-3},
    "held-out loss": {"validation": 0.2},
    "thesis, 200 steps": {"preset": "thesis", "max_steps": 200},
    "thesis": {"preset": "thesis"},
}
SETTINGS = {UNTRAINED: {"max_steps": 0}, DEFAULT: {}} | OTHERS
STEPS = {UNTRAINED: 0, "50 steps": 50, "500 steps": 500, "thesis, 200 steps": 500, "thesis": 5000}  # as long as so many


class Study(Program[Trial]):
    """Accuracies and mean average precisions by setting."""

    paper, table, holds = "tloss", "study", "ucr/ and uea/"
    subject = ("tloss",)
    title = "What training adds to a causal network"
    seeds = 1

    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__(given)
        self.sets: dict[str, Known] = {}

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            both = (UNTRAINED, DEFAULT)
            yield from (Trial(name, one, seed) for name in (*DEVELOPMENT, *CONFIRMING) for one in both)
            yield from (Trial(name, one, seed) for one in OTHERS for name in DEVELOPMENT)

    def seconds(self, row: Trial) -> float:
        return 5 + 0.07 * STEPS.get(row.method, 200)

    def kind(self, row: Trial) -> str:
        return row.dataset

    def systems(self, row: Trial) -> Iterable[str]:
        return "tloss", "retrieval_scores"

    def work(self, row: Trial) -> Found:
        self.sets = self.sets or {known.name: known for known in known_sets(self.data)}
        given = problem(self.data, self.sets[row.dataset])
        given = thinned(given) if self.quick else given
        encoder, cpu = learned(given, SETTINGS[row.method], row.seed, 2 if self.quick else None)
        train, test = (encoder.encode(side).astype(np.float64) for side in (given.train, given.test))
        spread = Whitener.from_vectors(train, "standardized")
        inputs = spread.transform(train), spread.transform(test)
        told = {"cpu": cpu, "steps": encoder.history_.n_steps, "score_step": encoder.history_.best_step}
        return told | precisions(given, train, test) | accuracies(given, *inputs)

    def said(self, found: Found) -> str:
        return f"head {found['head']:.3f}, MAP {found['standardized cosine']:.3f}"

    def headline(self) -> str:
        return report.headline(self.rows, DEVELOPMENT, CONFIRMING)

    def body(self) -> str:
        return report.body(self.rows, DEVELOPMENT, CONFIRMING, list(SETTINGS))


def learned(given: Problem, setting: dict[str, Any], seed: int, most: int | None) -> tuple[tl.CausalEncoder, float]:
    """A fitted encoder that gives its vectors plain, and the processor's seconds it took."""
    options = dict(setting) | {"vectors": "raw", "random_state": seed}
    if most is not None:
        options["max_steps"] = min(most, options.get("max_steps", most))
    named = options.pop("preset", None)
    encoder = tl.CausalEncoder(**options) if named is None else tl.CausalEncoder.preset(named, **options)
    began = time.process_time()
    return encoder.fit(given.train), time.process_time() - began


def precisions(given: Problem, train: NDArray[Any], test: NDArray[Any]) -> dict[str, float]:
    """Mean average precision of the test part in the training part, by how vectors are spread and compared."""
    found = {}
    scalings: dict[str, VectorScaling] = {"plain": "raw", "standardized": "standardized", "whitened": "whitened"}
    for how, scaling in scalings.items():
        sides = (
            (train, test) if scaling == "raw" else map(Whitener.from_vectors(train, scaling).transform, (train, test))
        )
        gallery, queries = (side.astype(np.float64) for side in sides)
        for geometry, change in (("euclidean", np.asarray), ("cosine", normalize_vectors)):
            distances = cdist(change(queries), change(gallery))
            found[f"{how} {geometry}"] = mean_average_precision(distances, given.test_labels, given.train_labels)
    return found


def accuracies(given: Problem, train: NDArray[Any], test: NDArray[Any]) -> dict[str, float]:
    """Of three heads, of the one that cross-validation chooses, and of the nearest neighbour by cosine."""
    heads = {
        "logistic": LogisticRegression(max_iter=1000),
        "ridge": make_pipeline(StandardScaler(), RidgeClassifierCV(np.logspace(-2, 4, 13))),
        "svm": SVC(C=10),
    }
    labels = given.train_labels
    right = {name: float(head.fit(train, labels).score(test, given.test_labels)) for name, head in heads.items()}
    folds = StratifiedKFold(max(2, min(5, int(np.unique(labels, return_counts=True)[1].min()))))
    judged = {name: float(cross_val_score(head, train, labels, cv=folds).mean()) for name, head in heads.items()}
    near = cdist(normalize_vectors(test.astype(np.float64)), normalize_vectors(train.astype(np.float64))).argmin(axis=1)
    return right | {
        "head": right[max(judged, key=lambda name: judged[name])],
        "1-nn": float(np.mean(labels[near] == given.test_labels)),
    }


if __name__ == "__main__":
    sys.exit(Study.main())
