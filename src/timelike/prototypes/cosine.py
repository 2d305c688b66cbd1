"""`CosineSimilarity`, the scaled cosine of two vectors, and `FusedSimilarity`, its mean with a learned one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from torch import Tensor, nn

from ..encode.base import normalize_vectors
from .blockwise_search import BlockwiseSearch
from .similarity import Similarity

_INITIAL_SCALE = 10.0  # of cosines in a softmax, before training
_SCALE_BOUNDS = (0.1, 1000.0)  # of s, which stays finite if the cosines of all pairs nearly coincide
_N_PAIRS = 4096  # for fitting scale and offset
_N_DIGITS = 13  # of cosines in double precision


class CosineSimilarity(BlockwiseSearch, nn.Module):
    """S(u, v) = s cos(u, v) + b, with s > 0 and b learned: the ablation of the paper.

    >>> CosineSimilarity()(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])).item()
    -5.0
    """

    def __init__(self) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(_INITIAL_SCALE).log())
        self.bias = nn.Parameter(torch.tensor(-_INITIAL_SCALE / 2))

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        """Of vectors (…, feature) and (…, feature), (…)."""
        cosines: Tensor = (F.normalize(u, dim=-1) * F.normalize(v, dim=-1)).sum(-1)
        return self._scale_cosines(cosines)

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """Of every row of u and every row of v, (n, m)."""
        return self._scale_cosines(F.normalize(u, dim=-1) @ F.normalize(v, dim=-1).T)

    def scores(self, u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """The same of arrays, without gradients: in double precision, then rounded to that of u and v."""
        found = float(self.log_scale.detach().exp()) * cosine_matrix(u, v) + float(self.bias.detach())
        return found.astype(np.result_type(u, v), copy=False)

    def fit_scale(self, vectors: NDArray[Any], codes: NDArray[np.int64], rng: np.random.Generator) -> None:
        """s and b by logistic regression on pairs of these vectors, as many of one class as of two.

        Targets are not quite 0 and 1, as for unseen items (Platt, 1999): pairs that are separated perfectly would
        otherwise make s infinite.
        """
        first, second = rng.integers(len(codes), size=(2, _N_PAIRS))
        same = codes[first] == codes[second]
        members = [np.flatnonzero(codes == codes[i]) for i in first[: _N_PAIRS // 4]]
        partners = np.array([rng.choice(some) for some in members])
        own = np.stack([first[: len(partners)], partners], axis=1)
        own = own[own[:, 0] != own[:, 1]]
        other = np.stack([first, second], axis=1)[~same]
        pairs = np.concatenate([own, other[: len(own)]])
        unit = normalize_vectors(np.asarray(vectors, np.float64))
        found = (unit[pairs[:, 0]] * unit[pairs[:, 1]]).sum(axis=1)
        scale, bias = _fit_logistic(found, np.arange(len(pairs)) < len(own))
        with torch.no_grad():
            self.log_scale.fill_(np.log(scale))
            self.bias.fill_(bias)

    def _scale_cosines(self, cosines: Tensor) -> Tensor:
        return self.log_scale.exp() * cosines + self.bias


class FusedSimilarity(BlockwiseSearch, nn.Module):
    """The log odds of (σ(S(u, v)) + (1 + cos(u, v)) / 2) / 2; in training S alone.

    The paper fuses both in this way for verification and retrieval. Both lie between 0 and 1.
    """

    def __init__(self, learned: Similarity) -> None:
        super().__init__()
        self.learned = learned

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        """Of vectors (…, feature) and (…, feature), (…)."""
        return self._fuse(self.learned(u, v), F.cosine_similarity(u, v, dim=-1))

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """Of every row of u and every row of v, (n, m)."""
        return self._fuse(self.learned.matrix(u, v), F.normalize(u, dim=-1) @ F.normalize(v, dim=-1).T)

    def scores(self, u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """The same of arrays, without gradients."""
        learned, cosine = (
            torch.from_numpy(part.astype(np.float64)) for part in (self.learned.scores(u, v), cosine_matrix(u, v))
        )
        return _log_odds(learned, cosine).numpy().astype(np.result_type(u, v), copy=False)

    def _fuse(self, learned: Tensor, cosine: Tensor) -> Tensor:
        return learned if self.training else _log_odds(learned, cosine)


def _log_odds(learned: Tensor, cosine: Tensor) -> Tensor:
    """log p − log(1 − p) of the mean of both, from p and 1 − p separately, as one of them may be very small."""
    tiny = torch.finfo(learned.dtype).tiny
    bounded = cosine.clamp(-1, 1)
    for_it, against = (torch.sigmoid(sign * learned) + (1 + sign * bounded) / 2 for sign in (1, -1))
    return for_it.clamp(min=tiny).log() - against.clamp(min=tiny).log()


def _fit_logistic(x: NDArray[np.float64], same: NDArray[np.bool_]) -> tuple[float, float]:
    """(s, b), 0.1 ≤ s ≤ 1000, of σ(s x + b) with the smallest loss for targets that are not quite 0 and 1."""
    n_same, n_other = int(same.sum()), int((~same).sum())
    targets = np.where(same, (n_same + 1) / (n_same + 2), 1 / (n_other + 2))
    middle = x.mean()  # centred, s and the offset are nearly independent; otherwise optimization stops too early
    apart = x - middle

    def loss(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scale = np.exp(at[0])
        scores = scale * apart + at[1]
        rest = expit(scores) - targets
        value = np.logaddexp(0, scores) - targets * scores
        return float(value.mean()), np.array([(rest * apart).mean() * scale, rest.mean()])

    begin = np.array([np.log(_INITIAL_SCALE), _INITIAL_SCALE * (middle - 0.5)])
    bounds = [tuple(np.log(_SCALE_BOUNDS)), (None, None)]
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds)
    scale = float(np.exp(found.x[0]))
    return scale, float(found.x[1] - scale * middle)


def cosine_matrix(u: NDArray[Any], v: NDArray[Any]) -> NDArray[np.float64]:
    """Cosines of every row of u and every row of v, 0 with a vector of zeros.

    >>> cosine_matrix(np.eye(2), np.array([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    first, second = (normalize_vectors(np.asarray(side, np.float64)) for side in (u, v))
    # the last digits of products depend on block sizes: without them equal vectors have a cosine of exactly 1
    return np.round(first @ second.T, _N_DIGITS)
