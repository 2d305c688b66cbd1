"""`few_shot`: accuracy over many small tasks with a few examples of each class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..align import metric_names
from ..core.parameters import check_choice, check_int
from ..core.random import RandomState
from ..core.threads import check_n_jobs
from ..core.validation.arrays import validate_array
from ..core.validation.labels import validate_labels
from ..encode.base import Encoder
from ..models import Model, components
from ..plotting import comparisons as drawing
from ..score import Interval, interval
from ..sequences import Sequences, as_sequences
from ..sequences.sampling import sample_episode_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Aggregation = Literal["mean", "nearest"]
Rows = NDArray[np.int64]
# queries (query,), support (class, shot) → distances (query, class)
DistanceFunction = Callable[[Rows, Rows], NDArray[Any]]


@dataclass(frozen=True, repr=False)
class FewShotResult:
    """Accuracies of few-shot tasks, their mean and its 95 % interval: see `few_shot`."""

    accuracies: NDArray[np.float64] = field(repr=False)
    n_way: int
    k_shot: int
    n_query: int
    aggregation: str

    @property
    def accuracy(self) -> float:
        """The mean over tasks."""
        return float(self.accuracies.mean())

    @property
    def interval(self) -> Interval:
        """The mean and its 95 % interval over tasks, from Student's t, nowhere narrower than `score.wilson_interval` of
        them.
        """
        return interval(self.accuracies, shares=True)

    @property
    def half_width(self) -> float:
        """The half-width after ± in papers: 1.96 s / √n over the n tasks."""
        n = len(self.accuracies)
        return 1.96 * float(self.accuracies.std(ddof=1)) / n**0.5 if n > 1 else float("inf")

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        tasks = f"{len(self.accuracies)} tasks of {self.n_way * self.n_query} queries"
        return (
            f"{self.n_way}-way {self.k_shot}-shot: {100 * self.accuracy:.2f} ± {100 * self.half_width:.2f} % ({tasks})"
        )

    def plot(self) -> Figure:
        """A histogram of the accuracies of tasks, with the mean, its interval and chance."""
        bounds = (self.interval.mean, self.interval.low, self.interval.high)
        return drawing.plot_task_accuracies(self.accuracies, bounds, 1 / self.n_way, str(self))


def few_shot(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    n_way: int = 5,
    k_shot: int = 1,
    n_query: int = 15,
    n_tasks: int = 600,
    aggregation: Aggregation = "mean",
    random_state: RandomState = None,
    progress: bool | None = None,
) -> FewShotResult:
    """Accuracy for new classes with a few examples each, over random tasks.

    A task has `n_way` of the classes, `k_shot` examples of each, and `n_query` other members of each, which are
    assigned to the nearest class (Vinyals et al., "Matching networks", 2016; Snell et al., "Prototypical networks",
    2017). Give classes that the model was not trained on. Vectors or distances are computed once; the tasks of a
    `random_state` are the same for all models. The interval is over tasks, which share sequences: it measures the
    uncertainty of the mean over all tasks of these classes, not the variation over other classes.

    Parameters
    ----------
    model : Metric, encoder, Prototypes, str or array (item, item)
        A metric, or the name of one; one that learns is fitted before. An encoder compares vectors, `Prototypes` its
        similarities. An array is the precomputed distances of all pairs of X, from the row to the column.
    X : Sequences, array or list
    y : array (item,), optional
        The classes; by default the labels of X.
    aggregation : {"mean", "nearest"}
        A query is assigned to the class with the smallest mean distance, or with the nearest example. For encoders and
        `Prototypes` "mean" compares with the mean of the vectors, the prototype, for metrics it is the mean distance.
        With one shot all are the same.
    n_way, k_shot, n_query, n_tasks : int
    progress : bool or None
        Whether to show the progress of distances; None shows it on a terminal if they take over two seconds.

    Returns
    -------
    FewShotResult
        `accuracy`, `half_width` (1.96 s/√n), `interval` (Student), `accuracies` of all tasks, `plot()`.

    Examples
    --------
    >>> import timelike as tl
    >>> level = np.repeat(np.arange(6.0), 10)
    >>> X = np.random.default_rng(0).normal(0, 1, (60, 8)) + level[:, None]
    >>> result = few_shot("dtw", X, level, n_way=3, k_shot=2, n_query=5, n_tasks=100, random_state=0)
    >>> result.accuracies.shape, 1 / 3 < result.accuracy < 1
    ((100,), True)
    """
    check_choice(aggregation, "aggregation", ("mean", "nearest"))
    rounds, sequences = check_int(n_tasks, "n_tasks", 1), as_sequences(X, "X")
    labels = _validate_classes(sequences, y)
    # first, so that an error is raised before anything is computed
    tasks = list(sample_episode_rows(labels, n_way, k_shot, n_query, n_episodes=rounds, random_state=random_state))
    distances_to_classes = _make_distance_function(model, sequences, aggregation, progress)
    truth = np.repeat(np.arange(n_way), n_query)
    accuracies = [
        (distances_to_classes(query.ravel(), support).argmin(axis=1) == truth).mean() for support, query in tasks
    ]
    return FewShotResult(np.array(accuracies, np.float64), n_way, k_shot, n_query, aggregation)


def _validate_classes(sequences: Sequences, y: Any) -> NDArray[Any]:
    if y is None and sequences.labels is None:
        raise ValueError("y is None and X has no labels: give the class of every sequence")
    labels = np.asarray(sequences.labels if y is None else validate_labels(y, "y", "class"))
    if labels.shape != (len(sequences),):
        raise ValueError(f"y has shape {labels.shape} for {len(sequences)} sequences: expected one class each")
    return labels


def _make_distance_function(
    model: Any, sequences: Sequences, aggregation: Aggregation, progress: bool | None
) -> DistanceFunction:
    """A function from queries and support to distances to classes, with vectors or distances computed once."""
    inner = components.unfreeze(model)
    similarity = getattr(getattr(inner, "network_", None), "similarity", None)
    if hasattr(inner, "encode") and hasattr(similarity, "scores"):
        return _from_similarity(np.asarray(inner.encode(sequences)), similarity, aggregation)
    if isinstance(inner, Model) and not components.is_fitted(inner):
        raise ValueError(f"{inner!r} is not fitted yet: fit it on other classes than those of X")
    if isinstance(inner, Encoder):
        return _from_vectors(
            inner._precompute_items(inner._validate_predict_input(sequences), check_n_jobs(None)), aggregation
        )
    if hasattr(inner, "shape") or isinstance(inner, list | tuple):
        return _from_distances(_validate_square(inner, len(sequences)), aggregation)
    return _from_distances(metric_names.resolve_metric(inner).pairwise(sequences, progress=progress), aggregation)


def _from_distances(distances: NDArray[Any], aggregation: Aggregation) -> DistanceFunction:
    def distances_to_classes(queries: Rows, support: Rows) -> NDArray[Any]:
        far = distances[np.ix_(queries, support.ravel())].reshape(len(queries), *support.shape)
        return np.asarray(far.mean(axis=2) if aggregation == "mean" else far.min(axis=2))

    return distances_to_classes


def _from_vectors(vectors: NDArray[Any], aggregation: Aggregation) -> DistanceFunction:
    def distances_to_classes(queries: Rows, support: Rows) -> NDArray[Any]:
        if aggregation == "mean":
            return np.asarray(cdist(vectors[queries], vectors[support].mean(axis=1), "sqeuclidean"))
        far = cdist(vectors[queries], vectors[support.ravel()], "sqeuclidean")
        return np.asarray(far.reshape(len(queries), *support.shape).min(axis=2))

    return distances_to_classes


def _from_similarity(vectors: NDArray[Any], similarity: Any, aggregation: Aggregation) -> DistanceFunction:
    def distances_to_classes(queries: Rows, support: Rows) -> NDArray[Any]:
        shots = vectors[support]
        references = shots.mean(axis=1) if aggregation == "mean" else shots.reshape(-1, shots.shape[2])
        # the prototype is the first side
        alike = similarity.scores(references.astype(vectors.dtype), vectors[queries]).T
        return np.asarray(-alike if aggregation == "mean" else -alike.reshape(len(queries), *support.shape).max(axis=2))

    return distances_to_classes


def _validate_square(distances: Any, n_items: int) -> NDArray[Any]:
    matrix = validate_array(distances, "model")
    if matrix.shape != (n_items, n_items):
        raise ValueError(f"model is an array of shape {matrix.shape}: expected all pairs of X, {(n_items, n_items)}")
    if np.isnan(matrix).any():
        i, j = np.argwhere(np.isnan(matrix))[0].tolist()
        raise ValueError(f"model is an array with nan at ({i}, {j}): expected distances; inf is allowed")
    return matrix
