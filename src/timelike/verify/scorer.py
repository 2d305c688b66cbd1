"""`Scorer`: scores of sequences and of templates, which are distances of any metric with the opposite sign."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from ..align import Metric
from ..align.distance_matrix import pair_dtype, refuse_nonfinite
from ..core.threads import check_n_jobs
from ..encode.base import Encoder, normalize_vectors
from ..score.calibration import Floats, Ids
from ..sequences import Sequences

TemplateAggregation = Literal["mean", "nearest", "center"]


class PrecomputedExamples(NamedTuple):
    """Sequences as the metric precomputes them, or their vectors."""

    value: Any
    size: int
    dtype: np.dtype[Any]


class Scorer:
    """Scores −d of a metric; with `vectors`, by Euclidean distances of the metric's vectors."""

    def __init__(self, metric: Metric, *, vectors: bool = False) -> None:
        self.metric, self.vectors = metric, vectors or isinstance(metric, Encoder)

    def precompute(self, sequences: Sequences) -> PrecomputedExamples:
        """Precompute everything that depends on each sequence alone."""
        if self.vectors and not isinstance(self.metric, Encoder):
            value = self.metric.encode(sequences).astype(np.float64)  # type: ignore[attr-defined]
        else:
            value = self.metric._precompute_items(sequences, check_n_jobs(None))
        return PrecomputedExamples(value, len(sequences), pair_dtype(sequences, sequences))

    def from_stream(self, vector: NDArray[np.float32], dtype: np.dtype[Any]) -> PrecomputedExamples:
        """The same for a stream, from its current vector."""
        vectors = vector[None]
        value = self.metric._to_euclidean(vectors) if isinstance(self.metric, Encoder) else vectors.astype(np.float64)
        return PrecomputedExamples(value, 1, dtype)

    def select(self, examples: PrecomputedExamples, items: Ids) -> PrecomputedExamples:
        """The precomputed items at these positions."""
        value = examples.value[items] if self.vectors else self.metric._select_items(examples.value, items)
        return PrecomputedExamples(value, len(items), examples.dtype)

    def scores(self, first: PrecomputedExamples, second: PrecomputedExamples) -> Floats:
        """Scores −d of all pairs, (first, second)."""
        out = np.empty((first.size, second.size), np.result_type(first.dtype, second.dtype))
        if self.vectors:
            out[...] = cdist(first.value, second.value)
        else:
            self.metric._compare_precomputed(first.value, second.value, out, check_n_jobs(None))
        refuse_nonfinite(out, ("X", "the others"))
        return 0.0 - out.astype(np.float64)  # no negative zero

    def score_pairs(self, first: Sequences, second: Sequences) -> Floats:
        """Scores of all pairs of sequences, by the metric's own `pairwise` where it can be used."""
        if self.vectors and not isinstance(self.metric, Encoder):
            return self.scores(self.precompute(first), self.precompute(second))
        return 0.0 - self.metric.pairwise(first, None if second is first else second).astype(np.float64)

    def mean_vectors(self, examples: PrecomputedExamples, members: Ids) -> PrecomputedExamples:
        """Mean vectors of groups of sequences, members (center, k)."""
        means = _order_free_mean(examples.value[members])
        by_direction = isinstance(self.metric, Encoder) and vars(self.metric).get("geometry") == "cosine"
        return PrecomputedExamples(normalize_vectors(means) if by_direction else means, len(members), examples.dtype)


def has_vectors(metric: Metric) -> bool:
    """Whether the metric encodes each sequence as a vector and compares these."""
    return hasattr(metric, "encode")


def aggregate_examples(scores: Floats, aggregation: TemplateAggregation) -> Floats:
    """Aggregate the scores of several examples, (…, example, query) → (…, query)."""
    return scores.max(axis=-2) if aggregation == "nearest" else _order_free_mean(scores)


def _order_free_mean(values: Floats) -> Floats:
    """Mean over the second to last axis, sorted first so that no bit depends on the order of the examples."""
    return np.asarray(np.sort(values, axis=-2).mean(axis=-2))
