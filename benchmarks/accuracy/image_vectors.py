"""What `ImageEncoder.fit` adds on small images: the nearest neighbour of digits by pixels and by vectors.

    python -m benchmarks.accuracy.image_vectors --data DIR

Of MNIST's training part 4 000 digits are drawn; the classes of 1 000 are found by the nearest of the other 3 000, which
are also what an encoder learns from, without labels. MNIST's test part is not read. A row is one representation and one
seed, which draws the digits and the weights.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Row, Rows, having

import timelike as tl

METHODS = {
    "pixels": "the pixels themselves",
    "untrained": "LeNet as it is drawn (`max_steps=0`)",
    "trained": "LeNet trained without labels (the default)",
    "trained with dropout": "the same with `dropout=0.5`, the default where `network(frame)` is trained with labels",
}

FILE = "mnist.npz"
N_SEARCHED, N_QUERIES = 3000, 1000


@dataclass(frozen=True)
class Trial(Row):
    """One representation, one seed."""

    method: str
    seed: int


def encoder(method: str, seed: int) -> Any:
    """The encoder of a row, not fitted."""
    options: dict[str, dict[str, Any]] = {
        "untrained": {"max_steps": 0},
        "trained": {},
        "trained with dropout": {"dropout": 0.5},
    }
    return tl.encode.ImageEncoder(**options[method], random_state=seed)


class ImageVectors(Experiment[Trial]):
    """1-NN accuracy of digits."""

    place, paper, table, holds = "benchmarks", "accuracy", "image_vectors", FILE
    title = "What training adds to an image encoder"
    question = "what training without labels adds to an image encoder"
    subject = ("image_encoder",)

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            yield from (Trial(method, seed) for method in METHODS)

    def systems(self, row: Trial) -> Iterable[str]:
        return () if row.method == "pixels" else ("image_encoder",)

    def work(self, row: Trial) -> Found:
        searched, queries, classes, truth = self._digits(row.seed)
        metric: Any = tl.Euclidean()
        if row.method == "pixels":
            searched, queries = (one.reshape(len(one), -1) for one in (searched, queries))
        else:
            searched, queries = (tl.Sequences(one[:, None], layout="nchw") for one in (searched, queries))
            metric = encoder(row.method, row.seed).fit(searched)
        nearest = metric.neighbors(searched, queries, k=1, n_jobs=1).ids[:, 0]
        return {"accuracy": float((classes[nearest] == truth).mean()), "n": len(truth)}

    def _digits(self, seed: int) -> tuple[Any, Any, Any, Any]:
        """Images to search in and to ask about, and the classes of both."""
        with np.load(self.data / FILE) as held:
            images, labels = held["X_train"], held["y_train"]
        n_searched, n_queries = (60, 20) if self.quick else (N_SEARCHED, N_QUERIES)
        drawn = np.random.default_rng(seed).permutation(len(images))[: n_searched + n_queries]
        values = images[drawn].astype(np.float32) / 255
        return values[:n_searched], values[n_searched:], labels[drawn[:n_searched]], labels[drawn[n_searched:]]

    def lacks(self, row: Trial) -> str:
        return "" if (self.data / FILE).exists() else f"{self.data / FILE} is missing"

    def seconds(self, row: Trial) -> float:
        return 20 if row.method.startswith("trained") else 2

    def kind(self, row: Trial) -> str:
        return row.method

    def said(self, found: Found) -> str:
        return f"accuracy {found['accuracy']:.3f}"


# --- the page


def headline(rows: Rows) -> str:
    """The result, in one sentence."""
    page.need(rows, method="trained")
    pixels, untrained, trained = (
        markdown.format_mean([row["accuracy"] for row in having(rows, method=one)])
        for one in ("pixels", "untrained", "trained")
    )
    return (
        f"The nearest neighbour of a digit has its class in {pixels} of cases by pixels, {untrained} by the vectors of "
        f"a LeNet as it is drawn and {trained} by those of one that learned without labels."
    )


def accuracies(rows: Rows) -> str:
    """1-NN accuracy of every representation."""
    groups = {words: having(rows, method=method) for method, words in METHODS.items()}
    return page.tabulate("representation", groups, {"1-NN accuracy": page.spread_cell("accuracy"), "seeds": page.count})


if __name__ == "__main__":
    sys.exit(ImageVectors.main())
