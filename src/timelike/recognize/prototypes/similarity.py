"""Similarity: a perceptron of two vectors, whose first layer is computed once per vector and not once per pair."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ... import native
from ...sequences.arguments import flag, real, whole
from ...sequences.doors import plain_array
from ...sequences.padding import like_weights, plain
from . import scoring
from .scoring import Known, Weights

_AT_ONCE = 1 << 25  # hidden units of pairs with gradients that are there at a time: 128 MB, a few times
_REMEMBERED = 1 << 22  # hidden units of prototypes that are kept between calls: 16 MB

_last: WeakKeyDictionary[Similarity, tuple[NDArray[Any], list[Tensor], Known]] = WeakKeyDictionary()


class Sides(NamedTuple):
    """What the first layer makes of either side, and the second layer that is applied to sums of the two."""

    first: Tensor
    """(…, hidden): of u."""
    second: Tensor
    """(…, hidden): of v, the bias included."""
    weight: Tensor
    """(hidden,)"""


class Similarity(nn.Module):
    """How alike two vectors are, S(u, v) = w·φ(W[u; v] + b) + c, with φ the leaky ReLU; σ(S) ≥ ½ is "the same".

    W[u; v] = W₁u + W₂v, so the first layer is a product for every vector, and only its activation one for every pair.
    S(u, v) is not S(v, u), and S(u, u) is not the largest of all: a similarity is learned, not a distance. In
    `Prototypes` u is the prototype.

    Parameters
    ----------
    n_features : int
        Numbers of a vector.
    hidden : int
        Units of the hidden layer.
    dropout : float
        Share of the hidden units that training leaves out.
    slope : float
        Of φ below 0.
    symmetrize : bool
        (S(u, v) + S(v, u)) / 2 in place of S(u, v).

    Examples
    --------
    >>> import torch
    >>> from timelike.nn import Similarity
    >>> similarity = Similarity(3, hidden=8).eval()
    >>> prototypes, vectors = torch.randn(2, 3), torch.randn(5, 3)
    >>> similarity.matrix(prototypes, vectors).shape
    torch.Size([2, 5])
    >>> bool(torch.isclose(similarity(prototypes[1], vectors[4]), similarity.matrix(prototypes, vectors)[1, 4]))
    True
    """

    def __init__(
        self,
        n_features: int,
        *,
        hidden: int = 512,
        dropout: float = 0.25,
        slope: float = 0.1,
        symmetrize: bool = False,
    ) -> None:
        super().__init__()
        self.n_features = whole(n_features, "n_features", 1)
        self.slope = real(slope, "slope", 0, 1)
        self.symmetrize = flag(symmetrize, "symmetrize")
        rate = real(dropout, "dropout", 0)
        if rate >= 1:
            raise ValueError(f"dropout={dropout}: expected a share of at least 0 and below 1")
        self.first = nn.Linear(2 * self.n_features, whole(hidden, "hidden", 1))
        self.dropout = nn.Dropout(rate)
        self.last = nn.Linear(self.first.out_features, 1)

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        """S of vectors (…, feature) and (…, feature), whose leading axes are broadcast, (…)."""
        sides = self.sides(self._checked(u, "u"), self._checked(v, "v"))
        return self._joined(sides.first + sides.second, sides.weight)

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """S of every row of u (n, feature) and every row of v (m, feature), (n, m), with gradients.

        Where there are very many pairs, some rows of u at a time, and the backward pass computes them once more.
        """
        for side, name in ((u, "u"), (v, "v")):
            if self._checked(side, name).ndim != 2:
                raise ValueError(f"{name} has shape {tuple(side.shape)}: expected (item, feature)")
        first, second, weight = self.sides(self._checked(u, "u"), self._checked(v, "v"))
        rows = max(1, _AT_ONCE // max(1, second.numel()))
        if len(first) <= rows:
            return self._beside(first, second, weight)
        blocks = torch.split(first, rows)
        if not torch.is_grad_enabled():
            return torch.cat([self._beside(block, second, weight) for block in blocks])
        return torch.cat([checkpoint(self._beside, block, second, weight, use_reentrant=False) for block in blocks])

    def _beside(self, first: Tensor, second: Tensor, weight: Tensor) -> Tensor:
        return self._joined(first[:, None] + second, weight)

    def scores(self, u: NDArray[Any] | Known, v: NDArray[Any], *, threads: int | None = None) -> NDArray[Any]:
        """S of every row of u and every row of v as arrays, (n, m), without dropout and without gradients.

        In float64 where both are, otherwise in float32. A pair has the same bits in any company.

        >>> import numpy as np
        >>> similarity = Similarity(3, hidden=8)
        >>> similarity.scores(np.zeros((2, 3)), np.ones((5, 3))).shape
        (2, 5)
        """
        wanted = threads or native.threads()
        return scoring.scores(self._weights(), *self._arrays(u, v, wanted), wanted)

    def best(
        self, u: NDArray[Any] | Known, v: NDArray[Any], k: int = 1, *, threads: int | None = None
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """For every row of v the k rows of u that are most alike: their S and their numbers, each (m, k).

        The best comes first, and of equals the earlier row. Memory does not grow with n × m.
        """
        wanted = threads or native.threads()
        first, second = self._arrays(u, v, wanted)
        if not 1 <= whole(k, "k") <= len(first):
            raise ValueError(f"k={k}: expected at least 1 and at most {len(first)}, the rows of u")
        return scoring.best(self._weights(), first, second, k, wanted)

    def maxima(
        self, u: NDArray[Any] | Known, v: NDArray[Any], starts: NDArray[np.int64], *, threads: int | None = None
    ) -> NDArray[Any]:
        """For every row of v the largest S in every group of rows of u, (m, group); group g begins at starts[g]."""
        wanted = threads or native.threads()
        first, second = self._arrays(u, v, wanted)
        begin = plain_array(starts, "starts")
        if begin.ndim != 1 or begin.dtype.kind not in "iu":
            raise TypeError(f"starts has dtype {begin.dtype} and shape {begin.shape}: expected whole numbers (group,)")
        begin = begin.astype(np.int64)
        if not len(begin) or begin[0] != 0 or (np.diff(begin, append=len(first)) <= 0).any():
            raise ValueError(
                f"starts={begin.tolist()[:5]}: expected numbers that rise from 0 and are below {len(first)}"
            )
        return scoring.maxima(self._weights(), first, second, begin, wanted)

    def known(self, u: NDArray[Any], *, threads: int | None = None) -> Known:
        """Rows of u behind the first layer, which `scores`, `best` and `maxima` take in place of u.

        For those who ask often with few vectors; it has `hidden` numbers for every row.
        """
        return scoring.known(self._weights(), self._array(u, "u"), threads or native.threads())

    def sides(self, u: Tensor, v: Tensor) -> Sides:
        """The first layer of u and of v; where both orders count, those of the other order beside them, by half."""
        of_u, of_v = torch.split(self.first.weight, self.n_features, 1)
        first, second, weight = F.linear(u, of_u), F.linear(v, of_v, self.first.bias), self.last.weight[0]
        if not self.symmetrize:
            return Sides(first, second, weight)
        first = torch.cat([first, F.linear(u, of_v, self.first.bias)], -1)
        second = torch.cat([second, F.linear(v, of_u)], -1)
        return Sides(first, second, torch.cat([weight, weight]) / 2)

    def _joined(self, hidden: Tensor, weight: Tensor) -> Tensor:
        found: Tensor = self.dropout(F.leaky_relu(hidden, self.slope)) @ weight + self.last.bias[0]
        return found

    def _weights(self) -> Weights:
        of_u, of_v = torch.split(self.first.weight.detach().cpu(), self.n_features, 1)
        bias, last = self.first.bias.detach().cpu(), self.last.weight[0].detach().cpu()
        biases = torch.zeros_like(bias), bias
        if self.symmetrize:  # the other order beside it, by half
            of_u, of_v = torch.cat([of_u, of_v]), torch.cat([of_v, of_u])
            biases, last = (torch.cat(biases), torch.cat(biases[::-1])), torch.cat([last, last]) / 2
        sides = of_u.T.contiguous(), of_v.T.contiguous()
        return Weights(sides, biases, last, self.slope, float(self.last.bias.detach()))

    def _arrays(
        self, u: NDArray[Any] | Known, v: NDArray[Any], threads: int
    ) -> tuple[NDArray[Any] | Known, NDArray[Any]]:
        """Both sides in one dtype; of a first side that is small, what was computed when it came before."""
        second = self._array(v, "v")
        if isinstance(u, Known):
            return u, second.astype(u.hidden.dtype, copy=False)
        first = self._array(u, "u")
        dtype = np.float64 if first.dtype == second.dtype == np.float64 else np.float32
        first = first.astype(dtype, copy=False)
        if len(first) * self.first.out_features > _REMEMBERED:
            return first, second.astype(dtype, copy=False)
        return self._remembered(first, threads), second.astype(dtype, copy=False)

    def _remembered(self, u: NDArray[Any], threads: int) -> Known:
        """The first layer of the last u that was asked with, as long as neither u nor a weight is another."""
        weights = [self.first.weight.detach(), self.first.bias.detach()]
        last = _last.get(self)
        # the numbers themselves are compared: torch counts no change that goes through `.data`
        fresh = last is None or last[0].dtype != u.dtype or not np.array_equal(last[0], u)
        if last is None or fresh or not all(map(torch.equal, last[1], weights)):
            last = _last[self] = u.copy(), [weight.clone() for weight in weights], self.known(u, threads=threads)
        return last[2]

    def _array(self, side: Any, name: str) -> NDArray[Any]:
        found = plain_array(side, name)
        if found.ndim != 2 or found.shape[1] != self.n_features:
            raise ValueError(
                f"{name} has shape {found.shape}: expected (item, {self.n_features}), the features that this "
                "Similarity was made for"
            )
        return found.astype(np.float64 if found.dtype == np.float64 else np.float32, copy=False)

    def _checked(self, side: Tensor, name: str) -> Tensor:
        if not isinstance(side, Tensor) or not side.is_floating_point():
            what = plain(side.dtype) if isinstance(side, Tensor) else f"a {type(side).__name__}"
            raise TypeError(f"{name} is {what}: expected a tensor of floating point numbers (…, feature)")
        if not side.ndim or side.shape[-1] != self.n_features:
            raise ValueError(
                f"{name} has shape {tuple(side.shape)}: expected (…, {self.n_features}), the features that this "
                "Similarity was made for"
            )
        return like_weights(self, side, name)
