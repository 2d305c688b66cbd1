"""Pairs of classes that nothing was learned from: equal error rates of metrics that learned two thirds of the classes.

    python -m benchmarks.accuracy.open_classes --data DIR
    python -m benchmarks.accuracy.open_classes --data DIR --only Fused --budget 10

A row is one data set, one metric and one draw of the known classes: draw 0 has the first two thirds in the order of
their labels, the others are random. Metrics learn from training sequences of known classes, and are judged by all pairs
of test sequences of the other classes. What there was to choose was chosen on CricketX, Lightning7 and NATOPS; NATOPS
is also among the five data sets here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from benchmarks.numerics.systems import DISCRIMINANT, FUSED
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Row, Rows, having
from numpy.typing import NDArray

import timelike as tl
from timelike.score import interval

METHODS = (
    *("DTW per length", "Rocket", "Whitened", "Discriminant, known", "Discriminant", "Discriminant, open", "Fused"),
)

SETS = {
    "JapaneseVowels": "uea",
    "ArticularyWordRecognition": "uea",
    "NATOPS": "uea",
    "SwedishLeaf": "ucr",
    "Plane": "ucr",
}
SECONDS = {"DTW per length": 1, "Rocket": 2, "Whitened": 2, "Fused": 25}
SYSTEMS: dict[str, tuple[str, ...]] = {
    "DTW per length": ("elastic",),
    "Rocket": ("rocket",),
    "Fused": FUSED,
}  # others are discriminants of Rocket's features
ALWAYS = ("DTW per length",)  # nothing is drawn but the classes


@dataclass(frozen=True)
class Split(Row):
    """One data set, one metric, one draw of the known classes."""

    dataset: str
    method: str
    draw: int


def metric(name: str, seed: int) -> Any:
    """By the name that the page has for it."""
    dtw, rocket = tl.DTW(normalize="length"), tl.Rocket(random_state=seed)
    return {
        "DTW per length": dtw,
        "Rocket": rocket,
        "Whitened": tl.metric.WhitenedCosine(rocket, random_state=seed),
        "Discriminant, known": tl.Discriminant(rocket, classes="known", random_state=seed),
        "Discriminant": tl.Discriminant(rocket, random_state=seed),
        "Discriminant, open": tl.Discriminant(rocket, classes="open", random_state=seed),
        "Fused": tl.Fused([dtw, tl.Discriminant(rocket, classes="open", random_state=seed)], random_state=seed),
    }[name]


class OpenClasses(Experiment[Split]):
    """Metrics on classes that they have not seen."""

    place, paper, table, holds = "benchmarks", "accuracy", "open_classes", "ucr/*.npz and uea/*.npz"
    subject = ("discriminant", "fused")
    title, seeds = "Classes that were not learned", 6
    question = "classes that were not learned, for all data sets"

    def planned(self) -> Iterator[Split]:
        """All metrics on one draw, then on the next."""
        for draw in range(self.given.seeds):
            yield from (Split(one, method, draw) for one in SETS for method in METHODS)

    def systems(self, row: Split) -> Iterable[str]:
        return SYSTEMS.get(row.method, DISCRIMINANT)

    def work(self, row: Split) -> Found:
        train, test = tl.load(_file(self.data, row.dataset))
        known = known_classes(np.unique(train.labels), row.draw)
        train, test = train[np.isin(train.labels, known)], test[~np.isin(test.labels, known)]
        if self.quick:
            train, test = train[::3], test[::5]
        made = metric(row.method, row.draw)
        if hasattr(made, "fit"):
            made.fit(train, train.labels)
        learned = {"weights": made.weights_.tolist()} if row.method == "Fused" else {}
        distances = made.pairwise(test, n_jobs=1)
        first, second = np.triu_indices(len(test), 1)
        same = test.labels[first] == test.labels[second]
        counts = {"n_train": len(train), "n_test": len(test), "n_known": len(known)}
        return {"eer": equal_error_rate(distances[first, second], same)} | counts | learned

    def lacks(self, row: Split) -> str:
        path = _file(self.data, row.dataset)
        return "" if path.exists() else f"{path} is missing"

    def seconds(self, row: Split) -> float:
        return SECONDS.get(row.method, 3)

    def kind(self, row: Split) -> str:
        return row.method

    def said(self, found: Found) -> str:
        return f"equal error rate {found['eer']:.3f}"


def known_classes(classes: NDArray[Any], draw: int) -> NDArray[Any]:
    """Two thirds of them: the first ones in draw 0."""
    order = classes if draw == 0 else np.random.default_rng(draw).permutation(classes)
    return order[: round(len(classes) * 2 / 3)]


def equal_error_rate(distances: NDArray[Any], same: NDArray[np.bool_]) -> float:
    """The error at the threshold where as large a share of pairs is wrongly accepted as wrongly rejected.

    >>> equal_error_rate(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, False]))
    0.5
    """
    order = np.argsort(distances, kind="stable")
    far, alike = distances[order], same[order]
    accepted, rejected = np.cumsum(~alike) / (~alike).sum(), 1 - np.cumsum(alike) / alike.sum()
    last = np.flatnonzero(np.append(np.diff(far) > 0, True))  # pairs equally far are accepted together
    nearest = last[np.argmin(np.abs(accepted[last] - rejected[last]))]
    return float((accepted[nearest] + rejected[nearest]) / 2)


def _file(data: Path, name: str) -> Path:
    return data / SETS[name] / f"{name}.npz"


# --- the page

PARTS = ("DTW per length", "Discriminant, open")


def errors(rows: Rows, dataset: str, method: str) -> list[float]:
    """Of every finished draw."""
    return [row["eer"] for row in having(rows, dataset=dataset, method=method)]


def _means(rows: Rows) -> dict[str, float]:
    """Means over all data sets, of the methods that have them all."""
    found = {method: [mean(some) for name in SETS if (some := errors(rows, name, method))] for method in METHODS}
    return {method: mean(some) for method, some in found.items() if len(some) == len(SETS)}


def headline(rows: Rows) -> str:
    """Fused beside DTW on classes that were not learned."""
    means = _means(rows)
    if "Fused" not in means:
        raise page.MissingRows("Fused")
    beside = ""
    if "DTW per length" in means:
        beside = f", where DTW divided by length, the cheap rival, has {means['DTW per length']:.3f}"
    best = min(means, key=means.__getitem__)
    lead = "the lowest of all" if best == "Fused" else f"{best} has {means[best]:.3f}"
    return (
        "`Fused`, the sum of DTW and a discriminant, tells classes that were not learned apart with a mean equal "
        f"error rate of {means['Fused']:.3f} over {len(SETS)} data sets ({lead}){beside}. {_verdict(rows)}"
    )


def _verdict(rows: Rows) -> str:
    """Where Fused is no worse than the better of its parts, by means over draws."""
    better = []
    for name in SETS:
        own, *others = (errors(rows, name, method) for method in ("Fused", *PARTS))
        if not own or not all(len(some) == len(own) for some in others):
            return "Rows of Fused or of its parts are missing, so they cannot be compared yet."
        better.append(mean(own) <= min(map(mean, others)))
    return f"It is no worse than the better of its two parts on {sum(better)} of {len(SETS)}."


def over_draws(rows: Rows) -> str:
    """Equal error rates over draws."""
    lines = [[name, *(_rate(errors(rows, name, method)) for method in METHODS)] for name in SETS]
    means = _means(rows)
    lines.append(["*mean*", *(f"{means[method]:.3f}" if method in means else "–" for method in METHODS)])
    return markdown.table(["data set", *METHODS], lines)


def _rate(found: list[float]) -> str:
    if len(found) < 2:
        return f"{found[0]:.3f}" if found else "–"
    over = interval(found)
    return f"{over.mean:.3f} ± {over.half_width:.3f}"


def first_draw(rows: Rows) -> str:
    """Equal error rates of draw 0 alone."""
    lines = []
    for name in SETS:
        found = (having(rows, dataset=name, method=method, draw=0) for method in METHODS)
        lines.append([name, *(f"{some[0]['eer']:.3f}" if some else "–" for some in found)])
    return markdown.table(["data set", *METHODS], lines)


if __name__ == "__main__":
    sys.exit(OpenClasses.main())
