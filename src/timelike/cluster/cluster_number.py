"""`elbow`: inertia and silhouette as functions of the number of clusters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..align import metric_names
from ..core.parameters import check_int
from ..models import Model
from ..score import silhouette
from ..sequences.validation import validate_sequences
from .base import symmetric_distances
from .kmedoids import KMedoids

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Elbow(NamedTuple):
    """`inertias` and mean `silhouettes` (nan if undefined) for each number of clusters in `ks`."""

    ks: NDArray[np.int64]
    inertias: NDArray[np.float64]
    silhouettes: NDArray[np.float64]

    @property
    def knee(self) -> int:
        """The knee of the inertia: the point farthest below the line from the first to the last value.

        Both axes are scaled to 0 … 1 (Satopää et al., "Finding a Kneedle in a haystack", 2011).
        """
        fall = self.inertias[0] - self.inertias[-1]
        if not fall > 0:  # more clusters gain nothing
            return int(self.ks[0])
        along = (self.ks - self.ks[0]) / (self.ks[-1] - self.ks[0])
        down = (self.inertias[0] - self.inertias) / fall
        return int(self.ks[(down - along).argmax()])

    @property
    def best(self) -> int:
        """The number of clusters with the largest silhouette; among ties, the smallest."""
        if np.isnan(self.silhouettes).all():
            raise ValueError("no silhouette is defined: expected a k of at least 2 and below the number of sequences")
        return int(self.ks[np.nanargmax(self.silhouettes)])

    def plot(self, *, dark: bool = False) -> Figure:
        """Plot inertia and silhouette over the number of clusters, with `knee` and `best` marked."""
        from ..plotting import curves

        has_silhouette = ~np.isnan(self.silhouettes)
        best = self.best if has_silhouette.any() else None
        return curves.plot_cluster_numbers(
            self.ks, self.inertias, self.silhouettes, knee=self.knee, best=best, dark=dark
        )


def elbow(model: Any, X: Any, ks: Iterable[int] = range(1, 11)) -> Elbow:
    """Cluster X with each number of clusters; return inertia and silhouette of each under the model's metric.

    Compare the knee of the inertia with the maximum of the silhouette. If they disagree, or the silhouette is low
    throughout, the data may have no clusters. The distance matrix is computed once.

    Parameters
    ----------
    model : KMeans, KMedoids, Agglomerative or Spectral
        Copies with other values of `k` are fitted; the model itself is not. The inertia is `inertia_`, or, for models
        without it, the summed distance from the medoid of each cluster.
    X : Sequences
    ks : iterable of int
        At least two numbers of clusters, none above the number of sequences.

    Examples
    --------
    >>> import timelike as tl
    >>> X = [[0, 0, 1], [0, 1.1], [9, 8], [9, 9, 8.1], [0, 1.2, 1], [20, 20], [20, 21]]
    >>> curve = tl.cluster.elbow(tl.KMedoids(random_state=0), X, range(1, 6))
    >>> curve.knee, curve.best
    (3, 3)
    """
    if not isinstance(model, Model) or not {"k", "metric"} <= set(type(model).options()):
        raise TypeError(f"model={model!r:.80}: expected a clustering with k and a metric, such as KMedoids()")
    sequences = validate_sequences(X)
    numbers = _check_ks(ks, len(sequences))
    metric = metric_names.fit_metric_copy(model.metric, sequences)
    distances = symmetric_distances(metric, sequences)
    evaluations = [
        _evaluate_clustering(clone(model).set_params(k=k, metric=metric), sequences, distances)
        for k in numbers.tolist()
    ]
    inertias, silhouettes = np.transpose(evaluations)
    return Elbow(numbers, inertias, silhouettes)


def _evaluate_clustering(model: Any, sequences: Any, distances: NDArray[np.float64]) -> tuple[float, float]:
    """Inertia and silhouette of one clustering."""
    model = model._fit_distances(sequences, distances) if isinstance(model, KMedoids) else model.fit(sequences)
    labels = model.labels_
    inertia = float(model.inertia_) if hasattr(model, "inertia_") else _medoid_inertia(distances, labels)
    has_silhouette = 2 <= len(np.unique(labels)) < len(labels)
    return inertia, silhouette(distances, labels) if has_silhouette else np.nan


def _medoid_inertia(distances: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """The summed distances of all items from the medoid of their cluster.

    >>> _medoid_inertia(np.array([[0.0, 1, 5], [1, 0, 4], [5, 4, 0]]), np.array([0, 0, 0]))
    5.0
    """
    parts = (np.flatnonzero(labels == label) for label in np.unique(labels))
    return float(sum(distances[np.ix_(part, part)].sum(axis=0).min() for part in parts))


def _check_ks(ks: Iterable[int], n_items: int) -> NDArray[np.int64]:
    try:
        numbers = sorted({check_int(k, "ks", 1) for k in ks})
    except TypeError:
        raise TypeError(f"ks={ks!r:.80}: expected several numbers of clusters, such as range(1, 11)") from None
    if len(numbers) < 2:
        raise ValueError(f"ks={ks!r:.80}: expected at least two numbers of clusters to compare")
    if numbers[-1] > n_items:
        raise ValueError(f"ks={ks!r:.80}: expected at most {n_items}, the number of sequences")
    return np.array(numbers)
