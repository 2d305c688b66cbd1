"""A collection that a learned metric has prepared, to search in again and again."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..align import Gallery, Matches
from ..align.base import computed, nearest_of_blocks, refuse_nonfinite, threads_of
from ..sequences import Sequences, as_sequences
from ..train.trained import exact, torch_threads
from .pairs import compare, parts

if TYPE_CHECKING:
    from .base import LearnedMetric


class PreparedGallery(Gallery):
    """What concerns the collection alone is computed once; a query costs its own preparation and its pairs."""

    metric: LearnedMetric

    def __init__(self, metric: LearnedMetric, collection: Sequences) -> None:
        metric._refuse(collection, None, ("X", "X"))
        # a copy: a metric that is fitted again later would compare queries of another kind with these
        super().__init__(copy.deepcopy(metric), collection)
        self.parts = parts(exact(self.metric.network_), self.metric._ready(collection))

    def neighbors(self, queries: Any, k: int = 1, *, n_jobs: int | None = None) -> Matches:
        """The k nearest to every query; equal distances in the order of the collection."""
        asked = as_sequences(queries, "queries")
        self.metric._refuse_search(self.collection, asked, k)
        network, twin, ready = self.metric.network_, exact(self.metric.network_), self.metric._ready(asked)

        def block(rows: slice) -> NDArray[Any]:
            some = ready[rows]
            out = np.empty((len(some), len(self.collection)), computed(asked, self.collection))
            compare(network, parts(twin, some), self.parts, out)
            refuse_nonfinite(out, ("queries", "X"))
            return out

        with torch_threads(threads_of(n_jobs)):
            return nearest_of_blocks(block, len(asked), len(self.collection), k)
