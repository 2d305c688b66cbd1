"""The page on what coupling is worth."""

from __future__ import annotations

from benchmarks.papers.results import Rows, told


def body(rows: Rows) -> str:
    return told(rows) if rows else "No row is finished yet."
