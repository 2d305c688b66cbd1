"""`backtest`: forecasts from many origins, part by part, until all are judged or Ctrl-C is pressed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ...recognize.comparison.stopping import interrupted_at_once
from ...sequences import Sequences
from ...sequences.arguments import RandomState, flag, whole
from ...sequences.container import read_sequences
from ..base import Forecaster
from ..baselines.persistence import Persistence
from ..calibration import level_tails
from ..cells import Cells
from ..windows import after, windows_at
from .contestants import Asked, Contestant
from .judging import ENSEMBLE, Judge, Scores, judged, read_scores
from .keeping import Kept, of_data, of_model
from .origins import Ids, Origins, last_origins, said
from .result import Backtest

_AT_ONCE = 256  # windows, so that progress and checkpoints have something to tell
_NUMBERS = 1 << 23  # numbers of pasts and futures at once


def backtest(
    model: Forecaster,
    X: Any,
    horizon: int,
    *,
    n_windows: int,
    step: int = 1,
    refit: bool = False,
    scores: Any = ("mse", "mae"),
    level: float = 0.8,
    n_samples: int = 100,
    baseline: Literal["persistence"] | Forecaster | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = False,
    random_state: RandomState = None,
) -> Backtest:
    """Forecast from the last origins of every sequence and compare with what came: how good is a model here?

    A forecast sees its sequence from the first step to the origin and nothing after it. Windows of one sequence are
    alike, so intervals come from drawing whole sequences anew (whole groups, where X has groups), and of a single
    sequence from drawing blocks of windows; the record says which.

    Parameters
    ----------
    model : Forecaster
        One that was fitted answers as it is: whether it has seen these sequences is not known here. One that was not is
        fitted, as a copy, on everything before the first origin.
    X : sequences
        Shorter ones have fewer windows.
    horizon : int
        How many steps to forecast.
    n_windows, step : int
        How many origins in every sequence, and how many steps apart. The last one leaves just the horizon.
    refit : bool
        Whether a copy is fitted before every origin, on what is known of all sequences then: up to the last timestamp
        of the past, or, without timestamps, as many steps of each. `Ridge` does so at the cost of about two fits.
    scores : names or functions
        "mse", "mae", "mase" (scaled by the past of the window), "psnr", "ssim" (values in [0, 1]), "crps" and
        "energy"; or functions `score(truth, forecast, per="each")`, such as `partial(tl.score.psnr, value_range=255)`.
        Coverage and width are added where there are intervals.
    level : float
        Of the intervals.
    n_samples : int
        Futures for "crps" and "energy", of methods that draw or are calibrated; the others have one, whose CRPS is its
        absolute error.
    baseline : "persistence", Forecaster or None
        Beside which the model stands in the same windows, treated as the model is.
    checkpoint : path, optional
        A folder that keeps finished windows; the same call with it goes on where it ended.
    progress : bool
        Whether a bar shows how far it is.
    random_state : int, Generator or None
        Repeats what is drawn.

    Returns
    -------
    Backtest
        `print` it, or ask for `per_step()`, `at(h)`, `up_to(h)`, `skill()`, `plot()` and `to_json()`. Ctrl-C, pressed
        once, gives what is finished by then.

    Examples
    --------
    >>> import timelike as tl
    >>> X = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]]
    >>> found = tl.forecast.backtest(tl.forecast.Persistence(), X, 2, n_windows=3, random_state=0)
    >>> found.per_step("mae").mean, found.origin
    (array([1.5, 3. ]), array([2, 3, 4, 2, 3, 4]))
    >>> found.at(2)["mae"].mean, found.up_to(2)["mae"].mean
    (3.0, 2.25)
    """
    _refuse_model(model, "model")
    rival = _read_baseline(baseline)
    sequences = _read(model, X)
    judges = read_scores(scores)
    level_tails(level)
    asked = Asked(
        whole(horizon, "horizon", 1),
        whole(n_samples, "n_samples", 1),
        any(one in ENSEMBLE for one in judges.values() if isinstance(one, str)),
        float(level),
    )
    cells = model.cells_ if model.__sklearn_is_fitted__() else Cells.of(sequences, model.known)
    again = flag(refit, "refit")
    sides = [Contestant(one, sequences, cells, refit=again) for one in (model, rival) if one is not None]
    if len(sides) > 1 and sides[0].name == sides[1].name:
        sides[1].name += " (baseline)"
    plan = _plan(sequences, sides, asked, whole(n_windows, "n_windows", 1), whole(step, "step", 1))
    call = repr((asked, n_windows, step, again, list(judges), _NUMBERS, _AT_ONCE))
    identity = {}
    if checkpoint is not None:  # all data must be read for it
        identity = {"data": of_data(sequences), "model": of_model(model), "baseline": of_model(rival), "call": call}
    kept = Kept(checkpoint, identity, random_state)
    run = _Run(sequences, cells, sides, plan, asked, judges, kept)
    return run.backtest(step, flag(progress, "progress"))


class _Plan(NamedTuple):
    origins: Origins
    first: Any
    """The earliest cut."""
    short: int
    """Sequences with fewer windows than asked for."""


def _plan(sequences: Sequences, sides: list[Contestant], asked: Asked, n_windows: int, step: int) -> _Plan:
    """Windows for which every contestant has enough of a past."""
    origins = last_origins(sequences, asked.horizon, n_windows, step, 1)
    first = origins.cuts(sequences).min()
    need = max(1, *(side.need(first) for side in sides))
    if need > 1:
        origins = last_origins(sequences, asked.horizon, n_windows, step, need)
        if not any(side.fitted_here for side in sides):  # else what was learned before the earlier cut stays
            first = origins.cuts(sequences).min()
    counts = np.bincount(origins.item, minlength=len(sequences))
    return _Plan(origins, first, int((counts < n_windows).sum()))


class _Run:
    """A backtest under way."""

    def __init__(
        self,
        sequences: Sequences,
        cells: Cells,
        sides: list[Contestant],
        plan: _Plan,
        asked: Asked,
        judges: dict[str, Judge],
        kept: Kept,
    ) -> None:
        self.sequences, self.sides, self.plan, self.asked = sequences, sides, plan, asked
        self.judges, self.kept = judges, kept
        self.frames = cells.frames(sequences)
        self.found: dict[int, list[Scores]] = {}
        self.rolling = [side for side in sides if side.rolls(plan.origins)]
        self.parts = list(self._parts())

    def backtest(self, step: int, shown: bool) -> Backtest:
        """Everything that was finished."""
        began, notes = time.monotonic(), self._notes()
        with self._bar(shown) as bar, interrupted_at_once():
            try:
                for number, rows in enumerate(self.parts):
                    self.found[number] = self._part(number, rows)
                    bar.update(len(rows))
            except KeyboardInterrupt:
                if not self.found:
                    raise
                notes.append(f"stopped by Ctrl-C after {len(self.found)} of {len(self.parts)} parts")
        return self._record(step, notes, time.monotonic() - began)

    def _parts(self) -> Iterator[Ids]:
        """Windows that are answered together: of one cut where models are fitted again, one after the other."""
        origins = self.plan.origins
        every = np.arange(len(origins.item))
        if not self.sides[0].refit or self.rolling == self.sides:
            yield from self._batches(every)
            return
        cuts = origins.cuts(self.sequences)
        for cut in np.unique(cuts):
            yield from self._batches(every[cuts == cut])

    def _batches(self, rows: Ids) -> Iterator[Ids]:
        """So many windows at once that their pasts, which are whole histories, and their futures are not too many."""
        cells = int(np.prod(self.sequences.frame))
        ahead = self.asked.horizon * self.asked.n_samples
        numbers = np.cumsum((self.plan.origins.origin[rows] + ahead) * cells) // _NUMBERS
        for chunk in np.unique(numbers):
            some = rows[numbers == chunk]
            yield from (some[begin : begin + _AT_ONCE] for begin in range(0, len(some), _AT_ONCE))

    def _part(self, number: int, rows: Ids) -> list[Scores]:
        held = self.kept.find(number)
        if held is not None:
            return held
        origins, asked = self.plan.origins, self.asked
        windows = windows_at(self.frames, origins.item[rows], origins.origin[rows])
        truth = after(self.frames, windows, asked.horizon)
        cut = origins.cuts(self.sequences)[rows].min() if self.sides[0].refit else self.plan.first
        found = []
        for side in self.sides:
            if side in self.rolling and not side.rolled:
                side.roll(origins, asked.horizon, self.plan.first)
            rng = np.random.default_rng([self.kept.seed, number])
            found.append(judged(truth, side.answers(origins, rows, cut, asked, rng), windows.pasts, self.judges))
        self.kept.keep(number, found)
        return found

    def _bar(self, shown: bool) -> Any:
        from tqdm.auto import tqdm

        return tqdm(total=len(self.plan.origins.item), desc="backtest", unit="window", disable=not shown, leave=False)

    # --- the record --------------------------------------------------------------------------------------------------

    def _notes(self) -> list[str]:
        found = []
        if self.plan.short:
            found.append(f"{self.plan.short} shorter sequences have fewer windows, or none")
        for side in self.sides:
            if side.refit and hasattr(side.given, "calibration_"):
                found.append(f"{side.name} was calibrated, and copies that are fitted again are not")
        return found

    def _record(self, step: int, notes: list[str], seconds: float) -> Backtest:
        rows = np.concatenate([self.parts[number] for number in self.found])
        order = np.argsort(rows, kind="stable")  # parts of one cut hold windows of many sequences
        origins = Origins(*(part[rows[order]] for part in self.plan.origins))
        merged = [self._merged(side, order) for side in range(len(self.sides))]
        for side, one in zip(self.sides, merged, strict=True):
            if "crps" in one and "coverage" not in one:
                notes.append(f"{side.name} has one future and no calibration: its CRPS is its absolute error")
        units, drawn = _units(self.sequences)
        return Backtest(
            model=self.sides[0].name,
            baseline=self.sides[1].name if len(self.sides) > 1 else None,
            horizon=self.asked.horizon,
            step=step,
            level=self.asked.level,
            refit=self.sides[0].refit,
            item=origins.item,
            origin=origins.origin,
            unit=units[origins.item],
            unit_name=drawn,
            scores=merged[0],
            reference=merged[1] if len(merged) > 1 else {},
            fitted=self._fitted(),
            notes=tuple(notes),
            seed=self.kept.seed,
            seconds=seconds,
        )

    def _merged(self, side: int, order: Ids) -> Scores:
        parts = [found[side] for found in self.found.values()]
        return {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}

    def _fitted(self) -> str:
        if self.sides[0].refit:
            return "fitted again before every origin"
        if not self.sides[0].learns:
            return f"{self.sides[0].name} as it came, fitted before"
        return f"{self.sides[0].name} fitted on {said(self.sequences, self.plan.first)}"


def _units(sequences: Sequences) -> tuple[Ids, str]:
    """What sequences belong together, and what to call it: groups, where there are several."""
    if sequences.groups is not None:
        found, unit = np.unique(sequences.groups, return_inverse=True)
        if len(found) > 1:
            return np.asarray(unit, np.int64), "groups"
    return np.arange(len(sequences)), "sequences"


def _refuse_model(model: Any, name: str) -> None:
    if not isinstance(model, Forecaster):
        raise TypeError(f"{name} is a {type(model).__name__}: expected a Forecaster, such as Persistence()")


def _read_baseline(baseline: Any) -> Forecaster | None:
    if baseline is None or isinstance(baseline, Forecaster):
        return baseline
    if baseline != "persistence":
        raise ValueError(f"baseline={baseline!r}: expected 'persistence', a Forecaster or None")
    return Persistence()


def _read(model: Forecaster, X: Any) -> Sequences:
    if model.__sklearn_is_fitted__():
        return model._asked_whole(X)
    sequences = read_sequences(X)
    if len(sequences) == 0:
        raise ValueError("X holds no sequences: expected at least one")
    return sequences
