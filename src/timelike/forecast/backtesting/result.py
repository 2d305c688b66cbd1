"""Backtest, the record of a backtest: scores over the horizon with intervals, skill, table, picture, HTML and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import score as scoring
from ...draw import html
from ...score import Interval
from ...sequences.arguments import one_of, whole
from ...sequences.atomic import write_text
from .judging import PERFECT, Scores
from .resampling import Resampling, resampling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMAT = "timelike backtest 1"
_COLUMNS = 5  # steps that a table shows


class Steps(NamedTuple):
    """A score at every step of the horizon with its bounds, each (step,)."""

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Backtest:
    """How good forecasts from many origins were: see `backtest`.

    `scores` are those of the model, `reference` those of the baseline, by name, (window, step) each: "coverage" and
    "width" are of its intervals of `level`, where it has any. `item` and `origin` say which sequence a window is of and
    how many steps came before it, `unit` what is drawn anew for intervals, `fitted` what was learned from.
    """

    model: str
    baseline: str | None
    horizon: int
    step: int
    level: float
    refit: bool
    item: NDArray[np.int64]
    origin: NDArray[np.int64]
    unit: NDArray[np.int64]
    unit_name: str
    scores: Scores
    reference: Scores
    fitted: str
    notes: tuple[str, ...]
    seed: int
    seconds: float

    @cached_property
    def _resampling(self) -> Resampling:
        shared = -(-self.horizon // self.step)
        found, unit = np.unique(self.unit, return_inverse=True)
        return resampling(unit, len(found), self.unit_name, shared, self.seed)

    @property
    def intervals(self) -> str:
        """How the 95 % intervals were found, in words."""
        return self._resampling.words

    # --- scores ------------------------------------------------------------------------------------------------------

    def per_step(self, score: str | None = None, *, of: str = "model") -> Steps:
        """A score at every step of the horizon, with its interval; the first score unless another is named.

        `of="baseline"` gives that of the baseline.
        """
        values = self._values(score, of)
        draws = self._resampling.means(values)
        return Steps(values.mean(axis=0), *self._resampling.bounds(draws, self.horizon))

    def at(self, h: int, *, of: str = "model") -> dict[str, Interval]:
        """Every score at the step h alone."""
        return {name: self._interval(scoring.at(values, h)) for name, values in self._side(of).items()}

    def up_to(self, h: int | None = None, *, of: str = "model") -> dict[str, Interval]:
        """The mean of every score over the steps 1 to h, all of them unless told: what many tables call "t+h"."""
        last = self.horizon if h is None else h
        return {name: self._interval(scoring.up_to(values, last)) for name, values in self._side(of).items()}

    def skill(self, h: int | None = None) -> dict[str, Interval]:
        """How much better than the baseline, over the steps 1 to h: 1 is perfect, 0 no better, negative worse.

        Windows are drawn anew for both at once, so what makes a window hard is hard for both: the interval is paired.
        There is none for PSNR, a logarithm of which no part is left to be gained.
        """
        last = self.horizon if h is None else h
        return {name: _first(self._skill(name, last)) for name in self._compared()}

    def skill_per_step(self, score: str | None = None) -> Steps:
        """The skill at every step of the horizon, with its paired interval."""
        return self._skill(one_of(score or self._compared()[0], "score", self._compared()), None)

    def _skill(self, name: str, h: int | None) -> Steps:
        """Of every step alone, or of the mean over the first h as the only one."""
        sides = [side[name] if h is None else _up_to(side[name], h) for side in (self.scores, self.reference)]
        perfect = PERFECT.get(name, 0.0) or 0.0
        drawn = [self._resampling.means(values) for values in sides]
        draws = None if drawn[0] is None else np.asarray(scoring.skill(drawn[0], drawn[1], perfect=perfect))
        mean = np.asarray(scoring.skill(sides[0].mean(axis=0), sides[1].mean(axis=0), perfect=perfect))
        return Steps(mean, *self._resampling.bounds(draws, len(mean)))

    def _compared(self) -> tuple[str, ...]:
        if self.baseline is None:
            raise ValueError('there was no baseline: backtest(…, baseline="persistence") names one')
        found = tuple(name for name in self.scores if name in self.reference and PERFECT.get(name, 0.0) is not None)
        if not found:
            raise ValueError(f"there is no skill by {', '.join(self.scores)}: take scores=('mse',) or another error")
        return found

    def _side(self, of: str) -> Scores:
        if one_of(of, "of", ("model", "baseline")) == "model":
            return self.scores
        if self.baseline is None:
            raise ValueError('of="baseline": there was no baseline')
        return self.reference

    def _values(self, score: str | None, of: str) -> NDArray[np.float64]:
        side = self._side(of)
        return side[one_of(next(iter(side)) if score is None else score, "score", tuple(side))]

    def _interval(self, values: Any) -> Interval:
        column = np.asarray(values)[:, None]
        low, high = self._resampling.bounds(self._resampling.means(column), 1)
        return Interval(float(column.mean()), float(low[0]), float(high[0]))

    # --- showing -----------------------------------------------------------------------------------------------------

    def table(self) -> str:
        """Scores at some steps and over the whole horizon as Markdown, the model and its baseline."""
        header = self._header()
        lines = [header, ["---", "---", *("---:" for _ in header[2:])], *self._lines()]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def _shown(self) -> list[int]:
        """The steps of the table: the first, the last and some between."""
        return sorted({int(step) for step in np.linspace(1, self.horizon, min(_COLUMNS, self.horizon)).round()})

    def _header(self) -> list[str]:
        skill = [] if self.baseline is None else [f"skill against {self.baseline}"]
        return ["score", "method", *(f"step {step}" for step in self._shown()), f"mean of 1…{self.horizon}", *skill]

    def _lines(self) -> list[list[str]]:
        skills = {} if self.baseline is None else self._skills()
        sides = [(self.model, "model")] + ([] if self.baseline is None else [(self.baseline, "baseline")])
        names = [*self.scores, *(name for name in self.reference if name not in self.scores)]
        return [
            self._cells(name, called, of, skills) for name in names for called, of in sides if name in self._side(of)
        ]

    def _skills(self) -> dict[str, Interval]:
        try:
            return self.skill()
        except ValueError:
            return {}

    def _cells(self, name: str, called: str, of: str, skills: dict[str, Interval]) -> list[str]:
        values = self._side(of)[name].mean(axis=0)
        steps = [f"{values[step - 1]:.4g}" for step in self._shown()]
        better = [_words(skills[name]) if of == "model" and name in skills else ""] if self.baseline is not None else []
        return [name, called, *steps, _words(self.up_to(of=of)[name]), *better]

    def _told(self) -> list[str]:
        n_items = len(np.unique(self.item))
        windows = f"{len(self.item)} windows of {n_items} {'sequence' if n_items == 1 else 'sequences'}"
        how = f"{windows}, {self.step} apart, {self.horizon} steps ahead; {self.fitted}."
        return [how, f"95 % intervals: {self.intervals}.", *(f"Note: {note}." for note in self.notes)]

    def __repr__(self) -> str:
        """The table: at the prompt it is what was asked for."""
        return str(self)

    def __str__(self) -> str:
        """The table, how it was made, and what has to be said."""
        return "\n\n".join([self.table(), "\n".join(self._told())])

    def plot(self, *scores: str) -> Figure:
        """Scores over the horizon with their intervals, of the model and of the baseline; all unless some are named."""
        from ...draw.forecasts import horizons

        names = [one_of(name, "scores", tuple(self.scores)) for name in scores] or list(self.scores)
        sides = {self.model: "model"} if self.baseline is None else {self.model: "model", self.baseline: "baseline"}
        curves = {
            name: {called: self.per_step(name, of=of) for called, of in sides.items() if name in self._side(of)}
            for name in names
        }
        return horizons(curves, marks={"coverage": self.level})

    def _repr_html_(self) -> str:
        caption = "scores over the horizon, 95 % intervals"
        shown = html.table(self._header(), self._lines())
        return html.joined(shown, *map(html.text, self._told()), html.picture(self.plot(), caption))

    # --- JSON --------------------------------------------------------------------------------------------------------

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything, as text; written to a file where one is named."""
        held = {"format": _FORMAT} | {name: _plain(value) for name, value in vars(self).items() if name[0] != "_"}
        text = json.dumps(held, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(Path(path), iter([text]))
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> Backtest:
        """What `to_json` gave, or the file that it wrote."""
        given = isinstance(source, str) and source.lstrip().startswith("{")
        held = json.loads(str(source) if given else Path(source).read_text("utf-8"))
        if not isinstance(held, dict) or held.pop("format", None) != _FORMAT:
            raise ValueError(f"source is no backtest of this timelike: expected the format {_FORMAT!r}")
        for name in ("item", "origin", "unit"):
            held[name] = np.array(held[name], np.int64)
        for name in ("scores", "reference"):
            held[name] = {key: np.array(rows, np.float64) for key, rows in held[name].items()}
        return cls(**{**held, "notes": tuple(held["notes"])})


def _up_to(values: NDArray[np.float64], h: int) -> NDArray[np.float64]:
    return np.asarray(scoring.up_to(values, whole(h, "h", 1)))[:, None]


def _first(steps: Steps) -> Interval:
    return Interval(*(float(part[0]) for part in steps))


def _words(found: Interval) -> str:
    if not np.isfinite([found.low, found.high]).all():
        return f"{found.mean:.4g}"
    return f"{found.mean:.4g} [{found.low:.4g}, {found.high:.4g}]"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return {name: _plain(one) for name, one in value.items()} if isinstance(value, dict) else value
