"""`compare`: runs methods one after the other, the cheapest first, until the budget is spent or Ctrl-C is pressed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.interrupts import TimeLimitExceeded, immediate_interrupts, time_limit
from ..core.parameters import check_float
from ..core.progress import ProgressMeter, check_progress
from ..core.random import RandomState, check_random_state
from .comparison import Comparison
from .comparison_row import ComparisonRow, make_row
from .comparison_store import ComparisonStore
from .fold_scores import MAX_PAIRED_ITEMS, FoldResult, score_fold
from .methods import ComparedMethod, parse_methods
from .preparation import parse_prepare
from .problem import ComparisonProblem, parse_problem
from .runtime_estimate import FoldSize, SpeedTracker, estimate_seconds

_MIN_ANNOUNCED_SECONDS = 10.0  # comparisons estimated to take longer announce their time at the start
_MIN_TRAINING_SHARE = 0.25  # of the estimated training time: with less a result would say little about the method
_MAX_TRAINING_SECONDS = 120.0  # of one training: the default limit of learned metrics
_TRAINING_TIME_SHARE = 0.7  # of the time left goes into training, the rest into predictions


def compare(
    X: Any,
    y: Any = None,
    methods: Any = None,
    *,
    groups: Any = None,
    test: Any = None,
    cv: Any = None,
    metric: Any = "accuracy",
    prepare: Any = None,
    budget: float | None = None,
    random_state: RandomState = None,
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Compare methods on one collection by nested cross-validation, or on an official split: which one to use here?

    Every method is fitted on the training part of each fold alone, and chooses there whatever it chooses (a window, a
    penalty, when to stop). They run one after the other, the cheapest first; what does not fit into the budget, or
    fails on these data, is a row that says so.

    Parameters
    ----------
    X, y
        Sequences and their classes, or numbers with `metric="mse"`; y may be left out where X carries labels.
    methods : None, list, dict or one of their entries
        None for the usual ones: 1-NN Euclidean, 1-NN DTW with a window chosen on the training part, 1-NN MSM,
        statistics + forest, Rocket + ridge, Discriminant, Fused (DTW and Discriminant), T-Loss + head, SiameseGRU,
        Prototypes, CoupledGRU and TAP; where lengths differ, also some of them with `", resampled"` behind the name:
        all sequences brought to the median length of the training part. An entry is one of these names, a public name
        (`"MSM"`), a metric (1-NN, or its distances), an encoder (with a head, or its distances) or any estimator with
        `fit` and `predict`. A dict gives them names. What came fitted is used as it is.
    groups : array, False or None
        What must not be on both sides (subjects); None takes the groups that X carries.
    test : (X, y), optional
        An official split: X is learned from, `test` is tested. Without it, cross-validation.
    cv : int, splitter or list of (train, test), optional
        Folds; 5, or fewer where there are fewer groups or members of a class. Folds are stratified.
    metric : {"accuracy", "map", "eer", "mse"}, or several
        Accuracy; mean average precision of test sequences as queries among those learned from; equal error rate of
        all pairs of test sequences; mean squared error. Of several, found in one fit, the first decides what is best.
    prepare : transformer or list of them, optional
        In front of every method, fitted on the training part of each fold: `timelike.prepare.Standardize()`, or any
        transformer from sequences to as many. Values that are still missing are interpolated for methods that cannot
        take them, and the row says so; those that can (DTW by name, with `missing="ignore"`) leave them out.
    budget : float, optional
        Minutes. Methods that can (`max_time`) train within what is left. None runs everything, and says how long that
        will take.
    random_state : int, Generator or None
        Repeats the folds, and the methods that draw.
    checkpoint : path, optional
        A folder that keeps each finished (method, fold); the same call with it goes on where it ended.
    progress : bool or None
        Whether a bar shows how far it is; None does so on a terminal, where it takes over two seconds. Unless False,
        the start says how long everything will take, if that is worth knowing.

    Returns
    -------
    Comparison
        `print` it, or ask for `table()`, `best()`, `differences()`, `plot()` and `to_json()`. Ctrl-C, pressed once,
        gives what is finished by then.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = np.sin(np.arange(24) * np.repeat([0.5, 0.6], 10)[:, None] + np.arange(20)[:, None])
    >>> y = np.repeat(["slow", "fast"], 10)
    >>> found = tl.compare(X, y, ["euclidean", "dtw"], random_state=0, progress=False)
    >>> [row.method for row in found.rows], found.design
    (['euclidean', 'dtw'], '5 folds, stratified')
    >>> found.best().predict(X[:1])
    array(['slow'], dtype='<U4')
    """
    minutes = None if budget is None else check_float(budget, "budget", above=0.0)
    rng = check_random_state(0 if random_state is None and checkpoint is not None else random_state)
    problem = parse_problem(X, y, groups=groups, test=test, cv=cv, metric=metric, rng=rng)
    steps = parse_prepare(prepare)
    entrants = parse_methods(
        methods,
        problem.X,
        is_regression=problem.is_regression,
        needs_predictions=problem.needs_predictions,
        prepare=steps,
    )
    seed = int(rng.integers(2**31))
    run = ComparisonRun(
        problem, entrants, minutes, seed, ComparisonStore(checkpoint, problem, seed), check_progress(progress)
    )
    return run.run()


class _MethodOutcome(NamedTuple):
    """How far a method came, and the reason why it stopped."""

    state: str
    reason: str


class ComparisonRun:
    """A comparison under way."""

    def __init__(
        self,
        problem: ComparisonProblem,
        methods: list[ComparedMethod],
        minutes: float | None,
        seed: int,
        store: ComparisonStore,
        show_progress: bool | None,
    ) -> None:
        size = FoldSize.from_problem(problem)
        self.problem, self.store, self.seed, self.show_progress = problem, store, seed, show_progress
        self.estimated_seconds = {method.name: estimate_seconds(method.model, size) for method in methods}
        self.methods = sorted(
            methods, key=lambda method: self.estimated_seconds[method.name]
        )  # stable: equals as given
        self.started_at = time.monotonic()
        self.deadline = None if minutes is None else self.started_at + 60 * minutes
        self.minutes, self.speed, self.notes = minutes, SpeedTracker(), list(problem.notes)
        if "eer" in problem.scores and max(len(test) for _, test in problem.folds) > MAX_PAIRED_ITEMS:
            self.notes.append(
                f"equal error rates are of all pairs of {MAX_PAIRED_ITEMS} test sequences, drawn at random"
            )
        self.rows: list[ComparisonRow] = []
        self.limit_notes: dict[str, str] = {}  # in words
        self.current: tuple[ComparedMethod, list[FoldResult]] = self.methods[0], []

    def run(self) -> Comparison:
        """Run the methods, and return everything that is finished."""
        with self._progress_meter() as bar, immediate_interrupts():
            try:
                for method in self.methods:
                    self.rows.append(self._run_method(method, bar))
            except KeyboardInterrupt:
                self._skip_remaining()
        self._record_missing()
        units = self.problem.tested_units()
        return Comparison(
            scores=self.problem.scores,
            rows=tuple(self.rows),
            design=self.problem.design,
            overlap=self.problem.overlap,
            groups=None if units is None else tuple(map(str, units.tolist())),
            notes=tuple(self.notes),
            seconds=time.monotonic() - self.started_at,
            problem=self.problem,
            methods=tuple(self.methods),
            seed=self.seed,
        )

    def _record_missing(self) -> None:
        filled = [row for row in self.rows if any(fold.interpolated for fold in row.folds)]
        if filled:
            share = float(np.isnan(self.problem.X.values).mean())
            self.notes.append(
                f"{share:.2g} of all values are missing; for {len(filled)} of {len(self.rows)} methods, which cannot "
                "take them, they were interpolated in time"
            )

    def _run_method(self, method: ComparedMethod, bar: ProgressMeter) -> ComparisonRow:
        """Run a method on all folds, or as many as possible."""
        bar.set_description(method.name)
        folds: list[FoldResult] = []
        self.current, ended = (method, folds), _MethodOutcome("finished", "")
        for fold in range(len(self.problem.folds)):
            found = self._load_fold(method, fold) or self._try_fold(method, fold, begun=bool(folds))
            if isinstance(found, _MethodOutcome):
                ended = found
                break
            self.speed.record(
                method.name, self.estimated_seconds[method.name], found.fit_seconds + found.predict_seconds
            )
            folds.append(found)
            bar.update(self.estimated_seconds[method.name])
        bar.update(self.estimated_seconds[method.name] * (len(self.problem.folds) - len(folds)))
        return self._make_row(method, *ended, folds)

    def _load_fold(self, method: ComparedMethod, fold: int) -> FoldResult | None:
        """The stored result of an earlier run, if that had as much time."""
        known = self.store.find(method, fold, self._training_limit(method, fold))
        if known is None:
            return None
        self._record_limit(method, known[1])
        return known[0]

    def _training_limit(self, method: ComparedMethod, fold: int) -> float | None:
        """Seconds that the method may train on this fold, None for no limit."""
        if self.deadline is None or not method.accepts_time_limit:
            return None
        left = self._training_seconds(method, self.deadline - time.monotonic()) / (len(self.problem.folds) - fold)
        return min(max(left, 1.0), _MAX_TRAINING_SECONDS)

    def _record_limit(self, method: ComparedMethod, limit: float | None) -> None:
        if limit is not None and limit < _MAX_TRAINING_SECONDS:
            self.limit_notes[method.name] = f"had {_format_duration(limit)} to train"

    def _try_fold(self, method: ComparedMethod, fold: int, *, begun: bool) -> FoldResult | _MethodOutcome:
        """The result of a fold, or why there is none."""
        state, reason = "unfinished" if begun else "skipped", self._skip_reason(method, fold)
        if reason:
            return _MethodOutcome(state, reason)
        try:
            return self._run_fold(method, fold)
        except TimeLimitExceeded:
            return _MethodOutcome(state, "not in the budget: it ended while it was at work")
        except Exception as error:  # one that fails does not take the others with it
            return _MethodOutcome("failed", _describe_error(error, fold, len(self.problem.folds)))

    def _make_row(self, method: ComparedMethod, state: str, reason: str, folds: list[FoldResult]) -> ComparisonRow:
        fitted = "came fitted, and was used as it is" if method.is_fitted and folds else ""
        filled = "missing values interpolated" if any(fold.interpolated for fold in folds) else ""
        remarks = filter(None, [reason, fitted, filled, self.limit_notes.get(method.name, "") if folds else ""])
        return make_row(method.name, state, "; ".join(remarks), folds, self.problem)

    def _run_fold(self, method: ComparedMethod, fold: int) -> FoldResult:
        left = None if self.deadline is None else self.deadline - time.monotonic()
        limit = self._training_limit(method, fold)
        fresh = method.make_model((self.seed + fold) % 2**31, limit)
        self._record_limit(method, limit)
        with time_limit(None if left is None or self._is_cheapest(method) else left + self._grace_seconds):
            found = score_fold(method, fresh, self.problem, fold)
        self.store.save(method, fold, found, limit)
        return found

    def _training_seconds(self, method: ComparedMethod, left: float) -> float:
        """Seconds of what is left that the method may train: as much of it as of what is still to be done."""
        done = {row.method for row in self.rows}
        waiting = {one.name: self.estimated_seconds[one.name] for one in self.methods if one.name not in done}
        return _TRAINING_TIME_SHARE * left * waiting[method.name] / sum(waiting.values())

    def _is_cheapest(self, method: ComparedMethod) -> bool:
        """Whether this is the cheapest method, which always runs."""
        return method is self.methods[0] and not any(row.state == "finished" for row in self.rows)

    @property
    def _grace_seconds(self) -> float:
        """Seconds beyond the budget after which a method that does not end itself is ended."""
        return max(0.05 * 60 * (self.minutes or 0.0), 0.5)

    def _skip_reason(self, method: ComparedMethod, fold: int) -> str:
        """Why a fold is skipped, or "" if it is run; the cheapest method always runs."""
        if self.deadline is None:
            return ""
        left = self.deadline - time.monotonic()
        needed = self.speed.estimate(method.name, self.estimated_seconds[method.name]) * (
            len(self.problem.folds) - fold
        )
        if (needed * _MIN_TRAINING_SHARE if method.accepts_time_limit else needed) <= left:
            return ""
        if self._is_cheapest(method):
            if fold == 0:
                self.notes.append(
                    f"budget={self.minutes:g} minutes is too small for any method: the cheapest, {method.name}, was "
                    "run all the same"
                )
            return ""
        return f"not in the budget: about {_format_duration(needed)} needed, {_format_duration(max(left, 0))} left"

    def _skip_remaining(self) -> None:
        """After Ctrl-C: rows for the current method with its finished folds, and for those not begun."""
        done = {row.method for row in self.rows}
        under_way, folds = self.current
        for method in self.methods:
            if method.name not in done:
                ours = folds if method is under_way else []
                self.rows.append(self._make_row(method, "unfinished" if ours else "skipped", "stopped by Ctrl-C", ours))
        self.notes.append("stopped by Ctrl-C")

    @contextmanager
    def _progress_meter(self) -> Iterator[ProgressMeter]:
        """A meter over the estimated seconds, so that it shows the time left."""
        total = sum(self.estimated_seconds.values()) * len(self.problem.folds)
        if self.show_progress is not False and total > _MIN_ANNOUNCED_SECONDS:
            limit = "" if self.minutes is None else f", at most {self.minutes:g} min by the budget"
            work = f"{len(self.methods)} methods, folds: {len(self.problem.folds)}"
            print(f"compare: {work}; about {_format_duration(total)}{limit}", file=sys.stderr)
        form = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
        with ProgressMeter(total, self.show_progress, bar_format=form) as bar:
            yield bar


def _describe_error(error: Exception, fold: int, folds: int) -> str:
    words = " ".join(f"{error}".split())
    where = f" in fold {fold + 1} of {folds}" if folds > 1 else ""
    return f"failed{where}: {type(error).__name__}: {words}"[:400]


def _format_duration(seconds: float) -> str:
    """Seconds, minutes or hours.

    >>> _format_duration(5400)
    '90 min'
    """
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
