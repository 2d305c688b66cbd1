"""`compare`: methods one after the other, the cheapest first, until the budget is spent or Ctrl-C is pressed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...sequences import bars
from ...sequences.arguments import RandomState, generator, real
from .expecting import Size, Speed, seconds
from .judging import MOST_PAIRED, Judged, judge
from .keeping import Kept
from .methods import Method, read_methods
from .preparation import read_prepare
from .problem import Problem, read_problem
from .result import Comparison
from .rows import Row, row_of
from .stopping import OutOfTime, ended_after, interrupted_at_once

_TOLD = 10.0  # seconds from which on it is said how long a comparison will take
_SHARE = 0.25  # of the time that a training would like: with less it would say little about the method
_LONGEST = 120.0  # seconds of one training: what learned metrics take for themselves, so that they stay as they are
_REST = 0.7  # of what is left goes into training, the remainder into answers


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
    minutes = None if budget is None else real(budget, "budget", above=0.0)
    rng = generator(0 if random_state is None and checkpoint is not None else random_state)
    problem = read_problem(X, y, groups=groups, test=test, cv=cv, metric=metric, rng=rng)
    steps = read_prepare(prepare)
    entrants = read_methods(methods, problem.X, numeric=problem.numeric, answers=problem.answers, prepare=steps)
    seed = int(rng.integers(2**31))
    run = Run(problem, entrants, minutes, seed, Kept(checkpoint, problem, seed), bars.checked(progress))
    return run.comparison()


class _Ended(NamedTuple):
    """How far a method came, and why no farther."""

    state: str
    why: str


class Run:
    """A comparison under way."""

    def __init__(
        self, problem: Problem, methods: list[Method], minutes: float | None, seed: int, kept: Kept, shown: bool | None
    ) -> None:
        size = Size.of(problem)
        self.problem, self.kept, self.seed, self.shown = problem, kept, seed, shown
        self.guesses = {method.name: seconds(method.model, size) for method in methods}
        self.methods = sorted(methods, key=lambda method: self.guesses[method.name])  # stable: equals as given
        self.began = time.monotonic()
        self.end = None if minutes is None else self.began + 60 * minutes
        self.minutes, self.speed, self.notes = minutes, Speed(), list(problem.notes)
        if "eer" in problem.scores and max(len(test) for _, test in problem.folds) > MOST_PAIRED:
            self.notes.append(f"equal error rates are of all pairs of {MOST_PAIRED} test sequences, drawn at random")
        self.rows: list[Row] = []
        self.limits: dict[str, str] = {}  # in words
        self.current: tuple[Method, list[Judged]] = self.methods[0], []

    def comparison(self) -> Comparison:
        """Everything that was finished."""
        with self._bar() as bar, interrupted_at_once():
            try:
                for method in self.methods:
                    self.rows.append(self._row(method, bar))
            except KeyboardInterrupt:
                self._end_early()
        self._note_missing()
        units = self.problem.tested_units()
        return Comparison(
            scores=self.problem.scores,
            rows=tuple(self.rows),
            design=self.problem.design,
            overlap=self.problem.overlap,
            groups=None if units is None else tuple(map(str, units.tolist())),
            notes=tuple(self.notes),
            seconds=time.monotonic() - self.began,
            problem=self.problem,
            methods=tuple(self.methods),
            seed=self.seed,
        )

    def _note_missing(self) -> None:
        filled = [row for row in self.rows if any(fold.interpolated for fold in row.folds)]
        if filled:
            share = float(np.isnan(self.problem.X.values).mean())
            self.notes.append(
                f"{share:.2g} of all values are missing; for {len(filled)} of {len(self.rows)} methods, which cannot "
                "take them, they were interpolated in time"
            )

    def _row(self, method: Method, bar: Any) -> Row:
        """A method on all folds, or as far as it comes."""
        bar.name(method.name)
        judged: list[Judged] = []
        self.current, ended = (method, judged), _Ended("finished", "")
        for fold in range(len(self.problem.folds)):
            found = self._found(method, fold) or self._tried(method, fold, begun=bool(judged))
            if isinstance(found, _Ended):
                ended = found
                break
            self.speed.learn(method.name, self.guesses[method.name], found.fit_seconds + found.predict_seconds)
            judged.append(found)
            bar.step(self.guesses[method.name])
        bar.step(self.guesses[method.name] * (len(self.problem.folds) - len(judged)))
        return self._finished(method, *ended, judged)

    def _found(self, method: Method, fold: int) -> Judged | None:
        """What a run before this one finished, if it had as much time."""
        known = self.kept.find(method, fold, self._limit(method, fold))
        if known is None:
            return None
        self._note_limit(method, known[1])
        return known[0]

    def _limit(self, method: Method, fold: int) -> float | None:
        """Seconds that the method may train on this fold, None where it is not told."""
        if self.end is None or not method.limited:
            return None
        left = self._share(method, self.end - time.monotonic()) / (len(self.problem.folds) - fold)
        return min(max(left, 1.0), _LONGEST)

    def _note_limit(self, method: Method, limit: float | None) -> None:
        if limit is not None and limit < _LONGEST:
            self.limits[method.name] = f"had {_duration(limit)} to train"

    def _tried(self, method: Method, fold: int, *, begun: bool) -> Judged | _Ended:
        """A fold, or why it is not there."""
        state, why = "unfinished" if begun else "skipped", self._too_long(method, fold)
        if why:
            return _Ended(state, why)
        try:
            return self._judged(method, fold)
        except OutOfTime:
            return _Ended(state, "not in the budget: it ended while it was at work")
        except Exception as error:  # one that fails does not take the others with it
            return _Ended("failed", _said(error, fold, len(self.problem.folds)))

    def _finished(self, method: Method, state: str, why: str, judged: list[Judged]) -> Row:
        fitted = "came fitted, and was used as it is" if method.learned and judged else ""
        filled = "missing values interpolated" if any(fold.interpolated for fold in judged) else ""
        said = filter(None, [why, fitted, filled, self.limits.get(method.name, "") if judged else ""])
        return row_of(method.name, state, "; ".join(said), judged, self.problem)

    def _judged(self, method: Method, fold: int) -> Judged:
        left = None if self.end is None else self.end - time.monotonic()
        limit = self._limit(method, fold)
        fresh = method.fresh((self.seed + fold) % 2**31, limit)
        self._note_limit(method, limit)
        with ended_after(None if left is None or self._is_cheapest(method) else left + self._grace):
            found = judge(method, fresh, self.problem, fold)
        self.kept.keep(method, fold, found, limit)
        return found

    def _share(self, method: Method, left: float) -> float:
        """Seconds of what is left that the method may train: as much of it as of what is still to be done."""
        done = {row.method for row in self.rows}
        waiting = {one.name: self.guesses[one.name] for one in self.methods if one.name not in done}
        return _REST * left * waiting[method.name] / sum(waiting.values())

    def _is_cheapest(self, method: Method) -> bool:
        """Which runs whatever the budget."""
        return method is self.methods[0] and not any(row.state == "finished" for row in self.rows)

    @property
    def _grace(self) -> float:
        """Seconds beyond the budget after which a method that does not end itself is ended."""
        return max(0.05 * 60 * (self.minutes or 0.0), 0.5)

    def _too_long(self, method: Method, fold: int) -> str:
        """Why a fold is not begun, nothing where it is: the first method begins in any case."""
        if self.end is None:
            return ""
        left = self.end - time.monotonic()
        needed = self.speed.expected(method.name, self.guesses[method.name]) * (len(self.problem.folds) - fold)
        if (needed * _SHARE if method.limited else needed) <= left:
            return ""
        if self._is_cheapest(method):
            if fold == 0:
                self.notes.append(
                    f"budget={self.minutes:g} minutes is too small for any method: the cheapest, {method.name}, was "
                    "run all the same"
                )
            return ""
        return f"not in the budget: about {_duration(needed)} needed, {_duration(max(left, 0))} left"

    def _end_early(self) -> None:
        """After Ctrl-C: the method under way as far as it came, the others not begun."""
        done = {row.method for row in self.rows}
        under_way, judged = self.current
        for method in self.methods:
            if method.name not in done:
                ours = judged if method is under_way else []
                self.rows.append(self._finished(method, "unfinished" if ours else "skipped", "stopped by Ctrl-C", ours))
        self.notes.append("stopped by Ctrl-C")

    @contextmanager
    def _bar(self) -> Iterator[bars.Bar]:
        """As long as everything is expected to take, so that the time left can be read off it."""
        total = sum(self.guesses.values()) * len(self.problem.folds)
        if self.shown is not False and total > _TOLD:
            limit = "" if self.minutes is None else f", at most {self.minutes:g} min by the budget"
            work = f"{len(self.methods)} methods, folds: {len(self.problem.folds)}"
            print(f"compare: {work}; about {_duration(total)}{limit}", file=sys.stderr)
        form = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
        with bars.Bar(total, self.shown, form=form) as bar:
            yield bar


def _said(error: Exception, fold: int, folds: int) -> str:
    words = " ".join(f"{error}".split())
    where = f" in fold {fold + 1} of {folds}" if folds > 1 else ""
    return f"failed{where}: {type(error).__name__}: {words}"[:400]


def _duration(seconds: float) -> str:
    """Seconds, minutes or hours.

    >>> _duration(5400)
    '90 min'
    """
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
