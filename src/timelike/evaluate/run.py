"""`ComparisonRun`: runs methods, the cheapest first, until the budget is spent or Ctrl-C is pressed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..core.interrupts import TimeLimitExceeded, immediate_interrupts, time_limit
from ..core.parameters import format_count
from ..core.progress import DELAY_SECONDS, ProgressMeter, format_duration, omit_lines
from ..core.run_store import RunStore
from ..models.json_fields import nullable_parser, parse_number, read_fields
from ..train.budget import count_steps_only
from .fold_scores import MAX_PAIRED_ITEMS, score_fold
from .methods import ComparedMethod
from .problem import ComparisonProblem
from .rows import ComparisonRow, FoldResult, make_row, parse_fold_result
from .runtimes import FoldSize, SpeedTracker, estimate_seconds

_MIN_ANNOUNCED_SECONDS = DELAY_SECONDS  # comparisons estimated to take longer announce their time at the start
_MIN_TRAINING_SHARE = 0.25  # of the estimated training time: with less a result would not represent the method
_MAX_TRAINING_SECONDS = 120.0  # of one training: the default limit of learned metrics
_TRAINING_TIME_SHARE = 0.7  # of the time left goes into training, the rest into predictions


class _MethodOutcome(NamedTuple):
    """The state of a method, and the reason why it stopped."""

    state: str
    reason: str


class _StoredFold(NamedTuple):
    """The result of a fold, and the seconds that the method had to train, None for no limit."""

    result: FoldResult
    limit: float | None

    @classmethod
    def parse(cls, row: Any, where: str) -> _StoredFold:
        return cls(**read_fields(row, where, result=parse_fold_result, limit=nullable_parser(parse_number)))


def _fold_key(method: ComparedMethod, fold: int) -> str:
    return f"{method.name}/{fold}"


class ComparisonRun:
    """A running comparison."""

    def __init__(
        self,
        problem: ComparisonProblem,
        methods: list[ComparedMethod],
        minutes: float | None,
        store: RunStore,
        show_progress: bool | None,
    ) -> None:
        size = FoldSize.from_problem(problem)
        self.problem, self.store, self.show_progress = problem, store, show_progress
        self.estimated_seconds = {method.name: estimate_seconds(method.model, size) for method in methods}
        # stable: ties stay in the given order
        self.methods = sorted(methods, key=lambda method: self.estimated_seconds[method.name])
        self.started_at = time.monotonic()
        self.deadline = None if minutes is None else self.started_at + 60 * minutes
        self.minutes, self.speed, self.notes = minutes, SpeedTracker(), list(problem.notes)
        if "eer" in problem.scores and max(len(test) for _, test in problem.folds) > MAX_PAIRED_ITEMS:
            self.notes.append(
                f"equal error rates are of all pairs of {MAX_PAIRED_ITEMS} test sequences, drawn at random"
            )
        self.rows: list[ComparisonRow] = []
        self.is_interrupted = False
        self.limit_notes: dict[str, str] = {}  # in words
        self.current: tuple[ComparedMethod, list[FoldResult]] = self.methods[0], []

    def run(self) -> float:
        """Run the methods and fill `rows` and `notes`; returns the elapsed seconds."""
        # a training would announce itself in every fold
        with self._progress_meter() as bar, immediate_interrupts(), omit_lines():
            try:
                for method in self.methods:
                    self.rows.append(self._run_method(method, bar))
            except KeyboardInterrupt:
                self._skip_remaining()
        self._record_missing()
        return time.monotonic() - self.started_at

    def _record_missing(self) -> None:
        interpolated_rows = [row for row in self.rows if any(fold.interpolated for fold in row.folds)]
        if interpolated_rows:
            missing_fraction = float(np.isnan(self.problem.X.values).mean())
            self.notes.append(
                f"{missing_fraction:.2g} of all values are missing; for {len(interpolated_rows)} of {len(self.rows)} "
                "methods, which cannot take them, they were interpolated in time"
            )

    def _run_method(self, method: ComparedMethod, bar: ProgressMeter) -> ComparisonRow:
        """Run a method on all folds, or as many as possible."""
        bar.set_description(method.name)
        folds: list[FoldResult] = []
        self.current, final_outcome = (method, folds), _MethodOutcome("finished", "")
        for fold in range(len(self.problem.folds)):
            outcome = self._load_fold(method, fold) or self._try_fold(method, fold, begun=bool(folds))
            if isinstance(outcome, _MethodOutcome):
                final_outcome = outcome
                break
            self.speed.record(
                method.name, self.estimated_seconds[method.name], outcome.fit_seconds + outcome.predict_seconds
            )
            folds.append(outcome)
            bar.update(self.estimated_seconds[method.name])
        bar.update(self.estimated_seconds[method.name] * (len(self.problem.folds) - len(folds)))
        return self._make_row(method, *final_outcome, folds)

    def _load_fold(self, method: ComparedMethod, fold: int) -> FoldResult | None:
        """The stored result of an earlier run, if that had as much time to train."""
        settings = {"method": method.description}
        stored: _StoredFold | None = self.store.find(_fold_key(method, fold), settings, parse=_StoredFold.parse)
        limit = self._training_limit(method, fold)
        if stored is None or (stored.limit is not None and (limit is None or limit > stored.limit)):
            return None
        self._record_limit(method, stored.limit)
        return stored.result

    def _training_limit(self, method: ComparedMethod, fold: int) -> float | None:
        """Seconds that the method may train on this fold, None for no limit."""
        if self.deadline is None or not method.accepts_time_limit:
            return None
        left = self._training_seconds(method, self.deadline - time.monotonic()) / (len(self.problem.folds) - fold)
        return min(max(left, 1.0), _MAX_TRAINING_SECONDS)

    def _record_limit(self, method: ComparedMethod, limit: float | None) -> None:
        if limit is not None and limit < _MAX_TRAINING_SECONDS:
            self.limit_notes[method.name] = f"had {format_duration(limit)} to train"

    def _try_fold(self, method: ComparedMethod, fold: int, *, begun: bool) -> FoldResult | _MethodOutcome:
        """The result of a fold, or the reason why there is none."""
        state, reason = "unfinished" if begun else "skipped", self._skip_reason(method, fold)
        if reason:
            return _MethodOutcome(state, reason)
        try:
            return self._run_fold(method, fold)
        except TimeLimitExceeded:
            return _MethodOutcome(state, "not in the budget: the budget ended during this fold")
        except Exception as error:  # a failing method must not stop the others
            return _MethodOutcome("failed", _describe_error(error, fold, len(self.problem.folds)))

    def _make_row(self, method: ComparedMethod, state: str, reason: str, folds: list[FoldResult]) -> ComparisonRow:
        fitted_note = "already fitted, used unchanged" if method.is_fitted and folds else ""
        missing_note = "missing values interpolated" if any(fold.interpolated for fold in folds) else ""
        remarks = filter(
            None, [reason, fitted_note, missing_note, self.limit_notes.get(method.name, "") if folds else ""]
        )
        return make_row(method.name, state, "; ".join(remarks), folds, self.problem)

    def _run_fold(self, method: ComparedMethod, fold: int) -> FoldResult:
        left = None if self.deadline is None else self.deadline - time.monotonic()
        limit = self._training_limit(method, fold)
        fresh = method.make_model((self.store.seed + fold) % 2**31, limit)
        self._record_limit(method, limit)
        seconds = None if left is None or self._is_cheapest(method) else left + self._grace_seconds
        with time_limit(seconds), count_steps_only(self.deadline is None):
            result = score_fold(method, fresh, self.problem, fold)
        row = {"result": result.to_dict(), "limit": limit}
        self.store.save(_fold_key(method, fold), row, {"method": method.description})
        return result

    def _training_seconds(self, method: ComparedMethod, left: float) -> float:
        """The training time of a method: its part of the time left, in proportion to the estimates."""
        done = {row.method for row in self.rows}
        waiting = {one.name: self.estimated_seconds[one.name] for one in self.methods if one.name not in done}
        return _TRAINING_TIME_SHARE * left * waiting[method.name] / sum(waiting.values())

    def _is_cheapest(self, method: ComparedMethod) -> bool:
        """Whether this is the cheapest method, which always runs."""
        return method is self.methods[0] and not any(row.state == "finished" for row in self.rows)

    @property
    def _grace_seconds(self) -> float:
        """Seconds beyond the budget after which a running method is stopped."""
        return max(0.05 * 60 * (self.minutes or 0.0), 0.5)

    def _skip_reason(self, method: ComparedMethod, fold: int) -> str:
        """Why a fold is skipped, or "" if it is run; the cheapest method always runs."""
        if self.deadline is None:
            return ""
        left = self.deadline - time.monotonic()
        seconds_needed = self.speed.estimate(method.name, self.estimated_seconds[method.name]) * (
            len(self.problem.folds) - fold
        )
        if (seconds_needed * _MIN_TRAINING_SHARE if method.accepts_time_limit else seconds_needed) <= left:
            return ""
        if self._is_cheapest(method):
            if fold == 0:
                self.notes.append(
                    f"budget={self.minutes:g} minutes is too small for any method: the cheapest, {method.name}, was "
                    "run all the same"
                )
            return ""
        return (
            f"not in the budget: about {format_duration(seconds_needed)} needed, {format_duration(max(left, 0))} left"
        )

    def _skip_remaining(self) -> None:
        """After Ctrl-C: rows for the current method with its finished folds, and for those not begun."""
        self.is_interrupted = True
        done = {row.method for row in self.rows}
        under_way, folds = self.current
        for method in self.methods:
            if method.name not in done:
                ours = folds if method is under_way else []
                self.rows.append(self._make_row(method, "unfinished" if ours else "skipped", "stopped by Ctrl-C", ours))
        self.notes.append("stopped by Ctrl-C")

    def _describe_work(self, total: float) -> str:
        """The number of methods and folds, and the estimated time with the method that takes most of it."""
        work = f"{format_count(len(self.methods), 'method')}, {format_count(len(self.problem.folds), 'fold')}"
        slowest = max(self.estimated_seconds, key=lambda name: self.estimated_seconds[name])
        share = self.estimated_seconds[slowest] * len(self.problem.folds) / total
        where = f", most of it {slowest}" if share > 0.5 and len(self.methods) > 1 else ""
        limit = "" if self.minutes is None else f", at most {self.minutes:g} min by the budget"
        return f"{work}; about {format_duration(total)}{where}{limit}"

    @contextmanager
    def _progress_meter(self) -> Iterator[ProgressMeter]:
        """A meter over the estimated seconds, so that it shows the time left."""
        total = sum(self.estimated_seconds.values()) * len(self.problem.folds)
        if self.show_progress is not False and total > _MIN_ANNOUNCED_SECONDS:
            print(f"compare: {self._describe_work(total)}", file=sys.stderr)
        form = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
        with ProgressMeter(total, self.show_progress, bar_format=form) as bar:
            yield bar


def omit_networks(methods: list[ComparedMethod], problem: ComparisonProblem) -> tuple[list[ComparedMethod], list[str]]:
    """The methods that train no network, and a note on the others: how to include them, and how long they take."""
    networks = [method for method in methods if method.networks]
    others = [method for method in methods if not method.networks]
    if not networks:
        return others, []
    size = FoldSize.from_problem(problem)
    seconds = len(problem.folds) * sum(estimate_seconds(method.model, size) for method in networks)
    names = ", ".join(method.name for method in networks)
    return others, [
        f"left out: {names}, which train a network: max_steps=500 includes them, about {format_duration(seconds)} more"
    ]


def _describe_error(error: Exception, fold: int, folds: int) -> str:
    words = " ".join(f"{error}".split())
    where = f" in fold {fold + 1} of {folds}" if folds > 1 else ""
    return f"failed{where}: {type(error).__name__}: {words}"[:400]
