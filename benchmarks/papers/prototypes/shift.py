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
from typing import Any

import numpy as np
from benchmarks.numerics.systems import DISCRIMINANT, PROTOTYPES
from benchmarks.papers.cgru.data import FILE, parts
from benchmarks.papers.prototypes import shift_report as report
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program
from numpy.typing import NDArray
from torch import Tensor

import timelike as tl
from timelike.prototypes.objective import PrototypeObjective
from timelike.train import Batch

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
        return DenseAlone(made.module, made.sequences, made.codes, made.recipe)


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


class Shift(Program[Trial]):
    """Every method on people that it has not seen."""

    paper, table, holds = "prototypes", "shift", FILE
    subject = ("prototypes",)
    title, seeds = "Domain shift: activities of other people", 1

    def planned(self) -> Iterator[Trial]:
        """All methods on one fold, then on the next."""
        for seed in range(self.given.seeds):
            yield from (Trial(f"fold {n}", method, seed) for n in range(FOLDS) for method in report.METHODS)

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

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows, [f"fold {n}" for n in range(FOLDS)])

    def caveats(self) -> list[str]:
        return report.caveats()


if __name__ == "__main__":
    sys.exit(Shift.main())
