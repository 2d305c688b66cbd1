"""The order in which rows are made: the entries of `order.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("order.toml")
EVERY = "*"  # as a program: all of them


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Some rows of one program, with an estimate and the reason why they stand where they stand."""

    program: str  # a module below `benchmarks`, or "*"
    minutes: float  # an estimate for all rows of the entry
    why: str
    only: tuple[str, ...] = ()  # words, keys or patterns of keys; all rows where there are none
    seeds: int | None = None
    options: tuple[str, ...] = ()  # further arguments of the program
    stale: bool = False  # whether rows of outdated numerics are made again
    after: str = ""  # what has to be done before; the rows wait until this is removed

    @property
    def module(self) -> str:
        return f"benchmarks.{self.program}"

    @property
    def arguments(self) -> list[str]:
        """Of the program's command line, but for the rows."""
        return [*self.options, *(["--seeds", str(self.seeds)] if self.seeds is not None else [])]


def read_order(path: Path = FILE) -> list[Entry]:
    """The entries, in their order."""
    return [_entry(number, table) for number, table in enumerate(tomllib.loads(path.read_text("utf-8"))["entry"], 1)]


def _entry(number: int, table: dict[str, Any]) -> Entry:
    allowed = {field.name for field in fields(Entry)}
    unknown, missing = sorted(set(table) - allowed), sorted({"program", "minutes", "why"} - set(table))
    if unknown or missing:
        raise ValueError(
            f"entry {number} of the order: unknown {unknown}, missing {missing}; allowed {sorted(allowed)}"
        )
    lists = {name: tuple(value) for name, value in table.items() if isinstance(value, list)}
    return Entry(**table | lists)
