"""`backtest`: forecasts from many origins, part by part, until all are scored or Ctrl-C is pressed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.interrupts import immediate_interrupts
from ...core.parameters import check_bool, check_int
from ...core.progress import ProgressMeter, check_progress
from ...core.random import RandomState
from ...sequences import Sequences
from ..base import Forecaster
from ..calibration import tail_quantiles
from ..cells import Cells
from ..windows import futures_after, windows_at_origins
from .align_channels import (
    BaselineName,
    ModelInput,
    match_channels,
    parse_baselines,
    unique_model_names,
    validate_model,
)
from .evaluated_model import BacktestRequest, EvaluatedModel
from .origins import Ids, Origins, describe_cut
from .plan import BacktestPlan, make_plan
from .result import Backtest
from .run_identity import BacktestStore, data_identity, model_identity
from .window_scores import (
    ENSEMBLE_SCORES,
    INTERVAL_SCORES,
    ScoreArrays,
    ScoreFunction,
    is_own_score,
    parse_scores,
    perfect_scores,
    score_identities,
    score_windows,
)

_MAX_BATCH = 256  # windows, so that progress and checkpoints have something to tell
_MAX_BATCH_NUMBERS = 1 << 23  # numbers of pasts and futures at once


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
    baseline: BaselineName | Forecaster | Sequence[BaselineName | Forecaster] | None = None,
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
        functions of a module, or partials of such: others could not be identified.
    progress : bool or None
        Whether a bar shows how far it is; None does so on a terminal, where it takes over two seconds.
    random_state : int, Generator or None
        Seed of everything that is sampled.

    Returns
    -------
    Backtest
        `print` it, or call `per_step()`, `at_step(h)`, `mean_to_step(h)`, `skill()`, `plot()` or `to_json()`. Pressing
        Ctrl-C once returns what is finished by then.

    Examples
    --------
    >>> import timelike as tl
    >>> X = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]]
    >>> found = tl.forecast.backtest(tl.forecast.Persistence(), X, 2, n_windows=3, random_state=0)
    >>> found.per_step("mae").mean, found.origin
    (array([1.5, 3. ]), array([2, 3, 4, 2, 3, 4]))
    >>> found.at_step(2)["mae"].mean, found.mean_to_step(2)["mae"].mean
    (3.0, 2.25)
    """
    sequences, cells = validate_model(model, X)
    baselines, score_functions = parse_baselines(baseline), parse_scores(scores)
    tail_quantiles(level)
    asked = BacktestRequest(
        check_int(horizon, "horizon", 1),
        check_int(n_samples, "n_samples", 1),
        any(one in ENSEMBLE_SCORES for one in score_functions.values() if isinstance(one, str)),
        float(level),
    )
    again, windows, apart = check_bool(refit, "refit"), check_int(n_windows, "n_windows", 1), check_int(step, "step", 1)
    identity = {}
    if checkpoint is not None:  # all data must be read for it
        call = repr((asked, windows, apart, again, score_identities(score_functions), _MAX_BATCH_NUMBERS, _MAX_BATCH))
        others = " ".join(map(model_identity, baselines)) or "none"
        identity = {"data": data_identity(sequences), "model": model_identity(model), "baseline": others, "call": call}
    shown = [ModelInput(sequences), *(match_channels(one, sequences, cells, model) for one in baselines)]
    every = [model, *baselines]
    sides = [
        EvaluatedModel(one, seen, asked, refit=again, name=name)
        for one, seen, name in zip(every, shown, unique_model_names(every), strict=True)
    ]
    plan = make_plan(sequences, sides, asked.horizon, windows, apart)
    kept = BacktestStore(checkpoint, identity, random_state)
    return _BacktestRun(sequences, cells, sides, plan, score_functions, kept).run(apart, check_progress(progress))


class _BacktestRun:
    """A backtest under way."""

    def __init__(
        self,
        sequences: Sequences,
        cells: Cells,
        sides: list[EvaluatedModel],
        plan: BacktestPlan,
        score_functions: dict[str, ScoreFunction],
        kept: BacktestStore,
    ) -> None:
        self.sequences, self.sides, self.plan, self.request = sequences, sides, plan, sides[0].request
        self.score_functions, self.store = score_functions, kept
        self.frames = cells.target_frames(sequences)
        self.part_scores: dict[int, list[ScoreArrays]] = {}
        self.rolling_models = [side for side in sides if side.can_roll(plan.origins)]
        self.parts = list(self._split_parts())

    def run(self, step: int, shown: bool | None) -> Backtest:
        """Everything that was finished."""
        began, stopped = time.monotonic(), []
        with (
            ProgressMeter(len(self.plan.origins.item), shown, name="backtest", unit="window") as bar,
            immediate_interrupts(),
        ):
            try:
                for number, rows in enumerate(self.parts):
                    self.part_scores[number] = self._run_part(number, rows)
                    bar.update(len(rows))
            except KeyboardInterrupt:
                if not self.part_scores:
                    raise
                stopped = [f"stopped by Ctrl-C after {len(self.part_scores)} of {len(self.parts)} parts"]
        return self._make_result(step, stopped, time.monotonic() - began)

    def _split_parts(self) -> Iterator[Ids]:
        """Windows that are answered together: of one cut where models are fitted again, one after the other."""
        origins = self.plan.origins
        every = np.arange(len(origins.item))
        if not self.sides[0].refit or self.rolling_models == self.sides:
            yield from self._batches(every)
            return
        cuts = origins.cuts(self.sequences)
        for cut in np.unique(cuts):
            yield from self._batches(every[cuts == cut])

    def _batches(self, rows: Ids) -> Iterator[Ids]:
        """So many windows at once that their pasts, which are whole histories, and their futures are not too many."""
        cells = int(np.prod(self.sequences.frame))
        ahead = self.request.horizon * max(side.n_futures for side in self.sides)
        numbers = np.cumsum((self.plan.origins.origin[rows] + ahead) * cells) // _MAX_BATCH_NUMBERS
        for chunk in np.unique(numbers):
            some = rows[numbers == chunk]
            yield from (some[begin : begin + _MAX_BATCH] for begin in range(0, len(some), _MAX_BATCH))

    def _run_part(self, number: int, rows: Ids) -> list[ScoreArrays]:
        names = [[*self.score_functions, *(INTERVAL_SCORES if side.has_intervals else ())] for side in self.sides]
        held = self.store.find(number, names, (len(rows), self.request.horizon))
        if held is not None:
            return held
        origins, asked = self.plan.origins, self.request
        windows = windows_at_origins(self.frames, origins.item[rows], origins.origin[rows])
        truth = futures_after(self.frames, windows, asked.horizon)
        cut = origins.cuts(self.sequences)[rows].min() if self.sides[0].refit else self.plan.first_cut
        found = []
        for side in self.sides:
            if side in self.rolling_models and not side.has_rolled:
                side.forecast_rolling(origins, self.plan.first_cut)
            rng = np.random.default_rng([self.store.seed, number])
            found.append(
                score_windows(
                    truth, side.forecast_windows(origins, rows, cut, rng), windows.pasts, self.score_functions
                )
            )
        self.store.save(number, found)
        return found

    # --- the record --------------------------------------------------------------------------------------------------

    def _notes(self, merged: list[ScoreArrays]) -> Iterator[str]:
        yield from self.plan.notes
        for side, scores in zip(self.sides, merged, strict=True):
            yield from side.notes
            if "crps" in scores and side.n_futures == 1:
                why = "" if hasattr(side.model, "calibration_") else " and no calibration"
                yield f"{side.name} has one future{why}: its CRPS is its absolute error"
        unsaid = [name for name, one in self.score_functions.items() if not is_own_score(name, one)]
        if len(self.sides) > 1 and (
            unsaid := [name for name in unsaid if name not in perfect_scores(self.score_functions)]
        ):
            yield f"there is no skill by {', '.join(unsaid)}, which does not say what a perfect forecast has"

    def _make_result(self, step: int, stopped: list[str], seconds: float) -> Backtest:
        rows = np.concatenate([self.parts[number] for number in self.part_scores])
        order = np.argsort(rows, kind="stable")  # parts of one cut hold windows of many sequences
        origins = Origins(*(part[rows[order]] for part in self.plan.origins))
        merged = [self._merge_scores(side, order) for side in range(len(self.sides))]
        units, drawn = _resampling_units(self.sequences)
        return Backtest(
            model=self.sides[0].name,
            horizon=self.request.horizon,
            step=step,
            level=self.request.level,
            refit=self.sides[0].refit,
            item=origins.item,
            origin=origins.origin,
            unit=units[origins.item],
            unit_name=drawn,
            scores=merged[0],
            references={side.name: one for side, one in zip(self.sides[1:], merged[1:], strict=True)},
            perfect_scores=perfect_scores(self.score_functions),
            fit_description=self._describe_fit(),
            notes=(*self._notes(merged), *stopped),
            seed=self.store.seed,
            seconds=seconds,
        )

    def _merge_scores(self, side: int, order: Ids) -> ScoreArrays:
        parts = [found[side] for found in self.part_scores.values()]
        return {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}

    def _describe_fit(self) -> str:
        if self.sides[0].refit:
            return "fitted again before every origin"
        if not self.sides[0].needs_fit:
            return f"{self.sides[0].name} as it came, fitted before"
        return f"{self.sides[0].name} fitted on {describe_cut(self.sequences, self.plan.first_cut)}"


def _resampling_units(sequences: Sequences) -> tuple[Ids, str]:
    """What sequences belong together, and what to call it: groups, where there are several."""
    if sequences.groups is not None:
        found, unit = np.unique(sequences.groups, return_inverse=True)
        if len(found) > 1:
            return np.asarray(unit, np.int64), "groups"
    return np.arange(len(sequences)), "sequences"
