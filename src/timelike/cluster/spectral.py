"""`Spectral`: spectral clustering of a similarity graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import cluster

from ..align.base import Metric
from ..core.parameters import store_parameters
from ..models import options, schema
from ..models.aliases import Alias, accept_aliases
from ..neighbors.elastic_kernel import inverse_median
from .base import PrecomputedClustering, check_seed, refuse_too_many, relabel_by_occurrence, to_legacy_seed


class Spectral(PrecomputedClustering):
    """k clusters of the similarity graph with edge weights exp(−γ d) (von Luxburg, 2007).

    Clusters the first k eigenvectors of the graph's Laplacian, so that connected groups of any shape become clusters.
    Uses scikit-learn's `SpectralClustering`.

    Parameters
    ----------
    k : int
        Number of clusters; `n_clusters`, as in scikit-learn, is another name for it.
    metric : Metric or str
        As in `Neighbors`. An asymmetric distance is replaced by the mean of its two directions.
    gamma : float, optional
        γ. Default: 1 / median distance between different sequences, stored in `gamma_`.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.cluster.Spectral(2, random_state=0).fit_predict([[0, 0, 1], [0, 1], [9, 8], [9, 9, 8], [0, 1, 1]])
    array([0, 0, 1, 1, 0])
    """

    k = options.integer(1)
    n_clusters = Alias("k")
    gamma = options.nullable(options.real(above=0))
    random_state = options.Option(check_seed, "free")

    gamma_: float = schema.real(0)

    @accept_aliases(n_clusters="k")
    def __init__(
        self,
        k: int = 8,
        *,
        metric: Metric | str = "dtw",
        gamma: float | None = None,
        random_state: Any = None,
        n_clusters: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    def _cluster_distances(self, distances: NDArray[np.float64]) -> NDArray[Any]:
        refuse_too_many(self.k, "k", len(distances))
        self.gamma_ = inverse_median(distances) if self.gamma is None else float(self.gamma)
        if self.k in (1, len(distances)):  # trivial cases that the eigensolver does not support
            return np.zeros(len(distances)) if self.k == 1 else np.arange(self.k)
        method = cluster.SpectralClustering(
            self.k, affinity="precomputed", assign_labels="cluster_qr", random_state=to_legacy_seed(self.random_state)
        )
        return relabel_by_occurrence(method.fit_predict(np.exp(-self.gamma_ * distances)))
