"""`backtest` and its result, `Backtest`: scores over the horizon, intervals, skill, table, figure, HTML and JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import score as scoring
from ...core.interrupts import immediate_interrupts
from ...core.parameters import check_bool, check_choice, check_int, format_count
from ...core.progress import ProgressMeter, check_progress
from ...core.random import RandomState, check_random_state
from ...core.run_store import RunStore
from ...models import json_fields as fields
from ...models.json_fields import dict_parser, list_parser, read_fields, read_json, write_json
from ...plotting import html
from ...score import Interval
from ...sequences import Sequences
from ..base import Forecaster
from ..calibration import tail_quantiles
from ..cells import Cells
from ..windows import futures_after, windows_at_origins
from .block_bootstrap import BlockBootstrap, make_bootstrap
from .evaluated_model import (
    BacktestRequest,
    BaselineName,
    EvaluatedModel,
    ModelInput,
    match_channels,
    parse_baselines,
    unique_model_names,
    validate_model,
)
from .origins import BacktestPlan, Ids, Origins, describe_cut, make_plan
from .run_identity import data_identity, model_identity, score_identities
from .window_scores import (
    ENSEMBLE_SCORES,
    ScoreArrays,
    ScoreFunction,
    is_own_score,
    parse_scores,
    perfect_scores,
    score_windows,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMAT = "timelike backtest 3"
_MAX_COLUMNS = 5  # most steps shown in a table
_MAX_BATCH = 256  # windows, small enough for frequent progress updates and checkpoints
_MAX_BATCH_NUMBERS = 1 << 23  # numbers in the pasts and futures of a batch


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
    """Forecast from the last origins of every sequence and score the forecasts against the truth.

    A forecast uses its sequence from the first step to the origin and nothing after it. Windows of one sequence are
    similar, so intervals come from resampling whole sequences (whole groups, if X has groups), or blocks of windows for
    a single sequence; `Backtest.intervals` describes which.

    Parameters
    ----------
    model : Forecaster
        A fitted model is used as it is; make sure that it was not fitted on these sequences. An unfitted one is cloned
        and fitted on everything before the first origin.
    X : sequences
        Shorter sequences have fewer windows. If models are fitted here, the first origin is the earliest one of the
        sequences with all windows; windows with earlier origins are left out and reported in `notes`.
    horizon : int
        Number of steps to forecast.
    n_windows, step : int
        Number of origins in every sequence, and the steps between them. The last origin is `horizon` steps before the
        end.
    refit : bool
        Whether to fit a copy before every origin, on the part of all sequences known by then: up to the last timestamp
        of the past or, without timestamps, the same number of steps of each. Later copies keep the automatic choices
        of the first: `lags` and `alpha` of `Ridge`, `window` of `Analog`, `order` of `AR`. All refits of `Ridge` cost
        about as much as two fits.
    scores : names or functions
        "mse", "mae", "mase" (scaled by the past of the window), "psnr", "ssim" (values in [0, 1]), "crps" and
        "energy"; or functions `score(truth, forecast, per="each")`, such as `partial(tl.score.psnr, value_range=255)`.
        Coverage and width are added for models with intervals. For a skill, a custom function needs an attribute
        `perfect` with the score of a perfect forecast.
    level : float
        Level of the intervals.
    n_samples : int
        Number of futures for "crps" and "energy", for probabilistic or calibrated models. Other models have one future,
        whose CRPS is its absolute error.
    baseline : "persistence", "mean", "ridge", "analog", Forecaster, a list of these, or None
        Baselines that forecast the same windows under the same rules. They may forecast channels that are known in
        advance to the model, but not the other way round.
    checkpoint : path, optional
        A folder for finished windows; the same call resumes from it. Scores must be names, functions of a module, or
        partials of these, so that they can be identified.
    progress : bool or None
        Whether to show a progress bar; None shows it on a terminal if the backtest takes more than two seconds.
    random_state : int, Generator or None
        Seed of everything that is sampled.

    Returns
    -------
    Backtest
        `print` it, or call `per_step()`, `at_step(h)`, `mean_to_step(h)`, `skill()`, `plot()` or `to_json()`. Pressing
        Ctrl-C once returns the windows finished so far.

    Examples
    --------
    >>> import timelike as tl
    >>> X = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]]
    >>> result = tl.forecast.backtest(tl.forecast.Persistence(), X, 2, n_windows=3, random_state=0)
    >>> result.per_step("mae").mean, result.origin
    (array([1.5, 3. ]), array([2, 3, 4, 2, 3, 4]))
    >>> result.at_step(2)["mae"].mean, result.mean_to_step(2)["mae"].mean
    (3.0, 2.25)
    """
    sequences, cells = validate_model(model, X)
    baselines, score_functions = parse_baselines(baseline), parse_scores(scores)
    tail_quantiles(level)
    request = BacktestRequest(
        check_int(horizon, "horizon", 1),
        check_int(n_samples, "n_samples", 1),
        any(one in ENSEMBLE_SCORES for one in score_functions.values() if isinstance(one, str)),
        float(level),
    )
    refit = check_bool(refit, "refit")
    n_windows, step = check_int(n_windows, "n_windows", 1), check_int(step, "step", 1)
    identity = {}
    if checkpoint is not None:  # only then: it reads all data
        arguments = (request, n_windows, step, refit, score_identities(score_functions), _MAX_BATCH_NUMBERS, _MAX_BATCH)
        identity = {
            "data": data_identity(sequences),
            "model": model_identity(model),
            "baseline": " ".join(map(model_identity, baselines)) or "none",
            "arguments": repr(arguments),
        }
    inputs = [ModelInput(sequences), *(match_channels(one, sequences, cells, model) for one in baselines)]
    models = [model, *baselines]
    sides = [
        EvaluatedModel(one, model_input, request, refit=refit, name=name)
        for one, model_input, name in zip(models, inputs, unique_model_names(models), strict=True)
    ]
    plan = make_plan(sequences, sides, request.horizon, n_windows, step)
    seed = int(check_random_state(random_state).integers(2**31))
    store = RunStore(checkpoint, "backtest", identity, seed=seed, any_seed=random_state is None)
    return _BacktestRun(sequences, cells, sides, plan, score_functions, store).run(step, check_progress(progress))


class StepScores(NamedTuple):
    """A score at each step of the horizon with its bounds, each (step,)."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Backtest:
    """Scores of forecasts from many origins: see `backtest`.

    `scores` are those of the model, `references` those of each baseline by name, (window, step) each; "coverage" and
    "width" refer to intervals of `level`. `item` and `origin` are the sequence of each window and the number of steps
    before it, `unit` is the unit resampled for intervals, `fit_description` describes the training data,
    `perfect_scores` holds the score of a perfect forecast for each score with a skill.
    """

    model: str
    horizon: int
    step: int
    level: float
    refit: bool
    item: NDArray[np.int64]
    origin: NDArray[np.int64]
    unit: NDArray[np.int64]
    unit_name: str
    scores: ScoreArrays
    references: dict[str, ScoreArrays]
    perfect_scores: dict[str, float]
    fit_description: str
    notes: tuple[str, ...]
    seed: int
    seconds: float

    @cached_property
    def _bootstrap(self) -> BlockBootstrap:
        shared = -(-self.horizon // self.step)
        unit_names, unit = np.unique(self.unit, return_inverse=True)
        return make_bootstrap(unit, len(unit_names), self.unit_name, shared, self.seed)

    @property
    def intervals(self) -> str:
        """A description of how the 95 % intervals were computed."""
        return self._bootstrap.description

    @property
    def baseline(self) -> str | None:
        """The name of the first baseline, or None."""
        return next(iter(self.references), None)

    @property
    def reference(self) -> ScoreArrays:
        """The scores of the first baseline."""
        return next(iter(self.references.values()), {})

    # --- scores ------------------------------------------------------------------------------------------------------

    def per_step(self, score: str | None = None, *, method: str = "model") -> StepScores:
        """A score at each step of the horizon, with its interval; by default the first score.

        `method="baseline"` selects the first baseline, the name of a baseline that one.
        """
        values = self._score_values(score, method)
        draws = self._bootstrap.means(values)
        return StepScores(values.mean(axis=0), *self._bootstrap.bounds(draws, self.horizon))

    def at_step(self, h: int, *, method: str = "model") -> dict[str, Interval]:
        """Every score at step h."""
        return {
            name: self._make_interval(scoring.at_step(values, h)) for name, values in self._get_scores(method).items()
        }

    def mean_to_step(self, h: int | None = None, *, method: str = "model") -> dict[str, Interval]:
        """The mean of every score over steps 1 to h, by default the horizon: what many tables call "t+h"."""
        last = self.horizon if h is None else h
        return {
            name: self._make_interval(scoring.mean_to_step(values, last))
            for name, values in self._get_scores(method).items()
        }

    def skill(self, h: int | None = None, *, reference: str = "baseline") -> dict[str, Interval]:
        """The skill against the baseline over steps 1 to h: 1 is perfect, 0 no better, negative worse.

        The interval is paired: windows are resampled for both at once, so that hard windows are hard for both. PSNR has
        no skill, because a perfect forecast has an infinite one; custom functions have a skill if they state the score
        of a perfect forecast (`my_score.perfect = 0.0`). `reference` selects one of several baselines.
        """
        last = self.horizon if h is None else h
        return {name: _as_interval(self._skill(name, last, reference)) for name in self._skill_score_names(reference)}

    def skill_per_step(self, score: str | None = None, *, reference: str = "baseline") -> StepScores:
        """The skill at each step of the horizon, with its paired interval."""
        names = self._skill_score_names(reference)
        return self._skill(check_choice(score or names[0], "score", names), None, reference)

    def _skill(self, name: str, h: int | None, reference: str) -> StepScores:
        """The skill at each step, or of the mean over the first h steps if h is given."""
        both = self.scores, self._get_scores(reference)
        sides = [side[name] if h is None else _mean_column(side[name], h) for side in both]
        perfect = self.perfect_scores[name]
        resampled_means = [self._bootstrap.means(values) for values in sides]
        draws = (
            None
            if resampled_means[0] is None
            else np.asarray(scoring.skill(resampled_means[0], resampled_means[1], perfect=perfect))
        )
        mean = np.asarray(scoring.skill(sides[0].mean(axis=0), sides[1].mean(axis=0), perfect=perfect))
        return StepScores(mean, *self._bootstrap.bounds(draws, len(mean)))

    def _skill_score_names(self, reference: str) -> tuple[str, ...]:
        if self.baseline is None:
            raise ValueError('there was no baseline: backtest(…, baseline="persistence") names one')
        other = self._get_scores(check_choice(reference, "reference", ("baseline", *self.references)))
        names = tuple(name for name in self.scores if name in other and name in self.perfect_scores)
        if not names:
            raise ValueError(f"there is no skill by {', '.join(self.scores)}: take scores=('mse',) or another error")
        return names

    def _get_scores(self, method: str) -> ScoreArrays:
        if method == "baseline" and self.baseline is None:
            raise ValueError('method="baseline": there was no baseline')
        sides = {"model": self.scores, "baseline": self.reference, **self.references}
        return sides[check_choice(method, "method", tuple(sides))]

    def _score_values(self, score: str | None, method: str) -> NDArray[np.float64]:
        side = self._get_scores(method)
        return side[check_choice(next(iter(side)) if score is None else score, "score", tuple(side))]

    def _make_interval(self, values: Any) -> Interval:
        column = np.asarray(values)[:, None]
        low, high = self._bootstrap.bounds(self._bootstrap.means(column), 1)
        return Interval(float(column.mean()), float(low[0]), float(high[0]))

    # --- showing -----------------------------------------------------------------------------------------------------

    def table(self) -> str:
        """Scores of the model and its baselines at some steps and over the horizon, as Markdown."""
        header = self._header()
        lines = [header, ["---", "---", *("---:" for _ in header[2:])], *self._table_rows()]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def _shown_steps(self) -> list[int]:
        """The steps of the table: the first, the last and some in between."""
        return sorted({int(step) for step in np.linspace(1, self.horizon, min(_MAX_COLUMNS, self.horizon)).round()})

    def _header(self) -> list[str]:
        skill = [f"skill against {name}" for name in self.references]
        return [
            "score",
            "method",
            *(f"step {step}" for step in self._shown_steps()),
            f"mean of 1…{self.horizon}",
            *skill,
        ]

    def _table_rows(self) -> list[list[str]]:
        skills = [self._try_skill(name) for name in self.references]
        sides = self._method_names()
        names = dict.fromkeys(name for method in sides.values() for name in self._get_scores(method))
        return [
            self._row_cells(name, label, method, skills)
            for name in names
            for label, method in sides.items()
            if name in self._get_scores(method)
        ]

    def _method_names(self) -> dict[str, str]:
        """Display names of the model and its baselines, with their values of the argument `method`."""
        return {self.model: "model", **{name: name for name in self.references}}

    def _try_skill(self, reference: str) -> dict[str, Interval]:
        try:
            return self.skill(reference=reference)
        except ValueError:
            return {}

    def _row_cells(self, name: str, label: str, method: str, skills: list[dict[str, Interval]]) -> list[str]:
        values = self._get_scores(method)[name].mean(axis=0)
        steps = [f"{values[step - 1]:.4g}" for step in self._shown_steps()]
        better = [f"{one[name]:.4g}" if method == "model" and name in one else "" for one in skills]
        return [name, label, *steps, f"{self.mean_to_step(method=method)[name]:.4g}", *better]

    def _summary_lines(self) -> list[str]:
        n_items = len(np.unique(self.item))
        windows = f"{format_count(len(self.item), 'window')} of {format_count(n_items, 'sequence')}"
        how = f"{windows}, {self.step} apart, {format_count(self.horizon, 'step')} ahead; {self.fit_description}."
        return [how, f"95 % intervals: {self.intervals}.", *(f"Note: {note}." for note in self.notes)]

    def __repr__(self) -> str:
        """The same as `str`: the table at the prompt."""
        return str(self)

    def __str__(self) -> str:
        """The table, a summary and notes."""
        return "\n\n".join([self.table(), "\n".join(self._summary_lines())])

    def plot(self, *scores: str) -> Figure:
        """Plot scores over the horizon with intervals, for the model and its baselines; by default all scores."""
        from ...plotting.forecasts import plot_horizons

        names = [check_choice(name, "scores", tuple(self.scores)) for name in scores] or list(self.scores)
        sides = self._method_names().items()
        curves = {
            name: {
                label: self.per_step(name, method=method) for label, method in sides if name in self._get_scores(method)
            }
            for name in names
        }
        return plot_horizons(curves, marks={"coverage": self.level})

    def _repr_html_(self) -> str:
        caption = "scores over the horizon, 95 % intervals"
        table = html.table(self._header(), self._table_rows())
        return html.join_html(
            table, *map(html.paragraph, self._summary_lines()), html.figure_html(self.plot(), caption)
        )

    # --- JSON --------------------------------------------------------------------------------------------------------

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything as JSON, also written to `path` if given. NaN scores are null."""
        public_fields = {name: value for name, value in vars(self).items() if name[0] != "_"}
        return write_json({"format": _FORMAT} | public_fields, path, nan=None)

    @classmethod
    def from_json(cls, source: str | Path) -> Backtest:
        """Read the result of `to_json`, as text or as a file."""
        tree = read_json(source)
        if not isinstance(tree, dict) or tree.pop("format", None) != _FORMAT:
            raise ValueError(f"source is no backtest of this timelike: expected the format {_FORMAT!r}")
        whole_numbers, words = list_parser(fields.parse_integer), ("model", "unit_name", "fit_description")
        entries = read_fields(
            tree,
            "source",
            **dict.fromkeys(words, fields.parse_text),
            **dict.fromkeys(("horizon", "step", "seed"), fields.parse_integer),
            **dict.fromkeys(("level", "seconds"), fields.parse_finite),
            **dict.fromkeys(("item", "origin", "unit"), whole_numbers),
            **dict.fromkeys(("scores", "references"), fields.parse_any),
            refit=fields.parse_bool,
            perfect_scores=dict_parser(fields.parse_number),
            notes=list_parser(fields.parse_text),
        )
        if len({len(entries[name]) for name in ("item", "origin", "unit")}) > 1 or not entries["item"]:
            raise ValueError("source has item, origin and unit of several lengths, or of none: was the file edited?")
        if not entries["horizon"] or not entries["step"]:
            raise ValueError(f"source has horizon={entries['horizon']} and step={entries['step']}: expected at least 1")
        scores = dict_parser(fields.score_array_parser(len(entries["item"]), entries["horizon"]))
        entries["scores"] = scores(entries["scores"], "source.scores")
        entries["references"] = dict_parser(scores)(entries["references"], "source.references")
        return cls(**entries | {name: np.array(entries[name], np.int64) for name in ("item", "origin", "unit")})


def _mean_column(values: NDArray[np.float64], h: int) -> NDArray[np.float64]:
    return np.asarray(scoring.mean_to_step(values, check_int(h, "h", 1)))[:, None]


def _as_interval(steps: StepScores) -> Interval:
    return Interval(*(float(part[0]) for part in steps))


# --- a backtest under way ---------------------------------------------------------------------------------------------


class _BacktestRun:
    """A backtest under way."""

    def __init__(
        self,
        sequences: Sequences,
        cells: Cells,
        sides: list[EvaluatedModel],
        plan: BacktestPlan,
        score_functions: dict[str, ScoreFunction],
        store: RunStore,
    ) -> None:
        self.sequences, self.sides, self.plan, self.request = sequences, sides, plan, sides[0].request
        self.score_functions, self.store = score_functions, store
        self.frames = cells.target_frames(sequences)
        self.part_scores: dict[int, list[ScoreArrays]] = {}
        self.rolling_models = [side for side in sides if side.can_roll(plan.origins)]
        self.parts = list(self._split_parts())

    def run(self, step: int, show_progress: bool | None) -> Backtest:
        """Run all parts and return the finished ones."""
        began, stop_notes = time.monotonic(), []
        with (
            ProgressMeter(len(self.plan.origins.item), show_progress, name="backtest", unit="window") as bar,
            immediate_interrupts(),
        ):
            try:
                for number, rows in enumerate(self.parts):
                    self.part_scores[number] = self._run_part(number, rows)
                    bar.update(len(rows))
            except KeyboardInterrupt:
                if not self.part_scores:
                    raise
                stop_notes = [f"stopped by Ctrl-C after {len(self.part_scores)} of {len(self.parts)} parts"]
        return self._make_result(step, stop_notes, time.monotonic() - began)

    def _split_parts(self) -> Iterator[Ids]:
        """Batches of windows that are forecast together; with refits, batches of one cut at a time."""
        origins = self.plan.origins
        every = np.arange(len(origins.item))
        if not self.sides[0].refit or self.rolling_models == self.sides:
            yield from self._batches(every)
            return
        cuts = origins.cuts(self.sequences)
        for cut in np.unique(cuts):
            yield from self._batches(every[cuts == cut])

    def _batches(self, rows: Ids) -> Iterator[Ids]:
        """Split windows into batches whose pasts, which are whole histories, and futures fit into memory."""
        cells = int(np.prod(self.sequences.frame))
        ahead = self.request.horizon * max(side.n_futures for side in self.sides)
        numbers = np.cumsum((self.plan.origins.origin[rows] + ahead) * cells) // _MAX_BATCH_NUMBERS
        for chunk in np.unique(numbers):
            some = rows[numbers == chunk]
            yield from (some[begin : begin + _MAX_BATCH] for begin in range(0, len(some), _MAX_BATCH))

    def _run_part(self, number: int, rows: Ids) -> list[ScoreArrays]:
        key, parse_score = f"part {number:05d}", fields.array_parser(len(rows), self.request.horizon)
        stored = self.store.find(key, parse=list_parser(dict_parser(parse_score)))
        if stored is not None:
            return list(stored)
        origins, request = self.plan.origins, self.request
        windows = windows_at_origins(self.frames, origins.item[rows], origins.origin[rows])
        truth = futures_after(self.frames, windows, request.horizon)
        cut = origins.cuts(self.sequences)[rows].min() if self.sides[0].refit else self.plan.first_cut
        part_scores = []
        for side in self.sides:
            if side in self.rolling_models and not side.has_rolled:
                side.forecast_rolling(origins, self.plan.first_cut)
            rng = np.random.default_rng([self.store.seed, number])
            forecasts = side.forecast_windows(origins, rows, cut, rng)
            part_scores.append(score_windows(truth, forecasts, windows.pasts, self.score_functions))
        self.store.save(key, [{name: values.tolist() for name, values in scores.items()} for scores in part_scores])
        return part_scores

    # --- the record --------------------------------------------------------------------------------------------------

    def _notes(self, merged: list[ScoreArrays]) -> Iterator[str]:
        yield from self.plan.notes
        for side, scores in zip(self.sides, merged, strict=True):
            yield from side.notes
            if "crps" in scores and side.n_futures == 1:
                why = "" if hasattr(side.model, "calibration_") else " and no calibration"
                yield f"{side.name} has one future{why}: its CRPS is its absolute error"
        unranked_scores = [name for name, one in self.score_functions.items() if not is_own_score(name, one)]
        if len(self.sides) > 1 and (
            unranked_scores := [name for name in unranked_scores if name not in perfect_scores(self.score_functions)]
        ):
            yield f"there is no skill by {', '.join(unranked_scores)}, which has no attribute `perfect`"

    def _make_result(self, step: int, stop_notes: list[str], seconds: float) -> Backtest:
        rows = np.concatenate([self.parts[number] for number in self.part_scores])
        order = np.argsort(rows, kind="stable")  # a part holds windows of many sequences
        origins = Origins(*(part[rows[order]] for part in self.plan.origins))
        merged = [self._merge_scores(side, order) for side in range(len(self.sides))]
        units, unit_name = _resampling_units(self.sequences)
        return Backtest(
            model=self.sides[0].name,
            horizon=self.request.horizon,
            step=step,
            level=self.request.level,
            refit=self.sides[0].refit,
            item=origins.item,
            origin=origins.origin,
            unit=units[origins.item],
            unit_name=unit_name,
            scores=merged[0],
            references={side.name: one for side, one in zip(self.sides[1:], merged[1:], strict=True)},
            perfect_scores=perfect_scores(self.score_functions),
            fit_description=self._describe_fit(),
            notes=(*self._notes(merged), *stop_notes),
            seed=self.store.seed,
            seconds=seconds,
        )

    def _merge_scores(self, side: int, order: Ids) -> ScoreArrays:
        parts = [part_scores[side] for part_scores in self.part_scores.values()]
        return {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}

    def _describe_fit(self) -> str:
        if self.sides[0].refit:
            return "fitted again before every origin"
        if not self.sides[0].needs_fit:
            return f"{self.sides[0].name} as it came, fitted before"
        return f"{self.sides[0].name} fitted on {describe_cut(self.sequences, self.plan.first_cut)}"


def _resampling_units(sequences: Sequences) -> tuple[Ids, str]:
    """The resampling unit of each sequence and its name: groups, if there are several, otherwise sequences."""
    if sequences.groups is not None:
        group_names, unit = np.unique(sequences.groups, return_inverse=True)
        if len(group_names) > 1:
            return np.asarray(unit, np.int64), "groups"
    return np.arange(len(sequences)), "sequences"
