"""Accuracy against the share of labels: representations learned without labels beside the same network with them.

    python -m benchmarks.papers.tloss.labels --data DIR --figures docs/images
    python -m benchmarks.papers.tloss.labels --data DIR --only SyntheticControl --budget 10

Figure 3.7 of the thesis on SyntheticControl and a part of UCI HAR. Without labels: one encoder (K = 5) learns from all
training series, and an SVM from the share that has labels. With labels: the same network and a linear map learn from
that share by cross-entropy, in as many steps of as many series. A row is one data set, one share and one seed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.papers import markdown, page
from benchmarks.papers.canvas import blank
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Row, Rows, having
from benchmarks.papers.tloss.data import Problem, known_sets, problem, sequence_file, thinned
from benchmarks.papers.tloss.heads import Vectors, accuracy
from numpy.typing import NDArray
from torch import nn

import timelike as tl

SECONDS = {"SyntheticControl": (150, 70), "UCI HAR": (320, 150)}  # of an encoder, and of a network with labels
SETS = tuple(SECONDS)
SHARES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
K, STEPS, BATCH = 5, 1500, 10
HAR_TRAIN, HAR_TEST = 1200, 1000  # series of UCI HAR: a part, the same for all rows


@dataclass(frozen=True)
class Share(Row):
    """One data set, one share of its labels, one seed."""

    dataset: str
    share: float
    seed: int


class FewLabels(Experiment[Share]):
    """Both kinds of learning, the more labels there are."""

    paper, table, holds = "tloss", "labels", "ucr/ and uci_har.npz"
    subject = ("tloss",)
    title = "Few labels"
    question = "representations learned without labels when labels are few"
    draws = True

    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__(given)
        self.steps = 3 if self.quick else STEPS
        self.problems: dict[str, Problem] = {}
        self.vectors: dict[tuple[str, int], tuple[Vectors, Vectors]] = {}

    def planned(self) -> Iterator[Share]:
        for seed in range(self.given.seeds):
            yield from (Share(name, share, seed) for name in SETS for share in SHARES)

    def seconds(self, row: Share) -> float:
        encoder, network = SECONDS[row.dataset]
        return network + (0 if (row.dataset, row.seed) in self.vectors else encoder)

    def kind(self, row: Share) -> str:
        return row.dataset

    def systems(self, row: Share) -> Iterable[str]:
        return "tloss", "heads"

    def work(self, row: Share) -> Found:
        if row.dataset not in self.problems:
            whole = given_problem(self.data, row.dataset)
            self.problems[row.dataset] = thinned(whole) if self.quick else whole
        given = self.problems[row.dataset]
        known = labelled(given.train_labels, row.share, np.random.default_rng(row.seed))
        train, test = self._represented(row, given)
        return {
            "labels": len(known),
            "unsupervised": accuracy("svm", train[known], given.train_labels[known], test, given.test_labels),
            "supervised": supervised(given, known, row.seed, self.steps),
        }

    def _represented(self, row: Share, given: Problem) -> tuple[Vectors, Vectors]:
        """Learned from all training series without labels, once for all shares."""
        place = row.dataset, row.seed
        if place not in self.vectors:
            encoder = tl.CausalEncoder.preset(
                "thesis", n_negatives=K, max_steps=self.steps, standardize=given.standardize, random_state=row.seed
            ).fit(given.train)
            self.vectors[place] = encoder.encode(given.train), encoder.encode(given.test)
        return self.vectors[place]

    def said(self, found: Found) -> str:
        return f"without labels {found['unsupervised']:.3f}, with {found['supervised']:.3f}"

    def draw(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        draw(self.rows, folder)


def given_problem(data: Path, name: str) -> Problem:
    """A data set of the archive, or the part of UCI HAR."""
    if name != "UCI HAR":
        return problem(data, next(one for one in known_sets(data) if one.name == name))
    series, labels, split = sequence_file(data / "uci_har.npz")
    rng = np.random.default_rng(0)
    some = [rng.permutation(np.flatnonzero(split == part))[:size] for part, size in ((0, HAR_TRAIN), (1, HAR_TEST))]
    return Problem(name, "UEA", series[some[0]], labels[some[0]], series[some[1]], labels[some[1]])


def labelled(labels: NDArray[Any], share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Which series have labels: this share of every class, at least one."""
    chosen = []
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        chosen.append(members[: max(1, round(share * len(members)))])
    return np.sort(np.concatenate(chosen))


def supervised(given: Problem, known: NDArray[np.int64], seed: int, steps: int) -> float:
    """Accuracy of the causal network and a linear map, trained by cross-entropy on whole series."""
    classes, codes = np.unique(given.train_labels, return_inverse=True)
    torch.manual_seed(seed)
    flat = given.train.values.reshape(len(given.train.values), -1)
    mean, scale = (torch.tensor(v) for v in ((flat.mean(0), flat.std(0)) if given.standardize else (0.0, 1.0)))
    x, x_test = (((part.to_tensor()[0].float() - mean) / scale).float() for part in (given.train[known], given.test))
    y = torch.from_numpy(codes[known])
    network = nn.Sequential(tl.encode.CausalNetwork(x.shape[2]), nn.Linear(320, len(classes)))
    adam, rng = torch.optim.Adam(network.parameters(), lr=1e-3), np.random.default_rng(seed)
    for _ in range(steps):
        some = torch.from_numpy(rng.integers(len(x), size=min(BATCH, len(x))))
        adam.zero_grad()
        torch.autograd.backward(F.cross_entropy(network(x[some]), y[some]))
        adam.step()
    with torch.no_grad():
        found = torch.cat([network(part).argmax(1) for part in torch.tensor_split(x_test, 10)])
    return float(np.mean(classes[found.numpy()] == given.test_labels))


def draw(rows: Rows, path: Path) -> None:
    for name in SETS:
        found = curve(rows, name)
        if not found:
            continue
        figure, (axes,) = blank(5, 3.6)
        shares = [100 * share for share, *_ in found]
        for place, label in ((2, "representations without labels, SVM"), (3, "same network, trained with labels")):
            means = np.array([np.mean(one[place]) for one in found])
            spread = np.array([np.std(one[place]) for one in found])
            axes.plot(shares, means, marker="o", ms=4, label=label)
            axes.fill_between(shares, means - spread, means + spread, alpha=0.2)
        axes.set(xscale="log", xlabel="share of labels (%)", ylabel="test accuracy", title=name)
        axes.set_xticks(shares, [f"{share:g}" for share in shares])  # a logarithm would name 10 and 100 only
        axes.minorticks_off()
        axes.legend(frameon=False)
        figure.savefig(path / f"tloss_labels_{name.lower().replace(' ', '_')}.svg")


# --- the page

Curve = list[tuple[float, int, list[float], list[float]]]


def curve(rows: Rows, name: str, shares: Sequence[float] = SHARES) -> Curve:
    """Share, labels, accuracies without and with labels in training."""
    points = []
    for share in shares:
        if found := having(rows, dataset=name, share=share):
            sides = [[row[kind] for row in found] for kind in ("unsupervised", "supervised")]
            points.append((share, found[0]["labels"], sides[0], sides[1]))
    return points


def headline(rows: Rows) -> str:
    """At how many shares of labels representations learned without labels are ahead."""
    curves = {name: points for name in SETS if (points := curve(rows, name))}
    if not curves:
        raise page.MissingRows("shares of labels")
    ahead = [mean(without) > mean(given) for points in curves.values() for _, _, without, given in points]
    words = "; ".join(
        f"with {labels} labels ({share:.0%}) of {name} an SVM on representations learned without labels has "
        f"{mean(without):.3f} and the same network learned from those labels, the rival, {mean(given):.3f}"
        for name, ((share, labels, without, given), *_) in curves.items()
    )
    verdict = "agrees with" if all(ahead) else "contradicts" if not any(ahead) else "agrees only in part with"
    return (
        f"{markdown.capitalize_first(words)}. Over all shares it is ahead at {sum(ahead)} of {len(ahead)}, which "
        f"{verdict} the thesis (another data set and rival), where it is ahead at every share."
    )


def accuracies(rows: Rows) -> str:
    """Accuracies by share of labels."""
    lines = [
        [name, f"{share:.0%}", str(labels), f"{mean(without):.3f}", f"{mean(given):.3f}", str(len(without))]
        for name in SETS
        for share, labels, without, given in curve(rows, name)
    ]
    return markdown.table(["data set", "share", "labels", "without labels", "with labels", "seeds"], lines)


def verdicts(rows: Rows) -> str:
    """Who is ahead on each data set."""
    return page.bullets(f"{name}: {verdict(curve(rows, name))}" for name in SETS)


def verdict(points: Curve) -> str:
    """Who is ahead at which share of labels.

    >>> verdict([(0.02, 6, [0.8], [0.7]), (0.5, 150, [0.9], [1.0]), (1.0, 300, [1.0], [1.0])])
    'representations without labels are ahead at 2%; behind at 50%; equal at 100% of the labels (one seed).'
    """
    if not points:
        return "no row yet."
    at: dict[str, list[str]] = {"ahead": [], "behind": [], "equal": []}
    for share, _, without, given in points:
        gap = mean(without) - mean(given)
        at["ahead" if gap > 0 else "behind" if gap < 0 else "equal"].append(f"{share:.0%}")
    places = "; ".join(f"{word} at {', '.join(shares)}" for word, shares in at.items() if shares)
    seeds = {len(without) for _, _, without, _ in points}
    how = "one seed" if seeds == {1} else f"{min(seeds)} to {max(seeds)} seeds"
    return f"representations without labels are {places} of the labels ({how})."


if __name__ == "__main__":
    sys.exit(FewLabels.main())
