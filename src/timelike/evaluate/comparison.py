"""`compare` and its result, `Comparison`: table, paired tests, figure, HTML, JSON, and the best method, refitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.pipeline import make_pipeline

from .. import score
from ..core.parameters import check_choice, check_float, check_int
from ..core.progress import check_progress
from ..core.random import RandomState, check_random_state
from ..core.run_store import RunStore
from ..models.json_fields import (
    choice_parser,
    list_parser,
    nullable_parser,
    parse_bool,
    parse_nonnegative,
    parse_text,
    read_fields,
    read_json,
    write_json,
)
from ..plotting import comparisons as drawing, html
from ..train.budget import count_steps_only
from .methods import ComparedMethod, parse_methods, parse_prepare, prepare_parts
from .problem import HIGHER_IS_BETTER, ComparisonProblem, parse_problem
from .rows import ComparisonRow, parse_row, refuse_incomparable_rows
from .run import ComparisonRun, omit_networks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ..score.significance import PostHoc
    from ..sequences import Sequences
    from .ranking import Ranking

_FORMAT = "timelike comparison 2"


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
    max_steps: int | None = None,
    budget: float | None = None,
    random_state: RandomState = None,
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Compare methods on one collection by nested cross-validation, or on an official split.

    Every method is fitted on the training part of each fold alone, including its own model selection (a window, a
    penalty, when to stop). Methods run one after the other, the cheapest first; a method that exceeds the budget, or
    fails on these data, is a row with the reason.

    Parameters
    ----------
    X, y
        Sequences and their classes, or numbers with `metric="mse"`; y may be left out where X carries labels.
    methods : None, list, dict or one of their entries
        None for the default methods: 1-NN Euclidean, 1-NN DTW with a window chosen on the training part, 1-NN MSM,
        statistics + forest, Rocket + ridge, Discriminant and Fused (DTW and Discriminant); with `max_steps` or
        `budget` also those that train a network: T-Loss + head, SiameseGRU, Prototypes, CoupledGRU and TAP. Where
        lengths differ, some of them run a second time with `", resampled"` behind the name: all sequences brought to
        the median length of the training part. An entry is one of these names, a public name
        (`"MSM"`), a metric (1-NN, or its distances), an encoder (with a head, or its distances) or any estimator with
        `fit` and `predict`. A dict gives them names. A fitted metric or encoder is used unchanged; any other
        estimator is cloned and fitted anew in every fold, as by scikit-learn's `cross_validate`, and the one that was
        given is not changed. A method whose extra is not installed is left out with a warning, and `notes` names it.
    groups : array, False or None
        Groups that must not be on both sides (subjects); None uses the groups of X.
    test : (X, y), optional
        An official split: X is the training part, `test` the test part. Without it, cross-validation.
    cv : int, splitter or list of (train, test), optional
        Folds, stratified; by default 5, or fewer if there are fewer groups or members of a class.
    metric : {"accuracy", "map", "eer", "mse"}, or several
        Accuracy; mean average precision of test sequences as queries among those learned from; equal error rate of all
        pairs of test sequences; mean squared error. Several are computed in one fit, and the first decides which method
        is best.
    prepare : transformer or list of them, optional
        Steps before every method, fitted on the training part of each fold: `timelike.prepare.Standardize()`, or any
        transformer that keeps the number of sequences. Values that are still missing are interpolated for methods that
        cannot take them, with a remark in the row; those that can (DTW by name, with `missing="ignore"`) leave them
        out.
    max_steps : int, optional
        Steps of every training of a network whose own `max_steps` is open. None leaves them to the method, by default
        500 or more. Without a `budget` no training is ended by a clock: with a `random_state` a second run gives the
        same scores.
    budget : float, optional
        Minutes, by the clock. Methods with `max_time` train within the remaining time. None runs every method to its
        end, and Ctrl-C returns what is finished.
    random_state : int, Generator or None
        Seed of the folds and of random methods.
    checkpoint : path, optional
        A folder that stores each finished (method, fold); the same call with it resumes there.
    progress : bool or None
        Whether to show a bar; None shows it on a terminal if it takes over two seconds. Unless False, a comparison
        that is expected to take longer prints its estimated time at the start.

    Returns
    -------
    Comparison
        `print` it, or call `table()`, `best()`, `differences()`, `plot()` and `to_json()`. Ctrl-C, pressed once,
        returns the finished part.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = np.sin(np.arange(24) * np.repeat([0.5, 0.6], 10)[:, None] + np.arange(20)[:, None])
    >>> y = np.repeat(["slow", "fast"], 10)
    >>> comparison = tl.compare(X, y, ["euclidean", "dtw"], random_state=0, progress=False)
    >>> [row.method for row in comparison.rows], comparison.design
    (['euclidean', 'dtw'], '5 folds, stratified')
    >>> comparison.best().predict(X[:1])
    array(['slow'], dtype='<U4')
    """
    minutes = None if budget is None else check_float(budget, "budget", above=0.0)
    rng = check_random_state(0 if random_state is None and checkpoint is not None else random_state)
    problem = parse_problem(X, y, groups=groups, test=test, cv=cv, metric=metric, rng=rng)
    entrants, left_out = parse_methods(
        methods,
        problem.X,
        is_regression=problem.is_regression,
        needs_predictions=problem.needs_predictions,
        prepare=parse_prepare(prepare),
    )
    if max_steps is not None:
        entrants = [method.with_max_steps(check_int(max_steps, "max_steps", 1)) for method in entrants]
    elif methods is None and budget is None:
        entrants, omitted = omit_networks(entrants, problem)
        left_out = [*left_out, *omitted]
    seed = int(rng.integers(2**31))
    store = RunStore(checkpoint, "comparison", {"data, folds or scores": problem.identity()}, seed=seed)
    run = ComparisonRun(problem, entrants, minutes, store, check_progress(progress))
    seconds, units = run.run(), problem.tested_units()
    return Comparison(
        scores=problem.scores,
        rows=tuple(run.rows),
        design=problem.design,
        overlap=problem.overlap,
        groups=None if units is None else tuple(map(str, units.tolist())),
        notes=(*left_out, *run.notes),
        seconds=seconds,
        is_interrupted=run.is_interrupted,
        problem=problem,
        methods=tuple(run.methods),
        seed=seed,
    )


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
    is_interrupted: bool = False
    """Whether Ctrl-C ended it, so that some methods are missing or incomplete."""
    problem: ComparisonProblem | None = field(default=None, repr=False, compare=False)
    methods: tuple[ComparedMethod, ...] = field(default=(), repr=False, compare=False)
    seed: int = field(default=0, repr=False, compare=False)

    # --- the best ---------------------------------------------------------------------------------------------------

    def ranked_rows(self, name: str | None = None) -> list[ComparisonRow]:
        """Finished rows, the best first; ties in order of cost."""
        score_name = self._check_score(name)
        done = [row for row in self.rows if row.state == "finished" and score_name in row.scores]
        sign = -1 if HIGHER_IS_BETTER[score_name] else 1
        return sorted(done, key=lambda row: sign * row.scores[score_name].mean)

    def best(self, *, split: Literal["train"] | None = None) -> Any:
        """The best method, fitted on everything: an estimator that predicts, or a metric if only distances are scored.

        `split="train"` leaves out the test part of an official split, so that the model can be scored on it. It trains
        without a time limit, whatever the budget was, and for `max_steps` if they were given. Preparation steps are
        part of it, in a scikit-learn Pipeline; a metric takes sequences that are already prepared.
        """
        rows = self.ranked_rows()
        if not rows:
            raise ValueError(f"no method has finished, so none is the best: {self._failure_reasons()}")
        if self.problem is None:
            raise ValueError(
                f"the best is {rows[0].method!r}, but a comparison that was read from a file has neither the data "
                "nor the methods: fit it yourself, or compare again"
            )
        method = next(one for one in self.methods if one.name == rows[0].method)
        model = method.make_model(self.seed, None)
        ready = not hasattr(model, "fit") or (method.is_fitted and model is method.model)
        X, y = _select_split(self.problem, split)
        steps, (X,), _ = prepare_parts(method.prepare, method.steps, model, y, X)
        with count_steps_only():
            fitted_model = model if ready else model.fit(X, y)
        return make_pipeline(*steps, fitted_model) if steps and hasattr(fitted_model, "predict") else fitted_model

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
        score_name = self._check_score(name)
        if not self.is_single_split:
            test = "corrected resampled t-test over folds (Nadeau and Bengio; of folds that all differ alike, over "
            test += f"{'items' if self.groups is None else 'groups'})"
        elif score_name == "eer":
            test = "paired bootstrap over " + ("items" if self.groups is None else "groups")
        elif score_name == "accuracy" and self.groups is None:
            test = "exact McNemar test over items"
        else:
            test = "permutation test over " + ("items" if self.groups is None else "groups")
        return f"{test}, Holm's correction for all pairs"

    def differences(self, name: str | None = None) -> tuple[MethodDifference, ...]:
        """Every two methods that finished, the better one first, with a paired test."""
        score_name, ranked_rows = self._check_score(name), self.ranked_rows(name)
        pairs = [(a, b) for i, a in enumerate(ranked_rows) for b in ranked_rows[i + 1 :]]
        p_values = [self._p_value(a, b, score_name) for a, b in pairs]
        corrected_p_values = score.holm_correction(p_values).tolist() if pairs else []
        score_differences = [abs(a.scores[score_name].mean - b.scores[score_name].mean) for a, b in pairs]
        rows = zip(pairs, score_differences, p_values, corrected_p_values, strict=True)
        return tuple(MethodDifference(a.method, b.method, d, p, q) for (a, b), d, p, q in rows)

    def _p_value(self, a: ComparisonRow, b: ComparisonRow, name: str) -> float:
        if not self.is_single_split:
            fold_differences = np.subtract(a.values(name), b.values(name))
            rounding = 1e-12 * max(np.abs(a.values(name)).max(), np.abs(b.values(name)).max())
            if np.ptp(fold_differences) > rounding or not fold_differences.any():
                return score.corrected_t_test(fold_differences, self.overlap)
            # equal differences in all folds would make a t-test certain: use the signs of folds, or all items
            if name == "eer":
                return float(min(1.0, 2.0 ** (1 - len(a.folds))))
        elif name == "eer":
            return score.bootstrap_p_value(np.subtract(a.folds[0].draws[name], b.folds[0].draws[name]))
        first, second = (np.concatenate([fold.items[name] for fold in row.folds]) for row in (a, b))
        if name == "accuracy" and self.groups is None:
            return score.mcnemar_test(first > 0, second > 0)
        return score.permutation_test(first, second, groups=self.groups, random_state=0)  # a group counts once

    # --- showing ----------------------------------------------------------------------------------------------------

    def table(self) -> str:
        """The rows as Markdown, the best first."""
        header = self._table_header()
        rows = [header, *self._table_rows()]
        widths = [max(3, *(len(cells[i]) for cells in rows)) for i in range(len(header) - 1)]
        texts = [_align_cells(cells, widths) for cells in rows]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:]), "---"]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in (texts[0], rule, *texts[1:]))

    def _table_header(self) -> list[str]:
        return ["method", *self.scores, "p", "fit s", "predict s", "memory MB", "remarks"]

    def _shown_rows(self) -> list[ComparisonRow]:
        ranked_rows = self.ranked_rows()
        return [*ranked_rows, *(row for row in self.rows if row not in ranked_rows)]

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
        test_lines = [f"p: against the best, by {self.test_description()}."] if len(self.ranked_rows()) > 1 else []
        how = f"{self.design.capitalize()}; 95 % intervals; seconds and memory of one fold."
        return [how, *test_lines, *(f"Note: {note}." for note in self.notes)]

    def plot(self, name: str | None = None) -> Figure:
        """Scores with their intervals, the best at the top; folds as dots."""
        score_name, rows = self._check_score(name), self.ranked_rows(name)
        if not rows:
            raise ValueError(f"no method has finished, so there is nothing to draw: {self._failure_reasons()}")
        bounds = [
            (row.scores[score_name].mean, row.scores[score_name].low, row.scores[score_name].high) for row in rows
        ]
        folds = [() if self.is_single_split else row.values(score_name) for row in rows]
        return drawing.plot_scores([row.method for row in rows], bounds, folds, score_name)

    def _repr_html_(self) -> str:
        paragraphs = map(html.paragraph, self._summary_lines())
        table = html.table(self._table_header(), self._table_rows())
        picture = [html.figure_html(self.plot(), f"{self.scores[0]}, 95 % intervals")] if self.ranked_rows() else []
        return html.join_html(table, *paragraphs, *picture)

    @staticmethod
    def rank(
        comparisons: Mapping[str, Comparison] | Iterable[Comparison],
        metric: str | None = None,
        *,
        post_hoc: PostHoc = "wilcoxon",
    ) -> Ranking:
        """Rank methods over data sets, {name: comparison}: mean ranks, Friedman's test, a critical-difference diagram.

        Methods without a score on every set are left out, and listed as `excluded`.
        """
        from .ranking import rank_comparisons

        return rank_comparisons(comparisons, metric, post_hoc)

    # --- JSON -------------------------------------------------------------------------------------------------------

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything but the data and the methods as JSON; also written to a file if a path is given."""
        rows = [row.to_dict() for row in self.rows]
        names = ("scores", "design", "overlap", "groups", "notes", "seconds", "is_interrupted")
        return write_json({"format": _FORMAT, "rows": rows} | {name: getattr(self, name) for name in names}, path)

    @classmethod
    def from_json(cls, source: str | Path) -> Comparison:
        """Read the text of `to_json`, or its file; invalid content is an error."""
        tree = read_json(source)
        if not isinstance(tree, dict) or tree.get("format") != _FORMAT:
            raise ValueError(f"source is no comparison of this version of timelike: expected the format {_FORMAT!r}")
        fields = read_fields(
            {"is_interrupted": False, **tree},  # which files of earlier versions lack
            "source",
            format=parse_text,
            scores=list_parser(choice_parser(HIGHER_IS_BETTER)),
            rows=list_parser(parse_row),
            design=parse_text,
            overlap=parse_nonnegative,
            groups=nullable_parser(list_parser(parse_text)),
            notes=list_parser(parse_text),
            seconds=parse_nonnegative,
            is_interrupted=parse_bool,
        )
        del fields["format"]
        if not fields["scores"]:
            raise ValueError("source.scores is empty: expected at least one score")
        refuse_incomparable_rows(fields["rows"], fields["scores"], fields["groups"])
        return cls(**fields)


def _select_split(problem: ComparisonProblem, split: str | None) -> tuple[Sequences, NDArray[Any]]:
    """All sequences and targets, or those of the training part."""
    if split is None:
        return problem.X, problem.y
    if split != "train" or len(problem.folds) > 1:
        raise ValueError(
            f'split={split!r} after a comparison on {problem.design}: expected "train" after a single split into a '
            "training and a test part, or None for everything"
        )
    rows = problem.folds[0][0]
    return problem.X[rows], problem.y[rows]


def _align_cells(cells: list[str], widths: list[int]) -> list[str]:
    """The first cell to the left, numbers to the right, remarks as they are: readable in a terminal too."""
    name, *numbers, remarks = cells
    right = [cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True)]
    return [name.ljust(widths[0]), *right, remarks]


def _format_score(row: ComparisonRow, name: str) -> str:
    if name not in row.scores:
        return "–"
    interval = row.scores[name]
    digits = score_format(name)
    return f"{interval.mean:{digits}} [{interval.low:{digits}}, {interval.high:{digits}}]"


def score_format(name: str) -> str:
    """The format of a score: three decimals for rates, four significant digits for errors."""
    return ".4g" if name == "mse" else ".3f"


def _missing_score_notes(row: ComparisonRow) -> list[str]:
    return sorted({f"no {name}: {reason}" for fold in row.folds for name, reason in fold.missing_scores.items()})


def _warning_notes(row: ComparisonRow) -> list[str]:
    return sorted({words[:160] for fold in row.folds for words in fold.warnings})[:2]
