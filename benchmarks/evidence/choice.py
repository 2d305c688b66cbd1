"""Which row of a program is made again: the cheapest one that should have the same numbers today."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.evidence.comparison import numeric_fields
from benchmarks.papers.results import Found
from benchmarks.papers.resumable import Program
from benchmarks.papers.stale import changes_since, state_of

STALE, REDRAWN, BY_TIME = (
    "changed: stale by",
    "not repeatable: other random draws by",
    "not repeatable: limited by time:",
)


@dataclass(frozen=True)
class Choice:
    """A row, or the reason why there is none."""

    row: Any = None
    reason: str = ""
    baseline: str = ""  # why the row is not one of the methods that the page is about; empty where it is


def choose_row(program: Program[Any], limit: float) -> Choice:
    """The cheapest row within a limit in seconds that can be compared: of the page's own methods, else of a baseline.

    A row counts by the longer of its recorded time and the program's estimate: one that was made from what others had
    left in the scratch folder looks cheap.
    """
    finished = [row for row in program.planned() if row.key in program.rows]
    if not finished:
        return Choice(reason="no row is finished")
    about = [row for row in finished if is_about_subject(program, row)]
    own, reason = _cheapest(program, about, limit)
    if own is not None:
        return Choice(own)
    other, reason_of_all = _cheapest(program, finished, limit)
    return Choice(reason=reason_of_all) if other is None else Choice(other, baseline=reason)


def _cheapest(program: Program[Any], rows: list[Any], limit: float) -> tuple[Any, str]:
    """The cheapest row that can be made again within the limit; or None, and why there is none."""
    if not rows:
        return None, "none is finished"
    reasons = {row.key: why_not(program, row) for row in rows}
    possible = [row for row in rows if not reasons[row.key]]
    if not possible:
        return None, Counter(reasons.values()).most_common(1)[0][0]  # that most of them have
    row = min(possible, key=lambda row: _cost(program, row))
    seconds = _cost(program, row)
    if seconds > limit:
        return None, f"the cheapest row takes about {seconds:.0f} s, more than {limit:.0f}"
    return row, ""


def why_not(program: Program[Any], row: Any) -> str:
    """Why a row cannot be made again and compared; empty where it can."""
    then = program.rows[row.key]
    if reason := program.limited_by_time(row):
        return f"{BY_TIME} {reason}"
    if not any(set(path) - _asked(row) for path in numeric_fields(then, program.file())):
        return "its rows have no number but times"
    if changed := _describe_changes(program, row):
        return changed
    return program.lacks(row)


def other_seeds(program: Program[Any], row: Any) -> list[Found]:
    """Finished rows of the same numerics that differ from a row in their seed alone."""
    same = [other for other in program.planned() if other.key != row.key and _but_seed(other) == _but_seed(row)]
    found = [program.rows[other.key] for other in same if other.key in program.rows]
    return [other for other in found if other.get("numerics") == program.rows[row.key].get("numerics")]


def is_about_subject(program: Program[Any], row: Any) -> bool:
    """Whether a row stands on a method that the page is about; all do where a page names none."""
    return not program.subject or not set(program.subject).isdisjoint(program.systems(row))


def _describe_changes(program: Program[Any], row: Any) -> str:
    """By which versions a row is stale, or by which it has other random draws and no other seed to compare with."""
    then = program.rows[row.key]
    state = state_of(then, program.ledger, program.protocol)
    if state in ("fresh", "unknown") or (state == "redrawn" and other_seeds(program, row)):
        return ""
    changes = changes_since(then, program.ledger, program.protocol)
    versions = {
        name: [one.version for one in newer if state == "redrawn" or not one.draws] for name, newer in changes.items()
    }
    told = [_name_versions(name, numbers) for name, numbers in versions.items() if numbers]
    return f"{STALE if state == 'stale' else REDRAWN} {', '.join(told)}"


def _name_versions(name: str, numbers: list[int]) -> str:
    """A system and its newer versions.

    >>> _name_versions("srvp", [3]), _name_versions("srvp", [3, 4])
    ('`srvp` version 3', '`srvp` versions 3 and 4')
    """
    if len(numbers) == 1:
        return f"`{name}` version {numbers[0]}"
    return f"`{name}` versions {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _cost(program: Program[Any], row: Any) -> float:
    return max(float(program.rows[row.key]["seconds"]), program.seconds(row))


def _but_seed(row: Any) -> dict[str, Any]:
    return {name: value for name, value in asdict(row).items() if name not in ("seed", "draw")}


def _asked(row: Any) -> set[str]:
    return set(vars(row))
