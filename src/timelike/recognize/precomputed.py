"""scikit-learn's clustering on the distances of any metric: `Agglomerative`, `Spectral`, `DBSCAN`, `HDBSCAN`."""

from __future__ import annotations

import abc
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn import cluster
from sklearn.base import ClusterMixin

from ..align import Metric, named
from ..models import Model, learned, options
from ..models.aliases import Alias, aliased
from ..sequences import Sequences
from ..sequences.arguments import store
from .clustering import legacy_seed, seed
from .kernels import inverse_median

Linkage = Literal["average", "complete", "single"]


class _Precomputed(ClusterMixin, Model):  # type: ignore[misc]
    """What they share: distances of all pairs, computed once, and the nearest sequence's cluster for new ones."""

    metric = named.option()

    metric_: Metric = learned.part(Metric)
    sequences_: Sequences = learned.sequences("item")
    labels_: NDArray[np.int64] = learned.indices("item", below="item", least=-1)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of X; a metric that has yet to learn does so from X and y."""
        with self._fitting():
            self.sequences_ = sequences = self._learn_from(X)
            self.metric_ = named.ready(self.metric, sequences) if y is None else named.ready(self.metric, sequences, y)
            self.labels_ = np.asarray(self._found(all_distances(self.metric_, sequences)), np.int64)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """The cluster of every sequence that was fitted."""
        return self.fit(X, y).labels_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster of the nearest sequence that was fitted; −1 where that one is noise."""
        asked = self._asked(X)
        return np.asarray(self.labels_[self.metric_.neighbors(self.sequences_, asked).ids[:, 0]])

    @abc.abstractmethod
    def _found(self, distances: NDArray[np.float64]) -> NDArray[Any]:
        """The cluster of every row, from the distances of all pairs."""

    def _takes_missing(self) -> bool:
        """If the metric does."""
        return named.takes_missing(self)

    def _refuse_many(self, name: str, n_items: int) -> None:
        value = getattr(self, name)
        if value > n_items:
            raise ValueError(
                f"{name}={value}: expected at most the number of sequences, n_samples = {n_items}; use a smaller {name}"
            )


class Agglomerative(_Precomputed):
    """Clusters joined two by two, the nearest first, until k are left or all are farther apart than a threshold.

    Two clusters are as far apart as their members in the mean ("average", UPGMA), the two farthest ("complete") or the
    two nearest ("single"). The work is scikit-learn's `AgglomerativeClustering`.

    Parameters
    ----------
    k : int
        How many clusters; not looked at where a threshold is given.
    metric : Metric or str
        As in `Neighbors`. A distance that is not symmetric counts as the mean of its two directions.
    linkage : {"average", "complete", "single"}
    threshold : float, optional
        Clusters that are so far apart, or farther, are not joined.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.Agglomerative(2).fit_predict([[0, 0, 1], [0, 1], [9, 8], [9, 9, 8], [0, 1, 1]])
    array([0, 0, 1, 1, 0])
    """

    k = options.whole(1)
    n_clusters = Alias("k")
    linkage = options.one_of(*get_args(Linkage))
    threshold = options.maybe(options.real(0.0))

    @aliased(n_clusters="k")
    def __init__(
        self,
        k: int = 8,
        *,
        metric: Metric | str = "dtw",
        linkage: Linkage = "average",
        threshold: float | None = None,
        n_clusters: int | None = None,
    ) -> None:
        store(self, locals())

    def _found(self, distances: NDArray[np.float64]) -> NDArray[Any]:
        if self.threshold is None:
            self._refuse_many("k", len(distances))
        if len(distances) == 1:  # of which scikit-learn makes no tree
            return np.zeros(1)
        wanted = {"n_clusters": self.k} if self.threshold is None else {"n_clusters": None}
        method = cluster.AgglomerativeClustering(
            metric="precomputed", linkage=self.linkage, distance_threshold=self.threshold, **wanted
        )
        return _in_order(method.fit_predict(distances))


class Spectral(_Precomputed):
    """k clusters of the graph in which similar sequences, exp(−γ d), are joined (von Luxburg, 2007).

    The first k eigenvectors of the graph's Laplacian are clustered: parts that hang together may have any shape. The
    work is scikit-learn's `SpectralClustering`.

    Parameters
    ----------
    k : int
        How many clusters; `n_clusters`, as in scikit-learn, is another name for it.
    metric : Metric or str
        As in `Neighbors`. A distance that is not symmetric counts as the mean of its two directions.
    gamma : float, optional
        γ; otherwise 1 / median of the distances between different sequences, kept as `gamma_`.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.Spectral(2, random_state=0).fit_predict([[0, 0, 1], [0, 1], [9, 8], [9, 9, 8], [0, 1, 1]])
    array([0, 0, 1, 1, 0])
    """

    k = options.whole(1)
    n_clusters = Alias("k")
    gamma = options.maybe(options.real(above=0))
    random_state = options.Option(seed, "free")

    gamma_: float = learned.real(0)

    @aliased(n_clusters="k")
    def __init__(
        self,
        k: int = 8,
        *,
        metric: Metric | str = "dtw",
        gamma: float | None = None,
        random_state: Any = None,
        n_clusters: int | None = None,
    ) -> None:
        store(self, locals())

    def _found(self, distances: NDArray[np.float64]) -> NDArray[Any]:
        self._refuse_many("k", len(distances))
        self.gamma_ = inverse_median(distances) if self.gamma is None else float(self.gamma)
        if self.k in (1, len(distances)):  # fewer eigenvectors than the solver could give
            return np.zeros(len(distances)) if self.k == 1 else np.arange(self.k)
        method = cluster.SpectralClustering(
            self.k, affinity="precomputed", assign_labels="cluster_qr", random_state=legacy_seed(self.random_state)
        )
        return _in_order(method.fit_predict(np.exp(-self.gamma_ * distances)))


class DBSCAN(_Precomputed):
    """Clusters where sequences lie densely, of any shape and number; what lies alone is noise, −1 (Ester et al., 1996).

    A sequence with `min_samples` others (itself included) within `eps` is a core; cores within `eps` of each other are
    of one cluster, and so is what is within `eps` of a core. The work is scikit-learn's `DBSCAN`.

    Parameters
    ----------
    metric : Metric or str
        As in `Neighbors`. A distance that is not symmetric counts as the mean of its two directions.
    eps : float, optional
        How near is near; otherwise the distance within which 90 % of the sequences have `min_samples`, kept as `eps_`.
    min_samples : int

    Examples
    --------
    >>> import timelike as tl
    >>> tl.DBSCAN(eps=1.0, min_samples=2).fit_predict([[0, 0, 1], [0, 1], [9, 8], [9, 9, 8], [50, 50]])
    array([ 0,  0,  1,  1, -1])
    """

    eps = options.maybe(options.real(above=0))
    min_samples = options.whole(1)

    eps_: float = learned.real(0)
    core_sample_indices_: NDArray[np.int64] = learned.indices("core", below="item")

    def __init__(self, metric: Metric | str = "dtw", *, eps: float | None = None, min_samples: int = 5) -> None:
        store(self, locals())

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster of the nearest core, or −1 where none is within `eps_`: as if it had been fitted too."""
        asked = self._asked(X)
        if not len(self.core_sample_indices_):
            return np.full(len(asked), -1, np.int64)
        found = self.metric_.neighbors(self.sequences_[self.core_sample_indices_], asked)
        cores = self.labels_[self.core_sample_indices_]
        return np.where(found.distances[:, 0] <= self.eps_, cores[found.ids[:, 0]], -1)

    def _found(self, distances: NDArray[np.float64]) -> NDArray[Any]:
        self.eps_ = self._chosen(distances) if self.eps is None else float(self.eps)
        method = cluster.DBSCAN(eps=self.eps_, min_samples=self.min_samples, metric="precomputed").fit(distances)
        self.core_sample_indices_ = np.asarray(method.core_sample_indices_, np.int64)
        return np.asarray(method.labels_)

    def _chosen(self, distances: NDArray[np.float64]) -> float:
        """A distance that makes nine of ten sequences cores."""
        place = min(self.min_samples, len(distances)) - 1
        reach = float(np.quantile(np.partition(distances, place, axis=1)[:, place], 0.9))
        return reach if reach > 0 else float(np.finfo(np.float64).tiny)  # copies only: each is near itself


class HDBSCAN(_Precomputed):
    """Clusters where sequences lie densely, each at its own density; the rest is noise, −1 (Campello et al., 2013).

    No `eps` has to be chosen: of the clusters at all densities, those that last longest are kept. The work is
    scikit-learn's `HDBSCAN`; `probabilities_` says how firmly each sequence belongs to its cluster.

    Parameters
    ----------
    metric : Metric or str
        As in `Neighbors`. A distance that is not symmetric counts as the mean of its two directions.
    min_cluster_size : int
        What is smaller is noise.
    min_samples : int, optional
        How many neighbours (itself included) make a density; `min_cluster_size` unless given.

    Examples
    --------
    >>> import timelike as tl
    >>> items = [[0, 1], [0, 0, 1.1], [0, 0.9], [9, 8], [9, 8.1], [9, 9, 8.2], [400, 300]]
    >>> tl.HDBSCAN(min_cluster_size=3).fit_predict(items)
    array([ 0,  0,  0,  1,  1,  1, -1])
    """

    min_cluster_size = options.whole(2)
    min_samples = options.maybe(options.whole(1))

    probabilities_: NDArray[np.float64] = learned.array("item", least=0, most=1)

    def __init__(
        self, metric: Metric | str = "dtw", *, min_cluster_size: int = 5, min_samples: int | None = None
    ) -> None:
        store(self, locals())

    def _found(self, distances: NDArray[np.float64]) -> NDArray[Any]:
        self._refuse_many("min_cluster_size" if self.min_samples is None else "min_samples", len(distances))
        method = cluster.HDBSCAN(
            min_cluster_size=self.min_cluster_size, min_samples=self.min_samples, metric="precomputed", copy=True
        ).fit(distances)
        self.probabilities_ = np.asarray(method.probabilities_, np.float64)
        return _in_order(method.labels_)


def all_distances(metric: Metric, sequences: Sequences) -> NDArray[np.float64]:
    """All pairs as clustering takes them: the same in both directions, 0 to itself, none negative."""
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


def _in_order(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Clusters numbered as they first occur, so that the same parts have the same numbers; noise stays −1.

    >>> _in_order(np.array([2, -1, 0, 2]))
    array([ 0, -1,  1,  0])
    """
    found, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    held = found >= 0
    places = np.full(len(found), -1)
    places[held] = np.argsort(np.argsort(first[held]))
    return np.asarray(places[codes], np.int64)
