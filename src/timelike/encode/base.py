"""Sequence → vector: what every encoder can do once it is fitted."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from ..align import Matches, Metric
from ..align.base import Report, computed
from ..sequences import Sequences
from ..sequences.arguments import whole
from ..sequences.reading import keep_size, read
from .gallery import EncodedGallery, nearest_vectors
from .streaming import Stream


class Encoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, Metric):  # type: ignore[misc]
    """Sequences to vectors of a fixed size; with the Euclidean distance of vectors it is a metric.

    A subclass fills in `fit`, `stream`, `_encode`, `_frame` and `__sklearn_is_fitted__`.
    """

    symmetric: ClassVar[bool] = True

    __repr__ = BaseEstimator.__repr__

    @abc.abstractmethod
    def fit(self, X: Any, y: Any = None) -> Encoder:
        """Learn from sequences."""

    @abc.abstractmethod
    def _encode(self, sequences: Sequences) -> NDArray[np.float32]:
        """Vectors (item, feature) of checked sequences."""

    @abc.abstractmethod
    def stream(self) -> Stream:
        """One new sample in, the representation of everything so far out."""

    def encode(self, X: Any, *, windows: tuple[int, int] | None = None) -> Any:
        """Vectors (item, feature); with `windows=(size, step)` those of sliding windows.

        Windows come as `Sequences` whose frames are the vectors, one sequence per sequence, as long as it has windows;
        a sequence shorter than `size` is one window.
        """
        sequences = self._asked(X)
        if windows is None:
            return self._encode(sequences)
        size, step = (whole(number, f"windows[{i}]", 1) for i, number in enumerate(_pair(windows)))
        starts = [np.arange(0, max(length - size, 0) + 1, step) for length in sequences.lengths.tolist()]
        cut = _windows(sequences, starts, size)
        offsets = np.concatenate([[0], np.cumsum([len(some) for some in starts])])
        return Sequences.from_packed(self._encode(cut), offsets, labels=sequences.labels, ids=sequences.ids)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Vectors (item, feature), for pipelines."""
        vectors: NDArray[np.float32] = self.encode(X)
        return vectors

    @property
    def _n_features_out(self) -> int:
        """How long vectors are, for scikit-learn's names of them and `set_output`."""
        self._require_fitted()
        frame = self._frame() or (1,)
        return int(self._encode(Sequences(np.zeros((1, 1, *frame)))).shape[1])

    def _asked(self, X: Any) -> Sequences:
        self._require_fitted()
        sequences, expected = self._read(X), self._frame()
        if expected is not None and sequences.frame != expected:
            raise ValueError(
                f"X has frames of shape {sequences.frame}: this {type(self).__name__} was fitted on {expected}; "
                'an array (item, channel, time) needs Sequences(data, layout="nct")'
            )
        return sequences

    def _learn_from(self, X: Any) -> Sequences:
        """The sequences to fit, and their size if they have one, as scikit-learn keeps it."""
        sequences = self._read(X)
        keep_size(self, sequences)
        return sequences

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]  # what networks compute in
        return tags

    def _read(self, X: Any) -> Sequences:
        sequences = read(X)
        if len(sequences) == 0:
            raise ValueError("X holds no sequences: expected at least one")
        sequences.refuse_missing(type(self).__name__, "X")
        return sequences

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            kind = type(self).__name__
            raise NotFittedError(f"this {kind} has learned nothing yet: call fit(X) first, or load a model")

    @abc.abstractmethod
    def _frame(self) -> tuple[int, ...] | None:
        """The shape of the frames it was fitted on, None if any will do."""

    @abc.abstractmethod
    def __sklearn_is_fitted__(self) -> bool:
        """Whether it has learned."""

    def prepared(self, X: Any) -> EncodedGallery:
        """X made ready for many searches: its vectors are computed now, and not again for every query."""
        return EncodedGallery(self, self._asked(X))

    def _nearest(self, collection: Sequences, asked: Sequences, k: int, threads: int) -> Matches:
        known = self.encode(collection).astype(np.float64)  # once, however many blocks of queries there are
        return nearest_vectors(known, self, asked, k, computed(asked, collection))

    def _fill(self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: Report) -> None:
        first = self.encode(x).astype(np.float64)
        second = first if y is None else self.encode(y).astype(np.float64)
        out[...] = cdist(first, second)


def _pair(windows: Any) -> tuple[Any, Any]:
    if not isinstance(windows, tuple | list) or len(windows) != 2:
        raise TypeError(f"windows={windows!r}: expected (size, step), both in time steps")
    return windows[0], windows[1]


def _windows(sequences: Sequences, starts: list[NDArray[np.int64]], size: int) -> Sequences:
    base, begin, lengths = sequences.buffers()
    first = np.concatenate([begin[i] + some for i, some in enumerate(starts)])
    length = np.concatenate([np.full(len(some), min(size, lengths[i])) for i, some in enumerate(starts)])
    return Sequences([base[a : a + n] for a, n in zip(first.tolist(), length.tolist(), strict=True)])
