"""`ElasticKernel`: similarities from distances, for support vector machines and other kernel methods."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..align import Metric, metric_names
from ..core.parameters import store_parameters
from ..models import Model, options, schema
from ..sequences import Sequences


class ElasticKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Model):  # type: ignore[misc]
    """Similarities to the training sequences: k(x, y) = exp(−γ d(x, y)), for `SVC(kernel="precomputed")`.

    Elastic distances are not Euclidean, so the kernel may not be positive definite (Lei and Sun, 2007). `SVC` still
    works, but may stop at a local optimum. A larger γ brings the matrix closer to the identity, which is positive
    definite.

    Parameters
    ----------
    metric : Metric or str
        As in `Neighbors`.
    gamma : float, optional
        γ. Default: 1 / median distance between different training sequences, stored in `gamma_`.

    Examples
    --------
    >>> import timelike as tl
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> train = tl.Sequences([[0, 0, 1], [0, 1, 1, 1], [5, 5, 4], [5, 4]], labels=["low", "low", "high", "high"])
    >>> model = make_pipeline(tl.neighbors.ElasticKernel("dtw"), SVC(kernel="precomputed")).fit(train, train.labels)
    >>> model.predict([[0, 1], [5, 5]])
    array(['low', 'high'], dtype='<U4')
    """

    metric = metric_names.metric_option()
    gamma = options.nullable(options.real(above=0))

    metric_: Metric = schema.estimator(Metric)
    sequences_: Sequences = schema.sequences()
    gamma_: float = schema.real(0)

    def __init__(self, metric: Metric | str = "dtw", *, gamma: float | None = None) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the training sequences and choose γ."""
        self._fit_distances(X, y, needed=self.gamma is None)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Similarities between all training sequences; each distance is computed once."""
        distances = self._fit_distances(X, y, needed=True)
        assert distances is not None
        return self._to_similarities(distances)

    def transform(self, X: Any) -> NDArray[Any]:
        """Similarities between X and the training sequences, (item, training item)."""
        queries = self._validate_predict_input(X)
        return self._to_similarities(self.metric_.pairwise(queries, self.sequences_))

    def _fit_distances(self, X: Any, y: Any, needed: bool) -> NDArray[Any] | None:
        with self._atomic_fit():
            self.sequences_ = sequences = self._validate_fit_input(X)
            self.metric_ = metric_names.fit_metric_copy(self.metric, sequences, y)
            distances = self.metric_.pairwise(sequences) if needed else None
            self.gamma_ = inverse_median(distances) if self.gamma is None else float(self.gamma)
        return distances

    def _to_similarities(self, distances: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.exp(-distances.dtype.type(self.gamma_) * distances))

    @property
    def _n_features_out(self) -> int:
        return len(self.sequences_)


def inverse_median(distances: NDArray[Any] | None) -> float:
    """1 / median distance between different items: a scale for exp(−γ d)."""
    assert distances is not None
    between = distances[~np.eye(len(distances), dtype=bool)]
    if not between.size:
        return 1.0
    typical = float(np.median(between)) or float(between.mean())  # the median is 0 if half of the items are copies
    return 1 / typical if typical > 0 else 1.0
