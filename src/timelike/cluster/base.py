"""What `KMeans` and `KMedoids` share: options, checks of the training data, and the figure of the clusters."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state

from ..align.base import Metric
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
    """An option `random_state` as scikit-learn takes it, or a generator."""
    try:
        check_random_state(to_legacy_seed(value))
    except ValueError as error:
        raise ValueError(f"{name}={value!r:.80}: expected None, an integer or a generator ({error})") from None
    return value


def to_legacy_seed(random_state: Any) -> Any:
    """A new-style generator as scikit-learn's tools take it."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**32))
    return random_state


class CentroidClustering(ClusterMixin, Model):  # type: ignore[misc]
    """The options and the input checks that both kinds of clustering share."""

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
        if self.k > len(sequences):
            raise ValueError(
                f"k={self.k}: expected at most the number of sequences, n_samples = {len(sequences)}; use a smaller k"
            )
        return sequences

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """The cluster of every sequence that was fitted."""
        labels: NDArray[np.int64] = self.fit(X).labels_
        return labels

    def plot(self, X: Any = None, *, channel: int | str = 0, dark: bool = False) -> Figure:
        """A panel for every cluster: those of X that `predict` puts there, at most thirty, and what stands for them.

        Without X there is what stands for them alone. Sequences with times are drawn from their first sample on, a mean
        over as long a time as its members last on average. `channel` is a position or a name, `dark` is for a dark
        page; of many clusters the first twelve are drawn, which the title says.
        """
        self._require_fitted()
        centers, names = self._cluster_centers()
        given = centers if X is None else self._validate_predict_input(X)
        labels = np.arange(self.k) if X is None else self.predict(given)
        groups = []
        for cluster in range(min(len(centers), _MAX_PANELS)):
            items = np.flatnonzero(labels == cluster)
            count = int((self.labels_ == cluster).sum()) if X is None else len(items)
            clock = overlay.item_times(centers, cluster)
            title = f"cluster {cluster}: {count} sequence{'' if count == 1 else 's'}"
            groups.append((title, items[: 0 if X is None else None], centers[cluster], clock, names[cluster]))
        said = "" if len(groups) == len(centers) else f"{len(groups)} of {len(centers)} clusters"
        return plot_averages(given, groups, channel, title=said, dark=dark)

    @abc.abstractmethod
    def _cluster_centers(self) -> tuple[Sequences, list[str]]:
        """The center or medoid of each cluster, and its name."""
