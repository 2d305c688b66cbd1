"""The summary table of the demo: our methods beside their rivals, for the terminal and for the page."""

from __future__ import annotations

from typing import Any

from ..output import format_cell
from .chapters import ChapterRun
from .data import list_missing

HEADER = ("section", "method", "measure", "ours", "rival", "its value", "seconds")
_ARROWS = {"higher": "↑", "lower": "↓"}
LEGEND = "↑: higher is better, ↓: lower is better"


def summary_rows(runs: list[ChapterRun]) -> list[tuple[Any, ...]]:
    """A row for each score of a section, the first with its name and seconds, or one with the reason why it has none.

    >>> run = ChapterRun(name="drift", title="", seconds=1.5, processor_seconds=1, state="failed", reason="full disk")
    >>> summary_rows([run])
    [('drift', 'failed', 'full disk', None, '', None, 1.5)]
    """
    rows: list[tuple[Any, ...]] = []
    for run in runs:
        seconds = round(run.seconds, 1)
        lines: list[tuple[Any, ...]] = [
            (one.method, f"{one.measure}\u00a0{_ARROWS[one.better]}", one.value, one.rival, one.rival_value)
            for one in (run.section.scores if run.section else ())
        ]
        if not lines:
            lines = [("" if run.state == "finished" else run.state, run.reason, None, "", None)]
        rows += [
            (run.name if first else "", *line, seconds if first else None)
            for first, line in zip([True, *[False] * len(lines)], lines, strict=False)
        ]
    return rows


def describe_missing(runs: list[ChapterRun]) -> str:
    """A sentence on the data that are generated because their files are not installed; "" if none are."""
    missing = list_missing(dict.fromkeys(name for run in runs for name in run.needs))
    if not missing:
        return ""
    return (
        f"Generated data stand for {', '.join(missing)}; pip install --no-deps aeon brings the files of the real ones."
    )


def print_summary(runs: list[ChapterRun]) -> None:
    """Print the scores on standard output, below the name of each section; they fit 80 columns."""
    from rich import box
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, padding=(0, 2, 0, 0), caption=LEGEND, caption_justify="left")
    for name, width in {"": 26, "ours": 23, "rival": 22}.items():
        table.add_column(name, overflow="fold", min_width=width)
    previous = ""
    for section, method, measure, value, rival, rival_value, seconds in summary_rows(runs):
        if section:
            table.add_row(Text(f"{section}, {format_cell(seconds)} s", style="bold"))
            previous = ""
        if measure:
            ours, theirs = (
                f"{format_cell(number)} {name}".strip() for number, name in ((value, method), (rival_value, rival))
            )
            what = Padding("" if measure == previous else Text(measure), (0, 0, 0, 2))
            table.add_row(what, Text(ours), Text(theirs))  # texts, in which square brackets are no styles
            previous = measure
    Console(highlight=False).print(table)
    missing = describe_missing(runs)
    if missing:
        print(missing)
