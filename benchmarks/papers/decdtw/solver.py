"""What GDTW's solver costs: figures 5 to 7 of the DecDTW paper, and what refinement is worth.

    python -m benchmarks.papers.decdtw.solver --data DIR --figures docs/images
    python -m benchmarks.papers.decdtw.solver --only refinement-generated      # needs no data

Rows: `inference` and `training` at one length (figures 5 and 7), `passes` (figure 6: one problem, by values per knot)
and `refinement-…` with 0 to 5 refinements of the grid, on the base features of the test pairs. Times are seconds of the
processor on one thread.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.papers import markdown, page
from benchmarks.papers.decdtw import solver_figures as figures
from benchmarks.papers.decdtw.music import FILE, score_task
from benchmarks.papers.decdtw.solver_figures import INFERENCE, TRAINING, sizes
from benchmarks.papers.decdtw.solving import inference, passes, refined, training
from benchmarks.papers.decdtw.tasks import Task, warped_task
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Row, Rows, having

LENGTHS = (64, 128, 256, 512, 1024)
REFINEMENTS = range(6)
TASKS = ("generated", "melspec")
GRID = 50  # values per knot in figure 6
FEW = (24, 8, 12)  # pairs of a quick run


@dataclass(frozen=True)
class Measure(Row):
    """What is measured, and at which length, number of refinements or grid."""

    part: str
    size: int

    @property
    def task(self) -> str:
        return self.part.partition("-")[2]


class Solver(Experiment[Measure]):
    """Times, refinements and one problem pass by pass."""

    paper, table, holds = "decdtw", "solver", FILE
    title = "DecDTW's solver: time against length, and refinement"
    question = "how long GDTW's solver takes and what refinement is worth"
    subject, without_data, draws = ("decdtw",), True, True

    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__(given)
        self.tasks: dict[str, Task] = {}

    def planned(self) -> Iterator[Measure]:
        yield Measure("passes", GRID)
        yield from (Measure(f"refinement-{task}", turns) for task in TASKS for turns in REFINEMENTS)
        yield from (Measure(part, steps) for part in ("inference", "training") for steps in LENGTHS)

    def lacks(self, row: Measure) -> str:
        if row.task != "melspec" or (self.given.data is not None and (self.data / FILE).exists()):
            return ""
        return f"--data DIR or TIMELIKE_DATA names the folder that holds {FILE}"

    def seconds(self, row: Measure) -> float:
        return 10.0 if row.task else 1.0 + row.size / 50

    def kind(self, row: Measure) -> str:
        return row.part

    def systems(self, row: Measure) -> Iterable[str]:
        return "decdtw", "elastic"

    def work(self, row: Measure) -> Found:
        if row.part == "passes":
            return passes(row.size)
        if row.task:
            return {"found": refined(self.task(row.task).test, row.size)}
        return {"times": {"inference": inference, "training": training}[row.part](row.size)}

    def said(self, found: Found) -> str:
        if "times" in found:
            return ", ".join(f"{name} {1e3 * seconds:.3g} ms" for name, seconds in found["times"].items())
        if "objectives" in found:
            return f"objectives {', '.join(f'{value:.5g}' for value in found['objectives'])}"
        return ", ".join(f"{kind}: TimeErr {some['TimeErr']:.4g}" for kind, some in found["found"].items())

    def draw(self, folder: Path) -> None:
        figures.draw(self.rows, folder)

    def task(self, name: str) -> Task:
        """Made once."""
        if name not in self.tasks:
            counts = (FEW,) if self.quick else ()
            self.tasks[name] = warped_task(*counts) if name == "generated" else score_task(self.data, name, *counts)
        return self.tasks[name]


# --- the page

SAME = 0.002  # of an error
UNITS = {"generated": "% of y", "melspec": "ms"}
PAPER_RATIOS = {"grid alone": (15, 50), "grid alone, not refined": (4, 12)}  # of DTW's time, on a GPU
PAPER_LOSS = 0.5  # percent of TimeErr without refinement


def headline(rows: Rows) -> str:
    """Time of the solver beside DTW, and what refinement is worth."""
    return page.sentences(lambda: _time_sentence(rows), lambda: _refinement_sentence(rows))


def _time_sentence(rows: Rows) -> str:
    ratios, slow = _ratios(sizes(rows, "inference"), "grid alone", "DTW"), PAPER_RATIOS["grid alone"]
    beside = "less than" if max(ratios) < slow[0] else "in the range of" if max(ratios) <= slow[1] else "more than"
    return (
        f"The paper's dynamic program for GDTW takes {markdown.format_range(ratios)} times as long as DTW on one "
        f"thread, {beside} the {slow[0]} to {slow[1]} times that the paper reports for a GPU."
    )


def _refinement_sentence(rows: Rows) -> str:
    lost = [100 * (none / three - 1) for none, three in timing_errors(rows)]
    if not lost:
        return ""
    agrees = "agrees with" if max(lost) <= 2 * PAPER_LOSS else "contradicts"
    return (
        f"Leaving out refinement raises TimeErr by {markdown.format_range(lost)} %, which {agrees} the paper's mean "
        f"loss of {PAPER_LOSS} %."
    )


def timing_errors(rows: Rows) -> list[tuple[float, float]]:
    """TimeErr of the grid alone without and with three refinements, for every task that has both."""
    pairs = []
    for task in UNITS:
        by = {int(row["size"]): _both(row)[1]["TimeErr"] for row in having(rows, part=f"refinement-{task}")}
        if {0, 3} <= by.keys():
            pairs.append((by[0], by[3]))
    return pairs


def _ratios(found: list[Found], over: str, under: str) -> list[float]:
    return [row["times"][over] / row["times"][under] for row in found]


def _between(found: list[Found], over: str, under: str, form: str = ".2g") -> str:
    """The least and the greatest ratio of two times."""
    ratios = _ratios(found, over, under)
    return f"{min(ratios):{form}} to {max(ratios):{form}}"


def _milliseconds(found: list[Found], columns: dict[str, str]) -> str:
    lines = [[str(row["size"]), *(f"{1e3 * row['times'][name]:.3g}" for name in columns)] for row in found]
    return markdown.table(["steps", *(f"{title}, ms" for title in columns.values())], lines)


def inference_times(rows: Rows) -> str:
    """Test time against length."""
    return _milliseconds(sizes(rows, "inference"), {name: name for name in INFERENCE})


def inference_ratios(rows: Rows) -> str:
    """The times as multiples of DTW's."""
    rough, grid, polished, usual = (_between(sizes(rows, "inference"), name, "DTW") for name in INFERENCE[1:])
    paper, paper_rough = ("{} to {}".format(*PAPER_RATIOS[name]) for name in PAPER_RATIOS)
    return (
        f"The paper's dynamic program takes {grid} times as long as DTW with its path (paper: {paper}), and without "
        f"refinement {rough} times (paper: {paper_rough}). With the polish it takes {polished} times as long, and with "
        f"the library's default grid {usual} times."
    )


def training_times(rows: Rows) -> str:
    """Training time against length."""
    columns = {name: name for name in TRAINING} | {"forward": "DecDTW, forward alone"}
    return _milliseconds(sizes(rows, "training"), columns)


def training_ratios(rows: Rows) -> str:
    """DecDTW's times as multiples of others."""
    found = sizes(rows, "training")
    soft, dilate = (_between(found, "DecDTW", name) for name in TRAINING[:2])
    return (
        f"A training step through DecDTW takes {soft} times as long as through soft-DTW, {dilate} times as long as "
        f"through DILATE, and {_between(found, 'DecDTW', 'forward', '.2f')} times as long as its forward pass alone, "
        "because the backward pass solves one tridiagonal system."
    )


def pass_objectives(rows: Rows) -> str:
    """Objectives pass by pass."""
    row = sizes(rows, "passes")[0]
    *grid, polished = row["objectives"]
    names = [*(f"pass {turn + 1}" for turn in range(len(grid))), "polished", "SLSQP from the last pass"]
    objectives = [*grid, polished, row["slsqp objective"]]
    return markdown.table(["", "objective"], [[n, f"{value:.8f}"] for n, value in zip(names, objectives, strict=True)])


def polish(rows: Rows) -> str:
    """The last pass, the polished warp and SLSQP's."""
    row = sizes(rows, "passes")[0]
    *_, last, polished = row["objectives"]
    gap = polished - row["slsqp objective"]
    beside = "as low as" if abs(gap) < 1e-12 else f"{abs(gap):.1e} {'above' if gap > 0 else 'below'}"
    return (
        f"A query of {len(row['slsqp'])} steps inside a stream, {row['size']} values per knot. The objective after the "
        f"last pass is {last / polished - 1:.1e} (relative) above that of the polished warp, which is {beside} that of "
        "SLSQP."
    )


def refinement(rows: Rows, task: str) -> str:
    """Errors and times by the number of refinements."""
    lines = []
    for row in sizes(rows, f"refinement-{task}"):
        cells = [[f"{one['TimeErr']:.4g}", f"{one['excess']:.1e}", f"{1e3 * one['time']:.3g}"] for one in _both(row)]
        lines.append([str(row["size"]), *cells[0], *cells[1]])
    whats = (f"TimeErr, {UNITS[task]}", "objective above", "ms")
    head = [f"{kind}: {what}" for kind in ("polished", "grid alone") for what in whats]
    return markdown.table(["refinements", *head], lines)


def _both(row: Found) -> tuple[dict[str, float], dict[str, float]]:
    return row["found"]["polished"], row["found"]["grid alone"]


def worth(rows: Rows, task: str) -> str:
    """What is lost without refinement and what that saves, and how many refinements are enough."""
    by = {int(row["size"]): _both(row) for row in sizes(rows, f"refinement-{task}")}
    if not {0, 3} <= by.keys():
        return ""
    lines = []
    for i, kind in enumerate(("With the polish", "On the grid alone")):
        none, three, most = by[0][i], by[3][i], by[max(by)][i]
        lost, saved = (100 * (none[what] / three[what] - 1) for what in ("TimeErr", "time"))
        enough = min(turns for turns, some in by.items() if abs(some[i]["TimeErr"] / most["TimeErr"] - 1) < SAME)
        lines.append(
            f"{kind}, no refinement instead of three changes TimeErr by {lost:+.1f} % (paper: a mean loss of "
            f"{PAPER_LOSS} %) and the time by {saved:+.0f} %; from {enough} on TimeErr is within {100 * SAME:.1f} % of "
            f"that with {max(by)}."
        )
    return page.bullets(lines)


if __name__ == "__main__":
    sys.exit(Solver.main())
