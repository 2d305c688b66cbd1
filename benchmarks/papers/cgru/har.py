"""Siamese and coupled GRUs on UCI HAR, beside table 1 of the CGRU paper.

    python -m benchmarks.papers.cgru.har --data DIR                       # everything but the folds, hours on one core
    python -m benchmarks.papers.cgru.har --data DIR --only coupled --seeds 1
    python -m benchmarks.papers.cgru.har --data DIR --folds               # table 1a too: three users left out, 7 times
    python -m benchmarks.papers.cgru.har --data DIR --budget 0 --figures docs/images

A row is one method, one part of the data and one seed. Weights are kept by users of the training part who take no part
in the training; the test part is looked at once, when a row is finished. The scratch folder holds checkpoints, from
which an interrupted row goes on, and the fitted distances of the test rows, from which the figures are drawn.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from benchmarks.papers.cgru import figures, har_report
from benchmarks.papers.cgru.data import FILE, FOLDS
from benchmarks.papers.cgru.methods import CHOOSING, GROUND, METHODS, NETWORKS, RAW, SAMPLE, STANDARDIZED, TEST, Part
from benchmarks.papers.cgru.workshop import Workshop
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found


class Twins(Experiment[Part]):
    """Every method on every part of the data."""

    paper, table, holds = "cgru", "har", FILE
    subject = ("siamese", "coupled")
    title = "Siamese and coupled GRUs on UCI HAR, beside the paper"
    question = "CoupledGRU on the test part of UCI HAR"
    report = har_report
    draws = True

    @cached_property
    def workshop(self) -> Workshop:
        return Workshop(self.data, self.scratch, quick=self.quick)

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--folds", action="store_true", help="also leave three users out, seven times")

    def planned(self) -> Iterator[Part]:
        """The networks on the test part, one seed after the other, and the others; folds if they are wanted."""
        seeds, raw = range(self.given.seeds), [name for name in NETWORKS if name.endswith("-raw")]
        yield from (Part(method, part, 0) for method in CHOOSING for part in (RAW, STANDARDIZED))
        for seed in seeds:
            yield from (Part(method, TEST, seed) for method in NETWORKS if method not in raw)
            yield from (Part(method, SAMPLE, seed) for method in GROUND)
        yield Part("rvsml-dtw", TEST, 0)
        yield from (Part(method, TEST, seed) for seed in seeds for method in raw)
        if self.given.folds:
            yield from (Part(method, f"fold{n}", 0) for n in range(FOLDS) for method in ("siamese", "coupled"))

    def systems(self, row: Part) -> Iterable[str]:
        if row.method in GROUND:
            return "ground", "elastic", "transport", "retrieval_scores"
        return "coupled" if METHODS[row.method].kind == "CoupledGRU" else "siamese", "retrieval_scores"

    def work(self, row: Part) -> Found:
        return self.workshop.work(row)

    def seconds(self, row: Part) -> float:
        return self.workshop.seconds(row)

    def kind(self, row: Part) -> str:
        return row.method

    def took(self, found: Found, guess: float) -> float:
        return float(found["training seconds"] + found["matrix seconds"])  # all of them, even if it was interrupted

    def said(self, found: Found) -> str:
        return ", ".join(f"{name} {found[name]:.3f}" for name in ("accuracy", "f1", "map"))

    def draw(self, folder: Path) -> None:
        figures.draw(self.rows, self.workshop, folder)


if __name__ == "__main__":
    sys.exit(Twins.main())
