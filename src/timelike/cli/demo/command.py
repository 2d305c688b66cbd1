"""`timelike demo`: classification of two real data sets, with a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ... import __version__
from ..errors import exit_on_error

if TYPE_CHECKING:
    from ...report import Page
    from ...sequences import Sequences

_DATA = ("BasicMotions", "JapaneseVowels")
_COLUMNS = ("data set", "train", "test", "lengths", "channels", "classes", "accuracy", "seconds")


class DemoRun(NamedTuple):
    """The result on one data set."""

    name: str
    train: Sequences
    test: Sequences
    accuracy: float
    seconds: float

    def table_row(self) -> tuple[Any, ...]:
        """As a row of the table."""
        import numpy as np

        sizes = np.concatenate([self.train.lengths, self.test.lengths])
        low, high = int(sizes.min()), int(sizes.max())
        classes = len(np.unique(self.train.codes))
        lengths = str(low) if low == high else f"{low} to {high}"
        counts = (len(self.train), len(self.test), lengths, self.train.frame[0], classes)
        return (self.name, *counts, round(self.accuracy, 4), round(self.seconds, 3))


def demo(out: Annotated[Path, typer.Option(help="Where to write the report.")] = Path("demo/report.html")) -> None:
    """Classify two real data sets by their nearest neighbour under DTW and write a report."""
    from rich import box
    from rich.console import Console
    from rich.table import Column, Table

    console = Console()
    with exit_on_error():
        runs = [_classify(name) for name in _DATA]
        table = Table(
            Column(_COLUMNS[0], no_wrap=True),
            *_COLUMNS[1:],
            title="Nearest neighbour under DTW",
            box=box.SIMPLE,
            padding=(0, 1, 0, 0),
        )
        for run in runs:
            table.add_row(*map(str, run.table_row()))
        console.print(table)
        written = _build_page(runs).save(out)
    console.print(f"report: {written}", soft_wrap=True)


def _classify(name: str) -> DemoRun:
    from ...align import DTW
    from ...neighbors import Neighbors
    from ...sequences import load

    train, test = load(name)
    began = time.perf_counter()
    accuracy = Neighbors(DTW()).fit(train, train.labels).score(test, test.labels)
    return DemoRun(name, train, test, float(accuracy), time.perf_counter() - began)


def _build_page(runs: list[DemoRun]) -> Page:
    from ... import native
    from ...report import Page, sections

    executor = (
        f"compiled kernels ({native.isa()})" if native.is_native_enabled() else "the fallback (no kernels here, slower)"
    )
    page = Page("timelike demo", lead=f"timelike {__version__}, distances by {executor} on {native.cpu_count()} cores.")
    page.add(
        "Nearest neighbour under dynamic time warping",
        sections.paragraph("Every test sequence takes the class of the training sequence it is nearest to."),
        sections.table(_COLUMNS, [run.table_row() for run in runs]),
    )
    for run in runs:
        page.add(f"{run.name}: how a test sequence lines up with its nearest", *_alignment_figures(run))
    return page


def _alignment_figures(run: DemoRun) -> list[str]:
    import numpy as np

    from ...align import DTW
    from ...report import sections

    chosen = int(np.argmax([sequence.std(axis=0).mean() for sequence in run.test]))  # the one that moves most
    nearest = int(DTW().neighbors(run.train, run.test[[chosen]]).ids[0, 0])
    alignment = DTW().align(run.test[chosen], run.train[nearest])
    assert run.train.labels is not None
    assert run.test.labels is not None
    caption = (
        f"Test sequence {chosen} (x, class {run.test.labels[chosen]}) and its nearest training sequence {nearest} "
        f"(y, class {run.train.labels[nearest]}), channel 0 of {run.train.frame[0]}: grey lines join matched steps. "
        "Right: the path over the distances of all pairs of steps, dark where they are near."
    )
    return [sections.figure_html(alignment.plot(), caption)]
