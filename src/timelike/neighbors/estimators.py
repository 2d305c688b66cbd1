"""`Neighbors` and `NeighborsRegressor`: nearest-neighbour classification and regression under any metric."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from ..align import Gallery, Matches, Metric, metric_names
from ..core.parameters import check_choice, store_parameters
from ..models import Model, options, schema
from ..models.aliases import Alias, accept_aliases
from ..sequences import Sequences

Weights = Literal["uniform", "distance"]


class NeighborsBase(Model):
    """Base class of `Neighbors` and `NeighborsRegressor`: stores the training sequences and weighs the neighbours."""

    metric = metric_names.metric_option()
    k = options.integer(1, "free")
    n_neighbors = Alias("k")
    weights = options.choice(*get_args(Weights), role="free")

    metric_: Metric = schema.estimator(Metric)
    sequences_: Sequences = schema.sequences("item")
    gallery_: Gallery = schema.derived_value()
    _fit_call = "fit(X, y)"

    def _validate_training(self, X: Any) -> Sequences:
        """Validate the sequences; an error if there are fewer than k."""
        sequences = self._validate_fit_input(X)
        if self.k > len(sequences):
            raise ValueError(
                f"k={self.k!r}: expected an integer from 1 to {len(sequences)}, the number of training sequences"
            )
        return sequences

    def _takes_missing(self) -> bool:
        """Whether the metric accepts missing values."""
        return metric_names.takes_missing(self)

    def _set_training(self, sequences: Sequences, targets: NDArray[Any]) -> None:
        """Store the validated sequences and a fitted copy of the metric."""
        self.metric_, self.sequences_ = metric_names.fit_metric_copy(self.metric, sequences, targets), sequences
        self._derive_attributes()

    def _derive_attributes(self) -> None:
        self.gallery_ = self.metric_.prepare_gallery(self.sequences_)

    def kneighbors(self, X: Any = None, k: int | None = None, *, n_neighbors: int | None = None) -> Matches:
        """The `ids` and `distances` of the k training sequences nearest to each sequence of X.

        k defaults to the estimator's; `n_neighbors` is another name for it. Without X, the neighbours of each training
        sequence are returned, itself excluded, as in scikit-learn.
        """
        if k is not None and n_neighbors is not None:
            raise TypeError(f"k={k!r} and n_neighbors={n_neighbors!r} are two names of one option: give one of them")
        k = k if n_neighbors is None else n_neighbors
        k = self.k if k is None else k
        self._require_fitted()
        if X is None:
            return self.gallery_.neighbors(self.sequences_, k, exclude_self=True)
        return self.gallery_.neighbors(self._validate_predict_input(X), k)

    def _vote_weights(self, distances: NDArray[Any]) -> NDArray[np.float64]:
        """The weight of each neighbour, (item, k)."""
        check_choice(self.weights, "weights", get_args(Weights))  # may have been changed after fit
        if self.weights == "uniform":
            return np.ones(distances.shape)
        if (distances < 0).any():
            raise ValueError(
                f"weights='distance': {self.metric_!r} gave the distance {distances.min():g}, and weights need "
                "distances of at least 0: use weights='uniform', or SoftDTW(divergence=True)"
            )
        same = distances == 0  # an exact copy outweighs all others
        with np.errstate(divide="ignore", over="ignore"):
            closeness = np.minimum(1 / distances.astype(np.float64), np.finfo(np.float64).max / distances.shape[1])
        return np.where(same.any(axis=1, keepdims=True), same.astype(np.float64), closeness)


class Neighbors(ClassifierMixin, NeighborsBase):  # type: ignore[misc]
    """Classify a sequence by a vote of its k nearest neighbours; ties go to the nearer neighbours.

    Parameters
    ----------
    metric : Metric or str
        Any metric of the library, or its class name in lower case: `"dtw"`. Its options are parameters too:
        `metric__window` works in `set_params` and GridSearchCV.
        A learned metric, such as `CausalEncoder`, is used as it is if it is fitted, also in cross-validation;
        otherwise `fit` fits a copy on X and y and stores it in `metric_`. A fitted metric among the values of a grid
        must be wrapped in `sklearn.frozen.FrozenEstimator`.
    k : int
        Number of voting neighbours; `n_neighbors`, as in scikit-learn, is another name for it.
    weights : {"uniform", "distance"}
        Votes have equal weight, or are weighted by the inverse of the distance.
    select_window : bool
        Whether `fit` chooses the window of the metric by leave-one-out on the training data; see `metric_`.

    Examples
    --------
    >>> import timelike as tl
    >>> train = tl.Sequences([[0, 0, 1], [0, 1, 1, 1], [5, 5, 4]], labels=["low", "low", "high"])
    >>> tl.Neighbors(tl.DTW(window=2)).fit(train).predict([[0, 1, 1], [4, 4]])
    array(['low', 'high'], dtype='<U4')
    """

    select_window = options.boolean()

    classes_: NDArray[Any] = schema.labels("class")
    codes_: NDArray[np.int64] = schema.indices("item", below="class")

    @accept_aliases(n_neighbors="k")
    def __init__(
        self,
        metric: Metric | str = "dtw",
        *,
        k: int = 1,
        weights: Weights = "uniform",
        select_window: bool = False,
        n_neighbors: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the sequences and their labels: `y`, or the labels of X."""
        with self._atomic_fit():
            sequences = self._validate_training(X)
            labels = self._validate_classes(sequences, y, "NeighborsRegressor")
            self._set_training(sequences, labels)
            self.classes_, self.codes_ = np.unique(labels, return_inverse=True)
            if self.select_window:
                chooser: Any = self.metric_
                self.metric_ = chooser.select_window(sequences, labels)
                self._derive_attributes()
        return self

    def _refuse_options(self) -> None:
        super()._refuse_options()
        metric = metric_names.resolve_metric(self.metric)
        if self.select_window and not hasattr(metric, "select_window"):
            raise ValueError(f"select_window=True: {type(metric).__name__} has no window to select; use False")

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The fraction of votes for each class, (item, class)."""
        votes = self._count_votes(*self.kneighbors(X))[0]
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each sequence."""
        ids, distances = self.kneighbors(X)
        votes, total = self._count_votes(ids, distances)
        total[votes < votes.max(axis=1, keepdims=True)] = np.nan
        best = total == np.nanmin(total, axis=1, keepdims=True)
        codes, every = self.codes_[ids], np.arange(len(ids))
        return np.asarray(self.classes_[codes[every, best[every[:, None], codes].argmax(axis=1)]])

    def _count_votes(
        self, ids: NDArray[np.int64], distances: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Votes for each class and summed distances of its voters, each (item, class)."""
        chosen = self.codes_[ids][:, :, None] == np.arange(len(self.classes_))
        votes = (chosen * self._vote_weights(distances)[:, :, None]).sum(axis=1)
        return votes, np.where(chosen, distances[:, :, None], 0).sum(axis=1)


class NeighborsRegressor(RegressorMixin, NeighborsBase):  # type: ignore[misc]
    """Predict a number as the mean over the k nearest neighbours.

    Parameters
    ----------
    metric, k, weights
        As in `Neighbors`; `"distance"` weights the mean by the inverse of the distance.

    Examples
    --------
    >>> import timelike as tl
    >>> train = tl.Sequences([[0, 0, 1], [0, 1, 1], [5, 5, 4]], labels=[1.0, 2.0, 10.0])
    >>> tl.NeighborsRegressor("dtw", k=2).fit(train).predict([[0, 0, 0]])
    array([1.5])
    """

    targets_: NDArray[np.float64] = schema.array("item")

    @accept_aliases(n_neighbors="k")
    def __init__(
        self, metric: Metric | str = "dtw", *, k: int = 1, weights: Weights = "uniform", n_neighbors: int | None = None
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the sequences and their targets: `y`, or the labels of X."""
        with self._atomic_fit():
            sequences = self._validate_training(X)
            self.targets_ = self._validate_numbers(sequences, y, "Neighbors")
            self._set_training(sequences, self.targets_)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The prediction for each sequence, (item,)."""
        ids, distances = self.kneighbors(X)
        return np.asarray(np.average(self.targets_[ids], axis=1, weights=self._vote_weights(distances)))
