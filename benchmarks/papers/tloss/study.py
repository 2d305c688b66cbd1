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
from collections.abc import Iterable, Iterator, Sequence
from statistics import mean
from typing import Any

import numpy as np
from benchmarks.model_options import build_model, build_preset
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial, having
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


class Study(Experiment[Trial]):
    """Accuracies and mean average precisions by setting."""

    paper, table, holds = "tloss", "study", "ucr/ and uea/"
    subject = ("tloss",)
    title = "What training adds to a causal network"
    question = "what training adds to an untrained causal network"
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


def learned(given: Problem, setting: dict[str, Any], seed: int, most: int | None) -> tuple[tl.CausalEncoder, float]:
    """A fitted encoder that gives its vectors plain, and the processor's seconds it took."""
    options = dict(setting) | {"vectors": "raw", "random_state": seed}
    if most is not None:
        options["max_steps"] = min(most, options.get("max_steps", most))
    named = options.pop("preset", None)
    encoder: tl.CausalEncoder = (
        build_model("CausalEncoder", **options) if named is None else build_preset("CausalEncoder", named, **options)
    )
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


# --- the page

HEADS = ("head", "logistic", "ridge", "svm", "1-nn")
MAP = "standardized cosine"  # by which the library compares
PRECISIONS = ("plain euclidean", "plain cosine", "standardized euclidean", MAP, "whitened cosine")
GROUPS = {"confirm": (CONFIRMING, "that chose nothing"), "choose": (DEVELOPMENT, "that settings were chosen on")}
CONFIRMED, CHOSEN_ON = (", ".join(names) for names in (CONFIRMING, DEVELOPMENT))


def headline(rows: Rows) -> str:
    """What training adds to the untrained network, on sets that chose nothing if they have rows."""
    return page.clause(lambda: _gain(rows, "confirm")) or _gain(rows, "choose")


def _gain(rows: Rows, group: str) -> str:
    sets, words = GROUPS[group]
    plain, learned = (_complete(rows, sets, name) for name in (UNTRAINED, DEFAULT))
    scores = [[mean(row[name] for row in side) for side in (plain, learned)] for name in ("head", MAP)]
    better = all(after > before for before, after in scores)
    return (
        f"On {len(sets)} data sets {words}, training a causal network with the T-Loss raises accuracy from "
        f"{scores[0][0]:.3f} (untrained, the cheap rival) to {scores[0][1]:.3f} and MAP from {scores[1][0]:.3f} to "
        f"{scores[1][1]:.3f}: training {'helps' if better else 'does NOT help in both'}. The thesis has no such "
        "comparison."
    )


def _complete(rows: Rows, sets: Sequence[str], method: str) -> list[Found]:
    """Rows of a setting on all of these sets; none where a set is missing, as means of other sets do not compare."""
    found = [row for name in sets for row in having(rows, dataset=name, method=method)]
    return found if {row["dataset"] for row in found} == set(sets) else []


def means(rows: Rows, group: str) -> str:
    """Means over a group of sets, for every setting that has them all."""
    columns = {name: page.mean_cell(name) for name in HEADS} | {
        f"MAP, {name}": page.mean_cell(name) for name in PRECISIONS
    }
    columns |= {name: page.mean_cell(name, ".0f") for name in ("steps", "cpu")}
    return page.tabulate("setting", {name: _complete(rows, GROUPS[group][0], name) for name in SETTINGS}, columns)


def every_set(rows: Rows) -> str:
    """Untrained and default, set by set."""
    lines = []
    for name in (*DEVELOPMENT, *CONFIRMING):
        sides = [having(rows, dataset=name, method=one) for one in (UNTRAINED, DEFAULT)]
        if all(sides):
            scores = [f"{mean(row[of] for row in side):.3f}" for of in ("head", MAP) for side in sides]
            lines.append([name, *scores, *(f"{mean(row[of] for row in sides[1]):.0f}" for of in ("steps", "cpu"))])
    head = ["data set", "head, untrained", "default", "MAP, untrained", "default", "steps", "cpu"]
    return markdown.table(head, lines)


if __name__ == "__main__":
    sys.exit(Study.main())
