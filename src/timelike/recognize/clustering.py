"""Clustering: `KMeans` by barycenters, `KMedoids` by any distance."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state

from ..align import Aligner, Metric, barycenter, named
from ..align.looking import averaged
from ..models import Model, learned, options
from ..models.aliases import Alias, aliased
from ..sequences import Sequences, as_sequences, bars
from ..sequences.arguments import one_of, store
from ..sequences.looking import overlaid
from .medoids import Seeds, better_medoids, far_apart, first_medoids

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANELS = 12  # clusters drawn


def seed(value: Any, name: str) -> Any:
    """An option `random_state` as scikit-learn takes it, or a generator."""
    try:
        check_random_state(legacy_seed(value))
    except ValueError as error:
        raise ValueError(f"{name}={value!r:.80}: expected None, an integer or a generator ({error})") from None
    return value


def _positions(init: Any, name: str) -> Any:
    """A word, or positions; whether there are as many sequences is known when there are sequences."""
    if isinstance(init, str):
        return one_of(init, name, get_args(Seeds))
    if np.ndim(init) != 1 or np.asarray(init).dtype.kind not in "iu":
        raise ValueError(f"{name}={init!r:.80}: expected a word, or k different positions, one for each medoid")
    return init


def _centers(init: Any, name: str) -> Any:
    """A word, or sequences."""
    if isinstance(init, str):
        return one_of(init, name, ("k-means++", "random"))
    as_sequences(init, name)
    return init


def legacy_seed(random_state: Any) -> Any:
    """A new-style generator as scikit-learn's tools take it."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**32))
    return random_state


class _Clusters(ClusterMixin, Model):  # type: ignore[misc]
    """The options and the door that both kinds of clustering share."""

    k = options.whole(1)
    n_clusters = Alias("k")
    n_init = options.whole(1, "training", most=10**6)
    max_iter = options.whole(1, "training")
    random_state = options.Option(seed, "free")
    progress = options.maybe(options.flag("free"))

    metric_: Metric = learned.part(Metric)
    labels_: NDArray[np.int64] = learned.indices("item", below="k")
    inertia_: float = learned.real()
    n_iter_: int = learned.whole(0)

    def _begin(self, X: Any) -> Sequences:
        sequences = self._learn_from(X)
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
        centers, names = self._centers()
        given = centers if X is None else self._asked(X)
        labels = np.arange(self.k) if X is None else self.predict(given)
        groups = []
        for cluster in range(min(len(centers), _PANELS)):
            items = np.flatnonzero(labels == cluster)
            count = int((self.labels_ == cluster).sum()) if X is None else len(items)
            clock = overlaid.clock_of(centers, cluster)
            title = f"cluster {cluster}: {count} sequence{'' if count == 1 else 's'}"
            groups.append((title, items[: 0 if X is None else None], centers[cluster], clock, names[cluster]))
        said = "" if len(groups) == len(centers) else f"{len(groups)} of {len(centers)} clusters"
        return averaged(given, groups, channel, said=said, dark=dark)

    @abc.abstractmethod
    def _centers(self) -> tuple[Sequences, list[str]]:
        """What stands for each cluster, and what it is called."""


class KMedoids(_Clusters):
    """k of the sequences, chosen so that the others are near one of them: FasterPAM (Schubert and Rousseeuw, 2021).

    inertia = Σ_i min_m d(x_i, m) over medoids m; one is exchanged for another sequence as long as that lowers it.
    Distances are computed once, so it works with any metric and needs memory for all pairs.

    Parameters
    ----------
    k : int
        How many clusters; `n_clusters`, as in scikit-learn, is another name for it.
    metric : Metric or str
        As in `Neighbors`.
    init : {"k-medoids++", "random", "build"} or array of k positions
        Seeds far from each other, any seeds, seeds that each lower the inertia most, or the ones given.
    n_init : int
        Random beginnings tried; the best result is kept.
    max_iter : int
        Passes over all sequences at most, looking for an exchange.
    progress : bool or None
        Whether a bar shows how far the distances are; None does so on a terminal, where it takes over two seconds.

    Examples
    --------
    >>> import timelike as tl
    >>> groups = tl.KMedoids(2, random_state=0).fit([[0, 0, 1], [0, 1], [9, 8], [9, 9, 8], [0, 1, 1]])
    >>> groups.labels_
    array([1, 1, 0, 0, 1])
    >>> groups.inertia_
    0.0
    """

    metric = named.option()
    init = options.Option(_positions, "training")

    medoids_: Sequences = learned.sequences("k")
    medoid_indices_: NDArray[np.int64] = learned.indices("k", below="item")

    @aliased(n_clusters="k")
    def __init__(
        self,
        k: int = 8,
        *,
        metric: Metric | str = "dtw",
        init: Seeds | Any = "k-medoids++",
        n_init: int = 5,
        max_iter: int = 100,
        random_state: Any = None,
        progress: bool | None = None,
        n_clusters: int | None = None,
    ) -> None:
        store(self, locals())

    def _takes_missing(self) -> bool:
        """If the metric does."""
        return named.takes_missing(self)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the medoids of X."""
        return self._fit_among(X, None)

    def _fit_among(self, X: Any, distances: NDArray[Any] | None) -> Self:
        """The same where the distances of all pairs may be known already."""
        with self._fitting():
            sequences, rng = self._begin(X), check_random_state(legacy_seed(self.random_state))
            self.metric_ = named.ready(self.metric, sequences)
            if distances is None:
                distances = self.metric_.pairwise(sequences, progress=self.progress)
            chance = isinstance(self.init, str) and self.init != "build"
            tries = [
                better_medoids(distances, first_medoids(distances, self.k, self.init, rng), self.max_iter)
                for _ in range(self.n_init if chance else 1)
            ]
            best = min(tries, key=lambda found: found.inertia)
            self.medoid_indices_ = np.sort(best.medoids)
            self.medoids_ = sequences[self.medoid_indices_]
            self.labels_ = distances[:, self.medoid_indices_].argmin(axis=1)
            self.labels_[self.medoid_indices_] = np.arange(self.k)  # copies of a sequence: each medoid is in its own
            self.inertia_, self.n_iter_ = best.inertia, best.n_iter
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster with the nearest medoid."""
        asked = self._asked(X)
        return np.asarray(self.metric_.pairwise(asked, self.medoids_).argmin(axis=1))

    def _centers(self) -> tuple[Sequences, list[str]]:
        names = self.medoid_indices_ if self.medoids_.ids is None else self.medoids_.ids
        return self.medoids_, [f"medoid {name}" for name in names.tolist()]


class KMeans(_Clusters):
    """k mean sequences under an elastic distance: Lloyd's iteration with barycenters (Petitjean et al., 2011).

    Every sequence joins the nearest center, every center becomes the barycenter of its sequences. With `DTW()` on
    sequences of length 1 it is ordinary k-means. A cluster that runs empty is given the sequence farthest from its
    center.

    Parameters
    ----------
    k : int
        How many clusters; `n_clusters`, as in scikit-learn, is another name for it.
    metric : Aligner or str
        One that says how steps match; see `barycenter` for what a mean is under metrics other than `DTW()`.
    init : {"k-means++", "random"} or list of k sequences
        Seeds far from each other, any seeds, or centers to begin with.
    n_init : int
        Random beginnings tried; the best result is kept.
    max_iter : int
        Rounds of assignment at most.
    length : int, optional
        Time steps of every center; otherwise each has the length of the sequence it began from.
    barycenter_iter : int
        Averages made for a center in one round.
    tolerance : float
        Stop when a round takes away no more than this share of the inertia.
    progress : bool or None
        Whether a bar counts the rounds, which may end before `max_iter`; None does so on a terminal, where it takes
        over two seconds.

    Examples
    --------
    >>> import timelike as tl
    >>> groups = tl.KMeans(2, random_state=0).fit([[0, 0, 1], [0, 1], [9, 8], [9, 9, 8], [0, 1, 1]])
    >>> groups.labels_
    array([0, 0, 1, 1, 0])
    >>> groups.inertia_
    0.0
    """

    metric = named.option(aligner=True)
    init = options.Option(_centers, "training")
    length = options.maybe(options.whole(1, "training", most=2**31))
    barycenter_iter = options.whole(1, "training")
    tolerance = options.real(0, role="training")

    cluster_centers_: list[NDArray[Any]] = learned.several(
        learned.array("step", "*frame", dtype=("float32", "float64")), "k"
    )
    center_times_: list[NDArray[Any]] | None = learned.maybe(learned.several(learned.array("step"), "k"))

    @aliased(n_clusters="k")
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
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the centers of X."""
        with self._fitting():
            sequences, rng = self._begin(X), check_random_state(legacy_seed(self.random_state))
            metric = cast(Aligner, named.ready(self.metric, sequences))
            n_tries = self.n_init if isinstance(self.init, str) else 1
            with bars.Bar(n_tries * self.max_iter, self.progress, name="KMeans", unit="round") as bar:
                tries = [self._run(sequences, metric, rng, bar) for _ in range(n_tries)]
            best = min(tries, key=lambda run: run.inertia)
            self.metric_, self.labels_ = metric, best.labels
            self.cluster_centers_ = [center[0] for center in best.centers]
            self.center_times_ = _clocks(best.centers)
            self.inertia_, self.n_iter_ = best.inertia, best.n_iter
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The cluster with the nearest center."""
        asked = self._asked(X)
        return np.asarray(self.metric_.pairwise(asked, self._centers()[0]).argmin(axis=1))

    def _centers(self) -> tuple[Sequences, list[str]]:
        return Sequences(self.cluster_centers_, times=self.center_times_), ["center"] * self.k

    def _run(self, sequences: Sequences, metric: Aligner, rng: np.random.RandomState, bar: bars.Bar) -> _Run:
        centers = self._seeds(sequences, metric, rng)
        before: float | None = None
        for n_iter in range(1, self.max_iter + 1):
            labels, distances = _assigned(sequences, centers, metric)
            bar.step()
            inertia = float(distances.sum())
            settled = before is not None and before - inertia <= self.tolerance * before
            if settled or n_iter == self.max_iter:
                break
            before = inertia
            centers = [self._moved(sequences[labels == c], center, metric) for c, center in enumerate(centers)]
        return _Run(centers, labels, inertia, n_iter)

    def _moved(self, members: Sequences, center: Sequences, metric: Aligner) -> Sequences:
        mean = barycenter(members, metric=metric, init=center, max_iter=self.barycenter_iter)
        return Sequences([mean.sequence], times=mean.times)

    def _seeds(self, sequences: Sequences, metric: Aligner, rng: np.random.RandomState) -> list[Sequences]:
        if not isinstance(self.init, str):
            given = as_sequences(self.init, "init")
            if len(given) != self.k:
                raise ValueError(f"init holds {len(given)} sequences: expected k={self.k}")
        elif self.init == "random":
            given = sequences[rng.choice(len(sequences), self.k, replace=False)]
        else:
            given = sequences[
                far_apart(lambda i: metric.pairwise(sequences, sequences[[i]])[:, 0], len(sequences), self.k, rng)
            ]
        if not metric.timed or sequences.times is None:
            given = given.replace(times=None)
        if self.length is not None:
            given = given.resample(self.length)
        return [given[i : i + 1] for i in range(self.k)]


class _Run(NamedTuple):
    centers: list[Sequences]
    labels: NDArray[np.int64]
    inertia: float
    n_iter: int


def _clocks(centers: list[Sequences]) -> list[NDArray[Any]] | None:
    """The times of every center, under a metric that reads times, or None."""
    clocks = [center.times for center in centers]
    return None if clocks[0] is None else [clock for clock in clocks if clock is not None]


def _assigned(sequences: Sequences, centers: list[Sequences], metric: Metric) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The nearest center of every sequence and its distance; `centers` is changed where one had no sequence."""
    every = metric.pairwise(sequences, Sequences([center[0] for center in centers], times=_clocks(centers)))
    labels = every.argmin(axis=1)
    distances = np.take_along_axis(every, labels[:, None], axis=1)[:, 0]
    for empty in sorted(set(range(len(centers))) - set(labels.tolist())):
        shared = np.bincount(labels, minlength=len(centers))[labels] > 1
        farthest = int(np.where(shared, distances, -1).argmax())
        new = sequences[farthest : farthest + 1]
        centers[empty] = new.replace(times=None) if centers[0].times is None else new
        labels[farthest], distances[farthest] = empty, 0
    return labels, distances
