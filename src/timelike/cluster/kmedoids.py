"""`KMedoids`: clusters around medoids, members of the training data, under any metric."""

from __future__ import annotations

from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..align import metric_names
from ..align.base import Metric
from ..core.parameters import check_choice, store_parameters
from ..models import options, schema
from ..models.aliases import accept_aliases
from ..sequences.container import Sequences
from .base import CentroidClustering, to_legacy_seed
from .faster_pam import MedoidInit, init_medoids, swap_medoids


def _check_init_positions(init: Any, name: str) -> Any:
    """Check `init`: the name of a method, or positions; `fit` checks that they exist."""
    if isinstance(init, str):
        return check_choice(init, name, get_args(MedoidInit))
    if np.ndim(init) != 1 or np.asarray(init).dtype.kind not in "iu":
        raise ValueError(f"{name}={init!r:.80}: expected a word, or k different positions, one for each medoid")
    return init


class KMedoids(CentroidClustering):
    """k training sequences that minimize the summed distance to all others: FasterPAM (Schubert and Rousseeuw, 2021).

    inertia = Σ_i min_m d(x_i, m) over medoids m; medoids are swapped with other sequences until no swap lowers it. The
    distance matrix is computed once, so any metric works and memory holds all pairs.

    Parameters
    ----------
    k : int
        Number of clusters; `n_clusters`, as in scikit-learn, is another name for it.
    metric : Metric or str
        As in `Neighbors`.
    init : {"k-medoids++", "random", "build"} or array of k positions
        Initial medoids: far from each other, random, chosen one by one to lower the inertia most, or these positions.
    n_init : int
        Number of random initializations; the best result is kept.
    max_iter : int
        Maximum number of passes over all sequences in search of a swap.
    progress : bool or None
        Whether to show a progress bar of the distances. None shows it on a terminal if they take over two seconds.

    Examples
    --------
    >>> import timelike as tl
    >>> groups = tl.KMedoids(2, random_state=0).fit([[0, 0, 1], [0, 1], [9, 8], [9, 9, 8], [0, 1, 1]])
    >>> groups.labels_
    array([1, 1, 0, 0, 1])
    >>> groups.inertia_
    0.0
    """

    metric = metric_names.metric_option()
    init = options.Option(_check_init_positions, "training")

    medoids_: Sequences = schema.sequences("k")
    medoid_indices_: NDArray[np.int64] = schema.indices("k", below="item")

    @accept_aliases(n_clusters="k")
    def __init__(
        self,
        k: int = 8,
        *,
        metric: Metric | str = "dtw",
        init: MedoidInit | Any = "k-medoids++",
        n_init: int = 5,
        max_iter: int = 100,
        random_state: Any = None,
        progress: bool | None = None,
        n_clusters: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    def _takes_missing(self) -> bool:
        """Whether the metric accepts missing values."""
        return metric_names.takes_missing(self)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the medoids of X."""
        return self._fit_distances(X, None)

    def _fit_distances(self, X: Any, distances: NDArray[Any] | None) -> Self:
        """Fit with a precomputed distance matrix, or compute it."""
        with self._atomic_fit():
            sequences, rng = self._validate_training(X), check_random_state(to_legacy_seed(self.random_state))
            self.metric_ = metric_names.fit_metric_copy(self.metric, sequences)
            if distances is None:
                distances = self.metric_.pairwise(sequences, progress=self.progress)
            is_random = isinstance(self.init, str) and self.init != "build"
            tries = [
                swap_medoids(distances, init_medoids(distances, self.k, self.init, rng), self.max_iter)
                for _ in range(self.n_init if is_random else 1)
            ]
            best = min(tries, key=lambda result: result.inertia)
            self.medoid_indices_ = np.sort(best.medoids)
            self.medoids_ = sequences[self.medoid_indices_]
            self.labels_ = distances[:, self.medoid_indices_].argmin(axis=1)
            self.labels_[self.medoid_indices_] = np.arange(self.k)  # also where medoids are copies
            self.inertia_, self.n_iter_ = best.inertia, best.n_iter
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster with the nearest medoid."""
        queries = self._validate_predict_input(X)
        return np.asarray(self.metric_.pairwise(queries, self.medoids_).argmin(axis=1))

    def _cluster_centers(self) -> tuple[Sequences, list[str]]:
        names = self.medoid_indices_ if self.medoids_.ids is None else self.medoids_.ids
        return self.medoids_, [f"medoid {name}" for name in names.tolist()]
