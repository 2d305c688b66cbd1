"""`Comparison`: the results as rows, table, paired tests, figure, HTML and JSON; and the best method, refitted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import make_pipeline

from .. import score
from ..core.files import write_lines
from ..core.parameters import check_choice
from ..models.json_fields import (
    choice_parser,
    list_parser,
    nullable_parser,
    parse_nonnegative,
    parse_text,
    read_fields,
    read_json,
)
from ..plotting import comparisons as drawing, html
from .comparison_json import parse_row, refuse_incomparable_rows
from .comparison_row import ComparisonRow
from .methods import ComparedMethod
from .preparation import prepare_parts
from .problem import HIGHER_IS_BETTER, ComparisonProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from matplotlib.figure import Figure

    from ..score.rank_tests import PostHoc
    from .ranking import Ranking

_FORMAT = "timelike comparison 2"


@dataclass(frozen=True)
class MethodDifference:
    """Two methods: the difference of their scores, its p-value, and the p-value corrected for all pairs."""

    first: str
    second: str
    difference: float
    p_value: float
    corrected_p_value: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """Methods compared on one collection, in the order in which they ran: see `compare`."""

    scores: tuple[str, ...]
    rows: tuple[ComparisonRow, ...]
    design: str
    overlap: float
    groups: tuple[str, ...] | None
    notes: tuple[str, ...]
    seconds: float
    problem: ComparisonProblem | None = field(default=None, repr=False, compare=False)
    methods: tuple[ComparedMethod, ...] = field(default=(), repr=False, compare=False)
    seed: int = field(default=0, repr=False, compare=False)

    # --- the best ---------------------------------------------------------------------------------------------------

    def ranked_rows(self, name: str | None = None) -> list[ComparisonRow]:
        """Rows that finished, the best first; of equals the cheaper one."""
        wanted = self._check_score(name)
        done = [row for row in self.rows if row.state == "finished" and wanted in row.scores]
        sign = -1 if HIGHER_IS_BETTER[wanted] else 1
        return sorted(done, key=lambda row: sign * row.scores[wanted].mean)

    def best(self) -> Any:
        """The best method, fitted on everything: an estimator that predicts, or a metric where only distances count.

        It trains without a time limit, whatever the budget was. Preparation steps are part of it, in a scikit-learn
        Pipeline; a metric takes sequences that are already prepared.
        """
        ranked = self.ranked_rows()
        if not ranked:
            raise ValueError(f"no method has finished, so none is the best: {self._failure_reasons()}")
        if self.problem is None:
            raise ValueError(
                f"the best is {ranked[0].method!r}, but a comparison that was read from a file has neither the data "
                "nor the methods: fit it yourself, or compare again"
            )
        method = next(one for one in self.methods if one.name == ranked[0].method)
        model = method.make_model(self.seed, None)
        ready = not hasattr(model, "fit") or (method.is_fitted and model is method.model)
        steps, (X,), _ = prepare_parts(method.prepare, method.steps, model, self.problem.y, self.problem.X)
        fitted = model if ready else model.fit(X, self.problem.y)
        return make_pipeline(*steps, fitted) if steps and hasattr(fitted, "predict") else fitted

    def _check_score(self, name: str | None) -> str:
        return self.scores[0] if name is None else check_choice(name, "name", self.scores)

    def _failure_reasons(self) -> str:
        return "; ".join(f"{row.method}: {row.reason}" for row in self.rows if row.reason)[:400]

    # --- differences ------------------------------------------------------------------------------------------------

    @property
    def is_single_split(self) -> bool:
        """Whether there is one test part, whose items are compared, and not several folds."""
        return max((len(row.folds) for row in self.rows), default=1) <= 1

    def test_description(self, name: str | None = None) -> str:
        """The paired test behind `differences`, and the correction."""
        wanted = self._check_score(name)
        if not self.is_single_split:
            test = "corrected resampled t-test over folds (Nadeau and Bengio; of folds that all differ alike, over "
            test += f"{'items' if self.groups is None else 'groups'})"
        elif wanted == "eer":
            test = "paired bootstrap over " + ("items" if self.groups is None else "groups")
        elif wanted == "accuracy" and self.groups is None:
            test = "exact McNemar test over items"
        else:
            test = "permutation test over " + ("items" if self.groups is None else "groups")
        return f"{test}, Holm's correction for all pairs"

    def differences(self, name: str | None = None) -> tuple[MethodDifference, ...]:
        """Every two methods that finished, the better one first, with a paired test."""
        wanted, ranked = self._check_score(name), self.ranked_rows(name)
        pairs = [(a, b) for i, a in enumerate(ranked) for b in ranked[i + 1 :]]
        p_values = [self._p_value(a, b, wanted) for a, b in pairs]
        raised = score.holm_correction(p_values).tolist() if pairs else []
        apart = [abs(a.scores[wanted].mean - b.scores[wanted].mean) for a, b in pairs]
        found = zip(pairs, apart, p_values, raised, strict=True)
        return tuple(MethodDifference(a.method, b.method, d, p, q) for (a, b), d, p, q in found)

    def _p_value(self, a: ComparisonRow, b: ComparisonRow, name: str) -> float:
        if not self.is_single_split:
            apart = np.subtract(a.values(name), b.values(name))
            rounding = 1e-12 * max(np.abs(a.values(name)).max(), np.abs(b.values(name)).max())
            if np.ptp(apart) > rounding or not apart.any():
                return score.corrected_t_test(apart, self.overlap)
            return _equal_differences_p_value(a, b, name, self.groups)
        if name == "eer":
            return score.bootstrap_p_value(np.subtract(a.folds[0].draws[name], b.folds[0].draws[name]))
        first, second = (np.array(row.folds[0].items[name]) for row in (a, b))
        if name == "accuracy" and self.groups is None:
            return score.mcnemar_test(first > 0, second > 0)
        return score.permutation_test(first, second, groups=self.groups, random_state=0)

    # --- showing ----------------------------------------------------------------------------------------------------

    def table(self) -> str:
        """The rows as Markdown, the best first."""
        header = self._table_header()
        lines = [header, ["---", *("---:" for _ in header[1:-1]), "---"], *self._table_rows()]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def _table_header(self) -> list[str]:
        return ["method", *self.scores, "p", "fit s", "predict s", "memory MB", "remarks"]

    def _shown_rows(self) -> list[ComparisonRow]:
        ranked = self.ranked_rows()
        return [*ranked, *(row for row in self.rows if row not in ranked)]

    def _table_rows(self) -> list[list[str]]:
        best = [row.method for row in self.ranked_rows()[:1]]
        against = {one.second: one.corrected_p_value for one in self.differences() if one.first in best}
        return [self._row_cells(row, against) for row in self._shown_rows()]

    def _row_cells(self, row: ComparisonRow, against: Mapping[str, float]) -> list[str]:
        p = f"{against[row.method]:.2g}" if row.method in against else ""
        times = ["" if value is None else f"{value:.2g}" for value in (row.fit_seconds, row.predict_seconds)]
        memory = "" if row.memory is None else f"{row.memory / 2**20:.0f}"
        remarks = "; ".join(filter(None, [row.reason, *_missing_score_notes(row), *_warning_notes(row)]))
        return [
            row.method,
            *(_format_score(row, name) for name in self.scores),
            p,
            *times,
            memory,
            remarks.replace("|", "/"),
        ]

    def __repr__(self) -> str:
        """The table, so that it shows at the prompt."""
        return str(self)

    def __str__(self) -> str:
        """The table, how it was made, and the notes."""
        return "\n\n".join([self.table(), "\n".join(self._summary_lines())])

    def _summary_lines(self) -> list[str]:
        tested = [f"p: against the best, by {self.test_description()}."] if len(self.ranked_rows()) > 1 else []
        how = f"{self.design.capitalize()}; 95 % intervals; seconds and memory of one fold."
        return [how, *tested, *(f"Note: {note}." for note in self.notes)]

    def plot(self, name: str | None = None) -> Figure:
        """Scores with their intervals, the best above; folds as dots."""
        wanted, rows = self._check_score(name), self.ranked_rows(name)
        if not rows:
            raise ValueError(f"no method has finished, so there is nothing to draw: {self._failure_reasons()}")
        bounds = [(row.scores[wanted].mean, row.scores[wanted].low, row.scores[wanted].high) for row in rows]
        folds = [() if self.is_single_split else row.values(wanted) for row in rows]
        return drawing.plot_scores([row.method for row in rows], bounds, folds, wanted)

    def _repr_html_(self) -> str:
        paragraphs = map(html.paragraph, self._summary_lines())
        shown = html.table(self._table_header(), self._table_rows())
        picture = [html.figure_html(self.plot(), f"{self.scores[0]}, 95 % intervals")] if self.ranked_rows() else []
        return html.join_html(shown, *paragraphs, *picture)

    @staticmethod
    def rank(
        comparisons: Mapping[str, Comparison] | Iterable[Comparison],
        metric: str | None = None,
        *,
        post_hoc: PostHoc = "wilcoxon",
    ) -> Ranking:
        """Several data sets, {name: comparison}, in one: mean ranks, Friedman's test, a critical-difference diagram.

        Methods without a score on every set are left out, and listed as `excluded`.
        """
        from .ranking import rank_comparisons

        return rank_comparisons(comparisons, metric, post_hoc)

    # --- JSON -------------------------------------------------------------------------------------------------------

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything but the data and the methods themselves; written to a file where one is named."""
        rows = [row.to_dict() for row in self.rows]
        held = {"format": _FORMAT, "scores": self.scores, "rows": rows, "design": self.design, "overlap": self.overlap}
        held |= {"groups": self.groups, "notes": self.notes, "seconds": self.seconds}
        text = json.dumps(_to_json_value(held), ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_lines(Path(path), iter([text]))
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
            format=parse_text,
            scores=list_parser(choice_parser(HIGHER_IS_BETTER)),
            rows=list_parser(parse_row),
            design=parse_text,
            overlap=parse_nonnegative,
            groups=nullable_parser(list_parser(parse_text)),
            notes=list_parser(parse_text),
            seconds=parse_nonnegative,
        )
        del fields["format"]
        if not fields["scores"]:
            raise ValueError("source.scores is empty: expected at least one score")
        refuse_incomparable_rows(fields["rows"], fields["scores"], fields["groups"])
        return cls(**fields)


def _format_score(row: ComparisonRow, name: str) -> str:
    if name not in row.scores:
        return "–"
    found = row.scores[name]
    digits = score_format(name)
    return f"{found.mean:{digits}} [{found.low:{digits}}, {found.high:{digits}}]"


def score_format(name: str) -> str:
    """How a score is written: shares by three decimals, errors in the targets' own unit by four significant digits."""
    return ".4g" if name == "mse" else ".3f"


def _equal_differences_p_value(a: ComparisonRow, b: ComparisonRow, name: str, groups: tuple[str, ...] | None) -> float:
    """Of folds that all differ by the same, where a t-test would be certain: by the items of all folds, or by signs.

    Items of a group count as one witness.
    """
    if name == "eer":
        return float(min(1.0, 2.0 ** (1 - len(a.folds))))
    first, second = (np.concatenate([fold.items[name] for fold in row.folds]) for row in (a, b))
    if name == "accuracy" and groups is None:
        return score.mcnemar_test(first > 0, second > 0)
    return score.permutation_test(first, second, groups=groups, random_state=0)


def _missing_score_notes(row: ComparisonRow) -> list[str]:
    return sorted({f"no {name}: {reason}" for fold in row.folds for name, reason in fold.missing_scores.items()})


def _warning_notes(row: ComparisonRow) -> list[str]:
    return sorted({words[:160] for fold in row.folds for words in fold.warnings})[:2]


def _to_json_value(tree: Any) -> Any:
    """JSON has no word for infinity, which bounds are of a single fold."""
    if isinstance(tree, dict):
        return {key: _to_json_value(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_to_json_value(value) for value in tree]
    return str(tree) if isinstance(tree, float) and not np.isfinite(tree) else tree
