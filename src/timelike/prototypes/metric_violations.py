"""`MetricViolations`: how far a learned similarity is from a distance, measured on sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MetricViolations:
    """How far S is from a distance: asymmetry, distances of sequences to themselves, triangle inequality violations.

    For `n_items` sequences and `n_triples` random triples of them.
    """

    n_items: int
    n_triples: int
    mean_asymmetry: float
    """Mean of |S(x, y) − S(y, x)| over pairs."""
    max_asymmetry: float
    mean_self_distance: float
    """Mean of 1 − σ(S(x, x)), the distance of a sequence from itself."""
    max_self_distance: float
    violation_rate: float
    """Fraction of triples with d(x, z) > d(x, y) + d(y, z)."""
    mean_excess: float
    """Mean of d(x, z) − d(x, y) − d(y, z) over these triples, 0 if there are none."""
    max_excess: float

    def __str__(self) -> str:
        return (
            f"of {self.n_items} sequences:\n"
            f"  |S(x, y) − S(y, x)|          mean {self.mean_asymmetry:.3g}, largest {self.max_asymmetry:.3g}\n"
            f"  1 − σ(S(x, x))               mean {self.mean_self_distance:.3g}, largest {self.max_self_distance:.3g}\n"
            f"  d(x, z) > d(x, y) + d(y, z)  in {self.violation_rate:.2%} of {self.n_triples} triples, by "
            f"{self.mean_excess:.3g} in the mean and {self.max_excess:.3g} at most"
        )


def measure_violations(scores: Floats, n_triples: int, rng: np.random.Generator) -> MetricViolations:
    """Violations of S of all pairs (item, item); d = σ(−S) of the mean of both orders."""
    n_items = len(scores)
    pairs = np.triu_indices(n_items, 1)
    asymmetry = np.abs(scores - scores.T)[pairs]
    self_distances = expit(-np.diag(scores))
    distances = expit(-(scores + scores.T) / 2)
    x, y, z = _sample_triples(n_items, n_triples, rng)
    excess = distances[x, z] - distances[x, y] - distances[y, z]
    positive_excess = excess[excess > 0]
    return MetricViolations(
        n_items,
        n_triples,
        float(asymmetry.mean()),
        float(asymmetry.max()),
        float(self_distances.mean()),
        float(self_distances.max()),
        len(positive_excess) / n_triples,
        float(positive_excess.mean()) if len(positive_excess) else 0.0,
        float(positive_excess.max()) if len(positive_excess) else 0.0,
    )


def _sample_triples(n_items: int, n_triples: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], ...]:
    """Triples of three different items, all orders equally likely."""
    x = rng.integers(0, n_items, n_triples)
    y = (x + rng.integers(1, n_items, n_triples)) % n_items
    z = rng.integers(0, n_items - 2, n_triples)
    for used_ids in np.sort([x, y], axis=0):  # skip used ids, the smaller first
        z += z >= used_ids
    return x, y, z
