"""`HDBSCAN`: density-based clustering with variable density."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import cluster

from ..align.base import Metric
from ..core.parameters import store_parameters
from ..models import options, schema
from .base import PrecomputedClustering, refuse_too_many, relabel_by_occurrence


class HDBSCAN(PrecomputedClustering):
    """Dense regions as clusters, each at its own density; the rest is noise, −1 (Campello et al., 2013).

    There is no `eps` to choose: the clusters that persist over the widest range of densities are selected. Uses
    scikit-learn's `HDBSCAN`; `probabilities_` holds the strength of each sequence's membership.

    Parameters
    ----------
    metric : Metric or str
        As in `Neighbors`. An asymmetric distance is replaced by the mean of its two directions.
    min_cluster_size : int
        Smaller groups are noise.
    min_samples : int, optional
        Number of neighbours, the sequence itself included, that define the density. Default: `min_cluster_size`.

    Examples
    --------
    >>> import timelike as tl
    >>> items = [[0, 1], [0, 0, 1.1], [0, 0.9], [9, 8], [9, 8.1], [9, 9, 8.2], [400, 300]]
    >>> tl.cluster.HDBSCAN(min_cluster_size=3).fit_predict(items)
    array([ 0,  0,  0,  1,  1,  1, -1])
    """

    min_cluster_size = options.integer(2)
    min_samples = options.nullable(options.integer(1))

    probabilities_: NDArray[np.float64] = schema.array("item", least=0, most=1)

    def __init__(
        self, metric: Metric | str = "dtw", *, min_cluster_size: int = 5, min_samples: int | None = None
    ) -> None:
        store_parameters(self, locals())

    def _cluster_distances(self, distances: NDArray[np.float64]) -> NDArray[Any]:
        name = "min_cluster_size" if self.min_samples is None else "min_samples"
        refuse_too_many(getattr(self, name), name, len(distances))
        method = cluster.HDBSCAN(
            min_cluster_size=self.min_cluster_size, min_samples=self.min_samples, metric="precomputed", copy=True
        ).fit(distances)
        self.probabilities_ = np.asarray(method.probabilities_, np.float64)
        return relabel_by_occurrence(method.labels_)
