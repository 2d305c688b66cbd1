"""Rows that the queue has made and no working tree has received: a file for each, so that none waits for another."""

from __future__ import annotations

import hashlib
import json
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
    """Rows of one result file as one table, and the paths that they were read from."""
    paths = sorted((folder / file).glob("*.json"))
    table: Table = {"rows": {}}
    for path in paths:
        for name, part in json.loads(path.read_text(encoding="utf-8")).items():
            table.setdefault(name, {}).update(part)
    return table, paths
