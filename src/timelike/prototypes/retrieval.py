"""Scores of vectors against prototypes and galleries: `ClassScorer`, novelty, similarities of pairs, retrieval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ..train.base import double_precision_copy
from . import encoder_adapter
from .members import Floats
from .network import AnySimilarity, Head, PrototypeNetwork

SimilarityKind = Literal["learned", "cosine", "fused"]
Ids = NDArray[np.int64]
Scores = NDArray[np.float64]

_MAX_SIMILARITIES = 1 << 22  # similarities in memory at a time


class RetrievalResult(NamedTuple):
    """Positions in the gallery, the most similar first, and the similarities: (query, k), or (k,) for one query."""

    ids: Ids
    similarities: Scores


@dataclass(frozen=True, eq=False)
class ClassScorer:
    """Scores of vectors for every class: by the most similar prototype, by the dense head, or by the mean of both.

    `prototypes` (prototype, feature) belong to the classes `owners` (prototype,). Vectors are those of `n_encoders`
    encoders together, of which the first `n_trained_features` numbers are those of the trained one.
    """

    network: PrototypeNetwork
    prototypes: Floats
    owners: Ids
    n_classes: int
    inference: Head
    n_trained_features: int
    n_encoders: int

    def scores(self, vectors: Floats) -> Scores:
        """The score of every vector for every class, (item, class)."""
        if self.inference == "dense":
            return self._dense_scores(vectors)
        starts = np.searchsorted(self.owners, np.arange(self.n_classes))
        scores: Scores = self.network.similarity.group_maxima(self.prototypes, vectors, starts).astype(np.float64)
        return scores if self.inference == "similarity" else (scores + self._dense_scores(vectors)) / 2

    def best(self, vectors: Floats) -> tuple[Ids, Scores]:
        """The position of the best class of every vector, and its score; the first class wins ties."""
        if self.inference != "similarity":
            scores = self.scores(vectors)
            return scores.argmax(axis=1), scores.max(axis=1)
        similarities, nearest = self.network.similarity.top_k(self.prototypes, vectors)
        return self.owners[nearest[:, 0]], similarities[:, 0].astype(np.float64)

    def _dense_scores(self, vectors: Floats) -> Scores:
        """Scores of the dense head, in double precision so that they are independent of the batch."""
        assert self.network.dense is not None
        with torch.no_grad():
            dense = double_precision_copy(self.network.dense)
            length = encoder_adapter.first_vector_length(self.n_encoders)
            own = vectors[:, : self.n_trained_features].astype(np.float64) / length
            scores: Scores = dense(torch.from_numpy(own)).numpy()
        return scores


def novelty_scores(similarity: AnySimilarity, prototypes: Floats, vectors: Floats) -> Scores:
    """Minus the largest similarity of every vector to any prototype, (item,)."""
    similarities, _ = similarity.top_k(prototypes, vectors)
    return -similarities[:, 0].astype(np.float64)


def pair_similarities(similarity: AnySimilarity, first: Floats, second: Floats) -> Scores:
    """S of every row of the first and every row of the second, (first, second)."""
    scores: Scores = similarity.scores(first, second).astype(np.float64)
    return scores


def retrieve_similar(similarity: AnySimilarity, queries: Floats, gallery: Floats, k: int) -> RetrievalResult:
    """The k most similar rows of the gallery for every query, in blocks that bound memory; the first wins ties."""
    n_rows = max(1, _MAX_SIMILARITIES // len(gallery))
    blocks = [_most_similar(similarity, queries[i : i + n_rows], gallery, k) for i in range(0, len(queries), n_rows)]
    ids, similarities = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return RetrievalResult(ids, similarities)


def _most_similar(similarity: AnySimilarity, queries: Floats, gallery: Floats, k: int) -> tuple[Any, Any]:
    scores = pair_similarities(similarity, queries, gallery)
    ids = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(scores, ids, axis=1)
