"""Reads comparisons from JSON and checks every entry, so that an edited file is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..models.json_fields import (
    Parser,
    choice_parser,
    list_parser,
    nullable_parser,
    parse_bool,
    parse_finite,
    parse_nonnegative,
    parse_number,
    parse_text,
    read_fields,
)
from ..score.intervals import Interval
from .comparison_row import STATES, ComparisonRow
from .fold_scores import FoldResult
from .problem import HIGHER_IS_BETTER


def score_dict_parser(check: Parser) -> Parser:
    """An object whose names are scores."""

    def parse(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict) or not set(value) <= set(HIGHER_IS_BETTER):
            raise ValueError(f"{where} is {value!r:.60}: expected an object of scores, {', '.join(HIGHER_IS_BETTER)}")
        return {name: check(one, f"{where}.{name}") for name, one in value.items()}

    return parse


def parse_fold_result(held: Any, where: str) -> FoldResult:
    """The result of a fold, as written by `FoldResult.to_dict`."""
    numbers = list_parser(nullable_parser(parse_finite))
    fields = read_fields(
        held,
        where,
        values=score_dict_parser(parse_finite),
        items=score_dict_parser(numbers),
        draws=score_dict_parser(list_parser(parse_finite)),
        missing_scores=score_dict_parser(parse_text),
        fit_seconds=parse_nonnegative,
        predict_seconds=parse_nonnegative,
        fit_cpu_seconds=parse_nonnegative,
        memory=nullable_parser(parse_nonnegative),
        warnings=list_parser(parse_text),
        interpolated=parse_bool,
    )
    items = {name: [np.nan if v is None else v for v in given] for name, given in fields["items"].items()}
    draws = {name: list(given) for name, given in fields["draws"].items()}
    memory = None if fields["memory"] is None else int(fields["memory"])
    return FoldResult(**fields | {"items": items, "draws": draws, "memory": memory})


def parse_row(held: Any, where: str) -> ComparisonRow:
    """A row, as written by `ComparisonRow.to_dict`."""
    fields = read_fields(
        held,
        where,
        method=parse_text,
        state=choice_parser(STATES),
        reason=parse_text,
        scores=score_dict_parser(_parse_interval),
        folds=list_parser(parse_fold_result),
    )
    row = ComparisonRow(**fields)
    for name in row.scores:
        held_by = [(fold.values, fold.draws if name == "eer" else fold.items) for fold in row.folds]
        if not held_by or not all(name in values and name in single for values, single in held_by):
            raise ValueError(f"{where} has the score {name!r} that a fold of it lacks: was the file edited?")
    return row


def _parse_interval(held: Any, where: str) -> Interval:
    return Interval(**read_fields(held, where, mean=parse_number, low=parse_number, high=parse_number))


def refuse_incomparable_rows(
    rows: tuple[ComparisonRow, ...], scores: tuple[str, ...], groups: tuple[str, ...] | None
) -> None:
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
