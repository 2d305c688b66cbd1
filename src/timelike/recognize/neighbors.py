"""Nearest neighbours under any metric of the library."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .. import align
from ..align import Metric
from ..sequences import as_sequences

_NAMES = {"dtw": align.DTW}


class Neighbors(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify a sequence by a vote of its k nearest; equal votes go to the nearer neighbours.

    Parameters
    ----------
    metric : Metric or str
        Any metric of the library, or its name: `"dtw"`. Its options are parameters too: `metric__window` works in
        `set_params` and GridSearchCV.
    k : int
        How many neighbours vote.

    Examples
    --------
    >>> import timelike as tl
    >>> train = tl.Sequences([[0, 0, 1], [0, 1, 1, 1], [5, 5, 4]], labels=["low", "low", "high"])
    >>> tl.Neighbors(tl.DTW(window=2)).fit(train).predict([[0, 1, 1], [4, 4]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(self, metric: Metric | str = "dtw", *, k: int = 1) -> None:
        self.metric = metric
        self.k = k

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, the metric's own among them as `metric__…`."""
        own: dict[str, Any] = super().get_params(deep=False)
        metric = _NAMES[self.metric]() if self.metric in _NAMES else self.metric
        if deep and dataclasses.is_dataclass(metric):
            own |= {f"metric__{field.name}": getattr(metric, field.name) for field in dataclasses.fields(metric)}
        return own

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a metric is a value, so changing one of its options puts a new metric in its place."""
        inner = {
            name.removeprefix("metric__"): params.pop(name) for name in list(params) if name.startswith("metric__")
        }
        super().set_params(**params)
        if inner:
            self.metric = _changed(resolve(self.metric), inner)
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the sequences and their labels: `y`, or the ones that X carries."""
        sequences = as_sequences(X, "X")
        if y is None and sequences.labels is None:
            raise ValueError("y is None and X carries no labels: give the class of every sequence")
        labels = np.asarray(sequences.labels if y is None else y)
        if labels.shape != (len(sequences),):
            raise ValueError(f"y has shape {labels.shape} for {len(sequences)} sequences: expected one label each")
        if not 1 <= self.k <= len(sequences):
            raise ValueError(f"k={self.k}: expected 1 to {len(sequences)}, the number of training sequences")
        self.metric_ = resolve(self.metric)
        self.sequences_ = sequences
        self.classes_, self.codes_ = np.unique(labels, return_inverse=True)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Share of the k neighbours in every class, (item, class)."""
        check_is_fitted(self)
        return self._votes(X)[0] / self.k

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every sequence."""
        check_is_fitted(self)
        votes, total = self._votes(X)
        best = votes == votes.max(axis=1, keepdims=True)
        return np.asarray(self.classes_[np.where(best, total, np.inf).argmin(axis=1)])

    def _votes(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Votes and summed distances of the voters, each (item, class)."""
        ids, distances = self.metric_.neighbors(self.sequences_, X, k=self.k)
        chosen = self.codes_[ids][:, :, None] == np.arange(len(self.classes_))
        return chosen.sum(axis=1).astype(np.float64), (chosen * distances[:, :, None]).sum(axis=1)


def _changed(metric: Any, options: dict[str, Any]) -> Metric:
    known = [field.name for field in dataclasses.fields(metric)] if dataclasses.is_dataclass(metric) else []
    for name in options:
        if name not in known:
            raise ValueError(f"metric has no option {name!r}: {type(metric).__name__} has {', '.join(known)}")
    changed: Metric = dataclasses.replace(metric, **options)
    return changed


def resolve(metric: Metric | str) -> Metric:
    """The metric a name stands for."""
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str) and metric in _NAMES:
        return _NAMES[metric]()
    raise ValueError(f"metric={metric!r}: expected a Metric such as timelike.DTW(), or one of {', '.join(_NAMES)}")
