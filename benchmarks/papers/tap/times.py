"""How long an epoch of training and a query take, TAP beside the other alignments (table 2 of Su and Wen, ICLR 2022).

    python -m benchmarks.papers.tap.times --data DIR
    python -m benchmarks.papers.tap.times --data DIR --only MSRAction3D

A row is one data set and one method. `epoch TAP` and `epoch SoftDTW` are the seconds of an epoch of learning from
classes with triplets, in random batches of 64 as the paper has them, averaged over two. `query …` are the seconds for
the distances of one test sequence from all training sequences, frames as they are, averaged over ten that are asked
one by one. All are seconds of the processor in one thread, so that they can be taken on a busy machine; the paper has a
GPU (TITAN V) for TAP and SoftDTW. FSDD takes the place of the Arabic digits.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any

from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial
from benchmarks.papers.tap.data import CELL, HOLDS, LEARNING, PLANS, SYSTEMS, Task, labels_of, spaced, task
from benchmarks.papers.tap.methods import UNJUDGED, aligned_by, tap
from benchmarks.papers.tap.supervised import values

import timelike as tl

EPOCHS, BATCH, QUERIES = 2, 64, 10
LEARNED = ("SoftDTW", "TAP")
ASKED = ("DTW", "OT", "OPW", "SoftDTW", "TAP")
PAPER = {  # seconds, on Action3D and the Arabic digits
    "epoch SoftDTW": ("23.28", "508.39"),
    "epoch TAP": ("35.78", "876.75"),
    "query DTW": ("0.9212", "29.568"),
    "query OT": ("279.6414", "794.9984"),
    "query OPW": ("0.8029", "25.309"),
    "query SoftDTW": ("0.217", "4.922"),
    "query TAP": ("0.138", "3.009"),
}
LENGTHS = {"MSRAction3D": "39.64", "FSDD": "39.81"}  # the paper's, of Action3D and the Arabic digits


def epoch(name: str, given: Task, quick: bool) -> float:
    """Seconds of one epoch with labels and triplets."""
    options: dict[str, Any] = {"hidden": 16} if quick else {}
    metric = aligned_by(
        name,
        n_per_class=None,
        batch_size=BATCH,
        max_epochs=EPOCHS,
        standardize=False,
        random_state=0,
        **UNJUDGED,
        **options,
    )
    began = time.process_time()
    metric.fit(given.train, labels_of(given.train))
    return (time.process_time() - began) / EPOCHS


def query(name: str, given: Task) -> float:
    """Seconds for one test sequence and all training sequences."""
    metric: Any = getattr(tl, name)()
    if name == "TAP":  # weights of a moment cost as much as those of a day
        metric = tap(supervision="alignment", max_epochs=1, standardize=False, random_state=0, **UNJUDGED)
        metric.fit(given.train[:BATCH])
    asked = spaced(given.test, QUERIES)[:QUERIES]
    metric.pairwise(asked[:1], given.train, n_jobs=1)  # what is done once is not counted
    began = time.process_time()
    for i in range(len(asked)):
        metric.pairwise(asked[i : i + 1], given.train, n_jobs=1)
    return (time.process_time() - began) / len(asked)


class Times(Experiment[Trial]):
    """Every method on every data set, once."""

    paper, table, holds, seeds = "tap", "times", HOLDS, 1
    subject = ("tap",)
    title = "How long TAP learns and compares, beside the paper"
    shown_without_rows = True
    question = "how long an epoch of training and a query take with TAP"

    def planned(self) -> Iterator[Trial]:
        """What the paper has first."""
        names = sorted(PLANS, key=lambda name: name not in LENGTHS)
        yield from (Trial(name, f"query {method}", 0) for name in names for method in ASKED)
        yield from (Trial(name, f"epoch {method}", 0) for name in names for method in LEARNED)

    def lacks(self, row: Trial) -> str:
        if row.method == "query OT" and find_spec("ot") is None:
            return "exact transport needs POT: pip install timelike[transport]"
        return ""

    def kind(self, row: Trial) -> str:
        return row.method

    def seconds(self, row: Trial) -> float:
        plan, (what, method) = PLANS[row.dataset], row.method.split()
        if what == "epoch":
            return EPOCHS * LEARNING * BATCH * plan.n_train * plan.frames**2 * CELL / (1 if method == "TAP" else 8)
        each = {"DTW": 0.01, "OPW": 0.1, "SoftDTW": 0.02, "TAP": 1.0, "OT": 2.0}[method]
        return 5 + each * (QUERIES + 1) * plan.n_train * plan.frames**2 * CELL

    def systems(self, row: Trial) -> Iterable[str]:
        what, method = row.method.split()
        if method == "TAP":
            return ("tap",)
        return ("aligned_frames",) if what == "epoch" else (SYSTEMS[method],)

    def work(self, row: Trial) -> Found:
        given, (what, method) = task(self.data, PLANS[row.dataset], self.quick), row.method.split()
        took = epoch(method, given, self.quick) if what == "epoch" else query(method, given)
        return {"each": took, "mean length": float(given.train.lengths.mean()), **given.sizes()}

    def said(self, found: Found) -> str:
        return f"{found['each']:.4f} s each"


# --- the page


def headline(rows: Rows) -> str:
    """Seconds of a query by TAP and its rivals beside the paper's."""
    name = next((one for one in LENGTHS if values(rows, one, "query TAP", "each")), None)
    if name is None:
        raise page.MissingRows("query TAP")
    ours = values(rows, name, "query TAP", "each")[0]
    rivals = {m: found[0] for m in ("SoftDTW", "DTW") if (found := values(rows, name, f"query {m}", "each"))}
    shown = markdown.join_words([f"{method} {seconds:.3g} s" for method, seconds in rivals.items()])
    theirs = [float(PAPER[f"query {method}"][list(LENGTHS).index(name)]) for method in ("TAP", "SoftDTW")]
    verdict = ""
    if "SoftDTW" in rivals:
        here, there = _speed(ours, rivals["SoftDTW"]), _speed(*theirs)
        verdict = f" TAP is {here} soft-DTW here and {there} it in the paper."
    return f"A query on {name} takes TAP {ours:.3g} s on one thread; {shown or 'its rivals have no rows'}.{verdict}"


def _speed(ours: float, other: float) -> str:
    return f"{other / ours:.2g} times as fast as" if ours <= other else f"{ours / other:.2g} times as slow as"


def seconds_table(rows: Rows) -> str:
    """A column for each data set, the paper's beside those that are like its own."""
    names = [*LENGTHS, *(name for name in PLANS if name not in LENGTHS and _mean_lengths(rows, name))]
    head, lengths = ["seconds"], ["*mean length*"]
    for name in names:
        head += [name, *(["paper"] if name in LENGTHS else [])]
        lengths += [
            markdown.format_mean(_mean_lengths(rows, name)[:1], ".2f"),
            *([LENGTHS[name]] if name in LENGTHS else []),
        ]
    lines = [[method, *(cell for name in names for cell in _cells(rows, name, method))] for method in PAPER]
    return markdown.table(head, [lengths, *lines])


def _mean_lengths(rows: Rows, name: str) -> list[float]:
    return [length for method in PAPER for length in values(rows, name, method, "mean length")]


def _cells(rows: Rows, name: str, method: str) -> list[str]:
    found = values(rows, name, method, "each")
    own = f"{found[0]:.4g}" if found else "–"
    return [own, PAPER[method][list(LENGTHS).index(name)]] if name in LENGTHS else [own]


if __name__ == "__main__":
    sys.exit(Times.main())
