"""What was found when rows were made again: `benchmarks/results/evidence.json`, and a sentence for each page."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.evidence.comparison import TOLERANCE

FILE = Path("benchmarks/results/evidence.json")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One program: the row that was made again and how it compares, or why none was."""

    program: str
    file: str
    date: str
    commit: str  # now
    key: str = ""
    commit_then: str = ""
    difference: float | None = None  # the largest one; None where there is none, or no number now
    field: str = ""  # that differs most
    spread: float | None = None  # of this field over seeds, where the row holds by it and not by the tolerance
    holds: bool | None = None  # None where no row was compared
    baseline: str = ""  # why the row is not one of the page's own method; empty where it is
    reason: str = ""  # why not, or what went wrong
    seconds: float = 0.0
    tolerance: float = TOLERANCE


def read_outcomes(path: Path = FILE) -> dict[str, Outcome]:
    """By the file of a program."""
    held = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else {}
    return {file: Outcome(**outcome) for file, outcome in held.items()}


def write_outcomes(outcomes: dict[str, Outcome], path: Path = FILE) -> None:
    """Replace the file at once, in the form of a result file with a row for each program."""
    rows = {file: _stored(outcome) for file, outcome in sorted(outcomes.items())}
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    part.write_text(json.dumps({"rows": rows}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)


def evidence_line(file: str, path: Path = FILE) -> str:
    """A sentence for the end of a program's page: whether a row of it was made again, and holds; empty without one."""
    outcome = read_outcomes(path).get(file)
    if outcome is None:
        return ""
    if outcome.holds is None:
        return f"No row was made again to check the others ({outcome.date}): {outcome.reason}."
    made = f"Row `{outcome.key}` of commit {outcome.commit_then} was made again on {outcome.date} at {outcome.commit}"
    more = f" It is a baseline's; of the rows of the method itself: {outcome.baseline}." if outcome.baseline else ""
    return f"{made} and {_verdict(outcome)}.{more}"


def _verdict(outcome: Outcome) -> str:
    if outcome.difference is None:
        return f"**does not hold**: {outcome.reason}"
    if not outcome.holds:
        return f"**does not hold**: `{outcome.field}` differs by {outcome.difference:.2g} of its size"
    if outcome.spread is not None:
        apart = (
            f"`{outcome.field}` differs by {outcome.difference:.2g} of its size, and by {outcome.spread:.2g} over seeds"
        )
        return f"holds within the spread over seeds only: {apart}"
    if outcome.difference == 0:
        return "holds: its numbers, times aside, are the same to the last digit"
    return f"holds: no number, times aside, differs by more than {outcome.difference:.1g} of its size"


def _stored(outcome: Outcome) -> dict[str, Any]:
    stored = asdict(outcome)
    if outcome.difference is not None and not math.isfinite(outcome.difference):
        stored |= {"difference": None, "reason": outcome.reason or f"{outcome.field} is missing or not finite now"}
    return stored
