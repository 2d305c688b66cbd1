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
from statistics import fmean
from typing import Any

import numpy as np
import torch
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
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
from benchmarks.papers.results import Found, Row, Rows, having
from numpy.typing import NDArray

from timelike.attacks import FGSM, PGD, Attack, Robustness, robustness
from timelike.attacks.target import LogitsFunction, make_target
from timelike.prototypes.options import Head

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


class Mnist(Experiment[Network]):
    """Every network once."""

    paper, table, holds, seeds = "prototypes", "mnist", FILE, 1
    subject = ("prototypes", "attacks")
    title = "Prototypes under attack: MNIST, beside the paper"
    question = "Prototypes under attack on MNIST"

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


# --- the page

COLUMNS = ("clean", "FGSM", "PGD-40", "PGD-100", "softmax twice", "margin × 5", "transfer", "worst of all")
PAPER = {  # clean, FGSM, PGD-40, PGD-100
    ("plain", "clean", "dense layer"): ("99.20", "34.48", "0.00", "0.00"),
    ("prototypes", "clean", "DOL"): ("99.31", "17.18", "0.02", "0.01"),
    ("prototypes", "clean", "SIM"): ("99.36", "68.51", "23.85", "13.61"),
    ("plain", "adversarial", "dense layer"): ("99.24", "94.82", "97.31", "96.58"),
    ("prototypes", "adversarial", "DOL"): ("98.71", "97.62", "95.04", "93.78"),
    ("prototypes", "adversarial", "SIM"): ("98.79", "97.84", "95.35", "93.98"),
}
TITLES = {"plain": "plain classifier", "prototypes": "Prototypes"}
TOLERANCE = 2.0  # points of an accuracy under attack, of a few hundred images


def headline(rows: Rows) -> str:
    """The similarity under PGD beside the paper, under the strongest attack, and with adversarial training."""
    return page.sentences(lambda: _clean_sentences(rows), lambda: _adversarial_sentence(rows))


def _clean_sentences(rows: Rows) -> str:
    found, theirs = _prototypes(rows, "clean"), paper_number("clean", "SIM", "PGD-40")
    ours, worst = found["SIM", "PGD-40"], found["SIM", "worst of all"]
    reached = "the paper's number is reached" if ours >= theirs - TOLERANCE else "this falls short of the paper"
    words = (
        f"Without adversarial training the similarity (SIM) keeps {ours:.1f} % of MNIST images under PGD-40 (paper: "
        f"{theirs}), the dense head (DOL) {found['DOL', 'PGD-40']:.1f} %{_beside_plain(rows, 'clean', 'PGD-40')}; "
        f"{reached}."
    )
    if worst >= theirs - TOLERANCE:
        return words
    return (
        f"{words} The worst of all attacks tried leaves SIM {worst:.1f} %: this contradicts the paper's conclusion "
        "that similarities are robust."
    )


def _adversarial_sentence(rows: Rows) -> str:
    ours, theirs = _prototypes(rows, "adversarial")["SIM", "PGD-100"], paper_number("adversarial", "SIM", "PGD-100")
    agrees = "agrees with" if ours >= theirs - TOLERANCE else "falls short of"
    return (
        f"With adversarial training SIM keeps {ours:.1f} % under PGD-100"
        f"{_beside_plain(rows, 'adversarial', 'PGD-100')}; this {agrees} the paper's {theirs} for SIM."
    )


def accuracies(rows: Rows, model: str, training: str) -> dict[tuple[str, str], float]:
    """Mean accuracy in percent by head and attack, over seeds; empty where there is no row."""
    found = [row["heads"] for row in having(rows, part="table", model=model, training=training)]
    return {
        (head, column): fmean(100 * heads[head][column] for heads in found)
        for head in (found[0] if found else ())
        for column in COLUMNS
        if column in found[0][head]
    }


def _prototypes(rows: Rows, training: str) -> dict[tuple[str, str], float]:
    page.need(rows, part="table", model="prototypes", training=training)
    return accuracies(rows, "prototypes", training)


def paper_number(training: str, head: str, column: str) -> float:
    """What the paper has for Prototypes."""
    return float(PAPER["prototypes", training, head][COLUMNS.index(column)])


def _beside_plain(rows: Rows, training: str, column: str) -> str:
    found = accuracies(rows, "plain", training)
    return f" and a plain classifier, the cheap rival, {found['dense layer', column]:.1f} %" if found else ""


def table_1(rows: Rows) -> str:
    """Ours, and the paper's numbers in the line below."""
    lines = []
    for (model, training, head), published in PAPER.items():
        if found := [row["heads"][head] for row in having(rows, part="table", model=model, training=training)]:
            lines.append([TITLES[model], f"{training} images", head, *_cells(found)])
            lines.append(["*the paper*", "", "", *(f"*{number}*" for number in published), "", "", "", ""])
    return markdown.table(["network", "trained on", "answers by", *COLUMNS], lines)


def ablations(rows: Rows) -> str:
    """A line for each head of each network."""
    found = having(rows, part="ablations")
    lines = [[row["model"], head, *_cells([scores])] for row in found for head, scores in row["heads"].items()]
    return markdown.table(["network", "answers by", *COLUMNS], lines) if lines else "No row yet."


def _cells(found: list[Found]) -> list[str]:
    forms = {"clean": ".2f"}
    return [markdown.format_percent([one[c] for one in found if c in one], forms.get(c, ".1f")) for c in COLUMNS]


def masked(rows: Rows) -> str:
    """Whether SIM without adversarial training is as robust as one run of PGD makes it look."""
    found = _prototypes(rows, "clean")
    single, worst, dense = found["SIM", "PGD-40"], found["SIM", "worst of all"], found["DOL", "worst of all"]
    twice = found["SIM", "softmax twice"]
    close = ", so this is not what hides the gradients" if abs(twice - single) < 3 else ""
    if worst >= 10:
        end = "Part of the robustness stands up to these attacks."
    elif single - worst >= 3:
        end = (
            f"The {single - worst:.1f} points between are images that another loss, longer steps, a restart or the "
            "other head's gradients do move: the gradients are hidden, and the images are not robust."
        )
    else:
        end = "On logits even one run finds almost every image."
    return (
        f"the paper has SIM at {paper_number('clean', 'SIM', 'PGD-40')} under PGD-40 and DOL at "
        f"{paper_number('clean', 'DOL', 'PGD-40')}, and concludes that similarities are robust. Here one run of PGD-40 "
        f"leaves SIM {single:.1f}; the worst of all attacks leaves SIM {worst:.1f} and DOL {dense:.1f}. With the "
        f"softmax taken twice, as in the authors' program, one run leaves {twice:.1f}{close}. {end}"
    )


def trained(rows: Rows) -> str:
    """What the worst of all attacks leaves after adversarial training."""
    found, rival = _prototypes(rows, "adversarial"), accuracies(rows, "plain", "adversarial")
    sim, dol = (found[head, "worst of all"] for head in ("SIM", "DOL"))
    beside = f"; a plain classifier with the same training {rival['dense layer', 'worst of all']:.1f}" if rival else ""
    theirs = [paper_number("adversarial", head, "PGD-100") for head in ("SIM", "DOL")]
    return (
        f"SIM {sim:.1f} and DOL {dol:.1f}{beside}. The paper's {theirs[0]} and {theirs[1]} are under a single run of "
        "PGD-100."
    )


def times(rows: Rows) -> str:
    """How long trainings took."""
    return "; ".join(
        f"{TITLES[row['model']]} on {row['training']} images {row['steps']} steps, {row['training s']:.0f} s"
        for row in page.need(rows, part="table")
    )


def n_attacked(rows: Rows) -> str:
    """How many images were attacked."""
    return str(max(row["attacked"] for row in rows.values()))


def half_width(rows: Rows) -> str:
    """Half of the widest interval, in points."""
    if not rows:
        raise page.MissingRows("attacks")
    return f"{100 * 1.96 * 0.5 / int(n_attacked(rows)) ** 0.5:.0f}"


if __name__ == "__main__":
    sys.exit(Mnist.main())
