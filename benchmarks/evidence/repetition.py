"""Makes one row of one program again; runs in a process of its own, so that programs do not disturb each other."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.papers import command
from benchmarks.papers.programs import load_program
from benchmarks.papers.results import ResultFile


def repeat_row(module: str, key: str, data: str | None) -> dict[str, Any]:
    """The row as it is made today; the tree's results and scratch are not touched."""
    kind = load_program(module)
    words = ["--data", data] if data else []
    with tempfile.TemporaryDirectory(prefix="timelike-evidence-") as folder:
        results = Path(folder) / f"{kind.file()}.json"
        others = ResultFile(command.parsed(kind, words).results)  # rows may be made from others
        others.rows.pop(key)
        others.path = results
        others.save()
        program = kind(command.parsed(kind, [*words, "--results", str(results), "--scratch", folder]))
        command.set_threads(1)
        row = next(row for row in program.planned() if row.key == key)
        program.run([row])
        if key not in program.rows:
            raise RuntimeError(f"{key} fails now")
        return program.rows[key]


def main(argv: list[str] | None = None) -> int:
    """Write the row as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("key")
    parser.add_argument("--data")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(argv)
    given.out.write_text(json.dumps(repeat_row(given.program, given.key, given.data)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
