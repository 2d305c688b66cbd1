"""Base classes: clusters with centers (`KMeans`, `KMedoids`), and scikit-learn's methods on precomputed distances."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state

from ..align import Metric, metric_names
from ..align.plots import plot_averages
from ..models import options, schema
from ..models.aliases import Alias
from ..models.base import Model
from ..sequences.container import Sequences
from ..sequences.describe import overlay

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_PANELS = 12  # clusters drawn


def check_seed(value: Any, name: str) -> Any:
    """Check an option `random_state`: a seed that scikit-learn accepts, or a generator."""
    try:
        check_random_state(to_legacy_seed(value))
    except ValueError as error:
        raise ValueError(f"{name}={value!r:.80}: expected None, an integer or a generator ({error})") from None
    return value


def to_legacy_seed(random_state: Any) -> Any:
    """Convert a `np.random.Generator` to a `RandomState`, which scikit-learn needs; other seeds are returned."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**32))
    return random_state


def refuse_too_many(value: int, name: str, n_items: int) -> None:
    """Raise an error if an option is larger than the number of sequences."""
    if value > n_items:
        raise ValueError(
            f"{name}={value}: expected at most the number of sequences, n_samples = {n_items}; use a smaller {name}"
        )


class CentroidClustering(ClusterMixin, Model):  # type: ignore[misc]
    """Base class of `KMeans` and `KMedoids`: options, validation of the training data, and a plot of the clusters."""

    k = options.integer(1)
    n_clusters = Alias("k")
    n_init = options.integer(1, "training", most=10**6)
    max_iter = options.integer(1, "training")
    random_state = options.Option(check_seed, "free")
    progress = options.nullable(options.boolean("free"))

    metric_: Metric = schema.estimator(Metric)
    labels_: NDArray[np.int64] = schema.indices("item", below="k")
    inertia_: float = schema.real()
    n_iter_: int = schema.integer(0)

    def _validate_training(self, X: Any) -> Sequences:
        sequences = self._validate_fit_input(X)
        refuse_too_many(self.k, "k", len(sequences))
        return sequences

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """The cluster of each training sequence."""
        labels: NDArray[np.int64] = self.fit(X).labels_
        return labels

    def plot(self, X: Any = None, *, channel: int | str = 0, dark: bool = False) -> Figure:
        """Plot a panel for each cluster: its center, and up to thirty sequences of X that `predict` assigns to it.

        Without X only the centers are drawn. Times are counted from the first sample of each sequence; a mean extends
        over the average duration of its members. `channel` is a position or a name; `dark` is for dark pages. At most
        twelve clusters are drawn; the title states how many.
        """
        self._require_fitted()
        centers, names = self._cluster_centers()
        shown = centers if X is None else self._validate_predict_input(X)
        labels = np.arange(self.k) if X is None else self.predict(shown)
        groups = []
        for cluster in range(min(len(centers), _MAX_PANELS)):
            items = np.flatnonzero(labels == cluster)
            count = int((self.labels_ == cluster).sum()) if X is None else len(items)
            clock = overlay.item_times(centers, cluster)
            name = f"cluster {cluster}: {count} sequence{'' if count == 1 else 's'}"
            groups.append((name, items[: 0 if X is None else None], centers[cluster], clock, names[cluster]))
        title = "" if len(groups) == len(centers) else f"{len(groups)} of {len(centers)} clusters"
        return plot_averages(shown, groups, channel, title=title, dark=dark)

    @abc.abstractmethod
    def _cluster_centers(self) -> tuple[Sequences, list[str]]:
        """The center or medoid of each cluster, and its name."""


class PrecomputedClustering(ClusterMixin, Model):  # type: ignore[misc]
    """Base class of methods on a distance matrix; `predict` returns the cluster of the nearest training sequence."""

    metric = metric_names.metric_option()

    metric_: Metric = schema.estimator(Metric)
    sequences_: Sequences = schema.sequences("item")
    labels_: NDArray[np.int64] = schema.indices("item", below="item", least=-1)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of X; an unfitted metric is fitted on X and y first."""
        with self._atomic_fit():
            self.sequences_ = sequences = self._validate_fit_input(X)
            self.metric_ = metric_names.fit_metric_copy(self.metric, sequences, y)
            self.labels_ = np.asarray(self._cluster_distances(symmetric_distances(self.metric_, sequences)), np.int64)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """The cluster of each training sequence."""
        return self.fit(X, y).labels_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster of the nearest training sequence; −1 if that sequence is noise."""
        queries = self._validate_predict_input(X)
        return np.asarray(self.labels_[self.metric_.neighbors(self.sequences_, queries).ids[:, 0]])

    @abc.abstractmethod
    def _cluster_distances(self, distances: NDArray[np.float64]) -> NDArray[Any]:
        """The cluster of each row, from the distances of all pairs."""

    def _takes_missing(self) -> bool:
        """Whether the metric accepts missing values."""
        return metric_names.takes_missing(self)


def symmetric_distances(metric: Metric, sequences: Sequences) -> NDArray[np.float64]:
    """The distance matrix for clustering: symmetric, 0 on the diagonal, nonnegative."""
    matrix = metric.pairwise(sequences).astype(np.float64)
    if not metric.symmetric:
        matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 0)
    if (matrix < 0).any():
        raise ValueError(
            f"{metric!r} gave the distance {matrix.min():g}, and clustering needs distances of at least 0: use a "
            "metric without negative distances, such as SoftDTW(divergence=True)"
        )
    return np.ascontiguousarray(matrix)


def relabel_by_occurrence(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Number clusters in order of first occurrence, so that equal partitions have equal labels; noise stays −1.

    >>> relabel_by_occurrence(np.array([2, -1, 0, 2]))
    array([ 0, -1,  1,  0])
    """
    distinct, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    is_cluster = distinct >= 0
    places = np.full(len(distinct), -1)
    places[is_cluster] = np.argsort(np.argsort(first[is_cluster]))
    return np.asarray(places[codes], np.int64)
