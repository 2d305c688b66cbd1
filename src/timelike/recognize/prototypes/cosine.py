"""Cosine and Fused: the cosine of two vectors in place of a learned similarity, and beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ...encode.base import directions
from .similarity import Similarity

_SCALE = 10.0  # of cosines in a softmax, to begin with


class Cosine(nn.Module):
    """S(u, v) = s cos(u, v) + b, with s > 0 and b learned: the ablation of the paper, and what to beat.

    >>> Cosine()(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])).item()
    -5.0
    """

    def __init__(self) -> None:
        super().__init__()
        self.logarithm = nn.Parameter(torch.tensor(_SCALE).log())
        self.bias = nn.Parameter(torch.tensor(-_SCALE / 2))

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        """Of vectors (…, feature) and (…, feature), (…)."""
        cosines: Tensor = (F.normalize(u, dim=-1) * F.normalize(v, dim=-1)).sum(-1)
        return self._scored(cosines)

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """Of every row of u and every row of v, (n, m)."""
        return self._scored(F.normalize(u, dim=-1) @ F.normalize(v, dim=-1).T)

    def scores(self, u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """The same of arrays, without gradients: in double precision, then rounded to that of u and v."""
        found = float(self.logarithm.detach().exp()) * cosines(u, v) + float(self.bias.detach())
        return found.astype(np.result_type(u, v), copy=False)

    def _scored(self, cosines: Tensor) -> Tensor:
        return self.logarithm.exp() * cosines + self.bias


class Fused(nn.Module):
    """The log odds of (σ(S(u, v)) + (1 + cos(u, v)) / 2) / 2; in training S alone.

    So the paper fuses both to verify and to retrieve. Both lie between 0 and 1, and where they agree the mean is sure.
    """

    def __init__(self, learned: Similarity) -> None:
        super().__init__()
        self.learned = learned

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        """Of vectors (…, feature) and (…, feature), (…)."""
        return self._fused(self.learned(u, v), F.cosine_similarity(u, v, dim=-1))

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """Of every row of u and every row of v, (n, m)."""
        return self._fused(self.learned.matrix(u, v), F.normalize(u, dim=-1) @ F.normalize(v, dim=-1).T)

    def scores(self, u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """The same of arrays, without gradients."""
        learned, cosine = (
            torch.from_numpy(part.astype(np.float64)) for part in (self.learned.scores(u, v), cosines(u, v))
        )
        return _log_odds(learned, cosine).numpy().astype(np.result_type(u, v), copy=False)

    def _fused(self, learned: Tensor, cosine: Tensor) -> Tensor:
        return learned if self.training else _log_odds(learned, cosine)


def _log_odds(learned: Tensor, cosine: Tensor) -> Tensor:
    """log p − log(1 − p) of the mean of both, from p and 1 − p themselves, of which one may be very small."""
    tiny = torch.finfo(learned.dtype).tiny
    bounded = cosine.clamp(-1, 1)
    for_it, against = (torch.sigmoid(sign * learned) + (1 + sign * bounded) / 2 for sign in (1, -1))
    return for_it.clamp(min=tiny).log() - against.clamp(min=tiny).log()


def cosines(u: NDArray[Any], v: NDArray[Any]) -> NDArray[np.float64]:
    """Cosines of every row of u and every row of v, 0 with a vector of zeros.

    >>> cosines(np.eye(2), np.array([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    first, second = (directions(np.asarray(side, np.float64)) for side in (u, v))
    found: NDArray[np.float64] = first @ second.T
    return found
