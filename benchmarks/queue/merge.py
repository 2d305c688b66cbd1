"""Puts rows of the queue into a working tree: JSON only, since the tree may be in the middle of an edit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.queue.folders import RESULTS, Folders, Table, read_table, write_json
from benchmarks.queue.outbox import waiting_files, waiting_rows


def is_newer(row: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether a row was made by newer numerics: one version at least is higher, and none is lower.

    >>> is_newer({"numerics": {"rocket": 2}}, {"numerics": {"rocket": 1}})
    True
    >>> is_newer({"numerics": {"rocket": 2}}, {"numerics": {"rocket": 2}})
    False
    """
    new, old = row.get("numerics") or {}, other.get("numerics") or {}
    versions = [(new.get(name, 0), old.get(name, 0)) for name in {*new, *old}]
    return any(a > b for a, b in versions) and all(a >= b for a, b in versions)


def merge_tables(tree: Table, queue: Table) -> tuple[Table, list[str]]:
    """The tree's rows with those of the queue that it lacks or has by older numerics; and the keys of the latter."""
    rows = dict(tree["rows"])
    taken = [key for key, row in queue["rows"].items() if key not in rows or is_newer(row, rows[key])]
    rows |= {key: queue["rows"][key] for key in taken}
    # other tables of a result file describe rows by a name that these carry
    others = {name: queue.get(name, {}) | tree.get(name, {}) for name in {*tree, *queue} - {"rows"}}
    return {"rows": rows} | others, taken


def merge_rows(folders: Folders, root: Path, *, again: bool = False) -> dict[str, list[str]]:
    """Put the queue's rows into the result files of the tree at `root`; gives the keys that each file received.

    A row that the tree has by the same or newer numerics stays as it is. What was merged leaves the queue, so that a
    row which is later taken out of the tree is made anew; `again` also merges what left it before.
    """
    earlier = [path.stem for path in folders.merged.glob("*.json")] if again else []
    received = {}
    for file in sorted({*waiting_files(folders.rows), *earlier}):
        try:
            received[file] = _merge_file(folders, root / RESULTS / f"{file}.json", file, again)
        except ValueError as error:  # such as the marks of a conflict: the rows wait
            print(f"{file}: its rows wait, {error}", flush=True)
    return {file: keys for file, keys in received.items() if keys}


def _merge_file(folders: Folders, target: Path, file: str, again: bool) -> list[str]:
    archive = folders.merged / f"{file}.json"
    new, paths = waiting_rows(folders.rows, file)
    old = read_table(archive)
    every = {name: old.get(name, {}) | new.get(name, {}) for name in {*old, *new}}
    table, taken = merge_tables(read_table(target), every if again else new)
    if taken:
        write_json(target, table)
    write_json(archive, every)  # before the rows leave the queue: a crash in between merges them once more
    for path in paths:  # those that were read: the worker may have added one meanwhile
        path.unlink(missing_ok=True)
    return taken
