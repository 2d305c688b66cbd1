"""`DBSCAN`: density-based clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import cluster

from ..align.base import Metric
from ..core.parameters import store_parameters
from ..models import options, schema
from .base import PrecomputedClustering


class DBSCAN(PrecomputedClustering):
    """Dense regions as clusters, of any shape and number; isolated sequences are noise, −1 (Ester et al., 1996).

    A sequence with at least `min_samples` sequences, itself included, within `eps` is a core. Cores within `eps` of
    each other belong to one cluster, as do sequences within `eps` of a core. Uses scikit-learn's `DBSCAN`.

    Parameters
    ----------
    metric : Metric or str
        As in `Neighbors`. An asymmetric distance is replaced by the mean of its two directions.
    eps : float, optional
        The radius of a neighbourhood. Default: the distance that makes 90 % of the sequences cores, stored in `eps_`.
    min_samples : int
        Sequences within `eps` that make a core.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.cluster.DBSCAN(eps=1.0, min_samples=2).fit_predict([[0, 0, 1], [0, 1], [9, 8], [9, 9, 8], [50, 50]])
    array([ 0,  0,  1,  1, -1])
    """

    eps = options.nullable(options.real(above=0))
    min_samples = options.integer(1)

    eps_: float = schema.real(0)
    core_sample_indices_: NDArray[np.int64] = schema.indices("core", below="item")

    def __init__(self, metric: Metric | str = "dtw", *, eps: float | None = None, min_samples: int = 5) -> None:
        store_parameters(self, locals())

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster of the nearest core, or −1 if none is within `eps_`."""
        queries = self._validate_predict_input(X)
        if not len(self.core_sample_indices_):
            return np.full(len(queries), -1, np.int64)
        nearest_cores = self.metric_.neighbors(self.sequences_[self.core_sample_indices_], queries)
        core_labels = self.labels_[self.core_sample_indices_]
        return np.where(nearest_cores.distances[:, 0] <= self.eps_, core_labels[nearest_cores.ids[:, 0]], -1)

    def _cluster_distances(self, distances: NDArray[np.float64]) -> NDArray[Any]:
        self.eps_ = self._choose_eps(distances) if self.eps is None else float(self.eps)
        method = cluster.DBSCAN(eps=self.eps_, min_samples=self.min_samples, metric="precomputed").fit(distances)
        self.core_sample_indices_ = np.asarray(method.core_sample_indices_, np.int64)
        return np.asarray(method.labels_)

    def _choose_eps(self, distances: NDArray[np.float64]) -> float:
        """The distance that makes 90 % of the sequences cores."""
        place = min(self.min_samples, len(distances)) - 1
        reach = float(np.quantile(np.partition(distances, place, axis=1)[:, place], 0.9))
        return reach if reach > 0 else float(np.finfo(np.float64).tiny)  # all copies: eps must be above 0
