"""Rows that the queue has made and no working tree has received: a file for each, so that none waits for another."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from benchmarks.queue.folders import Table, write_json


def put_row(folder: Path, file: str, key: str, table: Table) -> None:
    """Keep one row of a result file, in the form of a result file with a single row."""
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    write_json(folder / file / f"{name}.json", table)


def waiting_files(folder: Path) -> list[str]:
    """The result files for which there are rows."""
    return sorted({path.parent.name for path in folder.glob("*/*.json")})


def waiting_rows(folder: Path, file: str) -> tuple[Table, list[Path]]:
    """Rows of one result file as one table, the oldest first, and the paths that they were read from."""
    held = []
    for path in (folder / file).glob("*.json"):
        with suppress(FileNotFoundError):  # another process merges it now
            held.append((path.stat().st_mtime_ns, path, json.loads(path.read_text(encoding="utf-8"))))
    table: Table = {"rows": {}}
    for _, _, part in sorted(held, key=lambda one: one[:2]):
        for name, value in part.items():
            table.setdefault(name, {}).update(value)
    return table, [path for _, path, _ in held]
