"""scikit-learn's clustering on the distances of any metric: `Agglomerative`, `Spectral`, `DBSCAN`, `HDBSCAN`."""

from __future__ import annotations

import abc
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin

from ..align import Metric, metric_names
from ..models import Model, schema
from ..sequences import Sequences


class PrecomputedClustering(ClusterMixin, Model):  # type: ignore[misc]
    """Base class: computes all distances once, and predicts the cluster of the nearest training sequence."""

    metric = metric_names.metric_option()

    metric_: Metric = schema.estimator(Metric)
    sequences_: Sequences = schema.sequences("item")
    labels_: NDArray[np.int64] = schema.indices("item", below="item", least=-1)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of X; a metric that is not fitted yet is fitted on X and y."""
        with self._atomic_fit():
            self.sequences_ = sequences = self._validate_fit_input(X)
            self.metric_ = (
                metric_names.fit_metric_copy(self.metric, sequences)
                if y is None
                else metric_names.fit_metric_copy(self.metric, sequences, y)
            )
            self.labels_ = np.asarray(self._cluster_distances(symmetric_distances(self.metric_, sequences)), np.int64)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """The cluster of every sequence that was fitted."""
        return self.fit(X, y).labels_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster of the nearest sequence that was fitted; −1 where that one is noise."""
        queries = self._validate_predict_input(X)
        return np.asarray(self.labels_[self.metric_.neighbors(self.sequences_, queries).ids[:, 0]])

    @abc.abstractmethod
    def _cluster_distances(self, distances: NDArray[np.float64]) -> NDArray[Any]:
        """The cluster of every row, from the distances of all pairs."""

    def _takes_missing(self) -> bool:
        """If the metric does."""
        return metric_names.takes_missing(self)

    def _refuse_too_many(self, name: str, n_items: int) -> None:
        value = getattr(self, name)
        if value > n_items:
            raise ValueError(
                f"{name}={value}: expected at most the number of sequences, n_samples = {n_items}; use a smaller {name}"
            )


def symmetric_distances(metric: Metric, sequences: Sequences) -> NDArray[np.float64]:
    """Distances of all pairs as clustering needs them: symmetric, 0 on the diagonal, none negative."""
    matrix = metric.pairwise(sequences).astype(np.float64)
    if not metric.symmetric:
        matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 0)
    if (matrix < 0).any():
        raise ValueError(
            f"{metric!r} gave the distance {matrix.min():g}, and clustering needs distances of at least 0: use a "
            "metric without negative ones, such as SoftDTW(divergence=True)"
        )
    return np.ascontiguousarray(matrix)


def _relabel_by_occurrence(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Clusters numbered as they first occur, so that the same parts have the same numbers; noise stays −1.

    >>> _relabel_by_occurrence(np.array([2, -1, 0, 2]))
    array([ 0, -1,  1,  0])
    """
    found, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    held = found >= 0
    places = np.full(len(found), -1)
    places[held] = np.argsort(np.argsort(first[held]))
    return np.asarray(places[codes], np.int64)
