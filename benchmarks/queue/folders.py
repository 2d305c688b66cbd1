"""Where the queue keeps its clone, its rows, its log and its lock."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path("benchmarks/results")  # of a working tree
Table = dict[str, Any]


def default_base() -> Path:
    """The folder in the user's cache directory that is used unless `--clone` names another."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "timelike" / "queue"


@dataclass(frozen=True)
class Folders:
    """Everything that one queue owns, below one folder."""

    base: Path

    @property
    def tree(self) -> Path:
        """The clone, at a fixed commit."""
        return self.base / "tree"

    @property
    def hook(self) -> Path:
        """Holds the `sitecustomize` by which the clone's library is imported."""
        return self.base / "hook"

    @property
    def kernels(self) -> Path:
        """Compiled kernels, by the digest of their sources."""
        return self.base / "kernels"

    @property
    def results(self) -> Path:
        """Result files that programs read and write: rows of the working tree and of the queue."""
        return self.base / "results"

    @property
    def rows(self) -> Path:
        """Rows made by the queue that are not merged yet."""
        return self.base / "rows"

    @property
    def merged(self) -> Path:
        """Rows made by the queue that a working tree has received."""
        return self.base / "merged"

    @property
    def plan(self) -> Path:
        return self.base / "plan.json"

    @property
    def journal(self) -> Path:
        return self.base / "journal.jsonl"

    @property
    def log(self) -> Path:
        return self.base / "queue.log"

    @property
    def lock(self) -> Path:
        return self.base / "lock"


def read_table(path: Path) -> Table:
    """A result file; one without rows where there is no file."""
    if not path.exists():
        return {"rows": {}}
    table = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(table, dict) or not isinstance(table.get("rows"), dict):
        raise ValueError(f'{path} is not a result file: an object with "rows" was expected')
    return table


def write_json(path: Path, value: Any) -> None:
    """Replace a file at once, so that a half-written one is never read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)
