"""Comparisons read back from JSON: every entry is checked where it is read, so that an edited file is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...score.intervals import Interval
from .judging import Judged
from .problem import SCORES
from .rows import STATES, Row

Check = Callable[[Any, str], Any]


def read_json(source: str | Path) -> Any:
    """What a text, or the file that it names, holds."""
    try:
        if isinstance(source, str) and source.lstrip().startswith("{"):
            return json.loads(source)
        return json.loads(Path(source).read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"source is no JSON: {error}") from None


def read_fields(held: Any, where: str, **checks: Check) -> dict[str, Any]:
    """The entries of a JSON object, each as its check gives it; an error that names the one that is wrong.

    >>> read_fields({"n": 3}, "source", n=a_number)
    {'n': 3.0}
    """
    if not isinstance(held, dict):
        raise ValueError(f"{where} is {held!r:.60}: expected an object with {', '.join(checks)}")
    odd = [name for name in checks if name not in held] + [name for name in held if name not in checks]
    if odd:
        word = "lacks" if odd[0] in checks else "has an unknown"
        raise ValueError(f"{where} {word} {odd[0]!r:.60}: expected {', '.join(checks)}; was the file edited?")
    return {name: check(held[name], f"{where}.{name}") for name, check in checks.items()}


def a_number(value: Any, where: str) -> float:
    """A number; nan and infinity are written as words."""
    if isinstance(value, bool) or not (isinstance(value, int | float) or value in ("nan", "inf", "-inf")):
        raise ValueError(f"{where} is {value!r:.60}: expected a number")
    return float(value)


def finite(value: Any, where: str) -> float:
    """A number that is neither nan nor infinite."""
    if not np.isfinite(a_number(value, where)):
        raise ValueError(f"{where} is {value!r:.60}: expected a finite number")
    return float(value)


def positive(value: Any, where: str) -> float:
    """A finite number of at least 0."""
    if finite(value, where) < 0:
        raise ValueError(f"{where} is {value!r:.60}: expected at least 0")
    return float(value)


def a_text(value: Any, where: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError(f"{where} is {value!r:.60}: expected a text")
    return value


def a_flag(value: Any, where: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{where} is {value!r:.60}: expected true or false")
    return value


def one_among(words: Any) -> Check:
    """One of some words."""

    def check(value: Any, where: str) -> str:
        if value not in list(words):
            raise ValueError(f"{where} is {value!r:.60}: expected one of {', '.join(map(repr, words))}")
        return str(value)

    return check


def or_none(check: Check) -> Check:
    """What a check takes, or null."""
    return lambda value, where: None if value is None else check(value, where)


def several(check: Check) -> Check:
    """A list of what a check takes, as a tuple."""

    def checked(value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError(f"{where} is {value!r:.60}: expected a list")
        return tuple(check(one, f"{where}[{i}]") for i, one in enumerate(value))

    return checked


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
