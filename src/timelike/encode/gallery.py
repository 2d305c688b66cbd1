"""A collection whose vectors are known, to search in again and again."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..align import Gallery, Matches
from ..align.base import computed, nearest_of_blocks, threads_of
from ..sequences import Sequences, as_sequences

if TYPE_CHECKING:
    from .base import Encoder


class EncodedGallery(Gallery):
    """Encodes its collection once; a query costs its own encoding and plain distances of vectors."""

    metric: Encoder

    def __init__(self, encoder: Encoder, collection: Sequences) -> None:
        # a copy: an encoder that is fitted again later would give queries vectors of another kind than these
        super().__init__(copy.deepcopy(encoder), collection)
        self.vectors: NDArray[np.float64] = encoder._vectors(collection, threads_of(None))

    def neighbors(self, queries: Any, k: int = 1, *, n_jobs: int | None = None) -> Matches:
        """The k nearest to every query; equal distances in the order of the collection."""
        asked = as_sequences(queries, "queries")
        self.metric._refuse_search(self.collection, asked, k)
        return nearest_vectors(
            self.vectors, self.metric, asked, k, computed(asked, self.collection), threads_of(n_jobs)
        )


def nearest_vectors(
    known: NDArray[Any], encoder: Encoder, asked: Sequences, k: int, dtype: np.dtype[Any], threads: int
) -> Matches:
    """The k known vectors nearest to those of the sequences."""
    vectors = encoder._vectors(asked, threads)

    def block(rows: slice) -> NDArray[Any]:
        return np.asarray(cdist(vectors[rows], known).astype(dtype))

    return nearest_of_blocks(block, len(vectors), len(known), k)
