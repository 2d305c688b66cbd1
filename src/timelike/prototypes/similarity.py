"""`Similarity`: a perceptron of two vectors, whose first layer is computed once per vector, not once per pair."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .. import native
from ..core.parameters import check_bool, check_float, check_int
from ..core.validation.arrays import validate_array
from ..core.validation.tensors import dtype_name, match_weights
from . import array_scores
from .array_scores import PrecomputedSide, SimilarityWeights

_MAX_HIDDEN_UNITS = 1 << 25  # hidden units of pairs with gradients in memory at a time: 128 MB, a few times
_MAX_CACHED_UNITS = 1 << 22  # hidden units of prototypes that are cached between calls: 16 MB

_first_side_cache: WeakKeyDictionary[Similarity, tuple[NDArray[Any], list[Tensor], PrecomputedSide]] = (
    WeakKeyDictionary()
)


class SideActivations(NamedTuple):
    """First-layer activations of both sides, and the weights of the second layer, applied to their sums."""

    first: Tensor
    """Of u, (…, hidden)."""
    second: Tensor
    """Of v, (…, hidden), the bias included."""
    weight: Tensor
    """(hidden,)"""


class Similarity(nn.Module):
    """How alike two vectors are, S(u, v) = w·φ(W[u; v] + b) + c, with φ the leaky ReLU; σ(S) ≥ ½ is "the same".

    W[u; v] = W₁u + W₂v, so the first layer is a product per vector, and only the activation is computed per pair.
    S(u, v) is not S(v, u), and S(u, u) is not the largest of all: it is a learned similarity, not a distance. In
    `Prototypes` u is the prototype.

    Parameters
    ----------
    n_features : int
        Length of a vector.
    hidden : int
        Units of the hidden layer.
    dropout : float
        Share of the hidden units that is dropped in training.
    slope : float
        Slope of φ below 0.
    symmetrize : bool
        Whether to use (S(u, v) + S(v, u)) / 2 in place of S(u, v).

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
        self.n_features = check_int(n_features, "n_features", 1)
        self.slope = check_float(slope, "slope", 0, 1)
        self.symmetrize = check_bool(symmetrize, "symmetrize")
        rate = check_float(dropout, "dropout", 0)
        if rate >= 1:
            raise ValueError(f"dropout={dropout}: expected a share of at least 0 and below 1")
        self.first = nn.Linear(2 * self.n_features, check_int(hidden, "hidden", 1))
        self.dropout = nn.Dropout(rate)
        self.last = nn.Linear(self.first.out_features, 1)

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        """S of vectors (…, feature) and (…, feature), whose leading axes are broadcast, (…)."""
        sides = self.side_activations(self._validate_tensor(u, "u"), self._validate_tensor(v, "v"))
        return self._second_layer(sides.first + sides.second, sides.weight)

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """S of every row of u (n, feature) and every row of v (m, feature), (n, m), with gradients.

        Very many pairs are computed in blocks of rows of u, which the backward pass computes again.
        """
        for side, name in ((u, "u"), (v, "v")):
            if self._validate_tensor(side, name).ndim != 2:
                raise ValueError(f"{name} has shape {tuple(side.shape)}: expected (item, feature)")
        first, second, weight = self.side_activations(self._validate_tensor(u, "u"), self._validate_tensor(v, "v"))
        rows = max(1, _MAX_HIDDEN_UNITS // max(1, second.numel()))
        if len(first) <= rows:
            return self._score_all_pairs(first, second, weight)
        blocks = torch.split(first, rows)
        if not torch.is_grad_enabled():
            return torch.cat([self._score_all_pairs(block, second, weight) for block in blocks])
        return torch.cat(
            [checkpoint(self._score_all_pairs, block, second, weight, use_reentrant=False) for block in blocks]
        )

    def _score_all_pairs(self, first: Tensor, second: Tensor, weight: Tensor) -> Tensor:
        return self._second_layer(first[:, None] + second, weight)

    def scores(self, u: NDArray[Any] | PrecomputedSide, v: NDArray[Any], *, threads: int | None = None) -> NDArray[Any]:
        """S of every row of u and every row of v as arrays, (n, m), without dropout and without gradients.

        In float64 where both are, otherwise in float32. The bits of a pair are independent of the batch.

        >>> import numpy as np
        >>> similarity = Similarity(3, hidden=8)
        >>> similarity.scores(np.zeros((2, 3)), np.ones((5, 3))).shape
        (2, 5)
        """
        wanted = threads or native.thread_count()
        return array_scores.pair_scores(self._weights(), *self._validate_arrays(u, v, wanted), wanted)

    def top_k(
        self, u: NDArray[Any] | PrecomputedSide, v: NDArray[Any], k: int = 1, *, threads: int | None = None
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """For every row of v the k rows of u that are most similar: their S and their row numbers, each (m, k).

        The most similar comes first, and of equals the earlier row. Memory does not grow with n × m.
        """
        wanted = threads or native.thread_count()
        first, second = self._validate_arrays(u, v, wanted)
        if not 1 <= check_int(k, "k") <= len(first):
            raise ValueError(f"k={k}: expected at least 1 and at most {len(first)}, the rows of u")
        return array_scores.top_k_scores(self._weights(), first, second, k, wanted)

    def group_maxima(
        self,
        u: NDArray[Any] | PrecomputedSide,
        v: NDArray[Any],
        starts: NDArray[np.int64],
        *,
        threads: int | None = None,
    ) -> NDArray[Any]:
        """For every row of v the largest S in every group of rows of u, (m, group); group g begins at starts[g]."""
        wanted = threads or native.thread_count()
        first, second = self._validate_arrays(u, v, wanted)
        begin = validate_array(starts, "starts")
        if begin.ndim != 1 or begin.dtype.kind not in "iu":
            raise TypeError(f"starts has dtype {begin.dtype} and shape {begin.shape}: expected whole numbers (group,)")
        begin = begin.astype(np.int64)
        if not len(begin) or begin[0] != 0 or (np.diff(begin, append=len(first)) <= 0).any():
            raise ValueError(
                f"starts={begin.tolist()[:5]}: expected numbers that rise from 0 and are below {len(first)}"
            )
        return array_scores.group_maxima(self._weights(), first, second, begin, wanted)

    def precompute(self, u: NDArray[Any], *, threads: int | None = None) -> PrecomputedSide:
        """The first-layer activations of u, which `scores`, `top_k` and `group_maxima` take in place of u.

        For many calls with few vectors; it has `hidden` numbers per row.
        """
        return array_scores.precompute_side(
            self._weights(), self._validate_array(u, "u"), threads or native.thread_count()
        )

    def side_activations(self, u: Tensor, v: Tensor) -> SideActivations:
        """The first layer of u and of v; with `symmetrize` both orders, each with half the weight."""
        of_u, of_v = torch.split(self.first.weight, self.n_features, 1)
        first, second, weight = F.linear(u, of_u), F.linear(v, of_v, self.first.bias), self.last.weight[0]
        if not self.symmetrize:
            return SideActivations(first, second, weight)
        first = torch.cat([first, F.linear(u, of_v, self.first.bias)], -1)
        second = torch.cat([second, F.linear(v, of_u)], -1)
        return SideActivations(first, second, torch.cat([weight, weight]) / 2)

    def _second_layer(self, hidden: Tensor, weight: Tensor) -> Tensor:
        found: Tensor = self.dropout(F.leaky_relu(hidden, self.slope)) @ weight + self.last.bias[0]
        return found

    def _weights(self) -> SimilarityWeights:
        of_u, of_v = torch.split(self.first.weight.detach().cpu(), self.n_features, 1)
        bias, last = self.first.bias.detach().cpu(), self.last.weight[0].detach().cpu()
        biases = torch.zeros_like(bias), bias
        if self.symmetrize:  # the other order is appended, with half the weight
            of_u, of_v = torch.cat([of_u, of_v]), torch.cat([of_v, of_u])
            biases, last = (torch.cat(biases), torch.cat(biases[::-1])), torch.cat([last, last]) / 2
        sides = of_u.T.contiguous(), of_v.T.contiguous()
        return SimilarityWeights(sides, biases, last, self.slope, float(self.last.bias.detach()))

    def _validate_arrays(
        self, u: NDArray[Any] | PrecomputedSide, v: NDArray[Any], threads: int
    ) -> tuple[NDArray[Any] | PrecomputedSide, NDArray[Any]]:
        """Both sides in one dtype; a small first side as cached activations."""
        second = self._validate_array(v, "v")
        if isinstance(u, PrecomputedSide):
            return u, second.astype(u.hidden.dtype, copy=False)
        first = self._validate_array(u, "u")
        dtype = np.float64 if first.dtype == second.dtype == np.float64 else np.float32
        first = first.astype(dtype, copy=False)
        if len(first) * self.first.out_features > _MAX_CACHED_UNITS:
            return first, second.astype(dtype, copy=False)
        return self._cached_side(first, threads), second.astype(dtype, copy=False)

    def _cached_side(self, u: NDArray[Any], threads: int) -> PrecomputedSide:
        """The first-layer activations of u, cached until u or a weight changes."""
        weights = [self.first.weight.detach(), self.first.bias.detach()]
        last = _first_side_cache.get(self)
        # values are compared, as torch does not count changes through `.data`
        fresh = last is None or last[0].dtype != u.dtype or not np.array_equal(last[0], u)
        if last is None or fresh or not all(map(torch.equal, last[1], weights)):
            last = _first_side_cache[self] = (
                u.copy(),
                [weight.clone() for weight in weights],
                self.precompute(u, threads=threads),
            )
        return last[2]

    def _validate_array(self, side: Any, name: str) -> NDArray[Any]:
        found = validate_array(side, name)
        if found.ndim != 2 or found.shape[1] != self.n_features:
            raise ValueError(
                f"{name} has shape {found.shape}: expected (item, {self.n_features}), the features that this "
                "Similarity was made for"
            )
        return found.astype(np.float64 if found.dtype == np.float64 else np.float32, copy=False)

    def _validate_tensor(self, side: Tensor, name: str) -> Tensor:
        if not isinstance(side, Tensor) or not side.is_floating_point():
            what = dtype_name(side.dtype) if isinstance(side, Tensor) else f"a {type(side).__name__}"
            raise TypeError(f"{name} is {what}: expected a tensor of floating point numbers (…, feature)")
        if not side.ndim or side.shape[-1] != self.n_features:
            raise ValueError(
                f"{name} has shape {tuple(side.shape)}: expected (…, {self.n_features}), the features that this "
                "Similarity was made for"
            )
        return match_weights(self, side, name)
