"""`backtest`: forecasts from many origins, part by part, until all are judged or Ctrl-C is pressed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...recognize.comparison.stopping import interrupted_at_once
from ...sequences import Sequences, bars
from ...sequences.arguments import RandomState, flag, whole
from ..base import Forecaster
from ..calibration import level_tails
from ..cells import Cells
from ..windows import after, windows_at
from .contestants import Asked, Contestant
from .judging import BAND, ENSEMBLE, Judge, Scores, judged, of_scores, ours, perfect, read_scores
from .keeping import Kept, of_data, of_model
from .meeting import Shown, Word, called, meet, read_model, read_rivals
from .origins import Ids, Origins, said
from .planning import Plan, planned
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
    baseline: Word | Forecaster | Sequence[Word | Forecaster] | None = None,
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
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
        Shorter ones have fewer windows. They do not decide what is learned from: where models are fitted here, the
        first origin is that of sequences with all windows, and earlier ones are left out, which the record says.
    horizon : int
        How many steps to forecast.
    n_windows, step : int
        How many origins in every sequence, and how many steps apart. The last one leaves just the horizon.
    refit : bool
        Whether a copy is fitted before every origin, on what is known of all sequences then: up to the last timestamp
        of the past, or, without timestamps, as many steps of each. What the first copy chose, later ones
        keep: `lags` and `alpha` of `Ridge`, `window` of `Analog`, `order` of `AR`. `Ridge` does so at the cost of about
        two fits.
    scores : names or functions
        "mse", "mae", "mase" (scaled by the past of the window), "psnr", "ssim" (values in [0, 1]), "crps" and
        "energy"; or functions `score(truth, forecast, per="each")`, such as `partial(tl.score.psnr, value_range=255)`.
        Coverage and width are added where there are intervals. A function of your own has no skill unless it says what
        a perfect forecast has, in an attribute `perfect`.
    level : float
        Of the intervals.
    n_samples : int
        Futures for "crps" and "energy", of methods that draw or are calibrated; the others have one, whose CRPS is its
        absolute error.
    baseline : "persistence", "mean", "ridge", "analog", Forecaster, a list of these, or None
        Beside which the model stands in the same windows, treated as the model is. They may forecast channels that the
        model knows in advance, and not the other way round.
    checkpoint : path, optional
        A folder that keeps finished windows; the same call with it goes on where it ended. Scores must be words, or
        functions of a module, or partials of such: others could not be told apart.
    progress : bool or None
        Whether a bar shows how far it is; None does so on a terminal, where it takes over two seconds.
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
    sequences, cells = read_model(model, X)
    rivals, judges = read_rivals(baseline), read_scores(scores)
    level_tails(level)
    asked = Asked(
        whole(horizon, "horizon", 1),
        whole(n_samples, "n_samples", 1),
        any(one in ENSEMBLE for one in judges.values() if isinstance(one, str)),
        float(level),
    )
    again, windows, apart = flag(refit, "refit"), whole(n_windows, "n_windows", 1), whole(step, "step", 1)
    identity = {}
    if checkpoint is not None:  # all data must be read for it
        call = repr((asked, windows, apart, again, of_scores(judges), _NUMBERS, _AT_ONCE))
        others = " ".join(map(of_model, rivals)) or "none"
        identity = {"data": of_data(sequences), "model": of_model(model), "baseline": others, "call": call}
    shown = [Shown(sequences), *(meet(rival, sequences, cells, model) for rival in rivals)]
    every = [model, *rivals]
    sides = [
        Contestant(one, seen, asked, refit=again, name=name)
        for one, seen, name in zip(every, shown, called(every), strict=True)
    ]
    plan = planned(sequences, sides, asked.horizon, windows, apart)
    kept = Kept(checkpoint, identity, random_state)
    return _Run(sequences, cells, sides, plan, judges, kept).backtest(apart, bars.checked(progress))


class _Run:
    """A backtest under way."""

    def __init__(
        self,
        sequences: Sequences,
        cells: Cells,
        sides: list[Contestant],
        plan: Plan,
        judges: dict[str, Judge],
        kept: Kept,
    ) -> None:
        self.sequences, self.sides, self.plan, self.asked = sequences, sides, plan, sides[0].asked
        self.judges, self.kept = judges, kept
        self.frames = cells.frames(sequences)
        self.found: dict[int, list[Scores]] = {}
        self.rolling = [side for side in sides if side.rolls(plan.origins)]
        self.parts = list(self._parts())

    def backtest(self, step: int, shown: bool | None) -> Backtest:
        """Everything that was finished."""
        began, stopped = time.monotonic(), []
        with bars.Bar(len(self.plan.origins.item), shown, name="backtest", unit="window") as bar, interrupted_at_once():
            try:
                for number, rows in enumerate(self.parts):
                    self.found[number] = self._part(number, rows)
                    bar.step(len(rows))
            except KeyboardInterrupt:
                if not self.found:
                    raise
                stopped = [f"stopped by Ctrl-C after {len(self.found)} of {len(self.parts)} parts"]
        return self._record(step, stopped, time.monotonic() - began)

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
        ahead = self.asked.horizon * max(side.n_futures for side in self.sides)
        numbers = np.cumsum((self.plan.origins.origin[rows] + ahead) * cells) // _NUMBERS
        for chunk in np.unique(numbers):
            some = rows[numbers == chunk]
            yield from (some[begin : begin + _AT_ONCE] for begin in range(0, len(some), _AT_ONCE))

    def _part(self, number: int, rows: Ids) -> list[Scores]:
        names = [[*self.judges, *(BAND if side.banded else ())] for side in self.sides]
        held = self.kept.find(number, names, (len(rows), self.asked.horizon))
        if held is not None:
            return held
        origins, asked = self.plan.origins, self.asked
        windows = windows_at(self.frames, origins.item[rows], origins.origin[rows])
        truth = after(self.frames, windows, asked.horizon)
        cut = origins.cuts(self.sequences)[rows].min() if self.sides[0].refit else self.plan.first
        found = []
        for side in self.sides:
            if side in self.rolling and not side.rolled:
                side.roll(origins, self.plan.first)
            rng = np.random.default_rng([self.kept.seed, number])
            found.append(judged(truth, side.answers(origins, rows, cut, rng), windows.pasts, self.judges))
        self.kept.keep(number, found)
        return found

    # --- the record --------------------------------------------------------------------------------------------------

    def _notes(self, merged: list[Scores]) -> Iterator[str]:
        yield from self.plan.notes
        for side, scores in zip(self.sides, merged, strict=True):
            yield from side.notes
            if "crps" in scores and side.n_futures == 1:
                why = "" if hasattr(side.given, "calibration_") else " and no calibration"
                yield f"{side.name} has one future{why}: its CRPS is its absolute error"
        unsaid = [name for name, one in self.judges.items() if not ours(name, one)]
        if len(self.sides) > 1 and (unsaid := [name for name in unsaid if name not in perfect(self.judges)]):
            yield f"there is no skill by {', '.join(unsaid)}, which does not say what a perfect forecast has"

    def _record(self, step: int, stopped: list[str], seconds: float) -> Backtest:
        rows = np.concatenate([self.parts[number] for number in self.found])
        order = np.argsort(rows, kind="stable")  # parts of one cut hold windows of many sequences
        origins = Origins(*(part[rows[order]] for part in self.plan.origins))
        merged = [self._merged(side, order) for side in range(len(self.sides))]
        units, drawn = _units(self.sequences)
        return Backtest(
            model=self.sides[0].name,
            horizon=self.asked.horizon,
            step=step,
            level=self.asked.level,
            refit=self.sides[0].refit,
            item=origins.item,
            origin=origins.origin,
            unit=units[origins.item],
            unit_name=drawn,
            scores=merged[0],
            references={side.name: one for side, one in zip(self.sides[1:], merged[1:], strict=True)},
            perfect=perfect(self.judges),
            fitted=self._fitted(),
            notes=(*self._notes(merged), *stopped),
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
