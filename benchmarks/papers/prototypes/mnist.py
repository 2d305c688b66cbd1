"""Prototypes under attack: MNIST by LeNet, clean, FGSM and PGD at 0.3 (table 1 of Monteiro et al., 2021).

    python -m benchmarks.papers.prototypes.mnist --data DIR
    python -m benchmarks.papers.prototypes.mnist --data DIR --only table --budget 20

A row is one trained network: `plain`, a classifier of the same encoder; `prototypes`, of which the dense layer (DOL)
and the similarity (SIM) answer; and what is left of it when something is taken away (`ablations`, fewer steps each).
Trained on images as they are, or against PGD on all heads. Clean accuracy is that of all 10 000 test images, the
others are of the first few hundred. Learning rate and number of steps were chosen on the last 10 000 training images;
rows are trained on all 60 000, and test images choose nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from benchmarks.papers.prototypes import mnist_report as report
from benchmarks.papers.prototypes.mnist_models import (
    ABLATIONS,
    ADVERSARY,
    BOUNDS,
    BUDGET,
    FILE,
    STEPS,
    Digits,
    Plain,
    digits,
    plain,
    prototypes,
)
from benchmarks.papers.results import Found, Row
from benchmarks.papers.resumable import Program
from numpy.typing import NDArray

from timelike.attacks import FGSM, PGD, Attack, Robustness, robustness
from timelike.attacks.target import LogitsFunction, make_target
from timelike.prototypes.network import Head

ATTACKED, FEWER = 300, 100  # test images: of the table, of ablations
HEADS: Mapping[str, Head] = {"SIM": "similarity", "DOL": "dense"}
ATTACKS: Mapping[str, Attack] = {
    "FGSM": FGSM(BUDGET, bounds=BOUNDS),
    "PGD-40": PGD(BUDGET, steps=40, step=0.01, bounds=BOUNDS),
    "PGD-100": PGD(BUDGET, steps=100, step=0.01, bounds=BOUNDS),
    "margin × 5": PGD(BUDGET, steps=40, restarts=5, loss="margin", bounds=BOUNDS),
}


@dataclass(frozen=True)
class Network(Row):
    """Table or ablations; which network; trained on clean or on attacked images."""

    part: str
    model: str
    training: str
    seed: int


class Mnist(Program[Network]):
    """Every network once."""

    paper, table, holds, seeds = "prototypes", "mnist", FILE, 1
    subject = ("prototypes", "attacks")
    title = "Prototypes under attack: MNIST, beside the paper"

    @cached_property
    def digits(self) -> tuple[Digits, Digits]:
        return digits(self.data)

    def planned(self) -> Iterator[Network]:
        """The table first."""
        for seed in range(self.given.seeds):
            for training in ("clean", "adversarial"):
                yield from (Network("table", model, training, seed) for model in ("plain", "prototypes"))
        for seed in range(self.given.seeds):
            yield from (Network("ablations", model, "clean", seed) for model in ABLATIONS)

    def seconds(self, row: Network) -> float:
        each = {"clean": 0.01, "adversarial": 0.075}[row.training] + (0 if row.model == "plain" else 0.02)
        return 40 + each * _steps(row) + (80 if row.training == "adversarial" else 20)

    def kind(self, row: Network) -> str:
        return f"{row.model == 'plain'} {row.training}"

    def systems(self, row: Network) -> Iterable[str]:
        return ("attacks",) if row.model == "plain" else ("prototypes", "attacks")

    def work(self, row: Network) -> Found:
        train, test = self.digits
        steps, few = _steps(row), FEWER if row.part == "ablations" else ATTACKED
        if self.quick:
            train, test, steps, few = train.first(400), test.first(60), 4, 6
        began = time.perf_counter()
        adversary = ADVERSARY if row.training == "adversarial" else None
        model: Any
        if row.model == "plain":
            model = plain(train, steps, row.seed, adversary)
        else:
            model = prototypes(train, steps, row.seed, adversary, ABLATIONS.get(row.model, {}))
        trained = time.perf_counter()
        scores = {head: _scores(model, head, test, few) for head in _heads(model)}
        attacked = time.perf_counter() - trained
        return {"heads": scores, "steps": steps, "attacked": few, "training s": trained - began, "attacks s": attacked}

    def said(self, found: Found) -> str:
        return "; ".join(
            f"{head} clean {scores['clean']:.2%}, worst {scores['worst of all']:.1%}"
            for head, scores in found["heads"].items()
        )

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats(self.rows)


def _steps(row: Network) -> int:
    return STEPS["ablation" if row.part == "ablations" else row.training]


def _heads(model: Any) -> list[str]:
    if isinstance(model, Plain):
        return ["dense layer"]
    return list(HEADS) if model.auxiliary is not None else ["SIM"]


def _scores(model: Any, head: str, test: Digits, few: int) -> Found:
    """Accuracy of one head, clean on all images, attacked on some."""
    some, name = test.first(few), HEADS.get(head)
    correct = robustness(model, some.images, some.labels, ATTACKS, head=name, random_state=0).correct
    correct |= {"softmax twice": _lent(model, some, name, ATTACKS["PGD-40"], _softmax(model, name))}
    if name is not None and model.auxiliary is not None:
        other = "dense" if name == "similarity" else "similarity"
        strong = PGD(BUDGET, steps=40, loss="margin", bounds=BOUNDS)
        correct |= {"transfer": _lent(model, some, name, strong, other)}
    rows = {named: float(at.mean) for named, at in Robustness(correct).rows()}
    return rows | {"clean of these": rows["clean"], "clean": _clean(model, name, test)}


def _lent(model: Any, some: Digits, head: Head | None, attack: Attack, source: Any) -> NDArray[np.bool_]:
    """Which images stay right under an attack by the gradients of another source."""
    given: dict[str, Any] = {"head": head, "transfer_from": {"lent": source}, "random_state": 0}
    return robustness(model, some.images, some.labels, {"own": attack}, **given).correct["own from lent"]


def _softmax(model: Any, head: Head | None) -> LogitsFunction:
    """Probabilities in the place of logits, in single precision: the loss takes the softmax once more."""
    target = make_target(model, head)
    return lambda x, lengths: target(x, lengths).float().softmax(dim=1)


def _clean(model: Any, head: Head | None, test: Digits) -> float:
    if head is not None:
        return float(np.mean(model.set_params(inference=head).predict(test.images) == test.labels))
    every = range(0, len(test.labels), 1000)
    with torch.no_grad():
        answers = [model(test.images[first : first + 1000].to_tensor().values).argmax(1).numpy() for first in every]
    return float(np.mean(np.concatenate(answers) == test.labels))


if __name__ == "__main__":
    sys.exit(Mnist.main())
