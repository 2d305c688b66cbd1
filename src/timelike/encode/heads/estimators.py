"""`EmbeddingClassifier` and `EmbeddingRegressor`: a head on the vectors of an encoder."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from ...core.extras import is_installed
from ...core.parameters import store_parameters
from ...core.threads import check_n_jobs
from ...models import Model, components, options, schema
from ...sequences import Sequences
from ...sequences.sampling import RandomState
from ..base import Encoder
from ..rocket.estimator import Rocket
from .forest import FOREST_CLASS_SCHEMA, FOREST_NUMBER_SCHEMA, ForestHead
from .model_selection import HEADS, fit_best_head
from .numpy_heads import (
    LINEAR_SCHEMA,
    LOGISTIC_SCHEMA,
    NEAREST_CLASS_SCHEMA,
    NEAREST_NUMBER_SCHEMA,
    SVM_SCHEMA,
    LinearHead,
    NearestHead,
)


def _check_encoder(value: Any, name: str) -> Encoder | None:
    encoder = components.unfreeze(value)
    if encoder is not None and not isinstance(encoder, Encoder):
        raise TypeError(f"{name}={value!r:.80}: expected an encoder such as timelike.Rocket(), or None")
    return encoder


class _EmbeddingEstimator(Model):
    """The encoder and the head, shared by classification and regression."""

    encoder = options.Option(_check_encoder, from_word=lambda word: Rocket() if word is None else word)
    fit_encoder = options.nullable(options.boolean("training"))
    random_state = options.random_seed()

    head: Any
    encoder_: Encoder = schema.estimator(Encoder)
    head_: Any
    _heads: ClassVar[dict[str, Any]]
    _fit_call = "fit(X, y)"

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        if not is_installed("torch"):
            return {"encoder": Rocket(n_features=60, random_state=0)}
        from ..causal.estimator import CausalEncoder

        return {"encoder": CausalEncoder(n_negatives=2, **CausalEncoder._test_parameters())}

    def _fit_encoder(self, sequences: Sequences, targets: Any) -> NDArray[np.float64]:
        """Use the encoder, or fit a copy; return the vectors."""
        default = Rocket(random_state=self.random_state)
        encoder = default if self.encoder is None else components.unfreeze(self.encoder)
        if self.fit_encoder is False and not components.is_fitted(encoder):
            raise NotFittedError("fit_encoder=False needs a fitted encoder: fit it, or use fit_encoder=True")
        again = self.fit_encoder is True and not isinstance(self.encoder, FrozenEstimator)
        self.encoder_ = components.fitted_copy(encoder, sequences, targets, again=again)
        self.encoder_._refuse_frame(sequences.frame, "X")
        return self.encoder_._weighted_vectors(sequences, check_n_jobs(None))

    def _fit_head(self, vectors: NDArray[np.float64], targets: NDArray[Any]) -> Any:
        """The fitted head with the name `head`; only a forest is random."""
        if self.head == "forest":
            return self._heads[self.head](vectors, targets, random_state=self.random_state)
        return self._heads[self.head](vectors, targets)

    def _takes_missing(self) -> bool:
        """Whether the encoder takes missing values."""
        encoder = getattr(self, "encoder_", None) or self._resolve_parameter("encoder", self.encoder)
        return isinstance(encoder, Encoder | FrozenEstimator) and bool(components.unfreeze(encoder)._takes_missing())

    def _encode_input(self, X: Any) -> NDArray[np.float64]:
        sequences = self._validate_predict_input(X)
        return self.encoder_._weighted_vectors(sequences, check_n_jobs(None))


class EmbeddingClassifier(ClassifierMixin, _EmbeddingEstimator):  # type: ignore[misc]
    """Classify sequences by their vectors: an encoder that needs no labels, and a simple classifier that does.

    The default is Rocket with a linear head: quick to fit, and a baseline for any trained model.

    Parameters
    ----------
    encoder : Encoder or None
        None is a `Rocket`. Its parameters are nested parameters: `encoder__n_features` works in GridSearchCV.
    head : {"auto", "ridge", "logistic", "svm", "1nn", "forest"}
        The classifier of vectors. "ridge": least squares to ±1, the penalty chosen by leave-one-out, in closed form.
        "logistic": logistic regression with scikit-learn's penalty. "svm": the protocol of T-Loss (Franceschi,
        Dieuleveut and Jaggi, 2019), an RBF kernel, C from 10⁻⁴ to 10⁴ or ∞ by 5-fold search, and ∞ below 50 sequences
        or 5 per class. "1nn": the nearest vector. "forest": extremely randomized trees, for vectors whose features are
        meaningful one by one, as those of `StatisticsEncoder`. "auto" is "logistic" up to 2000 features and "ridge"
        beyond, unless another of the first three is better in 5 folds by more than one standard error ("svm" is not
        tried beyond 2000 features); below 20 sequences, or where no class has two, nothing is compared.
    fit_encoder : bool or None
        None uses a fitted encoder unchanged, for transfer and for few labels, and fits a copy of an unfitted one. True
        always fits a copy, False raises an error for an unfitted encoder.
    random_state
        Seed of the default encoder and of the trees of a forest.

    Attributes
    ----------
    encoder_ : Encoder
        The fitted encoder.
    classes_ : array
        The class labels, in ascending order.

    Examples
    --------
    >>> import timelike as tl
    >>> X = tl.Sequences([[0, 1, 0, 1], [0, 1, 0], [5, 5, 5], [5, 5, 5, 5]], labels=["wave", "wave", "flat", "flat"])
    >>> tl.EmbeddingClassifier(random_state=0).fit(X).predict([[0, 1, 0, 1, 0], [5, 5, 5, 5, 5]])
    array(['wave', 'flat'], dtype='<U4')
    """

    _heads: ClassVar[dict[str, Any]] = {
        "auto": fit_best_head,
        **HEADS,
        "1nn": NearestHead.fit,
        "forest": ForestHead.fit_classifier,
    }

    classes_: NDArray[Any] = schema.labels("class")
    head_: Any = schema.union(LOGISTIC_SCHEMA, SVM_SCHEMA, NEAREST_CLASS_SCHEMA, FOREST_CLASS_SCHEMA)

    head = options.choice(*_heads)

    def __init__(
        self,
        encoder: Encoder | None = None,
        *,
        head: Literal["auto", "ridge", "logistic", "svm", "1nn", "forest"] = "auto",
        fit_encoder: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes: `y`, or the labels of X."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            labels = self._validate_classes(sequences, y, "EmbeddingRegressor")
            if len(np.unique(labels)) < 2:  # before the encoder is trained
                raise ValueError(f"y holds one class, {np.unique(labels).tolist()}: expected at least two classes")
            vectors = self._fit_encoder(sequences, labels)
            self.classes_, codes = np.unique(labels, return_inverse=True)
            self.head_ = self._fit_head(vectors, codes.astype(np.int64))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every sequence."""
        vectors = self._encode_input(X)
        return np.asarray(self.classes_[self.head_.predict(vectors)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of every class, (item, class) in the order of `classes_`.

        Those of an SVM come from sigmoids of its decisions (Platt, 1999) and need not agree with `predict`; those of
        least squares from one factor, chosen by the likelihood of the leave-one-out predictions.
        """
        vectors = self._encode_input(X)
        probabilities: NDArray[np.float64] = self.head_.predict_proba(vectors)
        return probabilities


class EmbeddingRegressor(RegressorMixin, _EmbeddingEstimator):  # type: ignore[misc]
    """Predict a number for every sequence from its vector: an encoder that needs no labels, and a simple regression.

    Parameters
    ----------
    encoder, fit_encoder, random_state
        As in `EmbeddingClassifier`.
    head : {"ridge", "1nn", "forest"}
        Least squares with a penalty chosen by leave-one-out, the target of the nearest vector, or the mean of many
        trees.

    Examples
    --------
    >>> import timelike as tl
    >>> X = tl.Sequences([[0, 1, 0, 1], [0, 1, 0], [5, 5, 5], [5, 5, 5, 5]], labels=[1.0, 1.0, 2.0, 2.0])
    >>> tl.EmbeddingRegressor(random_state=0, head="1nn").fit(X).predict([[0, 1, 0, 1], [5, 5, 5]])
    array([1., 2.])
    """

    _heads: ClassVar[dict[str, Any]] = {
        "ridge": LinearHead.fit_ridge,
        "1nn": NearestHead.fit,
        "forest": ForestHead.fit_regressor,
    }

    head_: Any = schema.union(LINEAR_SCHEMA, NEAREST_NUMBER_SCHEMA, FOREST_NUMBER_SCHEMA)

    head = options.choice(*_heads)

    def __init__(
        self,
        encoder: Encoder | None = None,
        *,
        head: Literal["ridge", "1nn", "forest"] = "ridge",
        fit_encoder: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their numbers: `y`, or the labels of X."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            targets = self._validate_numbers(sequences, y, "EmbeddingClassifier")
            self.head_ = self._fit_head(self._fit_encoder(sequences, targets), targets)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The predicted number of every sequence, (item,)."""
        vectors = self._encode_input(X)
        numbers: NDArray[np.float64] = self.head_.predict(vectors)
        return numbers
