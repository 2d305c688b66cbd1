"""Every method at its defaults on official splits, by `timelike.compare`: accuracy and MAP from one fit, on one core.

    python -m benchmarks.accuracy.defaults --data DIR                                     # everything
    python -m benchmarks.accuracy.defaults --data DIR --sets GunPoint Ham --methods "1-NN DTW" TAP --budget 10
    python -m benchmarks.accuracy.defaults --data DIR --budget 0 --figures docs/images    # the page and its pictures

A row is one data set, one method and one seed, with at most three minutes of training (`max_time`). Defaults were
chosen on the six sets of the first group only, and confirmed on the six of the second; the others come after. UCR and
UEA sets are used as they are. MAP: test sequences are queries among the training sequences. `--seed N`: that one only.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from benchmarks.numerics.systems import DISCRIMINANT, FUSED, PROTOTYPES
from benchmarks.papers import markdown, page
from benchmarks.papers.clock import duration
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.page import names
from benchmarks.papers.results import Found, Rows, Trial, having

import timelike as tl
from timelike.evaluate.methods import DEFAULT_CLASSIFIERS, ComparedMethod
from timelike.evaluate.ranking import Ranking, rank_table
from timelike.evaluate.runtimes import FoldSize, estimate_seconds

GROUPS: dict[str, tuple[str, ...]] = {
    "choose": ("ArrowHead", "CricketX", "GunPoint", "Lightning7", "BasicMotions", "NATOPS"),
    "confirm": ("FaceFour", "Ham", "OSULeaf", "PickupGestureWiimoteZ", "JapaneseVowels", "ArticularyWordRecognition"),
    "others": (
        *("Adiac", "CBF", "Coffee", "DiatomSizeReduction", "ECG200", "ECGFiveDays", "ItalyPowerDemand"),
        *("LargeKitchenAppliances", "MoteStrain", "Plane", "RefrigerationDevices", "SwedishLeaf", "SyntheticControl"),
        *("Trace", "TwoLeadECG"),
    ),
}

MINUTES = 3.0  # for one row
SEEDLESS = ("1-NN Euclidean", "1-NN DTW (full)", "1-NN DTW", "statistics + forest")  # always, or nearly, the same
FULL, UNTRAINED = "1-NN DTW (full)", "T-Loss untrained + head"
SYSTEMS: dict[str, tuple[str, ...]] = {
    "1-NN Euclidean": ("elastic",),
    FULL: ("elastic",),
    "1-NN DTW": ("elastic",),
    "1-NN MSM": ("elastic",),
    "statistics + forest": ("statistics",),
    "Rocket + ridge": ("rocket", "heads"),
    "Discriminant": DISCRIMINANT,
    "Fused": FUSED,
    UNTRAINED: ("tloss", "heads"),
    "T-Loss + head": ("tloss", "heads"),
    "SiameseGRU": ("siamese",),
    "Prototypes": PROTOTYPES,
    "CoupledGRU": ("coupled",),
    "TAP": ("tap",),
}
SETS = [name for names in GROUPS.values() for name in names]
FIRST = [name for group in ("choose", "confirm") for name in GROUPS[group]]


def methods() -> list[str]:
    """By name, the cheapest first."""
    names = list(DEFAULT_CLASSIFIERS)
    names.insert(names.index("1-NN DTW"), FULL)
    names.insert(names.index("T-Loss + head"), UNTRAINED)
    return names


def model(name: str) -> Any:
    """A method as `timelike.compare` takes it, nothing changed."""
    if name == FULL:
        return tl.Neighbors("dtw")
    if name == UNTRAINED:
        return tl.EmbeddingClassifier(tl.CausalEncoder(max_steps=0))
    return DEFAULT_CLASSIFIERS[name]()


class Defaults(Experiment[Trial]):
    """Methods on data sets, as a user would find them."""

    place, paper, table, holds = "benchmarks", "accuracy", "defaults", "ucr/*.npz and uea/*.npz"
    subject = ("rocket", "discriminant", "fused", "tloss", "siamese", "prototypes", "coupled", "tap")
    title = "Every method at its defaults"
    question = "how methods do at their defaults on the sets that chose nothing"
    draws = True

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", help="these data sets only")
        parser.add_argument("--methods", nargs="+", choices=methods(), metavar="METHOD", help=", ".join(methods()))
        parser.add_argument("--seed", type=int, help="this seed only")

    def planned(self) -> Iterator[Trial]:
        """One seed on the twelve sets, then on the others, then more seeds on the twelve."""
        for row in self._everything():
            wanted = (self.given.sets, row.dataset), (self.given.methods, row.method)
            if all(names is None or one in names for names, one in wanted) and self.given.seed in (None, row.seed):
                yield row

    def _everything(self) -> Iterator[Trial]:
        yield from (Trial(one, method, 0) for one in SETS for method in methods())
        for seed in range(1, self.given.seeds):
            drawn = [method for method in methods() if method not in SEEDLESS]
            yield from (Trial(one, method, seed) for one in FIRST for method in drawn)

    def systems(self, row: Trial) -> Iterable[str]:
        return *SYSTEMS[row.method], "comparison"

    def work(self, row: Trial) -> Found:
        X, y, test = loaded(self.data, row.dataset)
        if self.quick:
            X, y, test = X[::3], y[::3], (test[0][::5], test[1][::5])
        with one_core():
            found = tl.compare(
                X,
                y,
                {row.method: model(row.method)},
                test=test,
                metric=("accuracy", "map"),
                budget=0.1 if self.quick else MINUTES,
                random_state=row.seed,
                progress=False,
            )
        if "stopped by Ctrl-C" in found.notes:  # a comparison ends with what it has, and that is no row
            raise KeyboardInterrupt
        return summary(found)

    def lacks(self, row: Trial) -> str:
        if self.given.budget == 0:  # nothing is run
            return ""
        if not file_of(self.data, row.dataset).exists():
            return f"{file_of(self.data, row.dataset)} is missing"
        needed = estimate_seconds(model(row.method), size_of(self.data, row.dataset))
        limited = ComparedMethod(row.method, model(row.method)).accepts_time_limit
        return "" if limited or needed <= 60 * MINUTES else f"it would take about {duration(needed)}, and has no limit"

    def seconds(self, row: Trial) -> float:
        if not file_of(self.data, row.dataset).exists():
            return 60.0
        return min(estimate_seconds(model(row.method), size_of(self.data, row.dataset)), 60 * MINUTES)

    def limited_by_time(self, row: Trial) -> str:
        """Also of rows that had half of the time: a machine that is twice as busy would not have let them end."""
        limited = ComparedMethod(row.method, model(row.method)).accepts_time_limit
        long = (self.rows[row.key]["fit"] or 0.0) > 30 * MINUTES
        return f"trainings end after {MINUTES:g} minutes by the clock" if limited and long else ""

    def kind(self, row: Trial) -> str:
        return row.method

    def said(self, found: Found) -> str:
        return found["why"] or f"accuracy {found['accuracy']:.3f}, MAP {found['map']:.3f}"

    def draw(self, folder: Path) -> None:
        draw_ranks(self.rows, folder)


def summary(found: tl.evaluate.Comparison) -> Found:
    """What a row keeps of a comparison of one method."""
    (row,) = found.rows
    numbers: Found = {name: interval.mean for name, interval in row.scores.items()}
    times = {"fit": row.fit_seconds, "fit cpu": row.fit_cpu_seconds, "predict": row.predict_seconds}
    said = [words for fold in row.folds for words in fold.warnings]
    return numbers | times | {"memory": row.memory, "state": row.state, "why": row.reason, "said": said}


def file_of(data: Path, name: str) -> Path:
    """Where a data set is."""
    found = data / "uea" / f"{name}.npz"
    return found if found.exists() else data / "ucr" / f"{name}.npz"


def loaded(data: Path, name: str) -> tuple[tl.Sequences, Any, tuple[tl.Sequences, Any]]:
    """The official split: X, y and (X, y) of the test part."""
    with np.load(file_of(data, name)) as held:
        X = tl.Sequences.from_packed(held["values"].astype(np.float32), held["offsets"])
        labels, split = held["labels"], held["split"]
    return X[split == 0], labels[split == 0], (X[split == 1], labels[split == 1])


@cache
def size_of(data: Path, name: str) -> FoldSize:
    """Of a data set, as the guess of the time takes it."""
    with np.load(file_of(data, name)) as held:
        n = int((held["split"] == 0).sum())
        width = float(np.prod(held["values"].shape[1:]))
        return FoldSize(n, len(held["split"]) - n, float(np.diff(held["offsets"]).mean()), width)


@contextmanager
def one_core() -> Iterator[None]:
    """The process stays on one processor, where the system can do it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {before[os.getpid() % len(before)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


# --- the page

SEVERAL = {"BasicMotions", "NATOPS", "JapaneseVowels", "ArticularyWordRecognition"}  # channels
SCORE_TITLES = {"accuracy": "accuracy", "map": "MAP"}
IMAGES = Path("docs/images")

# method, score, rival or None for a plain number, at least so much more, on which sets
TARGETS: tuple[tuple[str, str, str | None, float, str], ...] = (
    ("SiameseGRU", "accuracy", FULL, 0.04, "sets to confirm on"),
    ("SiameseGRU", "map", FULL, 0.20, "sets to confirm on"),
    ("CoupledGRU", "accuracy", FULL, 0.0, "sets to confirm on"),
    ("CoupledGRU", "map", FULL, 0.15, "sets to confirm on"),
    ("TAP", "accuracy", FULL, 0.0, "sets to confirm on"),
    ("TAP", "map", FULL, 0.10, "sets to confirm on, two channels or more"),
    ("T-Loss + head", "accuracy", UNTRAINED, 0.03, "sets to confirm on"),
    ("T-Loss + head", "map", UNTRAINED, 0.10, "sets to confirm on"),
    ("Rocket + ridge", "accuracy", None, 0.917, "all sets"),
    ("Discriminant", "accuracy", None, 0.916, "all sets"),
    ("Discriminant", "map", None, 0.935, "all sets"),
)

Numbers = dict[str, dict[str, float]]


def numbers(rows: Rows, score: str) -> Numbers:
    """{data set: {method: mean over seeds}}."""
    held: dict[str, dict[str, list[float]]] = {}
    for row in rows.values():
        if row.get(score) is not None:
            held.setdefault(row["dataset"], {}).setdefault(row["method"], []).append(float(row[score]))
    return {name: {method: fmean(values) for method, values in by.items()} for name, by in held.items()}


def _of_method(held: Numbers, method: str, names: Sequence[str]) -> list[float]:
    return [held[name][method] for name in names if method in held.get(name, {})]


def headline(rows: Rows) -> str:
    """The best methods on the sets that chose nothing, beside 1-NN DTW, and how many targets are met."""
    parts = []
    for score, title in SCORE_TITLES.items():
        held, sets = numbers(rows, score), GROUPS["confirm"]
        found = {method: _of_method(held, method, sets) for method in methods()}
        means = {method: fmean(some) for method, some in found.items() if len(some) == len(sets)}
        if means:  # of methods that have all sets: means over other sets do not compare
            best = max(means, key=means.__getitem__)
            beside = f" ({FULL}, the cheap rival, {means[FULL]:.3f})" if FULL in means else ""
            parts.append(f"{best} has the best mean {title}, {means[best]:.3f}{beside}")
    if not parts:
        raise page.MissingRows("sets to confirm on")
    met = sum(": met" in target(rows, *one) for one in TARGETS)
    return (
        f"With every method at its defaults, on the {len(GROUPS['confirm'])} data sets that chose nothing, "
        f"{'; '.join(parts)}. {met} of {markdown.count_of(len(TARGETS), 'target')} are met."
    )


def _shown(rows: Rows) -> list[str]:
    return [method for method in methods() if having(rows, method=method)]


def means(rows: Rows, group: str) -> str:
    """A line for every method: means over the sets it has, and what it costs."""
    sets = GROUPS[group]
    if not {*sets}.intersection(names(rows, "dataset")):
        raise page.MissingRows(group)
    held = [numbers(rows, score) for score in ("accuracy", "map", "fit cpu", "predict")]
    lines = []
    for method in _shown(rows):
        scores, times = ([_of_method(one, method, sets) for one in some] for some in (held[:2], held[2:]))
        cells = [f"{fmean(some):.3f}" if some else "–" for some in scores]
        cells += [f"{median(some):.2g}" if some else "–" for some in times]
        lines.append([method, *cells, f"{len(scores[0])} of {len(sets)}"])
    head = ["method", "accuracy", "MAP", "fit, CPU s (median)", "predict s (median)", "sets"]
    return markdown.table(head, lines)


def refused(rows: Rows, group: str) -> str:
    """Why methods have no numbers."""
    known = {(row["method"], row["dataset"]): row["why"] for row in rows.values() if row["state"] != "finished"}
    return page.bullets(f"{method} on {name}: {why}" for (method, name), why in known.items() if name in GROUPS[group])


def accuracies(rows: Rows, group: str) -> str:
    """The accuracy of every method on every set."""
    return _matrix(rows, "accuracy", group)


def precisions(rows: Rows, group: str) -> str:
    """The MAP of every method on every set."""
    return _matrix(rows, "map", group)


def _matrix(rows: Rows, score: str, group: str) -> str:
    held = {name: by for name, by in numbers(rows, score).items() if name in GROUPS[group]}
    sets = [name for name in GROUPS[group] if name in held]
    lines = [[m, *(f"{held[name][m]:.3f}" if m in held[name] else "–" for name in sets)] for m in _shown(rows)]
    return markdown.table(["method", *sets], lines) if {*GROUPS[group]}.intersection(names(rows, "dataset")) else ""


def _ranking(rows: Rows, score: str, among: Sequence[str] | None = None) -> Ranking | None:
    """Over as many methods and sets as have all scores: the choice with most numbers in it."""
    held = numbers(rows, score)
    known = sorted(among or methods(), key=lambda method: -sum(method in by for by in held.values()))
    best: Numbers = {}
    for n in range(2, len(known) + 1):
        full = {name: by for name, by in held.items() if all(method in by for method in known[:n])}
        if len(full) > 1 and len(full) * n >= sum(map(len, best.values())):
            best = {name: {method: by[method] for method in known[:n]} for name, by in full.items()}
    return rank_table(best) if best else None


def ranks(rows: Rows) -> str:
    """Mean ranks, and their figures where they have been drawn."""
    parts = []
    for score, title in SCORE_TITLES.items():
        ranking = _ranking(rows, score)
        if ranking is not None:
            parts.append(f"By {title}.\n\n{ranking}")
            image = IMAGES / f"defaults_{score}.png"
            if image.exists():
                parts.append(f"![Critical differences of mean ranks by {title}](../../{image.as_posix()})")
    return "\n\n".join(parts)


def draw_ranks(rows: Rows, folder: Path) -> None:
    """Critical differences by accuracy and by MAP."""
    folder.mkdir(parents=True, exist_ok=True)
    for score in SCORE_TITLES:
        ranking = _ranking(rows, score)
        if ranking is not None:
            ranking.plot().savefig(folder / f"defaults_{score}.png", dpi=110)


def targets(rows: Rows) -> str:
    """Which targets are met."""
    return page.bullets(target(rows, *one) for one in TARGETS)


def target(rows: Rows, method: str, score: str, rival: str | None, more: float, where: str) -> str:
    """One target in words."""
    held = numbers(rows, score)
    sets = [n for n in GROUPS["confirm"] if "channels" not in where or n in SEVERAL] if where != "all sets" else SETS
    sides = [method] if rival is None else [method, rival]
    both = [name for name in sets if all(side in held.get(name, {}) for side in sides)]
    wish = (
        f"at least {more:g}" if rival is None else f"at least {more:g} above {rival}" if more else f"as good as {rival}"
    )
    words = f"{method}: {SCORE_TITLES[score]} {wish} ({where})"
    if len(both) < len(sets):
        return f"{words}: **not measured yet** ({len(both)} of {len(sets)} sets)."
    own = fmean(held[name][method] for name in both)
    other = 0.0 if rival is None else fmean(held[name][rival] for name in both)
    facts = f"{own:.3f}" if rival is None else f"{own:.3f} beside {other:.3f}, {own - other:+.3f}"
    return f"{words}: {'met' if own >= other + more else '**not met**'}, {facts}."


if __name__ == "__main__":
    sys.exit(Defaults.main())
