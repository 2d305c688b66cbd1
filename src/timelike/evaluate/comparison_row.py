"""`ComparisonRow`: the results of one method, with intervals over folds, or over the items of a single test part."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import score
from ..score.intervals import Interval, percentile_bounds, widen_interval
from .fold_scores import FoldResult
from .problem import ComparisonProblem

STATES = ("finished", "unfinished", "skipped", "failed")
_SCORE_BOUNDS = {"accuracy": (0.0, 1.0), "map": (0.0, 1.0), "eer": (0.0, 1.0), "mse": (0.0, np.inf)}


@dataclass(frozen=True)
class ComparisonRow:
    """A method: its scores with 95 % intervals, what it did on every fold, and how far it came."""

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
        scores = {name: asdict(found) for name, found in self.scores.items()}
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
        found = score.interval(values, overlap=problem.overlap, shares=False)
    elif name == "eer":
        found = Interval(values[0], *percentile_bounds(np.array(folds[0].draws[name])))
    else:
        groups = problem.resampling_units(problem.folds[0][1])
        found = score.bootstrap(folds[0].items[name], groups=groups, random_state=0, shares=False)
    low, high = _SCORE_BOUNDS[name]
    found = Interval(found.mean, max(found.low, low), min(found.high, high))
    return found if name == "mse" else widen_interval(found, _narrowest_interval(found.mean, folds, name, problem))


def _narrowest_interval(mean: float, folds: list[FoldResult], name: str, problem: ComparisonProblem) -> Interval:
    """Wilson's of as many independent items as were tested, or groups: folds without any error do not vary."""
    tested = np.unique(np.concatenate([test for _, test in problem.folds[: len(folds)]]))
    n = len(tested) if problem.X.groups is None else len(np.unique(problem.X.groups[tested]))
    if name == "accuracy":
        return score.wilson_interval(mean, n)
    # a score that is no share of correct predictions varies less than a share
    drawn = [fold.draws[name] if name == "eer" else fold.items[name] for fold in folds]
    # draws vary as the rate of one fold does, and the mean over folds less, by as much as the corrected t-test says
    share = 1 / n if name != "eer" else 1.0 if len(folds) == 1 else 1 / len(folds) + problem.overlap
    variances = [share * np.nanvar(each) for each in drawn if len(each)]
    return score.wilson_interval(mean, n, variance=float(np.mean(variances)) if variances else None)
