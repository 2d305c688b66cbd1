"""`WindowedClassifier`: classifies windows and combines the votes of the windows of a sequence."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ..core.parameters import store_parameters
from ..models import Model, components, options, schema
from ..sequences import Sequences, concat


def _check_classifier(value: Any, name: str) -> Any:
    if isinstance(value, type) or not all(callable(getattr(value, verb, None)) for verb in ("fit", "predict")):
        raise TypeError(f"{name}={value!r:.80}: expected a classifier such as Neighbors('dtw'), or a pipeline of one")
    return value


class WindowedClassifier(ClassifierMixin, Model):  # type: ignore[misc]
    """Classify a long sequence by a vote of its windows: P(class) = mean over windows w of P(class | w).

    `fit` cuts the training sequences into windows, each with the label of its sequence, and fits a copy of the
    classifier on them. Predictions are made for whole sequences, so cross-validation keeps all windows of a sequence on
    one side of a split. A classifier without `predict_proba` votes with its predictions. A sequence shorter than a
    window is used whole. Use this class where a recording holds many repetitions, or where no single moment decides.
    Windows cannot distinguish classes that differ only in the order of events.

    Parameters
    ----------
    estimator : classifier
        A classifier of windows: any that accepts `Sequences`, or a pipeline that ends in one. Its options are
        parameters too: `estimator__k`.
    size : int
        Time steps of a window.
    step : int, optional
        Time steps from one window to the next. Default: half of `size`. A remainder at the end belongs to no window.

    Examples
    --------
    >>> import timelike as tl
    >>> train = tl.Sequences([[0, 1, 0, 1, 0, 1], [0, 3, 0, 3, 0, 3, 0]], labels=["low", "high"])
    >>> model = tl.neighbors.WindowedClassifier(tl.Neighbors("euclidean"), size=2).fit(train)
    >>> model.predict([[0, 1, 0, 1], [3, 0, 3]])
    array(['low', 'high'], dtype='<U4')
    """

    estimator = options.Option(_check_classifier)
    size = options.integer(1)
    step = options.nullable(options.integer(1))

    estimator_: Any = schema.estimator()
    """The fitted classifier of windows."""
    classes_: NDArray[Any] = schema.labels("class")
    _fit_call = "fit(X, y)"

    def __init__(self, estimator: Any, *, size: int, step: int | None = None) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        from .estimators import Neighbors

        return {"estimator": Neighbors("dtw"), "size": 3}

    def _takes_missing(self) -> bool:
        """Whether the classifier accepts missing values."""
        first = self.estimator
        while isinstance(first, Pipeline):  # scikit-learn's tags of a pipeline do not include it
            first = first.steps[0][1]
        try:
            return bool(get_tags(first).input_tags.allow_nan)
        except AttributeError:  # not an estimator: `_check_classifier` raises the error
            return False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the classifier on the windows of X, labelled with y or the labels of X."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            labels = self._validate_classes(sequences, y, "another way: a mean over windows")
            windows = self._cut_windows(sequences.replace(labels=labels))[0]
            self.estimator_ = components.fitted_copy(self.estimator, windows, windows.labels, again=True)
            self.classes_ = np.unique(labels)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The mean probabilities over the windows of each sequence, (item, class)."""
        queries = self._validate_predict_input(X)
        windows, owners = self._cut_windows(queries.replace(labels=None))
        votes = np.zeros((len(queries), len(self.classes_)))
        np.add.at(votes, owners, self._window_probabilities(windows))
        return votes / np.bincount(owners, minlength=len(queries))[:, None]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each sequence; among ties, the first in `classes_`."""
        votes = self.predict_proba(X)
        # equal votes may differ by rounding, because they are summed in different orders
        level = np.isclose(votes, votes.max(axis=1, keepdims=True), rtol=1e-12, atol=0)
        return np.asarray(self.classes_[level.argmax(axis=1)])

    def _window_probabilities(self, windows: Sequences) -> NDArray[np.float64]:
        """The class probabilities of each window, (window, class)."""
        if hasattr(self.estimator_, "predict_proba"):
            return np.asarray(self.estimator_.predict_proba(windows), np.float64)
        answers = np.asarray(self.estimator_.predict(windows))
        return np.asarray(answers[:, None] == self.classes_, np.float64)

    def _cut_windows(self, sequences: Sequences) -> tuple[Sequences, NDArray[np.int64]]:
        """All windows, then the sequences shorter than a window, and the position of each one's sequence."""
        step = max(1, self.size // 2) if self.step is None else self.step
        positions = np.arange(len(sequences))
        grouped = sequences.replace(ids=None, groups=positions if sequences.groups is None else sequences.groups)
        short = grouped.lengths < self.size
        if short.all():
            return grouped, positions
        long = positions[~short]
        owners = np.repeat(long, (grouped.lengths[long] - self.size) // step + 1)
        windows = grouped[long].windows(self.size, step)
        return (concat([windows, grouped[short]]) if short.any() else windows), np.concatenate(
            [owners, positions[short]]
        )
