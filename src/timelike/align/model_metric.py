"""`find_metric`: the metric by which a fitted model compares sequences, with the preparation steps before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..sequences import Sequences, as_sequences
from .base import Metric
from .distance_matrix import ProgressCallback
from .gallery import Ids, Matches


def find_metric(model: Any) -> Metric | None:
    """The metric by which a fitted model compares sequences; None if it compares none.

    That is the model itself, or its `metric()`, `metric_`, `encoder_` or `best_estimator_`. Before the metric of the
    last step of a scikit-learn Pipeline, such as the best method of `compare`, sequences go through the other steps.

    >>> import timelike as tl
    >>> from sklearn.pipeline import make_pipeline
    >>> X = tl.Sequences([[0.0, 1.0], [0.0, 0.5, 1.0], [5.0, 5.0]], labels=["up", "up", "flat"])
    >>> model = make_pipeline(tl.prepare.Resample(3), tl.Neighbors("euclidean")).fit(X, X.labels)
    >>> find_metric(model)
    Euclidean() after Resample(length=3)
    >>> find_metric(model).distance(X[0], X[1])
    0.0
    """
    if isinstance(model, Metric):
        return model
    steps, last = split_steps(model)
    if steps:
        metric = find_metric(last)
        return None if metric is None else _PreparedMetric(steps, metric)
    metric = getattr(last, "metric", None)
    if callable(metric):  # a method of `Prototypes`, which compares by more than its encoder
        return find_metric(metric())
    inner = (getattr(last, name, None) for name in ("metric_", "encoder_", "best_estimator_"))
    return next((found for part in inner if part is not None and (found := find_metric(part)) is not None), None)


def split_steps(model: Any) -> tuple[tuple[Any, ...], Any]:
    """The fitted transformers of a scikit-learn Pipeline and its last step; of any other model no steps, and itself."""
    from sklearn.pipeline import Pipeline

    if not isinstance(model, Pipeline):
        return (), model
    *steps, last = (step for _, step in model.steps)
    return tuple(step for step in steps if step is not None and step != "passthrough"), last


def apply_steps(steps: tuple[Any, ...], X: Sequences) -> Sequences:
    """The sequences after fitted transformers."""
    for step in steps:
        X = as_sequences(step.transform(X), "X")
    return X


@dataclass(frozen=True, eq=False, repr=False)
class _PreparedMetric(Metric):
    """The metric of a Pipeline: sequences go through fitted steps before it compares them.

    It is a `Metric`, so that whoever searches, maps or verifies need not know of the steps.
    """

    steps: tuple[Any, ...]
    metric: Metric

    def __post_init__(self) -> None:
        object.__setattr__(self, "symmetric", self.metric.symmetric)

    def __repr__(self) -> str:
        return " after ".join(map(repr, (self.metric, *reversed(self.steps))))

    def _takes_missing(self) -> bool:
        return True  # a step may fill them; `_prepare` refuses those that are left

    def _prepare(self, X: Sequences) -> Sequences:
        prepared = apply_steps(self.steps, X)
        self.metric._validate_sides(prepared, None, ("X", "X"))
        return prepared

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        first = self._prepare(x)
        second = None if y is None else first if y is x else self._prepare(y)
        self.metric._validate_sides(first, second, ("X", "Y"))
        self.metric._fill_matrix(first, second, out, threads, report)

    def _precompute_items(self, sequences: Sequences, threads: int) -> Any:
        return self.metric._precompute_items(self._prepare(sequences), threads)

    def _select_items(self, precomputed: Any, items: Ids | slice) -> Any:
        return self.metric._select_items(precomputed, items)

    def _compare_precomputed(self, queries: Any, references: Any, out: NDArray[Any], threads: int) -> None:
        self.metric._compare_precomputed(queries, references, out, threads)

    def _search_nearest(
        self, queries: Sequences, references: Any, k: int, threads: int, report: ProgressCallback
    ) -> Matches | None:
        return self.metric._search_nearest(self._prepare(queries), references, k, threads, report)
