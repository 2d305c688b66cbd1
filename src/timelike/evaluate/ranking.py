"""`Ranking`: methods over several data sets, by mean ranks and cliques of methods that do not differ significantly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import score
from ..plotting import comparisons as drawing, html
from ..score.significance import FriedmanResult, PostHoc
from .problem import HIGHER_IS_BETTER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .comparison import Comparison


_HEADER = ["method", "mean rank", "mean score", "best on"]


@dataclass(frozen=True)
class Ranking:
    """Methods over data sets: scores (data set, method), mean ranks, Friedman's test, and cliques."""

    data_sets: tuple[str, ...]
    methods: tuple[str, ...]
    scores: NDArray[np.float64]
    higher_is_better: bool
    post_hoc: PostHoc
    excluded: tuple[str, ...] = ()
    """Methods without a score on every data set."""

    @property
    def mean_ranks(self) -> NDArray[np.float64]:
        """The mean rank of every method; 1 is best everywhere."""
        return np.asarray(score.method_ranks(self.scores, higher_is_better=self.higher_is_better).mean(axis=0))

    @property
    def friedman(self) -> FriedmanResult:
        """Whether the ranks differ at all."""
        return score.friedman_test(self.scores if self.higher_is_better else -self.scores)

    @property
    def cliques(self) -> list[tuple[int, ...]]:
        """Groups of methods, by position, that do not differ significantly."""
        scores = self.scores if self.higher_is_better else -self.scores
        return score.cliques(self.mean_ranks, score.significant_pairs(scores, post_hoc=self.post_hoc))

    @property
    def critical_difference(self) -> float:
        """The smallest significant difference of mean ranks by Nemenyi's test."""
        return score.critical_difference(len(self.methods), len(self.data_sets))

    def table(self) -> str:
        """Mean rank and mean score of every method as Markdown, the best first."""
        lines = [_HEADER, ["---", "---:", "---:", "---:"], *self._table_rows()]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def _table_rows(self) -> list[list[str]]:
        ranks = score.method_ranks(self.scores, higher_is_better=self.higher_is_better)
        first = (ranks == ranks.min(axis=1, keepdims=True)).sum(axis=0)
        mean, order = self.scores.mean(axis=0), np.argsort(self.mean_ranks, kind="stable")
        return [[self.methods[i], f"{self.mean_ranks[i]:.2f}", f"{mean[i]:.3f}", str(first[i])] for i in order]

    def __str__(self) -> str:
        friedman = self.friedman
        tests = {"wilcoxon": "Wilcoxon's signed ranks with Holm's correction", "nemenyi": "Nemenyi's test"}
        groups = "; ".join(", ".join(self.methods[i] for i in clique) for clique in self.cliques) or "none"
        lines = [
            f"{len(self.data_sets)} data sets. Friedman: χ² = {friedman.statistic:.3g}, p = {friedman.p_value:.2g}. "
            f"Not told apart by {tests[self.post_hoc]} at 5 %: {groups}.",
            *([f"Left out, without a score on every set: {', '.join(self.excluded)}."] if self.excluded else []),
        ]
        return f"{self.table()}\n\n" + "\n".join(lines)

    def plot(self) -> Figure:
        """The critical-difference diagram."""
        nemenyi = self.critical_difference if self.post_hoc == "nemenyi" else None
        return drawing.plot_critical_differences(
            self.methods, self.mean_ranks.tolist(), self.cliques, difference=nemenyi
        )

    def _repr_html_(self) -> str:
        table = html.table(_HEADER, self._table_rows())
        paragraphs = [html.paragraph(line) for line in str(self).split("\n\n")[-1].split("\n")]
        return html.join_html(table, *paragraphs, html.figure_html(self.plot(), "Critical differences of mean ranks"))


def rank_comparisons(
    comparisons: Mapping[str, Comparison] | Iterable[Comparison], metric: str | None, post_hoc: PostHoc
) -> Ranking:
    """A `Ranking` from the comparisons of several data sets, by one score."""
    comparisons_by_name: dict[str, Comparison] = (
        dict(comparisons)
        if isinstance(comparisons, Mapping)
        else {f"set {i + 1}": one for i, one in enumerate(comparisons)}
    )
    if len(comparisons_by_name) < 2:
        raise ValueError(f"comparisons holds {len(comparisons_by_name)}: expected comparisons of two data sets or more")
    score_name = next(iter(comparisons_by_name.values())).scores[0] if metric is None else metric
    method_scores: list[Mapping[str, float]] = []
    for name, one in comparisons_by_name.items():
        if score_name not in one.scores:
            raise ValueError(f"comparisons: {name} was scored by {', '.join(one.scores)}, not by {score_name!r}")
        method_scores.append({row.method: row.scores[score_name].mean for row in one.ranked_rows(score_name)})
    return rank_table(
        dict(zip(comparisons_by_name, method_scores, strict=True)),
        higher_is_better=HIGHER_IS_BETTER[score_name],
        post_hoc=post_hoc,
    )


def rank_table(
    scores: Mapping[str, Mapping[str, float]], *, higher_is_better: bool = True, post_hoc: PostHoc = "wilcoxon"
) -> Ranking:
    """A `Ranking` from plain numbers, {data set: {method: score}}: with the methods that every data set has.

    >>> print(rank_table({"a": {"x": 0.9, "y": 0.8}, "b": {"x": 0.7, "y": 0.6}}).table())
    | method | mean rank | mean score | best on |
    | --- | ---: | ---: | ---: |
    | x | 1.00 | 0.800 | 2 |
    | y | 2.00 | 0.700 | 0 |
    """
    all_methods: Sequence[str] = list(dict.fromkeys(name for one in scores.values() for name in one))
    common_methods = [name for name in all_methods if all(name in one for one in scores.values())]
    if len(common_methods) < 2 or len(scores) < 2:
        raise ValueError(
            f"{len(common_methods)} methods have a score on each of {len(scores)} data sets: expected two of both or "
            "more"
        )
    table: Any = np.array([[one[name] for name in common_methods] for one in scores.values()])
    left_out = tuple(name for name in all_methods if name not in common_methods)
    return Ranking(tuple(scores), tuple(common_methods), table, higher_is_better, post_hoc, left_out)
