"""Domain shift: activities of people that nobody trained on, in the manner of table 2 of the prototypes' paper.

    python -m benchmarks.papers.prototypes.shift --data DIR
    python -m benchmarks.papers.prototypes.shift --data DIR --only "fold 0" --budget 10

The 30 people of UCI HAR, in the order of their numbers, are five domains of six. A row is one of them left out, one
method and one seed: it learns from a sample of the others' windows and is asked for windows of those left out, and,
beside these, for other windows of those it learned from. `dense alone` is the encoder of `Prototypes` with a dense
layer, trained by the cross-entropy of that alone; `network` is `Prototypes(extra_encoders=[])`, whose two heads are DOL
and SIM of the paper with the cosine; `perceptron` is the same with the paper's similarity. Networks train for 500
steps.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from benchmarks.numerics.systems import DISCRIMINANT, PROTOTYPES
from benchmarks.papers import markdown, page
from benchmarks.papers.cgru.data import FILE, parts
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial, having
from numpy.typing import NDArray
from torch import Tensor

import timelike as tl
from timelike.prototypes.objective import PrototypeObjective
from timelike.train import Batch

METHODS = ("Prototypes", "dense alone", "network", "Discriminant", "Rocket, ridge", "perceptron")
LINES = {  # what the page calls it → the method and its head
    "dense alone": ("dense alone", ""),
    "network, dense head (DOL)": ("network", " dense"),
    "network, similarity (SIM)": ("network", ""),
    "perceptron, dense head (DOL)": ("perceptron", " dense"),
    "perceptron, similarity (SIM)": ("perceptron", ""),
    "Prototypes": ("Prototypes", ""),
    "Discriminant": ("Discriminant", ""),
    "Rocket, ridge": ("Rocket, ridge", ""),
}

FOLDS = 5
STEPS = 500
PER_CELL = 6  # windows of every person and activity to learn from, and as many to ask for
KINDS: dict[str, dict[str, Any]] = {
    "dense alone": {"extra_encoders": [], "inference": "dense"},
    "network": {"extra_encoders": []},
    "perceptron": {"extra_encoders": [], "similarity_fn": "learned"},
    "Prototypes": {},
}
SYSTEMS: dict[str, tuple[str, ...]] = {
    "dense alone": ("prototypes",),
    "network": ("prototypes",),
    "perceptron": ("prototypes",),
    "Prototypes": PROTOTYPES,
    "Discriminant": DISCRIMINANT,
    "Rocket, ridge": ("rocket", "heads"),
}
SECONDS = {"Discriminant": 10.0, "Rocket, ridge": 10.0}


class DenseAlone(PrototypeObjective):
    """L_aux without the others."""

    def loss(self, batch: Batch) -> Mapping[str, Tensor]:
        vectors, labels = self._encode_batch(batch), batch["labels"]
        self.module.update_averages(vectors, labels, self.recipe.momentum)  # by which a training is told from none
        assert self.module.dense is not None
        return {"loss": self._auxiliary_loss(self.module.dense, vectors, labels)}


class Classifier(tl.Prototypes):
    """The encoder of Prototypes as a plain classifier."""

    def _make_objective(self, sequences: tl.Sequences, targets: NDArray[np.int64]) -> PrototypeObjective:
        made = super()._make_objective(sequences, targets)
        return DenseAlone(made.module, made.sequences, made.codes, self.trainer_, made.recipe)


def windows(data: Path) -> tl.Sequences:
    """All of UCI HAR; groups are people."""
    both = parts(data)
    named = {name: np.concatenate([getattr(part, name) for part in both]) for name in ("labels", "groups")}
    return tl.Sequences([one for part in both for one in part], **named)


def parted(
    every: tl.Sequences, left_out: NDArray[Any], most: int, seed: int
) -> tuple[tl.Sequences, tl.Sequences, tl.Sequences]:
    """A sample of the windows of the others, as many other windows of these, and a sample of those left out."""
    first, second = cells(np.asarray(every.groups), np.asarray(every.labels), most, seed)
    out = np.isin(np.asarray(every.groups), left_out)
    return every[first[~out[first]]], every[second[~out[second]]], every[first[out[first]]]


def cells(groups: NDArray[Any], labels: NDArray[Any], most: int, seed: int) -> list[NDArray[np.int64]]:
    """Positions of so many of every person and class, and of as many others, drawn at random."""
    rng = np.random.default_rng(seed)
    pairs = [(person, label) for person in np.unique(groups) for label in np.unique(labels[groups == person])]
    drawn = [rng.permutation(np.flatnonzero((groups == person) & (labels == label))) for person, label in pairs]
    return [np.sort(np.concatenate([own[k * most : (k + 1) * most] for own in drawn])) for k in (0, 1)]


def answers(method: str, train: tl.Sequences, asked: list[tl.Sequences], seed: int, steps: int) -> list[Any]:
    """For every head that a method has, what it says of each collection."""
    if method in KINDS:
        kind = Classifier if method == "dense alone" else tl.Prototypes
        model: Any = kind(**KINDS[method], max_steps=steps, random_state=seed).fit(train, train.labels)
        heads = {"network": ["similarity", "dense"], "perceptron": ["similarity", "dense"]}.get(method)
        if heads is None:
            return [[model.predict(part) for part in asked]]
        return [[model.set_params(inference=head).predict(part) for part in asked] for head in heads]
    rocket = tl.Rocket(random_state=seed)
    if method == "Rocket, ridge":
        model = tl.EmbeddingClassifier(rocket).fit(train, train.labels)
    else:
        model = tl.Neighbors(tl.Discriminant(rocket, classes="known", random_state=seed)).fit(train, train.labels)
    return [[model.predict(part) for part in asked]]


class Shift(Experiment[Trial]):
    """Every method on people that it has not seen."""

    paper, table, holds = "prototypes", "shift", FILE
    subject = ("prototypes",)
    title, seeds = "Domain shift: activities of other people", 1
    question = "activities of people left out of training"

    def planned(self) -> Iterator[Trial]:
        """All methods on one fold, then on the next."""
        for seed in range(self.given.seeds):
            yield from (Trial(f"fold {n}", method, seed) for n in range(FOLDS) for method in METHODS)

    def systems(self, row: Trial) -> Iterable[str]:
        return SYSTEMS[row.method]

    def work(self, row: Trial) -> Found:
        every, number = windows(self.data), int(row.dataset.split()[1])
        left_out = np.array_split(np.unique(np.asarray(every.groups)), FOLDS)[number]
        train, same, shifted = parted(every, left_out, 1 if self.quick else PER_CELL, row.seed)
        said = answers(row.method, train, [shifted, same], row.seed, 2 if self.quick else STEPS)
        heads = ["", " dense"][: len(said)]
        found: Found = {"people": left_out.tolist(), "n_train": len(train), "n_shifted": len(shifted)}
        for head, (other, own) in zip(heads, said, strict=True):
            found[f"shifted{head}"] = float((other == shifted.labels).mean())
            found[f"same{head}"] = float((own == same.labels).mean())
        return found

    def lacks(self, row: Trial) -> str:
        return "" if (self.data / FILE).exists() else f"{self.data / FILE} is missing"

    def seconds(self, row: Trial) -> float:
        return SECONDS.get(row.method, 60.0)

    def kind(self, row: Trial) -> str:
        return row.method

    def said(self, found: Found) -> str:
        return ", ".join(f"{name} {found[name]:.3f}" for name in found if name.startswith(("shifted", "same")))


# --- the page


def headline(rows: Rows) -> str:
    """Whether the paper's similarity helps on people left out; first of all, whether it has rows."""
    if not rows:
        raise page.MissingRows("folds")
    learned = having(rows, method="perceptron")
    start = "" if learned else "The paper's similarity, a learned perceptron, has no rows on this page. "
    name, words = ("perceptron", "the paper's similarity") if learned else ("network", "the same network with a cosine")
    gains = shift_gains(rows, name)
    if not gains:
        return f"{start}No fold has both {words} and a plain classifier, so there is nothing to compare."
    agrees = "agrees with" if mean(gains) > 0 else "contradicts"
    verdict = f"which {agrees} the paper" if learned else "which says nothing about the paper's claim"
    ours, plain = (100 * page.average(rows, "shifted", method=one) for one in (name, "dense alone"))
    beside = page.clause(
        lambda: (
            " Ridge regression on Rocket features, the cheap rival, has "
            f"{100 * page.average(rows, 'shifted', method='Rocket, ridge'):.1f} %."
        )
    )
    return (
        f"{start}On people left out of training {words} has an accuracy of {ours:.1f} % and a plain classifier of the "
        f"same encoder {plain:.1f} % (difference {markdown.format_signed(mean(gains), '.1f')} points on "
        f"{markdown.count_of(len(gains), 'fold')}), {verdict}.{beside}"
    )


def shift_gains(rows: Rows, method: str, head: str = "") -> list[float]:
    """What a method gains over a plain classifier of the same encoder, in points, on folds that both have."""
    plain = {(row["dataset"], row["seed"]): row["shifted"] for row in having(rows, method="dense alone")}
    return [
        100 * (row[f"shifted{head}"] - plain[row["dataset"], row["seed"]])
        for row in having(rows, method=method)
        if (row["dataset"], row["seed"]) in plain
    ]


def accuracies(rows: Rows) -> str:
    """Accuracies fold by fold; an empty line says that a method was not measured."""
    folds = [f"fold {n}" for n in range(FOLDS)]
    lines = []
    for name, (method, head) in LINES.items():
        found = having(rows, method=method)
        by_fold = [[row[f"shifted{head}"] for row in found if row["dataset"] == fold] for fold in folds]
        ends = [[row[f"{part}{head}"] for row in found] for part in ("shifted", "same")]
        lines.append([name, *(f"{100 * mean(some):.1f}" if some else "–" for some in (*by_fold, *ends))])
    return markdown.table(["method", *folds, "mean", "people it learned from"], lines)


def gains(rows: Rows) -> str:
    """What every head gains over a plain classifier of the same encoder."""
    words = []
    for name, (method, head) in list(LINES.items())[1:6]:
        if found := shift_gains(rows, method, head):
            better = sum(gain > 0 for gain in found)
            words.append(f"{name} {mean(found):+.1f} points, better in {better} of {len(found)}")
    if not words:
        return "No fold can be compared yet."
    return f"Against `dense alone`, on the same folds: {'; '.join(words)}."


if __name__ == "__main__":
    sys.exit(Shift.main())
