"""Accuracies of the T-Loss encoder on the archive's data sets, beside those of the thesis (chapter 3).

    python -m benchmarks.papers.tloss.ucr --data DIR                      # everything, days on one core
    python -m benchmarks.papers.tloss.ucr --data DIR --only SyntheticControl --jobs 2
    python -m benchmarks.papers.tloss.ucr --data DIR --budget 0 --figures docs/images

A row is one data set, one K (1, 2, 5, 10; multivariate 5, 10, 20) and one seed. `combined` joins the representations of
all K, `transfer` applies one encoder to all other data sets, `lstm` is table 3.3. Representations are kept in the
scratch folder only. UCR sets are used as they are, UEA sets standardised per channel from their training part; C of the
SVM is chosen on the training part, the test part is looked at once, when a row is finished.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found
from benchmarks.papers.tloss import ucr_figures as figures, ucr_report
from benchmarks.papers.tloss.data import KS, shortest
from benchmarks.papers.tloss.thesis import thesis
from benchmarks.papers.tloss.workshop import COMBINED, LSTM, LSTM_SETS, SOURCE, TRANSFER, Learned, Workshop, needs


class Archive(Experiment[Learned]):
    """Every K on every data set, and what is made from their representations."""

    paper, table, holds = "tloss", "ucr", "ucr/*.npz and uea/*.npz"
    subject = ("tloss",)
    title = "The T-Loss encoder on the archive, beside the thesis"
    question = "the T-Loss encoder with all K combined"
    report = ucr_report
    draws = True

    @cached_property
    def workshop(self) -> Workshop:
        return Workshop(self.data, self.scratch, quick=self.quick)

    def planned(self) -> Iterator[Learned]:
        """One seed on all sets from the cheapest on, then two more on the shortest, then the comparisons."""
        sets = list(self.workshop.sets.values())
        if self.quick:  # one of each archive
            sets = [next(one for one in sets if one.archive == archive) for archive in KS]
        few = {one.name for one in shortest(sets)}
        for seed in range(self.given.seeds):
            for one in sets:
                if seed == 0 or one.name in few:
                    yield from (Learned(one.name, str(k), seed) for k in one.ks)
                    yield Learned(one.name, COMBINED, seed)
        yield from (Learned(one.name, TRANSFER, 0) for one in sets if one.archive == "UCR" and one.name != SOURCE)
        yield from (Learned(name, LSTM, 0) for name in LSTM_SETS[: 1 if self.quick else None])

    def systems(self, row: Learned) -> Iterable[str]:
        return "tloss", "heads"

    def work(self, row: Learned) -> Found:
        return self.workshop.work(row)

    def seconds(self, row: Learned) -> float:
        return self.workshop.seconds(row)

    def needs(self, row: Learned) -> Iterable[Learned]:
        return needs(row, self.workshop.sets)

    def took(self, found: Found, guess: float) -> float | None:
        """Of the encoder alone, and only where it does not come from the scratch folder."""
        return float(found["encoder seconds"]) if found["k"].isdigit() and guess > 1 else None

    def said(self, found: Found) -> str:
        return f"svm {found['svm']:.3f}, 1-nn {found['1-nn']:.3f}"

    def default_plan(self) -> list[Learned]:
        """Seed 0 of the thesis's sets: more seeds depend on the data's lengths, and a page is made without data."""
        names = {name: KS["UCR" if "K=1" in known else "UEA"] for name, known in thesis().items()}
        plan = [Learned(name, k, 0) for name, ks in names.items() for k in (*map(str, ks), COMBINED)]
        plan += [Learned(name, TRANSFER, 0) for name, ks in names.items() if ks == KS["UCR"] and name != SOURCE]
        return plan + [Learned(name, LSTM, 0) for name in LSTM_SETS]

    def draw(self, folder: Path) -> None:
        figures.draw(self.rows, self.workshop, folder)


if __name__ == "__main__":
    sys.exit(Archive.main())
