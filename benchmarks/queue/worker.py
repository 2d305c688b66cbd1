"""Makes some rows of one program; runs in the clone, in a process of its own that ends when the queue does."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

import timelike
from benchmarks.papers import command
from benchmarks.papers.programs import load_program
from benchmarks.papers.results import Found, ResultFile
from benchmarks.papers.resumable import Program
from benchmarks.queue.folders import Folders
from benchmarks.queue.journal import Journal
from benchmarks.queue.outbox import put_row


class SharedResults(ResultFile):
    """A result file whose new rows are put into the outbox as well, and there first: a kill in between loses none."""

    def __init__(self, path: Path, outbox: Path) -> None:
        super().__init__(path)
        self.outbox = outbox

    def add(self, key: str, found: Found) -> None:
        super().add(key, found)
        row = self.rows[key] = self.rows[key] | {"background": True}  # its seconds are those of a busy machine
        put_row(self.outbox, self.path.stem, key, {"rows": {key: row}})


def make_rows(program: Program[Any], keys: list[str], journal: Journal, module: str) -> None:
    """Work through the rows with these keys, in this order, and note what becomes of each."""
    rows = {row.key: row for row in program.planned()}
    for key in keys:
        about = {"program": module, "key": key, "guess": float(program.seconds(rows[key]))}
        journal.write("begun", **about)
        began, postponed = time.perf_counter(), []
        try:
            postponed = program.run([rows[key]])
        except SystemExit as error:
            print(f"    {key}: FAILED, {error}", file=sys.stderr, flush=True)
        event = "finished" if key in program.rows else "postponed" if postponed else "failed"
        journal.write(event, seconds=time.perf_counter() - began, commit=program.commit, **about)


def main(argv: list[str] | None = None) -> int:
    """Make rows; 130 where it was interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--keys", required=True, help="a list in JSON")
    parser.add_argument("--budget", required=True)
    parser.add_argument("--data")
    parser.add_argument("arguments", nargs="*", help="of the program")
    given = parser.parse_args(argv)
    _end_with_the_queue()
    for number in (signal.SIGINT, signal.SIGTERM):  # Python's own handler would let a training end early, as if done
        signal.signal(number, _interrupt)
    folders = Folders(given.base)
    _check_library(folders.tree)
    program = _open(given, folders)
    try:
        make_rows(program, json.loads(given.keys), Journal(folders.journal), given.program)
    except KeyboardInterrupt:
        return 130
    return 0


def _open(given: argparse.Namespace, folders: Folders) -> Program[Any]:
    kind = load_program(given.program)
    results, scratch = folders.results / f"{kind.file()}.json", given.scratch / kind.paper
    words = ["--results", str(results), "--scratch", str(scratch), "--budget", given.budget]
    asked = command.parsed(kind, [*given.arguments, *words, *(["--data", given.data] if given.data else [])])
    command.set_threads(asked.threads)
    program = kind(asked)
    program.results = SharedResults(results, folders.rows)
    return program


def _check_library(tree: Path) -> None:
    """Rows say which commit they were made by: the library must be that of the clone."""
    used = Path(str(timelike.__file__)).resolve()
    if tree.resolve() not in used.parents:
        raise SystemExit(f"the library of {used} would be used instead of that of {tree}")


def _end_with_the_queue() -> None:
    """The queue holds the other end of standard input: it closes when the queue ends, even by SIGKILL."""

    def watch() -> None:
        while os.read(0, 1024):
            pass
        os._exit(3)

    threading.Thread(target=watch, daemon=True).start()


def _interrupt(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
