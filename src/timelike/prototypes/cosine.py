"""Cosines of vectors, and `CosineScorer`, which answers for `CosineSimilarity` without torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from ..encode.base import normalize_vectors
from .vector_search import BlockwiseSearch

INITIAL_SCALE = 10.0  # of cosines in a softmax, before training
_SCALE_BOUNDS = (0.1, 1000.0)  # of s, which stays finite if the cosines of all pairs nearly coincide
_N_DIGITS = 13  # of cosines in double precision


class CosineScorer(BlockwiseSearch):
    """S(u, v) = s cos(u, v) + b of arrays, with given s and b.

    >>> CosineScorer(10.0, -5.0).scores(np.eye(2), np.array([[0.0, 2.0]])).tolist()
    [[-5.0], [5.0]]
    """

    def __init__(self, scale: float, bias: float) -> None:
        self.scale, self.bias = scale, bias

    @classmethod
    def from_weights(cls, log_scale: NDArray[Any], bias: NDArray[Any]) -> CosineScorer:
        """With the weights of a `CosineSimilarity`, log s and b.

        In float32 torch and NumPy round exp differently: s is computed in double precision and then rounded, so that a
        saved model has the same scores with and without torch.
        """
        scale = np.exp(log_scale.astype(np.float64)).astype(log_scale.dtype)
        return cls(float(scale), float(bias))

    def scores(self, u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """S of every row of u and every row of v: in double precision, then rounded to that of u and v."""
        similarities = self.scale * cosine_matrix(u, v) + self.bias
        return similarities.astype(np.result_type(u, v), copy=False)


def cosine_matrix(u: NDArray[Any], v: NDArray[Any]) -> NDArray[np.float64]:
    """Cosines of every row of u and every row of v, 0 with a vector of zeros.

    >>> cosine_matrix(np.eye(2), np.array([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    first, second = (normalize_vectors(np.asarray(side, np.float64)) for side in (u, v))
    # the last digits of products depend on block sizes: without them equal vectors have a cosine of exactly 1
    return np.round(first @ second.T, _N_DIGITS)


def fit_logistic(x: NDArray[np.float64], same: NDArray[np.bool_]) -> tuple[float, float]:
    """(s, b), 0.1 ≤ s ≤ 1000, of σ(s x + b) with the smallest loss for targets that are not quite 0 and 1."""
    n_same, n_other = int(same.sum()), int((~same).sum())
    targets = np.where(same, (n_same + 1) / (n_same + 2), 1 / (n_other + 2))
    middle = x.mean()  # centred, s and the offset are nearly independent; otherwise optimization stops too early
    centred_x = x - middle

    def loss(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scale = np.exp(at[0])
        scores = scale * centred_x + at[1]
        rest = expit(scores) - targets
        value = np.logaddexp(0, scores) - targets * scores
        return float(value.mean()), np.array([(rest * centred_x).mean() * scale, rest.mean()])

    begin = np.array([np.log(INITIAL_SCALE), INITIAL_SCALE * (middle - 0.5)])
    bounds = [tuple(np.log(_SCALE_BOUNDS)), (None, None)]
    solution = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds)
    scale = float(np.exp(solution.x[0]))
    return scale, float(solution.x[1] - scale * middle)
