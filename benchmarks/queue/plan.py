"""Which rows there are to make, in the order of `order.toml`; runs in the clone, since it imports the programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.papers import command
from benchmarks.papers.programs import load_program, program_modules
from benchmarks.papers.resumable import Program
from benchmarks.queue.folders import write_json
from benchmarks.queue.order import EVERY, Entry, read_order
from benchmarks.queue.planned_row import PlannedRow


def plan_rows(entries: list[Entry], data: Path | None) -> tuple[list[PlannedRow], list[str]]:
    """Every row of every entry, each where it stands first; and a word for each program that cannot be planned."""
    rows: dict[tuple[str, str, bool], PlannedRow] = {}
    problems: list[str] = []
    for number, entry in enumerate(entries):
        for module in program_modules() if entry.program == EVERY else [entry.module]:
            try:
                for row in _plan_entry(number, entry, module, data):
                    rows.setdefault((row.program, row.key, row.stale), row)
            except (Exception, SystemExit) as error:  # one program without its data does not stop the others
                problems.append(f"{module}: not planned, {type(error).__name__}: {error}")
    return list(rows.values()), list(dict.fromkeys(problems))


def _plan_entry(number: int, entry: Entry, module: str, data: Path | None) -> Iterator[PlannedRow]:
    kind = load_program(module)
    program = open_program(kind, [*entry.arguments, *_data_words(data)])
    wanted = command.chosen(program.planned(), list(entry.only) or None)
    guess = 60 * entry.minutes / max(1, len(wanted))
    for row in wanted:
        yield PlannedRow(
            entry=number,
            program=module,
            file=kind.file(),
            key=row.key,
            seconds=_seconds(program, row, guess),
            arguments=entry.arguments,
            lacks=program.lacks(row) if data is not None or kind.without_data else "no data",
            after=entry.after,
            stale=entry.stale,
            protocol=kind.protocol,
        )


def open_program(kind: type[Program[Any]], words: list[str]) -> Program[Any]:
    """A program as its command line would make it; one that only plans needs no data."""
    return kind(command.parsed(kind, words if "--data" in words else [*words, "--budget", "0"]))


def _data_words(data: Path | None) -> list[str]:
    return [] if data is None else ["--data", str(data)]


def _seconds(program: Program[Any], row: Any, otherwise: float) -> float:
    try:
        return program.seconds(row)
    except OSError:  # of a file that is not there
        return otherwise


def main(argv: list[str] | None = None) -> int:
    """Write the plan as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(argv)
    rows, problems = plan_rows(read_order(), given.data)
    write_json(given.out, {"rows": [asdict(row) for row in rows], "problems": problems})
    return 0


if __name__ == "__main__":
    sys.exit(main())
