"""Base class of the transformers: fitted on the training part, from sequences to sequences."""

from __future__ import annotations

import abc
from typing import Any, Self

from sklearn.base import TransformerMixin

from ..models import Model
from ..sequences import Sequences


class Preparation(TransformerMixin, Model):  # type: ignore[misc]
    """A step of a pipeline from sequences to sequences: labels, groups, ids and times go through with them.

    A subclass implements `_transform`, and `_fit` if it learns something from the training part. Missing values are
    passed on: the next step of the pipeline accepts or refuses them.

    >>> import timelike as tl
    >>> from sklearn.pipeline import make_pipeline
    >>> train = tl.Sequences([[0, 0, 1], [0, 1, 1, 1], [5, 5, 4], [5, 4]], labels=["low", "low", "high", "high"])
    >>> model = make_pipeline(tl.prepare.Standardize(), tl.Neighbors("dtw")).fit(train)
    >>> model.predict([[0, 1], [5, 4, 4]])
    array(['low', 'high'], dtype='<U4')
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from X what `transform` needs; y is ignored."""
        with self._atomic_fit():
            self._fit(self._validate_fit_input(X))
        return self

    def transform(self, X: Any) -> Sequences:
        """The prepared sequences."""
        return self._transform(self._validate_predict_input(X))

    @abc.abstractmethod
    def _transform(self, sequences: Sequences) -> Sequences:
        """The sequences prepared, by what was learned."""

    def _fit(self, sequences: Sequences) -> None:
        """Learn nothing; overridden by transformers that depend on the training part."""

    def _takes_missing(self) -> bool:
        """Values may be missing: preparing is when they are filled."""
        return True
