"""`timelike demo`: what the library does, in ten sections, with a table and a page of pictures."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ...core.files import make_folder
from ..errors import FAILURE
from ..output import AsJson, json_fields, to_json
from ..targets import check_file_target
from .chapters import CHAPTERS, ChapterRun, run_chapter


@json_fields(
    report="text: the page that was written",
    sections="list of objects: name, title, purpose, state (finished, failed or left out) with its reason, seconds, "
    "processor_seconds, and scores: each with method, measure, value, rival, rival_value, better (higher or lower)",
    seconds="number: that everything took",
)
def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Where to write the report.")] = Path("demo/report.html"),
    section: Annotated[
        list[str] | None, typer.Option(help=f"Only this one, may be given several times: {', '.join(CHAPTERS)}.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what the library does with real data, in ten sections and a few minutes, and write a report.

    Methods stand beside cheap rivals; the scores are the same in every run. If a section fails, the others are shown,
    and the exit code is 1.

    Examples:
      timelike demo --section data-overview
    """
    names = _check_names(section or list(CHAPTERS))
    check_file_target(out, "--out")
    make_folder(out.parent)  # an error now is better than one after some minutes
    began, busy = time.perf_counter(), time.process_time()
    runs = []
    with _interrupts_between_sections() as raise_if_interrupted:
        for place, name in enumerate(names, 1):
            runs.append(_run_with_progress(name, f"{place}/{len(names)}", bool(context.find_root().params["debug"])))
            raise_if_interrupted()
    seconds, busy = time.perf_counter() - began, time.process_time() - busy

    from .page import build_page
    from .summary import print_summary

    report = build_page(runs, seconds).save(out)
    if as_json:
        fields = [run.to_dict() for run in runs]
        typer.echo(to_json("demo", {"report": str(report), "sections": fields, "seconds": seconds}))
    else:
        print_summary(runs)
        typer.echo(f"{seconds:.0f} s in all, {busy:.0f} s of processor time\nreport: {report}")
    failed = [run for run in runs if run.state == "failed"]
    for run in failed:
        typer.secho(f"timelike: the section {run.name} failed: {run.reason}", fg="red", err=True)
    if failed:
        raise typer.Exit(FAILURE)


def _check_names(names: list[str]) -> list[str]:
    for name in names:
        if name not in CHAPTERS:
            raise typer.BadParameter(f"{name!r}: expected one of {', '.join(CHAPTERS)}", param_hint="'--section'")
    return [name for name in CHAPTERS if name in names]


def _run_with_progress(name: str, place: str, debug: bool) -> ChapterRun:
    """Run a chapter; in a terminal, a line on standard error says which, and then how long it took."""
    is_shown, words = sys.stderr.isatty(), f"{place} {name}"
    if is_shown:
        typer.echo(f"{words} …", nl=False, err=True)
    run = run_chapter(name, debug=debug)
    if is_shown:
        outcome = f"{run.seconds:.1f} s" if run.state == "finished" else run.state
        typer.echo(f"\r{words:<32}{outcome:>10}", err=True)
    return run


@contextmanager
def _interrupts_between_sections() -> Iterator[Callable[[], None]]:
    """Ctrl-C ends the demo also where a method catches it and returns what it has, as a comparison does.

    The function inside raises KeyboardInterrupt if Ctrl-C was pressed.
    """
    pressed, handler = threading.Event(), signal.getsignal(signal.SIGINT)

    def raise_if_pressed() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield raise_if_pressed
        return

    def note(number: int, frame: object) -> None:
        pressed.set()
        handler(number, frame)  # type: ignore[arg-type]

    signal.signal(signal.SIGINT, note)
    try:
        yield raise_if_pressed
    finally:
        signal.signal(signal.SIGINT, handler)
