"""Comparisons read back from JSON: every entry is checked where it is read, so that an edited file is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.json_fields import (
    Check,
    a_flag,
    a_number,
    a_text,
    finite,
    one_among,
    or_none,
    positive,
    read_fields,
    several,
)
from ...score.intervals import Interval
from .judging import Judged
from .problem import SCORES
from .rows import STATES, Row


def by_score(check: Check) -> Check:
    """An object whose names are scores."""

    def checked(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict) or not set(value) <= set(SCORES):
            raise ValueError(f"{where} is {value!r:.60}: expected an object of scores, {', '.join(SCORES)}")
        return {name: check(one, f"{where}.{name}") for name, one in value.items()}

    return checked


def read_judged(held: Any, where: str) -> Judged:
    """What a method did on a fold, as `Judged.words` wrote it."""
    numbers = several(or_none(finite))
    fields = read_fields(
        held,
        where,
        values=by_score(finite),
        items=by_score(numbers),
        draws=by_score(several(finite)),
        lacks=by_score(a_text),
        fit_seconds=positive,
        predict_seconds=positive,
        fit_cpu_seconds=positive,
        memory=or_none(positive),
        said=several(a_text),
        interpolated=a_flag,
    )
    items = {name: [np.nan if v is None else v for v in given] for name, given in fields["items"].items()}
    draws = {name: list(given) for name, given in fields["draws"].items()}
    memory = None if fields["memory"] is None else int(fields["memory"])
    return Judged(**fields | {"items": items, "draws": draws, "memory": memory})


def read_row(held: Any, where: str) -> Row:
    """A row, as `Row.words` wrote it."""
    fields = read_fields(
        held,
        where,
        method=a_text,
        state=one_among(STATES),
        why=a_text,
        scores=by_score(_read_interval),
        folds=several(read_judged),
    )
    row = Row(**fields)
    for name in row.scores:
        held_by = [(fold.values, fold.draws if name == "eer" else fold.items) for fold in row.folds]
        if not held_by or not all(name in values and name in single for values, single in held_by):
            raise ValueError(f"{where} has the score {name!r} that a fold of it lacks: was the file edited?")
    return row


def _read_interval(held: Any, where: str) -> Interval:
    return Interval(**read_fields(held, where, mean=a_number, low=a_number, high=a_number))


def refuse_unlike(rows: tuple[Row, ...], scores: tuple[str, ...], groups: tuple[str, ...] | None) -> None:
    """An error where finished rows are not of the same scores, folds and items, and could not be compared."""
    done = [row for row in rows if row.state == "finished"]
    for row in done:
        if not set(row.scores) <= set(scores):
            raise ValueError(f"source: row {row.method!r:.60} has scores other than {', '.join(scores)}")
        if len(row.folds) != len(done[0].folds):
            raise ValueError(
                f"source: rows {done[0].method!r:.60} and {row.method!r:.60} have {len(done[0].folds)} and "
                f"{len(row.folds)} folds: expected the same"
            )
    sizes: dict[tuple[str, int], int] = {}
    for row in done:
        for place, fold in enumerate(row.folds):
            for name, listed in (*fold.items.items(), *((f"{n} draws", d) for n, d in fold.draws.items())):
                if sizes.setdefault((name, place), len(listed)) != len(listed):
                    raise ValueError(f"source: row {row.method!r:.60} has {len(listed)} items of {name}, unlike others")
    n_folds = len(done[0].folds) if done else 0
    for name in ("accuracy", "map", "mse"):
        each = [sizes[name, place] for place in range(n_folds) if (name, place) in sizes]
        if groups is not None and len(each) == n_folds > 0 and sum(each) != len(groups):
            raise ValueError(f"source.groups has {len(groups)} entries for {sum(each)} items: expected one for each")
