"""`Agglomerative`: hierarchical clustering by merging the two nearest clusters."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn import cluster

from ..align.base import Metric
from ..core.parameters import store_parameters
from ..models import options
from ..models.aliases import Alias, accept_aliases
from .base import PrecomputedClustering, refuse_too_many, relabel_by_occurrence

Linkage = Literal["average", "complete", "single"]


class Agglomerative(PrecomputedClustering):
    """Merge the two nearest clusters until k are left or all are farther apart than a threshold.

    The distance of two clusters is the mean distance of their members ("average", UPGMA), the largest ("complete") or
    the smallest ("single"). Uses scikit-learn's `AgglomerativeClustering`.

    Parameters
    ----------
    k : int
        Number of clusters; ignored if a threshold is given.
    metric : Metric or str
        As in `Neighbors`. An asymmetric distance is replaced by the mean of its two directions.
    linkage : {"average", "complete", "single"}
    threshold : float, optional
        Clusters at this distance or farther apart are not merged.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.cluster.Agglomerative(2).fit_predict([[0, 0, 1], [0, 1], [9, 8], [9, 9, 8], [0, 1, 1]])
    array([0, 0, 1, 1, 0])
    """

    k = options.integer(1)
    n_clusters = Alias("k")
    linkage = options.choice(*get_args(Linkage))
    threshold = options.nullable(options.real(0.0))

    @accept_aliases(n_clusters="k")
    def __init__(
        self,
        k: int = 8,
        *,
        metric: Metric | str = "dtw",
        linkage: Linkage = "average",
        threshold: float | None = None,
        n_clusters: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    def _cluster_distances(self, distances: NDArray[np.float64]) -> NDArray[Any]:
        if self.threshold is None:
            refuse_too_many(self.k, "k", len(distances))
        if len(distances) == 1:  # scikit-learn needs at least two items
            return np.zeros(1)
        method = cluster.AgglomerativeClustering(
            n_clusters=self.k if self.threshold is None else None,
            metric="precomputed",
            linkage=self.linkage,
            distance_threshold=self.threshold,
        )
        return relabel_by_occurrence(method.fit_predict(distances))
