"""Similarity of two vectors: `Similarity`, a perceptron of both; `CosineSimilarity`; and `FusedSimilarity`, their mean.

With gradients they compute tensors, without gradients arrays: `scores`, `top_k` and `group_maxima`, block by block. The
first layer of the perceptron is computed once per vector, and a compiled kernel does the rest of every pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
from ..encode.base import normalize_vectors
from ..encode.causal.network import is_batch_invariant
from ..native import similarity as native_similarity
from ..native.causal import batch_invariant
from ..train.torch_threads import torch_threads
from .cosine import INITIAL_SCALE, CosineScorer, cosine_matrix, fit_logistic
from .vector_search import BlockwiseSearch, group_starts_in_rows, merge_group_maxima, merge_top_k

Array = NDArray[Any]
Ids = NDArray[np.int64]

_MAX_SIDE_UNITS = 1 << 21  # hidden units of a block of vectors: 4 096 vectors of 512 units, some 25 MB
_N_PAIRS = 4096  # for fitting scale and offset
_MAX_HIDDEN_UNITS = 1 << 25  # hidden units of pairs with gradients in memory at a time: 128 MB, a few times
_MAX_CACHED_UNITS = 1 << 22  # hidden units of prototypes that are cached between calls: 16 MB

_first_side_cache: WeakKeyDictionary[Similarity, tuple[NDArray[Any], list[Tensor], PrecomputedSide]] = (
    WeakKeyDictionary()
)


@dataclass(frozen=True, eq=False)
class PrecomputedSide:
    """First-layer activations of the vectors of the first side, for repeated comparisons with the same vectors."""

    hidden: Array
    """(item, hidden)"""

    def __len__(self) -> int:
        return len(self.hidden)


class SimilarityWeights(NamedTuple):
    """The weights of a `Similarity` on the CPU."""

    sides: tuple[Tensor, Tensor]
    """(feature, hidden) of each side."""
    biases: tuple[Tensor, Tensor]
    """(hidden,) of each side; that of W stands on one of them."""
    last: Tensor
    """(hidden,)"""
    slope: float
    constant: float

    def second_layer(self, dtype: Any) -> native_similarity.OutputLayer:
        """The layer that is applied to the sum of both sides."""
        return native_similarity.OutputLayer(self.last.numpy().astype(dtype), self.slope, self.constant)


class SideActivations(NamedTuple):
    """First-layer activations of both sides, and the weights of the second layer, applied to their sums."""

    first: Tensor
    """Of u, (…, hidden)."""
    second: Tensor
    """Of v, (…, hidden), the bias included."""
    weight: Tensor
    """(hidden,)"""


class Similarity(nn.Module):
    """The similarity of two vectors, S(u, v) = w·φ(W[u; v] + b) + c, with φ the leaky ReLU; σ(S) ≥ ½ is "the same".

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
        Fraction of the hidden units that is dropped in training.
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
        self, n_features: int, *, hidden: int = 512, dropout: float = 0.25, slope: float = 0.1, symmetrize: bool = False
    ) -> None:
        super().__init__()
        self.n_features = check_int(n_features, "n_features", 1)
        self.slope = check_float(slope, "slope", 0, 1)
        self.symmetrize = check_bool(symmetrize, "symmetrize")
        rate = check_float(dropout, "dropout", 0)
        if rate >= 1:
            raise ValueError(f"dropout={dropout}: expected a fraction of at least 0 and below 1")
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
        n_threads = threads or native.thread_count()
        return pair_scores(self._weights(), *self._validate_arrays(u, v, n_threads), n_threads)

    def top_k(
        self, u: NDArray[Any] | PrecomputedSide, v: NDArray[Any], k: int = 1, *, threads: int | None = None
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """For every row of v the k rows of u that are most similar: their S and their row numbers, each (m, k).

        The most similar comes first, and of equals the earlier row. Memory does not grow with n × m.
        """
        n_threads = threads or native.thread_count()
        first, second = self._validate_arrays(u, v, n_threads)
        if not 1 <= check_int(k, "k") <= len(first):
            raise ValueError(f"k={k}: expected at least 1 and at most {len(first)}, the rows of u")
        return top_k_scores(self._weights(), first, second, k, n_threads)

    def group_maxima(
        self,
        u: NDArray[Any] | PrecomputedSide,
        v: NDArray[Any],
        starts: NDArray[np.int64],
        *,
        threads: int | None = None,
    ) -> NDArray[Any]:
        """For every row of v the largest S in every group of rows of u, (m, group); group g begins at starts[g]."""
        n_threads = threads or native.thread_count()
        first, second = self._validate_arrays(u, v, n_threads)
        begin = validate_array(starts, "starts")
        if begin.ndim != 1 or begin.dtype.kind not in "iu":
            raise TypeError(f"starts has dtype {begin.dtype} and shape {begin.shape}: expected whole numbers (group,)")
        begin = begin.astype(np.int64)
        if not len(begin) or begin[0] != 0 or (np.diff(begin, append=len(first)) <= 0).any():
            raise ValueError(
                f"starts={begin.tolist()[:5]}: expected numbers that rise from 0 and are below {len(first)}"
            )
        return group_max_scores(self._weights(), first, second, begin, n_threads)

    def precompute(self, u: NDArray[Any], *, threads: int | None = None) -> PrecomputedSide:
        """The first-layer activations of u, which `scores`, `top_k` and `group_maxima` take in place of u.

        For many calls with few vectors; it has `hidden` numbers per row.
        """
        return precompute_side(self._weights(), self._validate_array(u, "u"), threads or native.thread_count())

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
        scores: Tensor = self.dropout(F.leaky_relu(hidden, self.slope)) @ weight + self.last.bias[0]
        return scores

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
        array = validate_array(side, name)
        if array.ndim != 2 or array.shape[1] != self.n_features:
            raise ValueError(
                f"{name} has shape {array.shape}: expected (item, {self.n_features}), the number of features of "
                "this Similarity"
            )
        return array.astype(np.float64 if array.dtype == np.float64 else np.float32, copy=False)

    def _validate_tensor(self, side: Tensor, name: str) -> Tensor:
        if not isinstance(side, Tensor) or not side.is_floating_point():
            what = dtype_name(side.dtype) if isinstance(side, Tensor) else f"a {type(side).__name__}"
            raise TypeError(f"{name} is {what}: expected a tensor of floating point numbers (…, feature)")
        if not side.ndim or side.shape[-1] != self.n_features:
            raise ValueError(
                f"{name} has shape {tuple(side.shape)}: expected (…, {self.n_features}), the number of features of "
                "this Similarity"
            )
        return match_weights(self, side, name)


class CosineSimilarity(BlockwiseSearch, nn.Module):
    """S(u, v) = s cos(u, v) + b, with s > 0 and b learned: the ablation of the paper.

    >>> CosineSimilarity()(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])).item()
    -5.0
    """

    def __init__(self) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(INITIAL_SCALE).log())
        self.bias = nn.Parameter(torch.tensor(-INITIAL_SCALE / 2))

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        """Of vectors (…, feature) and (…, feature), (…)."""
        cosines: Tensor = (F.normalize(u, dim=-1) * F.normalize(v, dim=-1)).sum(-1)
        return self._scale_cosines(cosines)

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """Of every row of u and every row of v, (n, m)."""
        return self._scale_cosines(F.normalize(u, dim=-1) @ F.normalize(v, dim=-1).T)

    def scores(self, u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """The same of arrays, without gradients: in double precision, then rounded to that of u and v."""
        log_scale, bias = (weight.detach().cpu().numpy() for weight in (self.log_scale, self.bias))
        return CosineScorer.from_weights(log_scale, bias).scores(u, v)

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
        cosines = (unit[pairs[:, 0]] * unit[pairs[:, 1]]).sum(axis=1)
        scale, bias = fit_logistic(cosines, np.arange(len(pairs)) < len(own))
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
    clipped_cosine = cosine.clamp(-1, 1)
    for_it, against = (torch.sigmoid(sign * learned) + (1 + sign * clipped_cosine) / 2 for sign in (1, -1))
    return for_it.clamp(min=tiny).log() - against.clamp(min=tiny).log()


def precompute_side(weights: SimilarityWeights, u: Array, threads: int) -> PrecomputedSide:
    """The first-layer activations of the first side, in the dtype of u."""
    return PrecomputedSide(_first_layer(u, weights.sides[0], weights.biases[0], threads))


def pair_scores(weights: SimilarityWeights, u: Array | PrecomputedSide, v: Array, threads: int) -> Array:
    """S of every row of u and of v, (u, v)."""
    out = np.empty((len(u), len(v)), v.dtype)
    for columns, right in _hidden_blocks(weights, v, 1, threads):
        for rows, left in _hidden_blocks(weights, u, 0, threads):
            out[rows, columns] = native_similarity.scores(left, right, weights.second_layer(v.dtype), threads=threads)
    return out


def top_k_scores(
    weights: SimilarityWeights, u: Array | PrecomputedSide, v: Array, k: int, threads: int
) -> tuple[Array, Ids]:
    """For every row of v the k largest S and the rows of u that have them, each (v, k)."""
    values, ids = np.empty((len(v), k), v.dtype), np.empty((len(v), k), np.int64)
    layer = weights.second_layer(v.dtype)
    for columns, right in _hidden_blocks(weights, v, 1, threads):
        blocks = (
            (rows, *native_similarity.best_scores(left, right, layer, min(k, len(left)), threads=threads))
            for rows, left in _hidden_blocks(weights, u, 0, threads)
        )
        values[columns], ids[columns] = merge_top_k(blocks, k)
    return values, ids


def group_max_scores(
    weights: SimilarityWeights, u: Array | PrecomputedSide, v: Array, starts: Ids, threads: int
) -> Array:
    """For every row of v the largest S in every group of rows of u, which begin at `starts`, (v, group)."""
    out = np.empty((len(v), len(starts)), v.dtype)
    layer = weights.second_layer(v.dtype)
    for columns, right in _hidden_blocks(weights, v, 1, threads):
        blocks = (
            (
                rows,
                native_similarity.group_maxima(left, right, layer, group_starts_in_rows(starts, rows), threads=threads),
            )
            for rows, left in _hidden_blocks(weights, u, 0, threads)
        )
        out[columns] = merge_group_maxima(blocks, starts)
    return out


def _hidden_blocks(
    weights: SimilarityWeights, side: Array | PrecomputedSide, which: int, threads: int
) -> Iterator[tuple[slice, Array]]:
    """First-layer activations of a side, in blocks that bound memory."""
    if isinstance(side, PrecomputedSide):
        yield slice(0, len(side)), side.hidden
        return
    at_once = max(1, _MAX_SIDE_UNITS // len(weights.last))
    for begin in range(0, len(side), at_once):
        rows = slice(begin, min(begin + at_once, len(side)))
        yield rows, _first_layer(side[rows], weights.sides[which], weights.biases[which], threads)


def _first_layer(side: Array, weight: Tensor, bias: Tensor, threads: int) -> Array:
    """The first layer of one side; the rounding of a row is independent of the batch."""
    n_features, n_hidden = weight.shape
    exact = side.dtype == np.float64 or not is_batch_invariant(n_features, n_hidden, threads)
    dtype = torch.float64 if exact else torch.float32
    with torch.no_grad(), torch_threads(threads):
        hidden = batch_invariant.matmul_with_bias(torch.tensor(side, dtype=dtype), weight.to(dtype), bias.to(dtype))
    return np.ascontiguousarray(hidden.numpy().astype(side.dtype, copy=False))
