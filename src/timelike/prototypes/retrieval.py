"""`PrototypesBase`, the verbs of `Prototypes` that need no training: predict, similarity, verify, retrieve, novelty."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from ..core.parameters import check_bool, check_int
from ..models import options, schema
from ..sequences import Sequences
from ..sequences.validation import as_one_or_many
from ..train import Trained
from ..train.base import double_precision_copy
from . import encoder_adapter
from .members import MEMBERS_SCHEMA, Floats, Members
from .network import HEADS, PrototypeNetwork
from .thresholds import THRESHOLDS_SCHEMA, PrototypeThresholds

if TYPE_CHECKING:
    from .similarity_metric import SimilarityMetric

SimilarityKind = Literal["learned", "cosine", "fused"]
_MAX_SIMILARITIES = 1 << 22  # similarities that are there at a time


class RetrievalResult(NamedTuple):
    """Positions in the gallery, the most similar first, and the similarities: (query, k), or (k,) for one query."""

    ids: NDArray[np.int64]
    similarities: NDArray[np.float64]


class PrototypesBase(ClassifierMixin, Trained):  # type: ignore[misc]
    """The verbs that need no more training; a subclass trains."""

    inference = options.choice(*HEADS, role="free")
    similarity_fn = options.nullable(options.choice(*get_args(SimilarityKind)))

    classes_: NDArray[Any] = schema.labels("class")
    trained_classes_: NDArray[Any] = schema.labels("trained class")
    encoder_: Any = schema.estimator()
    extra_encoders_: list[Any] = schema.list_of(schema.estimator())
    members_: Members = MEMBERS_SCHEMA
    prototypes_: Floats = schema.array("prototype", "feature", dtype="float32")
    owners_: NDArray[np.int64] = schema.indices("prototype", below="class")
    thresholds_: PrototypeThresholds = schema.not_required(THRESHOLDS_SCHEMA)
    classes_changed_: bool = schema.boolean()
    n_trained_features_: int = schema.integer(1)
    network_: PrototypeNetwork
    _fit_call = "fit(X, y)"

    # --- vectors and scores ------------------------------------------------------------------------------------------

    def encode(self, X: Any, *, n_jobs: int | None = None) -> Floats:
        """Vectors (item, feature) of sequences: what is compared."""
        asked = self._validate_predict_input(X)
        return self._encode_sequences(asked, n_jobs)

    def _encode_sequences(self, sequences: Sequences, n_jobs: int | None = None) -> Floats:
        """Vectors of checked sequences, of all encoders together."""
        return encoder_adapter.concatenate_vectors(
            [encoder_adapter.encode_sequences(one, sequences, n_jobs) for one in (self.encoder_, *self.extra_encoders_)]
        )

    def class_scores(self, X: Any) -> NDArray[np.float64]:
        """S of every sequence and the most similar prototype of every class, (item, class); see `inference`."""
        return self._score_classes(self.encode(X))

    def _score_classes(self, vectors: Floats) -> NDArray[np.float64]:
        self._refuse_dense_head()
        if self.inference == "dense":
            return self._dense_scores(vectors)
        starts = np.searchsorted(self.owners_, np.arange(len(self.classes_)))
        found = self.network_.similarity.group_maxima(self.prototypes_, vectors, starts).astype(np.float64)
        return found if self.inference == "similarity" else (found + self._dense_scores(vectors)) / 2

    def _dense_scores(self, vectors: Floats) -> NDArray[np.float64]:
        """What the dense layer says, in double precision, so that company changes no bit."""
        with torch.no_grad():
            dense = double_precision_copy(self.network_.dense) if self.network_.dense is not None else None
            assert dense is not None
            own = vectors[:, : self.n_trained_features_].astype(np.float64) / encoder_adapter.first_vector_length(
                1 + len(self.extra_encoders_)
            )
            found: NDArray[np.float64] = dense(torch.from_numpy(own)).numpy()
        return found

    def _refuse_dense_head(self) -> None:
        if self.inference == "similarity":
            return
        if self.network_.dense is None:
            raise ValueError(f"inference={self.inference!r}: auxiliary=None has no dense head; use 'similarity'")
        if self.classes_changed_:
            raise ValueError(
                f"inference={self.inference!r}: the dense head knows the {len(self.trained_classes_)} classes of fit "
                "only, and classes were enrolled or forgotten since; use set_params(inference='similarity')"
            )

    def export_onnx(self, path: str | Path) -> None:
        """Write an ONNX file: `x` (item, time, channel) in; `features`, `scores`, `probabilities` out, in float32.

        They are those of `encode`, `class_scores` and `predict_proba`; the classes, in their order, are in the metadata
        `classes`, as JSON. What is enrolled later is not in it. The encoders must have a graph (see
        `Encoder.export_onnx`). Needs the extra `onnx`.
        """
        from .onnx_graph import write_onnx

        self._require_fitted()
        write_onnx(self, path)

    # --- classes -----------------------------------------------------------------------------------------------------

    def predict(self, X: Any, *, reject: bool = False) -> NDArray[Any]:
        """The class of every sequence: that of the most similar prototype (eq. 4).

        With `reject=True`, after `calibrate`, None for those that are like no class (see `novelty`).
        """
        refuses, vectors = check_bool(reject, "reject"), self.encode(X)
        limit = self._require_thresholds("reject=True").novelty if refuses else np.inf
        best, scores = self._best_classes(vectors)
        found: NDArray[Any] = self.classes_[best]
        if not refuses:
            return found
        named = found.astype(object)
        named[(-scores if self.inference == "similarity" else self._vector_novelty(vectors)) > limit] = None
        return named

    def _best_classes(self, vectors: Floats) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The best class of every vector and its score; equal scores go to the first class."""
        self._refuse_dense_head()
        if self.inference != "similarity":
            scores = self._score_classes(vectors)
            return scores.argmax(axis=1), scores.max(axis=1)
        most, nearest = self.network_.similarity.top_k(self.prototypes_, vectors)
        return self.owners_[nearest[:, 0]], most[:, 0].astype(np.float64)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, (item, class): softmax of the scores, over the temperature of `calibrate`."""
        found: NDArray[np.float64] = softmax(self.class_scores(X) / self._temperature(), axis=1)
        return found

    def _temperature(self) -> float:
        if not hasattr(self, "thresholds_"):
            return 1.0
        self._refuse_other_inference(self.thresholds_.inference, "calibrate(X, y)")
        return self.thresholds_.temperature

    def _refuse_other_inference(self, calibrated: str, call: str) -> None:
        if calibrated != self.inference:
            raise ValueError(
                f"inference={self.inference!r}: it was {calibrated!r} when this {type(self).__name__} was calibrated; "
                f"set it back, or call {call} again"
            )

    # --- pairs -------------------------------------------------------------------------------------------------------

    def similarity(self, x: Any, y: Any) -> Any:
        """S of two sequences, a float; of collections, a matrix (len x, len y). More is more alike, 0 undecided."""
        first, one = self._validate_one_or_many(x, "x")
        second, other = self._validate_one_or_many(y, "y")
        found = self._pair_similarities(self._encode_sequences(first), self._encode_sequences(second))
        return float(found[0, 0]) if one and other else found

    def _pair_similarities(self, first: Floats, second: Floats) -> NDArray[np.float64]:
        """S of every row of one and every row of the other."""
        found: NDArray[np.float64] = self.network_.similarity.scores(first, second).astype(np.float64)
        return found

    def verify(self, x: Any, y: Any) -> Any:
        """Whether two sequences are of one class, which need not be a known one; of collections, a matrix.

        Until `calibrate` has learned a threshold, where σ(S) ≥ ½ (eq. 5).
        """
        threshold = self.thresholds_.pair if hasattr(self, "thresholds_") else 0.0
        found = self.similarity(x, y)
        return bool(found >= threshold) if isinstance(found, float) else found >= threshold

    def retrieve(self, x: Any, gallery: Any, k: int = 1) -> RetrievalResult:
        """The k sequences of a gallery that are most similar to x, or to each of several (eq. 6).

        Of equal similarities the first comes first.
        """
        asked, one = self._validate_one_or_many(x, "x")
        among, _ = self._validate_one_or_many(gallery, "gallery")
        if check_int(k, "k", 1) > len(among):
            raise ValueError(f"k={k}: expected 1 to {len(among)}, the number of sequences in gallery")
        queries, known = self._encode_sequences(asked), self._encode_sequences(among)
        rows = max(1, _MAX_SIMILARITIES // len(known))
        blocks = [self._most_similar(queries[begin : begin + rows], known, k) for begin in range(0, len(queries), rows)]
        ids, found = (np.concatenate(part) for part in zip(*blocks, strict=True))
        return RetrievalResult(ids[0], found[0]) if one else RetrievalResult(ids, found)

    def _most_similar(self, queries: Floats, known: Floats, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The k most similar rows of `known` for every query, and how similar they are."""
        scores = self._pair_similarities(queries, known)
        ids = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return ids, np.take_along_axis(scores, ids, axis=1)

    def metric(self) -> SimilarityMetric:
        """The similarity as a metric, σ(−S), for everything that takes one, and as a kernel; see `SimilarityMetric`."""
        from .similarity_metric import SimilarityMetric

        self._require_fitted()
        return SimilarityMetric.from_fitted(self)

    def _validate_one_or_many(self, value: Any, name: str) -> tuple[Sequences, bool]:
        """Checked sequences, and whether it was a single one: (time,) or (time, *frame)."""
        self._require_fitted()
        if not hasattr(value, "__len__"):
            raise TypeError(
                f"{name} is a {type(value).__name__}: expected a sequence (time,) or (time, channel), or several"
            )
        sequences, one = as_one_or_many(value, self.frame_, name)
        if len(sequences) == 0:
            raise ValueError(f"{name} holds no sequences: expected at least one")
        if not self._takes_missing():
            sequences.refuse_missing(type(self).__name__, name)
        self._refuse_frame(sequences.frame, name)
        return sequences, one

    # --- what is new -------------------------------------------------------------------------------------------------

    def novelty(self, X: Any) -> NDArray[np.float64]:
        """How little each sequence is like any class, (item,): −max S over all prototypes."""
        return self._vector_novelty(self.encode(X))

    def _vector_novelty(self, vectors: Floats) -> NDArray[np.float64]:
        most, _ = self.network_.similarity.top_k(self.prototypes_, vectors)
        return -most[:, 0].astype(np.float64)

    def _require_thresholds(self, asked: str) -> PrototypeThresholds:
        self._require_fitted()
        if not hasattr(self, "thresholds_"):
            raise ValueError(f"{asked} needs a threshold: call calibrate(X, y) with examples that fit has not seen")
        return self.thresholds_

    def _match_label_dtype(self, labels: NDArray[Any], name: str) -> NDArray[Any]:
        """Labels of the kind that the classes so far are, in their dtype where that is one of numbers."""
        self._refuse_mixed_labels(labels, name)
        if labels.dtype.kind == "U" or labels.dtype == self.classes_.dtype:
            return labels
        like = labels.astype(self.classes_.dtype)
        if (like != labels).any():
            odd = labels[like != labels].tolist()[0]
            raise TypeError(
                f"{name}: {odd!r} is given, and the classes so far are {self.classes_.dtype} numbers: expected such"
            )
        return like

    def _refuse_mixed_labels(self, labels: NDArray[Any], name: str) -> None:
        if (labels.dtype.kind == "U") != (self.classes_.dtype.kind == "U"):  # as text, 1 would be "1"
            known, other = self.classes_.tolist()[0], labels.tolist()[0]
            raise TypeError(
                f"{name}: {other!r} is given, and the classes so far are like {known!r}: expected the same kind"
            )
