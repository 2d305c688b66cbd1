"""`RetrievalResult` and the search for the most similar vectors of a gallery; similarities of pairs, and novelty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .cosine import CosineScorer

if TYPE_CHECKING:
    from .network import AnySimilarity

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Scores = NDArray[np.float64]

_MAX_SIMILARITIES = 1 << 22  # similarities in memory at a time


class RetrievalResult(NamedTuple):
    """Positions in the gallery, the most similar first, and the similarities: (query, k), or (k,) for one query."""

    ids: Ids
    similarities: Scores


def novelty_scores(similarity: AnySimilarity | CosineScorer, prototypes: Floats, vectors: Floats) -> Scores:
    """Minus the largest similarity of every vector to any prototype, (item,)."""
    similarities, _ = similarity.top_k(prototypes, vectors)
    return -similarities[:, 0].astype(np.float64)


def pair_similarities(similarity: AnySimilarity | CosineScorer, first: Floats, second: Floats) -> Scores:
    """S of every row of the first and every row of the second, (first, second)."""
    scores: Scores = similarity.scores(first, second).astype(np.float64)
    return scores


def retrieve_similar(
    similarity: AnySimilarity | CosineScorer, queries: Floats, gallery: Floats, k: int
) -> RetrievalResult:
    """The k most similar rows of the gallery for every query, in blocks that bound memory; the first wins ties."""
    n_rows = max(1, _MAX_SIMILARITIES // len(gallery))
    blocks = [_most_similar(similarity, queries[i : i + n_rows], gallery, k) for i in range(0, len(queries), n_rows)]
    ids, similarities = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return RetrievalResult(ids, similarities)


def _most_similar(
    similarity: AnySimilarity | CosineScorer, queries: Floats, gallery: Floats, k: int
) -> tuple[Any, Any]:
    scores = pair_similarities(similarity, queries, gallery)
    ids = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(scores, ids, axis=1)
