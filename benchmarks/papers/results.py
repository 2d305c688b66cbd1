"""Rows of a comparison, and the file that keeps the finished ones."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from dataclasses import asdict, astuple, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import timelike
from benchmarks.papers.clock import duration

ROWS, PAGES = Path("benchmarks/results"), Path("benchmarks/results")  # of the tree: what is published
_CODE = ("src", "benchmarks", f":!{ROWS.as_posix()}")
Found = dict[str, Any]
Rows = dict[str, Found]


@dataclass(frozen=True)
class Row:
    """What a row is about: a paper names the fields, in the order of the key."""

    @property
    def key(self) -> str:
        return "/".join(map(str, astuple(self)))

    def words(self) -> set[str]:
        """By which it is asked for: a field that is not a seed, the key, or where the key begins."""
        fields = [str(value) for name, value in asdict(self).items() if name != "seed"]
        return {*fields, *("/".join(fields[: n + 1]) for n in range(len(fields))), self.key}


@dataclass(frozen=True)
class Trial(Row):
    """One data set, one method, one seed."""

    dataset: str
    method: str
    seed: int


class ResultFile:
    """Finished rows as JSON. A row is never worked out again, whatever made it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = self._read()

    def _read(self) -> Rows:
        rows: Rows = json.loads(self.path.read_text(encoding="utf-8"))["rows"] if self.path.exists() else {}
        return rows

    def add(self, key: str, found: Found) -> None:
        self.rows[key] = found

    def save(self) -> None:
        self.rows = self._read() | self.rows  # another run of the program may have finished some
        self.path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self.path, json.dumps({"rows": self.rows}, indent=1, ensure_ascii=False) + "\n")

    @property
    def page(self) -> Path:
        """Where the page is written: into the documentation for the rows of the tree, beside all others."""
        folder = self.path.parent
        if folder.parts[-2:] == ROWS.parts:
            folder = folder.parents[1] / PAGES
        return folder / f"{self.path.stem}.md"

    def save_page(self, text: str) -> Path:
        """Write the page, and return its path."""
        self.page.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self.page, text)
        return self.page


def replace_file(path: Path, text: str) -> None:
    """A half-written file never takes the place of a whole one."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def having(rows: Rows, **fields: Any) -> list[Found]:
    """The rows with these values.

    >>> having({"a/0": {"method": "a", "seed": 0}, "b/0": {"method": "b", "seed": 0}}, method="b", seed=0)
    [{'method': 'b', 'seed': 0}]
    """
    return [row for row in rows.values() if all(row[name] == value for name, value in fields.items())]


def commit() -> str:
    """What made a row; with a + where the programs or the library, rows aside, have changed since."""
    try:
        head = _git("rev-parse", "--short=10", "HEAD")
        return head + "+" * bool(_git("status", "--porcelain", "--", *_CODE))
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*words: str) -> str:
    root = Path(__file__).parents[2]
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def made() -> Found:
    """What a row that is finished now carries besides its numbers and its commit."""
    return {"machine": machine(), "version": timelike.__version__, "date": datetime.now(UTC).strftime("%Y-%m-%d")}


def machine() -> str:
    """Where a row was worked out."""
    torch = sys.modules.get("torch")
    threads = 1 if torch is None else torch.get_num_threads()
    used = "one thread" if threads == 1 else f"{threads} threads"
    return f"{platform.machine()}, Python {platform.python_version()}, torch {version('torch')}, {used}"


def machines(rows: Rows) -> str:
    """All that rows were worked out on."""
    return ", ".join(sorted({row["machine"] for row in rows.values() if "machine" in row}))


def told(rows: Rows) -> str:
    """How many rows there are, what they took, and where."""
    return f"{len(rows)} rows, {duration(sum(row['seconds'] for row in rows.values()))}; {machines(rows)}."
