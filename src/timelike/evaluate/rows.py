"""`ComparisonRow`, the results of one method, and `FoldResult`, those of one fold: their intervals and JSON form."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .. import score
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
from ..score.intervals import Interval, percentile_bounds, widen_interval
from .problem import HIGHER_IS_BETTER, ComparisonProblem

STATES = ("finished", "unfinished", "skipped", "failed")
_SCORE_BOUNDS = {"accuracy": (0.0, 1.0), "map": (0.0, 1.0), "eer": (0.0, 1.0), "mse": (0.0, np.inf)}
Floats = list[float]


@dataclass(frozen=True)
class FoldResult:
    """The result of a method on one fold."""

    values: dict[str, float] = field(default_factory=dict)
    """The score of the fold, by score."""
    items: dict[str, Floats] = field(default_factory=dict)
    """A number for each test sequence, whose mean is the score; nan if it does not count."""
    draws: dict[str, Floats] = field(default_factory=dict)
    """Resampled values of a score that is no mean: the same resamples for every method."""
    missing_scores: dict[str, str] = field(default_factory=dict)
    """Reasons of missing scores, by score."""
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    fit_cpu_seconds: float = 0.0
    """CPU time of this process, on all processors."""
    memory: int | None = None
    """Peak bytes of fitting and predicting, beyond those in use before; None where the system does not report it."""
    warnings: tuple[str, ...] = ()
    """The first lines of the method's warnings."""
    interpolated: bool = False
    """Whether missing values were interpolated, because the method cannot take them."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has no nan."""
        content = asdict(self)
        content["items"] = {name: [None if np.isnan(v) else v for v in values] for name, values in self.items.items()}
        return content


@dataclass(frozen=True)
class ComparisonRow:
    """A method: its scores with 95 % intervals, its results on every fold, and its state."""

    method: str
    state: str
    """One of `STATES`: "unfinished" has some folds, "skipped" none, for lack of time."""
    reason: str
    """Remarks, such as why it failed."""
    scores: dict[str, Interval]
    """By score; those of an unfinished row are of its finished folds."""
    folds: tuple[FoldResult, ...]

    @property
    def fit_seconds(self) -> float | None:
        """For one fold, in the mean."""
        return float(np.mean([fold.fit_seconds for fold in self.folds])) if self.folds else None

    @property
    def fit_cpu_seconds(self) -> float | None:
        """CPU seconds for one fold, in the mean: these do not depend on the load of the machine."""
        return float(np.mean([fold.fit_cpu_seconds for fold in self.folds])) if self.folds else None

    @property
    def predict_seconds(self) -> float | None:
        """For the test part of one fold, in the mean."""
        return float(np.mean([fold.predict_seconds for fold in self.folds])) if self.folds else None

    @property
    def memory(self) -> int | None:
        """Bytes, at the peak of all folds, beyond those in use before; None where the system does not report it."""
        return max((fold.memory for fold in self.folds if fold.memory is not None), default=None)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        scores = {name: asdict(interval) for name, interval in self.scores.items()}
        head = {"method": self.method, "state": self.state, "reason": self.reason}
        return head | {"scores": scores, "folds": [fold.to_dict() for fold in self.folds]}

    def values(self, name: str) -> tuple[float, ...]:
        """The score of every fold."""
        return tuple(fold.values[name] for fold in self.folds if name in fold.values)


def make_row(
    method: str, state: str, reason: str, folds: list[FoldResult], problem: ComparisonProblem
) -> ComparisonRow:
    """A row from its folds: a score is the mean over folds, with an interval by folds, or by items of a single one."""
    if state == "finished" and folds and all(name in fold.missing_scores for fold in folds for name in problem.scores):
        state = "failed"
    scores = {
        name: _score_interval(folds, name, problem)
        for name in problem.scores
        if folds and all(name in fold.values for fold in folds)
    }
    return ComparisonRow(method, state, reason, scores, tuple(folds))


def _score_interval(folds: list[FoldResult], name: str, problem: ComparisonProblem) -> Interval:
    values = [fold.values[name] for fold in folds]
    if len(problem.folds) > 1:
        interval = score.interval(values, overlap=problem.overlap, shares=False)
    elif name == "eer":
        interval = Interval(values[0], *percentile_bounds(np.array(folds[0].draws[name])))
    else:
        groups = problem.resampling_units(problem.folds[0][1])
        interval = score.bootstrap(folds[0].items[name], groups=groups, random_state=0, shares=False)
    low, high = _SCORE_BOUNDS[name]
    interval = Interval(interval.mean, max(interval.low, low), min(interval.high, high))
    if name == "mse":
        return interval
    return widen_interval(interval, _narrowest_interval(interval.mean, folds, name, problem))


def _narrowest_interval(mean: float, folds: list[FoldResult], name: str, problem: ComparisonProblem) -> Interval:
    """Wilson's interval for the number of tested items or groups: folds without errors do not vary."""
    tested_rows = np.unique(np.concatenate([test for _, test in problem.folds[: len(folds)]]))
    n = len(tested_rows) if problem.X.groups is None else len(np.unique(problem.X.groups[tested_rows]))
    if name == "accuracy":
        return score.wilson_interval(mean, n)
    # a score that is no rate of correct predictions varies less than a rate
    fold_values = [fold.draws[name] if name == "eer" else fold.items[name] for fold in folds]
    # resamples vary like the rate of one fold; the mean over folds varies less, as in the corrected t-test
    factor = 1 / n if name != "eer" else 1.0 if len(folds) == 1 else 1 / len(folds) + problem.overlap
    variances = [factor * np.nanvar(each) for each in fold_values if len(each)]
    return score.wilson_interval(mean, n, variance=float(np.mean(variances)) if variances else None)


# --- JSON -------------------------------------------------------------------------------------------------------------


def score_dict_parser(check: Parser) -> Parser:
    """A parser of an object whose keys are scores."""

    def parse(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict) or not set(value) <= set(HIGHER_IS_BETTER):
            raise ValueError(f"{where} is {value!r:.60}: expected an object of scores, {', '.join(HIGHER_IS_BETTER)}")
        return {name: check(one, f"{where}.{name}") for name, one in value.items()}

    return parse


def parse_fold_result(tree: Any, where: str) -> FoldResult:
    """The result of a fold, as written by `FoldResult.to_dict`."""
    numbers = list_parser(nullable_parser(parse_finite))
    fields = read_fields(
        tree,
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
    items = {name: [np.nan if v is None else v for v in values] for name, values in fields["items"].items()}
    draws = {name: list(values) for name, values in fields["draws"].items()}
    memory = None if fields["memory"] is None else int(fields["memory"])
    return FoldResult(**fields | {"items": items, "draws": draws, "memory": memory})


def parse_row(tree: Any, where: str) -> ComparisonRow:
    """A row, as written by `ComparisonRow.to_dict`."""
    fields = read_fields(
        tree,
        where,
        method=parse_text,
        state=choice_parser(STATES),
        reason=parse_text,
        scores=score_dict_parser(_parse_interval),
        folds=list_parser(parse_fold_result),
    )
    row = ComparisonRow(**fields)
    for name in row.scores:
        fold_numbers = [(fold.values, fold.draws if name == "eer" else fold.items) for fold in row.folds]
        if not fold_numbers or not all(name in values and name in single for values, single in fold_numbers):
            raise ValueError(f"{where} has the score {name!r} that a fold of it lacks: was the file edited?")
    return row


def _parse_interval(tree: Any, where: str) -> Interval:
    return Interval(**read_fields(tree, where, mean=parse_number, low=parse_number, high=parse_number))


def refuse_incomparable_rows(
    rows: tuple[ComparisonRow, ...], scores: tuple[str, ...], groups: tuple[str, ...] | None
) -> None:
    """Raise an error unless finished rows have the same scores, folds and items, so that they can be compared."""
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
            for name, values in (*fold.items.items(), *((f"{n} draws", d) for n, d in fold.draws.items())):
                if sizes.setdefault((name, place), len(values)) != len(values):
                    raise ValueError(f"source: row {row.method!r:.60} has {len(values)} items of {name}, unlike others")
    n_folds = len(done[0].folds) if done else 0
    for name in ("accuracy", "map", "mse"):
        each = [sizes[name, place] for place in range(n_folds) if (name, place) in sizes]
        if groups is not None and len(each) == n_folds > 0 and sum(each) != len(groups):
            raise ValueError(f"source.groups has {len(groups)} entries for {sum(each)} items: expected one for each")
