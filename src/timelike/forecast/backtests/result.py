"""Backtest, the record of a backtest: scores over the horizon with intervals, skill, table, picture, HTML and JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import score as scoring
from ...core.files import write_lines
from ...core.parameters import check_choice, check_int, format_count
from ...models import json_fields as fields
from ...models.json_fields import dict_parser, list_parser, read_fields, read_json
from ...plotting import html
from ...score import Interval
from .block_bootstrap import BlockBootstrap, make_bootstrap
from .window_scores import ScoreArrays

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMAT = "timelike backtest 3"
_MAX_COLUMNS = 5  # steps that a table shows


class StepScores(NamedTuple):
    """A score at every step of the horizon with its bounds, each (step,)."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Backtest:
    """How good forecasts from many origins were: see `backtest`.

    `scores` are those of the model, `references` those of every baseline, by name, (window, step) each: "coverage" and
    "width" are of intervals of `level`, where there are any. `item` and `origin` say which sequence a window is of and
    how many steps came before it, `unit` what is drawn anew for intervals, `fit_description` what was learned from,
    `perfect_scores` what a perfect forecast has, of scores of which there is a skill.
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
        found, unit = np.unique(self.unit, return_inverse=True)
        return make_bootstrap(unit, len(found), self.unit_name, shared, self.seed)

    @property
    def intervals(self) -> str:
        """How the 95 % intervals were found, in words."""
        return self._bootstrap.description

    @property
    def baseline(self) -> str | None:
        """The first baseline, None without any."""
        return next(iter(self.references), None)

    @property
    def reference(self) -> ScoreArrays:
        """The scores of the first baseline."""
        return next(iter(self.references.values()), {})

    # --- scores ------------------------------------------------------------------------------------------------------

    def per_step(self, score: str | None = None, *, method: str = "model") -> StepScores:
        """A score at every step of the horizon, with its interval; the first score unless another is named.

        `method="baseline"` gives that of the first baseline, the name of one that of another.
        """
        values = self._score_values(score, method)
        draws = self._bootstrap.means(values)
        return StepScores(values.mean(axis=0), *self._bootstrap.bounds(draws, self.horizon))

    def at_step(self, h: int, *, method: str = "model") -> dict[str, Interval]:
        """Every score at the step h alone."""
        return {
            name: self._make_interval(scoring.at_step(values, h)) for name, values in self._get_scores(method).items()
        }

    def mean_to_step(self, h: int | None = None, *, method: str = "model") -> dict[str, Interval]:
        """The mean of every score over the steps 1 to h, all of them unless given: what many tables call "t+h"."""
        last = self.horizon if h is None else h
        return {
            name: self._make_interval(scoring.mean_to_step(values, last))
            for name, values in self._get_scores(method).items()
        }

    def skill(self, h: int | None = None, *, reference: str = "baseline") -> dict[str, Interval]:
        """How much better than the baseline, over the steps 1 to h: 1 is perfect, 0 no better, negative worse.

        Windows are drawn anew for both at once, so what makes a window hard is hard for both: the interval is paired.
        There is none for PSNR, a logarithm of which no part is left to be gained, and for functions of your own only
        where they say what a perfect forecast has (`my_score.perfect = 0.0`). `reference` names one of several
        baselines.
        """
        last = self.horizon if h is None else h
        return {name: _as_interval(self._skill(name, last, reference)) for name in self._skill_score_names(reference)}

    def skill_per_step(self, score: str | None = None, *, reference: str = "baseline") -> StepScores:
        """The skill at every step of the horizon, with its paired interval."""
        names = self._skill_score_names(reference)
        return self._skill(check_choice(score or names[0], "score", names), None, reference)

    def _skill(self, name: str, h: int | None, reference: str) -> StepScores:
        """Of every step alone, or of the mean over the first h as the only one."""
        both = self.scores, self._get_scores(reference)
        sides = [side[name] if h is None else _mean_column(side[name], h) for side in both]
        perfect = self.perfect_scores[name]
        drawn = [self._bootstrap.means(values) for values in sides]
        draws = None if drawn[0] is None else np.asarray(scoring.skill(drawn[0], drawn[1], perfect=perfect))
        mean = np.asarray(scoring.skill(sides[0].mean(axis=0), sides[1].mean(axis=0), perfect=perfect))
        return StepScores(mean, *self._bootstrap.bounds(draws, len(mean)))

    def _skill_score_names(self, reference: str) -> tuple[str, ...]:
        if self.baseline is None:
            raise ValueError('there was no baseline: backtest(…, baseline="persistence") names one')
        other = self._get_scores(check_choice(reference, "reference", ("baseline", *self.references)))
        found = tuple(name for name in self.scores if name in other and name in self.perfect_scores)
        if not found:
            raise ValueError(f"there is no skill by {', '.join(self.scores)}: take scores=('mse',) or another error")
        return found

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
        """Scores at some steps and over the whole horizon as Markdown, the model and its baselines."""
        header = self._header()
        lines = [header, ["---", "---", *("---:" for _ in header[2:])], *self._table_rows()]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def _shown_steps(self) -> list[int]:
        """The steps of the table: the first, the last and some between."""
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
            self._row_cells(name, called, method, skills)
            for name in names
            for called, method in sides.items()
            if name in self._get_scores(method)
        ]

    def _method_names(self) -> dict[str, str]:
        """How the model and its baselines are called, and how the argument `method` names them."""
        return {self.model: "model", **{name: name for name in self.references}}

    def _try_skill(self, reference: str) -> dict[str, Interval]:
        try:
            return self.skill(reference=reference)
        except ValueError:
            return {}

    def _row_cells(self, name: str, called: str, method: str, skills: list[dict[str, Interval]]) -> list[str]:
        values = self._get_scores(method)[name].mean(axis=0)
        steps = [f"{values[step - 1]:.4g}" for step in self._shown_steps()]
        better = [_format_interval(one[name]) if method == "model" and name in one else "" for one in skills]
        return [name, called, *steps, _format_interval(self.mean_to_step(method=method)[name]), *better]

    def _summary_lines(self) -> list[str]:
        n_items = len(np.unique(self.item))
        windows = f"{len(self.item)} windows of {n_items} {'sequence' if n_items == 1 else 'sequences'}"
        how = f"{windows}, {self.step} apart, {format_count(self.horizon, 'step')} ahead; {self.fit_description}."
        return [how, f"95 % intervals: {self.intervals}.", *(f"Note: {note}." for note in self.notes)]

    def __repr__(self) -> str:
        """The same as `str`: the table at the prompt."""
        return str(self)

    def __str__(self) -> str:
        """The table, how it was made, and notes."""
        return "\n\n".join([self.table(), "\n".join(self._summary_lines())])

    def plot(self, *scores: str) -> Figure:
        """Scores over the horizon with their intervals, of the model and of baselines; all unless some are named."""
        from ...plotting.forecasts import plot_horizons

        names = [check_choice(name, "scores", tuple(self.scores)) for name in scores] or list(self.scores)
        sides = self._method_names().items()
        curves = {
            name: {
                called: self.per_step(name, method=method)
                for called, method in sides
                if name in self._get_scores(method)
            }
            for name in names
        }
        return plot_horizons(curves, marks={"coverage": self.level})

    def _repr_html_(self) -> str:
        caption = "scores over the horizon, 95 % intervals"
        shown = html.table(self._header(), self._table_rows())
        return html.join_html(
            shown, *map(html.paragraph, self._summary_lines()), html.figure_html(self.plot(), caption)
        )

    # --- JSON --------------------------------------------------------------------------------------------------------

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything, as text; written to a file where one is named. A score that is no number is null."""
        held = {"format": _FORMAT} | {
            name: _to_json_value(value) for name, value in vars(self).items() if name[0] != "_"
        }
        text = json.dumps(held, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_lines(Path(path), iter([text]))
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> Backtest:
        """What `to_json` gave, or the file that it wrote."""
        held = read_json(source)
        if not isinstance(held, dict) or held.pop("format", None) != _FORMAT:
            raise ValueError(f"source is no backtest of this timelike: expected the format {_FORMAT!r}")
        whole_numbers, words = list_parser(fields.parse_integer), ("model", "unit_name", "fit_description")
        found = read_fields(
            held,
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
        if len({len(found[name]) for name in ("item", "origin", "unit")}) > 1 or not found["item"]:
            raise ValueError("source has item, origin and unit of several lengths, or of none: was the file edited?")
        if not found["horizon"] or not found["step"]:
            raise ValueError(f"source has horizon={found['horizon']} and step={found['step']}: expected at least 1")
        scores = dict_parser(fields.score_array_parser(len(found["item"]), found["horizon"]))
        found["scores"] = scores(found["scores"], "source.scores")
        found["references"] = dict_parser(scores)(found["references"], "source.references")
        return cls(**found | {name: np.array(found[name], np.int64) for name in ("item", "origin", "unit")})


def _mean_column(values: NDArray[np.float64], h: int) -> NDArray[np.float64]:
    return np.asarray(scoring.mean_to_step(values, check_int(h, "h", 1)))[:, None]


def _as_interval(steps: StepScores) -> Interval:
    return Interval(*(float(part[0]) for part in steps))


def _format_interval(found: Interval) -> str:
    if not np.isfinite([found.low, found.high]).all():
        return f"{found.mean:.4g}"
    return f"{found.mean:.4g} [{found.low:.4g}, {found.high:.4g}]"


def _to_json_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _to_json_value(value.tolist())
    if isinstance(value, list):
        return [_to_json_value(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):  # JSON has none of these
        return None if math.isnan(value) else str(value)
    return {name: _to_json_value(one) for name, one in value.items()} if isinstance(value, dict) else value
