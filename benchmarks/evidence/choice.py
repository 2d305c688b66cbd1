"""Which row of a program is made again: the cheapest finished one that stands on the program's own subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.evidence.comparison import numeric_fields
from benchmarks.papers.resumable import Program

# rows whose number of training steps depends on how fast the machine was
BY_TIME = {"forecast": {"DLinear": "DLinear is trained for as many seconds as Separation took"}}


@dataclass(frozen=True)
class Choice:
    """A row, or the reason why there is none."""

    row: Any = None
    reason: str = ""
    baseline: bool = False  # whether rows of the page's own method take too long


def choose_row(program: Program[Any], limit: float) -> Choice:
    """The cheapest row within a limit in seconds.

    A row counts by the longer of its recorded time and the program's estimate: one that was made from what others had
    left in the scratch folder looks cheap. Rows of the methods that a page is about come before baselines.
    """
    planned = {row.key: row for row in program.planned()}
    finished = {key: row for key, row in planned.items() if key in program.rows}
    if not finished:
        return Choice(reason="no row is finished")
    reasons = {key: why_not(program, row) for key, row in finished.items()}
    possible = [row for key, row in finished.items() if not reasons[key]]
    if not possible:
        return Choice(reason=next(iter(reasons.values())))
    costs = {row.key: max(float(program.rows[row.key]["seconds"]), program.seconds(row)) for row in possible}
    cheap = sorted((row for row in possible if costs[row.key] <= limit), key=lambda row: costs[row.key])
    if not cheap:
        return Choice(reason=f"the cheapest row takes about {min(costs.values()):.0f} s, more than {limit:.0f}")
    about = [row for row in cheap if is_about_subject(program, row)]
    return Choice(about[0]) if about else Choice(cheap[0], baseline=bool(getattr(program, "subject", ())))


def why_not(program: Program[Any], row: Any) -> str:
    """Why a row cannot be made again with the same numbers; empty where it can."""
    then = program.rows[row.key]
    if then.get("minutes"):
        return f"its networks train for {then['minutes']:g} minutes by the clock"
    for word, reason in BY_TIME.get(program.file(), {}).items():
        if word in row.words():
            return reason
    if not any(set(path) - _asked(row) for path in numeric_fields(then, program.file())):
        return "its rows have no number but times"
    return program.lacks(row)


def is_about_subject(program: Program[Any], row: Any) -> bool:
    """Whether a row stands on a method that the page is about."""
    systems = getattr(program, "systems", None)  # programs name them when rows carry versions of numerics
    return systems is not None and not set(getattr(program, "subject", ())).isdisjoint(systems(row))


def _asked(row: Any) -> set[str]:
    return set(vars(row))
