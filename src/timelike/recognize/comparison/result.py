"""`Comparison`: what came out, as rows, table, paired tests, picture, HTML and JSON; and the best method, refitted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import make_pipeline

from ... import score
from ...draw import comparisons as drawing, html
from ...models.json_fields import a_text, one_among, or_none, positive, read_fields, read_json, several
from ...sequences.arguments import one_of
from ...sequences.atomic import write_text
from .methods import Method
from .preparation import prepare_parts
from .problem import SCORES, Problem
from .reading import read_row, refuse_unlike
from .rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from matplotlib.figure import Figure

    from ...score.ranking import PostHoc
    from .several import Ranking

_FORMAT = "timelike comparison 1"


@dataclass(frozen=True)
class Difference:
    """Two methods: how much better the first is, how probable so much is by chance, and so corrected for all pairs."""

    first: str
    second: str
    difference: float
    p_value: float
    corrected: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """Methods compared on one collection, in the order in which they ran: see `compare`."""

    scores: tuple[str, ...]
    rows: tuple[Row, ...]
    design: str
    overlap: float
    groups: tuple[str, ...] | None
    notes: tuple[str, ...]
    seconds: float
    problem: Problem | None = field(default=None, repr=False, compare=False)
    methods: tuple[Method, ...] = field(default=(), repr=False, compare=False)
    seed: int = field(default=0, repr=False, compare=False)

    # --- the best ---------------------------------------------------------------------------------------------------

    def ranked(self, name: str | None = None) -> list[Row]:
        """Rows that finished, the best first; of equals the cheaper one."""
        wanted = self._score(name)
        done = [row for row in self.rows if row.state == "finished" and wanted in row.scores]
        sign = -1 if SCORES[wanted] else 1
        return sorted(done, key=lambda row: sign * row.scores[wanted].mean)

    def best(self) -> Any:
        """The best method, fitted on everything: an estimator that predicts, or a metric where only distances count.

        It trains as long as it likes, whatever the budget was. What prepares sequences for it is part of it, in a
        scikit-learn Pipeline; a metric takes prepared sequences, as `prepare` left them.
        """
        ranked = self.ranked()
        if not ranked:
            raise ValueError(f"no method has finished, so none is the best: {self._reasons()}")
        if self.problem is None:
            raise ValueError(
                f"the best is {ranked[0].method!r}, but a comparison that was read from a file has neither the data "
                "nor the methods: fit it yourself, or compare again"
            )
        method = next(one for one in self.methods if one.name == ranked[0].method)
        model = method.fresh(self.seed, None)
        ready = not hasattr(model, "fit") or (method.learned and model is method.model)
        steps, (X,), _ = prepare_parts(method.prepare, method.steps, model, self.problem.y, self.problem.X)
        fitted = model if ready else model.fit(X, self.problem.y)
        return make_pipeline(*steps, fitted) if steps and hasattr(fitted, "predict") else fitted

    def _score(self, name: str | None) -> str:
        return self.scores[0] if name is None else one_of(name, "name", self.scores)

    def _reasons(self) -> str:
        return "; ".join(f"{row.method}: {row.why}" for row in self.rows if row.why)[:400]

    # --- differences ------------------------------------------------------------------------------------------------

    @property
    def single(self) -> bool:
        """Whether there is one test part, whose items are compared, and not several folds."""
        return max((len(row.folds) for row in self.rows), default=1) <= 1

    def tested_by(self, name: str | None = None) -> str:
        """The paired test behind `differences`, and the correction."""
        wanted = self._score(name)
        if not self.single:
            test = "corrected resampled t-test over folds (Nadeau and Bengio; of folds that all differ alike, over "
            test += f"{'items' if self.groups is None else 'groups'})"
        elif wanted == "eer":
            test = "paired bootstrap over " + ("items" if self.groups is None else "groups")
        elif wanted == "accuracy" and self.groups is None:
            test = "exact McNemar test over items"
        else:
            test = "permutation test over " + ("items" if self.groups is None else "groups")
        return f"{test}, Holm's correction for all pairs"

    def differences(self, name: str | None = None) -> tuple[Difference, ...]:
        """Every two methods that finished, the better one first, with a paired test."""
        wanted, ranked = self._score(name), self.ranked(name)
        pairs = [(a, b) for i, a in enumerate(ranked) for b in ranked[i + 1 :]]
        p_values = [self._p_value(a, b, wanted) for a, b in pairs]
        raised = score.holm(p_values).tolist() if pairs else []
        apart = [abs(a.scores[wanted].mean - b.scores[wanted].mean) for a, b in pairs]
        found = zip(pairs, apart, p_values, raised, strict=True)
        return tuple(Difference(a.method, b.method, d, p, q) for (a, b), d, p, q in found)

    def _p_value(self, a: Row, b: Row, name: str) -> float:
        if not self.single:
            apart = np.subtract(a.values(name), b.values(name))
            rounding = 1e-12 * max(np.abs(a.values(name)).max(), np.abs(b.values(name)).max())
            if np.ptp(apart) > rounding or not apart.any():
                return score.corrected_t(apart, self.overlap)
            return _p_of_equal_differences(a, b, name, self.groups)
        if name == "eer":
            return score.p_of_draws(np.subtract(a.folds[0].draws[name], b.folds[0].draws[name]))
        first, second = (np.array(row.folds[0].items[name]) for row in (a, b))
        if name == "accuracy" and self.groups is None:
            return score.mcnemar(first > 0, second > 0)
        return score.permutation(first, second, groups=self.groups, random_state=0)

    # --- showing ----------------------------------------------------------------------------------------------------

    def table(self) -> str:
        """The rows as Markdown, the best first."""
        header = self._header()
        lines = [header, ["---", *("---:" for _ in header[1:-1]), "---"], *self._lines()]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def _header(self) -> list[str]:
        return ["method", *self.scores, "p", "fit s", "predict s", "memory MB", "remarks"]

    def _shown(self) -> list[Row]:
        ranked = self.ranked()
        return [*ranked, *(row for row in self.rows if row not in ranked)]

    def _lines(self) -> list[list[str]]:
        best = [row.method for row in self.ranked()[:1]]
        against = {one.second: one.corrected for one in self.differences() if one.first in best}
        return [self._cells(row, against) for row in self._shown()]

    def _cells(self, row: Row, against: Mapping[str, float]) -> list[str]:
        p = f"{against[row.method]:.2g}" if row.method in against else ""
        times = ["" if value is None else f"{value:.2g}" for value in (row.fit_seconds, row.predict_seconds)]
        memory = "" if row.memory is None else f"{row.memory / 2**20:.0f}"
        remarks = "; ".join(filter(None, [row.why, *_lacks(row), *_said(row)]))
        return [row.method, *(_shown(row, name) for name in self.scores), p, *times, memory, remarks.replace("|", "/")]

    def __repr__(self) -> str:
        """The table: at the prompt it is what was asked for."""
        return str(self)

    def __str__(self) -> str:
        """The table, how it was made, and what has to be said."""
        return "\n\n".join([self.table(), "\n".join(self._told())])

    def _told(self) -> list[str]:
        tested = [f"p: against the best, by {self.tested_by()}."] if len(self.ranked()) > 1 else []
        how = f"{self.design.capitalize()}; 95 % intervals; seconds and memory of one fold."
        return [how, *tested, *(f"Note: {note}." for note in self.notes)]

    def plot(self, name: str | None = None) -> Figure:
        """Scores with their intervals, the best above; folds as dots."""
        wanted, rows = self._score(name), self.ranked(name)
        if not rows:
            raise ValueError(f"no method has finished, so there is nothing to draw: {self._reasons()}")
        bounds = [(row.scores[wanted].mean, row.scores[wanted].low, row.scores[wanted].high) for row in rows]
        folds = [() if self.single else row.values(wanted) for row in rows]
        return drawing.scores([row.method for row in rows], bounds, folds, wanted)

    def _repr_html_(self) -> str:
        said = map(html.text, self._told())
        shown = html.table(self._header(), self._lines())
        picture = [html.picture(self.plot(), f"{self.scores[0]}, 95 % intervals")] if self.ranked() else []
        return html.joined(shown, *said, *picture)

    @staticmethod
    def over(
        comparisons: Mapping[str, Comparison] | Iterable[Comparison],
        metric: str | None = None,
        *,
        post_hoc: PostHoc = "wilcoxon",
    ) -> Ranking:
        """Several data sets, {name: comparison}, in one: mean ranks, Friedman's test, a critical-difference diagram.

        Methods without a score on every set are left out, and said to be.
        """
        from .several import ranking

        return ranking(comparisons, metric, post_hoc)

    # --- JSON -------------------------------------------------------------------------------------------------------

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything but the data and the methods themselves; written to a file where one is named."""
        rows = [row.words() for row in self.rows]
        held = {"format": _FORMAT, "scores": self.scores, "rows": rows, "design": self.design, "overlap": self.overlap}
        held |= {"groups": self.groups, "notes": self.notes, "seconds": self.seconds}
        text = json.dumps(_finite(held), ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(Path(path), iter([text]))
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> Comparison:
        """What `to_json` gave, or the file that it wrote; one that was edited into something else is refused."""
        held = read_json(source)
        if not isinstance(held, dict) or held.get("format") != _FORMAT:
            raise ValueError(f"source is no comparison of this timelike: expected the format {_FORMAT!r}")
        fields = read_fields(
            held,
            "source",
            format=a_text,
            scores=several(one_among(SCORES)),
            rows=several(read_row),
            design=a_text,
            overlap=positive,
            groups=or_none(several(a_text)),
            notes=several(a_text),
            seconds=positive,
        )
        del fields["format"]
        if not fields["scores"]:
            raise ValueError("source.scores is empty: expected at least one score")
        refuse_unlike(fields["rows"], fields["scores"], fields["groups"])
        return cls(**fields)


def _shown(row: Row, name: str) -> str:
    if name not in row.scores:
        return "–"
    found = row.scores[name]
    digits = score_digits(name)
    return f"{found.mean:{digits}} [{found.low:{digits}}, {found.high:{digits}}]"


def score_digits(name: str) -> str:
    """How a score is written: shares by three decimals, errors in the targets' own unit by four significant digits."""
    return ".4g" if name == "mse" else ".3f"


def _p_of_equal_differences(a: Row, b: Row, name: str, groups: tuple[str, ...] | None) -> float:
    """Of folds that all differ by the same, where a t-test would be certain: by the items of all folds, or by signs.

    Items of a group count as one witness.
    """
    if name == "eer":
        return float(min(1.0, 2.0 ** (1 - len(a.folds))))
    first, second = (np.concatenate([fold.items[name] for fold in row.folds]) for row in (a, b))
    if name == "accuracy" and groups is None:
        return score.mcnemar(first > 0, second > 0)
    return score.permutation(first, second, groups=groups, random_state=0)


def _lacks(row: Row) -> list[str]:
    return sorted({f"no {name}: {why}" for fold in row.folds for name, why in fold.lacks.items()})


def _said(row: Row) -> list[str]:
    return sorted({words[:160] for fold in row.folds for words in fold.said})[:2]


def _finite(tree: Any) -> Any:
    """JSON has no word for infinity, which bounds are of a single fold."""
    if isinstance(tree, dict):
        return {key: _finite(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_finite(value) for value in tree]
    return str(tree) if isinstance(tree, float) and not np.isfinite(tree) else tree
