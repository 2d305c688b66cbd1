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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.papers.canvas import blank
from benchmarks.papers.results import Found, Row, Rows
from benchmarks.papers.resumable import Program
from benchmarks.papers.tloss import labels_report as report
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
ABOUT = f"""\
Test accuracy. Without labels: an encoder learns from all training series (K = {K}) and an SVM from the share that has
labels; with labels: the same network learns from that share only. {STEPS} steps each. UCI HAR has {HAR_TRAIN} series
of the training part and {HAR_TEST} of the test part. The thesis (figure 3.7) has TwoPatterns and a ResNet."""


@dataclass(frozen=True)
class Share(Row):
    """One data set, one share of its labels, one seed."""

    dataset: str
    share: float
    seed: int


class FewLabels(Program[Share]):
    """Both kinds of learning, the more labels there are."""

    paper, table, holds = "tloss", "labels", "ucr/ and uci_har.npz"
    subject = ("tloss",)
    title = "Few labels"
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

    def headline(self) -> str:
        return report.headline(self.rows, SETS, SHARES)

    def body(self) -> str:
        return report.body(self.rows, SETS, SHARES, ABOUT)

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
        found = report.curve(rows, name, SHARES)
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


if __name__ == "__main__":
    sys.exit(FewLabels.main())
