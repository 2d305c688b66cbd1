"""Scores of sequences and of identities with several examples: distances of any metric with the other sign."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ...align import Metric
from ...align.matrix import computed, refuse_nonfinite, threads_of
from ...encode.base import Encoder, directions
from ...sequences import Sequences

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Against = Literal["mean", "nearest", "center"]


class Known(NamedTuple):
    """What is known of some sequences: what the metric computed of each alone, or vectors."""

    value: Any
    size: int
    dtype: np.dtype[Any]


class Scorer:
    """Scores −d under a metric; with `vectors`, those of the vectors that its distance is the Euclidean one of."""

    def __init__(self, metric: Metric, *, vectors: bool = False) -> None:
        self.metric, self.vectors = metric, vectors or isinstance(metric, Encoder)

    def known(self, sequences: Sequences) -> Known:
        """What can be computed of each sequence alone."""
        if self.vectors and not isinstance(self.metric, Encoder):
            found = self.metric.encode(sequences).astype(np.float64)  # type: ignore[attr-defined]
        else:
            found = self.metric._known(sequences, threads_of(None))
        return Known(found, len(sequences), computed(sequences, sequences))

    def pushed(self, vector: NDArray[np.float32], dtype: np.dtype[Any]) -> Known:
        """The same of what a stream has seen so far, from the vector it gave."""
        both = vector[None]
        found = self.metric._compared(both) if isinstance(self.metric, Encoder) else both.astype(np.float64)
        return Known(found, 1, dtype)

    def some(self, known: Known, items: Ids) -> Known:
        """What is known of some of the sequences."""
        found = known.value[items] if self.vectors else self.metric._some(known.value, items)
        return Known(found, len(items), known.dtype)

    def scores(self, first: Known, second: Known) -> Floats:
        """Of all pairs, (first, second): −d."""
        out = np.empty((first.size, second.size), np.result_type(first.dtype, second.dtype))
        if self.vectors:
            out[...] = cdist(first.value, second.value)
        else:
            self.metric._against(first.value, second.value, out, threads_of(None))
        refuse_nonfinite(out, ("X", "the others"))
        return 0.0 - out.astype(np.float64)  # a zero without a sign

    def pairs(self, first: Sequences, second: Sequences) -> Floats:
        """Of all pairs of sequences, by the metric's own way to all of them where it has one."""
        if self.vectors and not isinstance(self.metric, Encoder):
            return self.scores(self.known(first), self.known(second))
        return 0.0 - self.metric.pairwise(first, None if second is first else second).astype(np.float64)

    def centers(self, known: Known, members: Ids) -> Known:
        """Mean vectors of some sequences each, members (center, k)."""
        found = _mean(known.value[members])
        by_direction = isinstance(self.metric, Encoder) and vars(self.metric).get("geometry") == "cosine"
        return Known(directions(found) if by_direction else found, len(members), known.dtype)


def has_vectors(metric: Metric) -> bool:
    """Whether the distance is the Euclidean one of vectors, one of each sequence."""
    return hasattr(metric, "encode")


def of_several(scores: Floats, against: Against) -> Floats:
    """One score of those of several examples, (…, example, query) → (…, query)."""
    return scores.max(axis=-2) if against == "nearest" else _mean(scores)


def _mean(values: Floats) -> Floats:
    """Over the last axis but one, sorted first: so that no bit depends on the order of the examples."""
    return np.asarray(np.sort(values, axis=-2).mean(axis=-2))
