"""Classifiers and regressors on the vectors of an encoder."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from torch import Tensor

from ..sequences import Sequences
from ..sequences.arguments import flag, one_of, store
from ..sequences.reading import keep_size, read, read_targets
from ..sequences.sampling import RandomState
from ..train import Savable, trees
from .base import Encoder
from .causal import CausalEncoder
from .decisions import Linear, Logistic, Nearest, SupportVectors, arrays
from .nesting import packed, unpacked


class _Embedding(Savable, BaseEstimator):  # type: ignore[misc]
    """What classifying and regressing by vectors have in common."""

    encoder: Encoder | None
    head: str
    fit_encoder: bool
    random_state: RandomState
    _heads: ClassVar[dict[str, Any]]

    def _learn_from(self, X: Any) -> Sequences:
        """The sequences to fit, and their size if they have one, as scikit-learn keeps it."""
        one_of(self.head, "head", tuple(self._heads))
        flag(self.fit_encoder, "fit_encoder")
        sequences = read(X)
        if len(sequences) == 0:
            raise ValueError("X holds no sequences: expected at least one")
        sequences.refuse_missing(type(self).__name__, "X")
        keep_size(self, sequences)
        return sequences

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def _fit_encoder(self, sequences: Sequences) -> NDArray[np.float64]:
        """Fit the encoder, or take it as it is; give the vectors."""
        encoder = CausalEncoder(random_state=self.random_state) if self.encoder is None else self.encoder
        if not isinstance(encoder, Encoder):
            raise TypeError(f"encoder={encoder!r:.80}: expected an encoder such as timelike.CausalEncoder(), or None")
        if not self.fit_encoder and not encoder.__sklearn_is_fitted__():
            raise NotFittedError("fit_encoder=False needs an encoder that is fitted: fit it, or use fit_encoder=True")
        self.encoder_: Encoder = clone(encoder).fit(sequences) if self.fit_encoder else encoder
        return self._embedded(sequences)

    def _vectors(self, X: Any) -> NDArray[np.float64]:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet: call fit(X, y), or load a model")
        return self._embedded(self._asked(X))

    def _asked(self, X: Any) -> Sequences:
        return read(X)

    def _embedded(self, sequences: Sequences) -> NDArray[np.float64]:
        vectors: NDArray[np.float64] = self.encoder_.encode(sequences).astype(np.float64)
        return vectors

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "head_")

    def __sklearn_clone__(self) -> Self:
        """An encoder that is not to be fitted stays as it is: a copy without what it learned would be of no use."""
        copy: Self = super().__sklearn_clone__()
        if not self.fit_encoder:
            copy.encoder = self.encoder
        return copy

    def _learned(self) -> tuple[dict[str, Tensor], Any]:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet: call fit(X, y) before save")
        if not isinstance(self.encoder_, Savable):
            raise TypeError(f"the encoder is a {type(self.encoder_).__name__}, which cannot be saved")
        tensors, words = packed(self.encoder_, "encoder")
        head = {name: torch.from_numpy(np.array(array)) for name, array in arrays(self.head_).items()}
        return tensors | trees.under("head", head), {"encoder": words, **self._words()}

    def _restore(self, tensors: dict[str, Tensor], extra: Any) -> None:
        self.encoder_ = unpacked(tensors, extra["encoder"], "encoder")
        if not self.fit_encoder:
            self.encoder = self.encoder_  # it is the parameter, and was fitted
        head = {name: tensor.numpy() for name, tensor in trees.below("head", tensors).items()}
        self.head_: Any = _KINDS[self.head](**head)

    def _words(self) -> dict[str, Any]:
        return {}


class EmbeddingClassifier(ClassifierMixin, _Embedding):  # type: ignore[misc]
    """Classify sequences by their vectors: an encoder that needs no labels, and a simple classifier that does.

    The head "svm" follows the protocol of T-Loss (Franceschi, Dieuleveut and Jaggi, 2019): an RBF kernel, C from 10⁻⁴
    to 10⁴ or ∞ by 5-fold search, and ∞ below 50 sequences or 5 per class.

    Parameters
    ----------
    encoder : Encoder or None
        None for a `CausalEncoder`. Its parameters are parameters too: `encoder__n_negatives` works in GridSearchCV.
    head : {"svm", "1nn", "logistic"}
        What decides about vectors.
    fit_encoder : bool
        Whether `fit` fits a copy of the encoder on X. With False the encoder must be fitted and is used as it is, on
        more or other sequences than those with labels: for transfer, and for few labels.
    random_state
        Repeats the training of the default encoder.

    Attributes
    ----------
    encoder_ : Encoder
        The fitted one.
    classes_ : array
        The classes in the caller's words.

    Examples
    --------
    >>> import timelike as tl
    >>> X = tl.Sequences([[0, 1, 0, 1], [0, 1, 0], [5, 5, 5], [5, 5, 5, 5]], labels=["wave", "wave", "flat", "flat"])
    >>> encoder = tl.CausalEncoder(n_features=8, channels=4, depth=2, max_steps=3, random_state=0)
    >>> tl.EmbeddingClassifier(encoder, head="1nn").fit(X).predict([[0, 1, 0, 1], [5, 5, 5]])
    array(['wave', 'flat'], dtype='<U4')
    """

    _heads: ClassVar[dict[str, Any]] = {"svm": SupportVectors.fit, "1nn": Nearest.fit, "logistic": Logistic.fit}

    def __init__(
        self,
        encoder: Encoder | None = None,
        *,
        head: Literal["svm", "1nn", "logistic"] = "svm",
        fit_encoder: bool = True,
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes: `y`, or the labels that X carries."""
        sequences = self._learn_from(X)
        labels = read_targets(self, sequences, y, "class")
        _refuse_as_classes(labels)
        with self._fitting():
            vectors = self._fit_encoder(sequences)
            self.classes_, codes = np.unique(labels, return_inverse=True)
            self.head_ = self._heads[self.head](vectors, codes.astype(np.int64))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every sequence."""
        vectors = self._vectors(X)
        return np.asarray(self.classes_[self.head_.predict(vectors)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of every class, (item, class) in the order of `classes_`.

        Those of an SVM come from sigmoids over its decisions (Platt, 1999) and need not agree with `predict`.
        """
        vectors = self._vectors(X)
        probabilities: NDArray[np.float64] = self.head_.proba(vectors)
        return probabilities

    def _words(self) -> dict[str, Any]:
        return {"classes": self.classes_.tolist(), "dtype": self.classes_.dtype.str}

    def _restore(self, tensors: dict[str, Tensor], extra: Any) -> None:
        super()._restore(tensors, extra)
        self.classes_ = np.array(extra["classes"], extra.get("dtype"))


class EmbeddingRegressor(RegressorMixin, _Embedding):  # type: ignore[misc]
    """Predict a number for every sequence from its vector: an encoder that needs no labels, and a simple regression.

    Parameters
    ----------
    encoder, fit_encoder, random_state
        As in `EmbeddingClassifier`.
    head : {"ridge", "1nn"}
        Least squares with a penalty chosen by leaving one out, or the number of the nearest vector.

    Examples
    --------
    >>> import timelike as tl
    >>> X = tl.Sequences([[0, 1, 0, 1], [0, 1, 0], [5, 5, 5], [5, 5, 5, 5]], labels=[1.0, 1.0, 2.0, 2.0])
    >>> encoder = tl.CausalEncoder(n_features=8, channels=4, depth=2, max_steps=3, random_state=0)
    >>> tl.EmbeddingRegressor(encoder, head="1nn").fit(X).predict([[0, 1, 0, 1], [5, 5, 5]])
    array([1., 2.])
    """

    _heads: ClassVar[dict[str, Any]] = {"ridge": Linear.ridge, "1nn": Nearest.fit}

    def __init__(
        self,
        encoder: Encoder | None = None,
        *,
        head: Literal["ridge", "1nn"] = "ridge",
        fit_encoder: bool = True,
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their numbers: `y`, or the labels that X carries."""
        sequences = self._learn_from(X)
        targets = read_targets(self, sequences, y, "target")
        if targets.dtype.kind not in "biuf":
            raise ValueError(f"y has dtype {targets.dtype}: expected numbers; for classes use EmbeddingClassifier")
        with self._fitting():
            self.head_ = self._heads[self.head](self._fit_encoder(sequences), targets.astype(np.float64))
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number for every sequence, (item,)."""
        vectors = self._vectors(X)
        numbers: NDArray[np.float64] = self.head_.predict(vectors)
        return numbers


def _refuse_as_classes(labels: NDArray[Any]) -> None:
    """Before anything is trained."""
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        raise ValueError("Unknown label type: y holds fractions: expected classes; for numbers EmbeddingRegressor")
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(f"y holds one class, {classes.tolist()}: expected at least two classes")


_KINDS: dict[str, Any] = {"svm": SupportVectors, "1nn": Nearest, "logistic": Logistic, "ridge": Linear}
