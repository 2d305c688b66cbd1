"""`KMeans`: clusters around barycenters."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..align import Aligner, Metric, barycenter, metric_names
from ..core.parameters import check_choice, store_parameters
from ..core.progress import ProgressMeter
from ..models import options, schema
from ..models.aliases import accept_aliases
from ..sequences import Sequences, as_sequences
from .base import CentroidClustering, to_legacy_seed
from .faster_pam import sample_plusplus_centers


def _check_init_centers(init: Any, name: str) -> Any:
    """Check `init`: the name of a method, or sequences."""
    if isinstance(init, str):
        return check_choice(init, name, ("k-means++", "random"))
    as_sequences(init, name)
    return init


class KMeans(CentroidClustering):
    """k mean sequences under an elastic distance: Lloyd's iteration with barycenters (Petitjean et al., 2011).

    Each sequence is assigned to the nearest center, then each center becomes the barycenter of its sequences. With
    `DTW()` on sequences of length 1 this is ordinary k-means. An empty cluster takes over the sequence farthest from
    its center.

    Parameters
    ----------
    k : int
        Number of clusters; `n_clusters`, as in scikit-learn, is another name for it.
    metric : Aligner or str
        A metric that aligns time steps; see `barycenter` for means under metrics other than `DTW()`.
    init : {"k-means++", "random"} or list of k sequences
        Initial centers: training sequences far from each other, random training sequences, or these sequences.
    n_init : int
        Number of random initializations; the best result is kept.
    max_iter : int
        Maximum number of assignment rounds.
    length : int, optional
        Time steps of each center. Default: the length of its initial sequence.
    barycenter_iter : int
        Barycenter iterations per center and round.
    tolerance : float
        Stop when a round lowers the inertia by at most this fraction.
    progress : bool or None
        Whether to show a progress bar of the rounds, which may end before `max_iter`. None shows it on a terminal if
        fitting takes over two seconds.

    Examples
    --------
    >>> import timelike as tl
    >>> groups = tl.KMeans(2, random_state=0).fit([[0, 0, 1], [0, 1], [9, 8], [9, 9, 8], [0, 1, 1]])
    >>> groups.labels_
    array([0, 0, 1, 1, 0])
    >>> groups.inertia_
    0.0
    """

    metric = metric_names.metric_option(aligner=True)
    init = options.Option(_check_init_centers, "training")
    length = options.nullable(options.integer(1, "training", most=2**31))
    barycenter_iter = options.integer(1, "training")
    tolerance = options.real(0, role="training")

    cluster_centers_: list[NDArray[Any]] = schema.list_of(
        schema.array("step", "*frame", dtype=("float32", "float64")), "k"
    )
    center_times_: list[NDArray[Any]] | None = schema.nullable(schema.list_of(schema.array("step"), "k"))

    @accept_aliases(n_clusters="k")
    def __init__(
        self,
        k: int = 8,
        *,
        metric: Metric | str = "dtw",
        init: Literal["k-means++", "random"] | Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 50,
        length: int | None = None,
        barycenter_iter: int = 5,
        tolerance: float = 1e-6,
        random_state: Any = None,
        progress: bool | None = None,
        n_clusters: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the centers of X."""
        with self._atomic_fit():
            sequences, rng = self._validate_training(X), check_random_state(to_legacy_seed(self.random_state))
            metric = cast(Aligner, metric_names.fit_metric_copy(self.metric, sequences))
            n_tries = self.n_init if isinstance(self.init, str) else 1
            with ProgressMeter(n_tries * self.max_iter, self.progress, name="KMeans", unit="round") as bar:
                tries = [self._run_once(sequences, metric, rng, bar) for _ in range(n_tries)]
            best = min(tries, key=lambda run: run.inertia)
            self.metric_, self.labels_ = metric, best.labels
            self.cluster_centers_ = [center[0] for center in best.centers]
            self.center_times_ = _center_times(best.centers)
            self.inertia_, self.n_iter_ = best.inertia, best.n_iter
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster with the nearest center."""
        queries = self._validate_predict_input(X)
        return np.asarray(self.metric_.pairwise(queries, self._cluster_centers()[0]).argmin(axis=1))

    def _cluster_centers(self) -> tuple[Sequences, list[str]]:
        return Sequences(self.cluster_centers_, times=self.center_times_), ["center"] * self.k

    def _run_once(
        self, sequences: Sequences, metric: Aligner, rng: np.random.RandomState, bar: ProgressMeter
    ) -> _KMeansRun:
        centers = self._init_centers(sequences, metric, rng)
        previous: float | None = None
        for n_iter in range(1, self.max_iter + 1):
            labels, distances = _assign_centers(sequences, centers, metric)
            bar.update()
            inertia = float(distances.sum())
            converged = previous is not None and previous - inertia <= self.tolerance * previous
            if converged or n_iter == self.max_iter:
                break
            previous = inertia
            centers = [self._update_center(sequences[labels == c], center, metric) for c, center in enumerate(centers)]
        return _KMeansRun(centers, labels, inertia, n_iter)

    def _update_center(self, members: Sequences, center: Sequences, metric: Aligner) -> Sequences:
        mean = barycenter(members, metric=metric, init=center, max_iter=self.barycenter_iter)
        return Sequences([mean.sequence], times=mean.times)

    def _init_centers(self, sequences: Sequences, metric: Aligner, rng: np.random.RandomState) -> list[Sequences]:
        if not isinstance(self.init, str):
            centers = as_sequences(self.init, "init")
            if len(centers) != self.k:
                raise ValueError(f"init holds {len(centers)} sequences: expected k={self.k}")
        elif self.init == "random":
            centers = sequences[rng.choice(len(sequences), self.k, replace=False)]
        else:
            centers = sequences[
                sample_plusplus_centers(
                    lambda i: metric.pairwise(sequences, sequences[[i]])[:, 0], len(sequences), self.k, rng
                )
            ]
        if not metric.uses_times or sequences.times is None:
            centers = centers.replace(times=None)
        if self.length is not None:
            centers = centers.resample(self.length)
        return [centers[i : i + 1] for i in range(self.k)]


class _KMeansRun(NamedTuple):
    centers: list[Sequences]
    labels: NDArray[np.int64]
    inertia: float
    n_iter: int


def _center_times(centers: list[Sequences]) -> list[NDArray[Any]] | None:
    """The times of each center if the metric uses times, otherwise None."""
    clocks = [center.times for center in centers]
    return None if clocks[0] is None else [clock for clock in clocks if clock is not None]


def _assign_centers(
    sequences: Sequences, centers: list[Sequences], metric: Metric
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The nearest center of each sequence and its distance; replaces centers without sequences in place."""
    to_centers = metric.pairwise(sequences, Sequences([center[0] for center in centers], times=_center_times(centers)))
    labels = to_centers.argmin(axis=1)
    distances = np.take_along_axis(to_centers, labels[:, None], axis=1)[:, 0]
    for empty in sorted(set(range(len(centers))) - set(labels.tolist())):
        shared = np.bincount(labels, minlength=len(centers))[labels] > 1
        farthest = int(np.where(shared, distances, -1).argmax())
        new = sequences[farthest : farthest + 1]
        centers[empty] = new.replace(times=None) if centers[0].times is None else new
        labels[farthest], distances[farthest] = empty, 0
    return labels, distances
