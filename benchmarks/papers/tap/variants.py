"""What g is made of: convolutions or attention, larger kernels, more layers (tables 9 and 10 of Su and Wen, ICLR 2022).

    python -m benchmarks.papers.tap.variants --data DIR
    python -m benchmarks.papers.tap.variants --data DIR --only MSRAction3D/triplet+attention --seeds 1

A row is one data set, one loss with one form of g (`triplet+cnn`), and one seed; learned, selected and judged as in
`supervised.py`. `cnn` is the paper's g (kernels 5-5-3), `attention` its TAP-trans, `l` has larger kernels (7-7-5) and
`d` one more layer (5-5-5-3).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from statistics import mean

from benchmarks.papers import markdown, page
from benchmarks.papers.clock import duration
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial
from benchmarks.papers.tap.data import HOLDS, PLANS, labels_of, scores, spaced, task
from benchmarks.papers.tap.methods import LOSSES, consistency_of, from_classes
from benchmarks.papers.tap.supervised import cells, values

import timelike as tl

COSTS = {"cnn": 1.0, "attention": 0.3, "l": 2.0, "d": 2.0}  # times the seconds of the paper's g
OPTIONS = {"l": "cnn_large", "d": "cnn_deep"}  # how rows name what TAP calls so
TABLES = {"9": ("attention", "cnn"), "10": ("cnn", "l", "d")}
PAPER = {  # MAP and 1-NN (%) on MSR Action3D (other features than ours)
    "triplet+attention": ".751 81.32",
    "triplet+cnn": ".798 87.18",
    "triplet+l": ".834 90.48",
    "triplet+d": ".846 91.58",
    "lifted+attention": ".740 77.29",
    "lifted+cnn": ".772 82.05",
    "lifted+l": ".805 85.35",
    "lifted+d": ".779 83.52",
    "binomial+attention": ".746 80.22",
    "binomial+cnn": ".826 87.91",
    "binomial+l": ".838 85.35",
    "binomial+d": ".856 89.38",
}


class Half(Trial):
    """The method is a loss and a form of g."""

    def words(self) -> set[str]:
        return super().words() | set(self.method.split("+"))


class Variants(Experiment[Half]):
    """Every form of g with every loss."""

    paper, table, holds = "tap", "variants", HOLDS
    subject = ("tap",)
    title = "What TAP's network is made of: attention, larger kernels, more layers, beside the paper"
    shown_without_rows = True
    question = "TAP with attention, larger kernels or more layers"

    def planned(self) -> Iterator[Half]:
        """The paper's data set and triplets first."""
        names = ["MSRAction3D", *(name for name in PLANS if name != "MSRAction3D")]
        for seed in range(self.given.seeds):
            for loss in LOSSES:
                yield from (Half(name, f"{loss}+{variant}", seed) for name in names for variant in COSTS)

    def seconds(self, row: Half) -> float:
        plan = PLANS[row.dataset]
        return COSTS[row.method.split("+")[1]] * (plan.training() + plan.comparing())

    def kind(self, row: Half) -> str:
        return row.method.split("+")[1]

    def systems(self, row: Half) -> Iterable[str]:
        return "tap", "retrieval_scores"

    def work(self, row: Half) -> Found:
        plan, (loss, variant) = PLANS[row.dataset], row.method.split("+")
        given, began = task(self.data, plan, self.quick), time.perf_counter()
        metric = from_classes("TAP", plan, row.seed, quick=self.quick, loss=loss, variant=OPTIONS.get(variant, variant))
        metric.fit(given.train, labels_of(given.train))
        assert isinstance(metric, tl.TAP)
        found: Found = {"training seconds": time.perf_counter() - began}
        found |= scores(metric.pairwise(given.test, given.train, n_jobs=1), given)
        found["norm ratio"] = float(metric.norm_ratio(spaced(given.test), spaced(given.train), n_jobs=1).mean())
        found |= {"epochs": plan.epochs, "steps": metric.history_.n_steps, "consistency": consistency_of(metric)}
        found["validation"] = [round(float(score), 4) for score in metric.history_.scores]
        return found | given.sizes() | {"seconds": time.perf_counter() - began}  # without reading the files

    def said(self, found: Found) -> str:
        return f"map {found['map']:.3f}, 1-nn {found['1-nn']:.3f}"


# --- the page


def headline(rows: Rows) -> str:
    """Which form of g is best on MSR Action3D, beside the paper."""
    scores = {m: mean(found) for m in PAPER if (found := values(rows, "MSRAction3D", m, "map"))}
    if not scores:
        raise page.MissingRows("forms of TAP")
    best = max(scores, key=scores.__getitem__)
    theirs = max(scores, key=lambda method: float("0" + PAPER[method].split()[0]))
    agrees = "agrees with the paper" if best == theirs else f"differs from the paper, where it is {theirs}"
    return (
        f"Of {markdown.count_of(len(scores), 'form')} of TAP's network on MSR Action3D, {best} has the best MAP, "
        f"{scores[best]:.3f} (paper: 0{PAPER[best].split()[0]}, with other features); this {agrees}."
    )


def scores_table(rows: Rows, number: str) -> str:
    """One of the paper's tables, of every data set that has rows."""
    lines = []
    for name in PLANS:
        for method in (f"{loss}+{variant}" for loss in LOSSES for variant in TABLES[number]):
            seconds, own = values(rows, name, method, "seconds"), name == "MSRAction3D"
            if seconds or own:
                took = duration(mean(seconds)) if seconds else "–"
                ratio = markdown.format_mean(values(rows, name, method, "norm ratio"), ".2f")
                lines.append([name, method, *cells(rows, name, method), ratio, took, PAPER[method] if own else "–"])
    head = ["data set", "method", "MAP", "1-NN %", "5-NN %", "30-NN %", "‖g‖/‖D‖", "time", "paper, Action3D"]
    return markdown.table(head, lines)


if __name__ == "__main__":
    sys.exit(Variants.main())
