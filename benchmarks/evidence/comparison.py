"""How far two rows with the same key are apart, times aside."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

TOLERANCE = 1e-3
"""Largest relative difference of a field for a row to hold.

In one thread of one machine a row is made again to the last digit. Another processor sums in another order, and a
training that ends where it did before differs by less than this.
"""
FLOOR = 1e-6  # smaller numbers are rounding errors: a difference is relative to this at least

# numbers that a busy machine changes, and what a row is made by
_TIMES = re.compile(r"(^|\b)(seconds|minutes|cpu|memory|peak)$|^(training|attacks) s$")
_MADE_BY = {"seed", "numerics", "background", "code", "commit", "date", "machine", "version"}
TIMES = {  # by the file of a program: its other fields that are times
    "decdtw_solver": {"time", "times"},
    "defaults": {"fit", "predict"},
    "rocket_peers": {"encoding"},
    "tap_times": {"each"},
    "tloss_long": {"encoding"},
}
Row = dict[str, Any]
Path = tuple[str, ...]


class Difference(NamedTuple):
    """The field of a row that differs most, and by how much relative to its size; infinite where it is missing now."""

    field: str
    relative: float


def numeric_fields(row: Row, file: str = "") -> dict[Path, list[float]]:
    """Numbers of a row that are not times, by the path of names to them; the numbers of one list are one field.

    >>> numeric_fields({"map": 0.5, "seconds": 3.0, "scores": {"own": [1, 2]}, "method": "DTW"})
    {('map',): [0.5], ('scores', 'own'): [1.0, 2.0]}
    """
    fields: dict[Path, list[float]] = {}
    for path, value in _leaves({name: value for name, value in row.items() if name not in _MADE_BY}):
        if not any(_TIMES.search(name) or name in TIMES.get(file, ()) for name in path):
            fields.setdefault(path, []).append(value)
    return fields


def largest_difference(then: Row, now: Row, file: str = "") -> Difference | None:
    """The field that differs most; None where the row of then has no number but times.

    >>> largest_difference({"map": 0.5, "loss": 2.0}, {"map": 0.5, "loss": 2.1})
    Difference(field='loss', relative=0.05)
    """
    return next(iter(differences(then, now, file)), None)


def spread_over_seeds(rows: list[Row], field: str, file: str = "") -> float:
    """How far a field of rows that differ in their seed alone is apart at most, relative to its size; 0 for one row.

    >>> spread_over_seeds([{"map": 0.5}, {"map": 0.6}, {"map": 0.55}], "map")
    0.2
    """
    found = [values for row in rows for path, values in numeric_fields(row, file).items() if "/".join(path) == field]
    apart = [_relative(one, other) for one, other in combinations(found, 2)]
    return max((one for one in apart if math.isfinite(one)), default=0.0)


def differences(then: Row, now: Row, file: str = "") -> list[Difference]:
    """All fields, the one that differs most first; none where the row of then has no number but times."""
    old, new = numeric_fields(then, file), numeric_fields(now, file)
    found = [Difference("/".join(path), _relative(values, new.get(path, []))) for path, values in old.items()]
    return sorted(found, key=lambda one: -one.relative)


def _relative(old: list[float], new: list[float]) -> float:
    if len(old) != len(new):
        return math.inf
    gaps = [_gap(a, b) for a, b in zip(old, new, strict=True)]
    sizes = [abs(a) for a in old if math.isfinite(a)]
    return round(max(gaps) / max(FLOOR, *sizes, 0.0), 15) if gaps else 0.0


def _gap(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return abs(a - b) if math.isfinite(a) and math.isfinite(b) else math.inf


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, float]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, (*path, str(name)))
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part, path)
    elif isinstance(value, bool | int | float):
        yield path, float(value)
