"""Similarities of arrays without gradients: the first layer block by block, then a compiled kernel for the pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..encode.causal.network import is_batch_invariant
from ..native import similarity as native
from ..native.causal import batch_invariant
from ..train.torch_threads import torch_threads
from . import blockwise_search

Array = NDArray[Any]
Ids = NDArray[np.int64]

MAX_HIDDEN_UNITS = 1 << 21  # hidden units of a block of vectors: at 512 of them 4 096 vectors, some 25 MB


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

    def second_layer(self, dtype: Any) -> native.OutputLayer:
        """The layer that is applied to the sum of both sides."""
        return native.OutputLayer(self.last.numpy().astype(dtype), self.slope, self.constant)


def precompute_side(weights: SimilarityWeights, u: Array, threads: int) -> PrecomputedSide:
    """The first-layer activations of the first side, in the dtype of u."""
    return PrecomputedSide(_first_layer(u, weights.sides[0], weights.biases[0], threads))


def pair_scores(weights: SimilarityWeights, u: Array | PrecomputedSide, v: Array, threads: int) -> Array:
    """S of every row of u and of v, (u, v)."""
    out = np.empty((len(u), len(v)), v.dtype)
    for columns, right in _hidden_blocks(weights, v, 1, threads):
        for rows, left in _hidden_blocks(weights, u, 0, threads):
            out[rows, columns] = native.scores(left, right, weights.second_layer(v.dtype), threads=threads)
    return out


def top_k_scores(
    weights: SimilarityWeights, u: Array | PrecomputedSide, v: Array, k: int, threads: int
) -> tuple[Array, Ids]:
    """For every row of v the k largest S and the rows of u that have them, each (v, k)."""
    values, ids = np.empty((len(v), k), v.dtype), np.empty((len(v), k), np.int64)
    layer = weights.second_layer(v.dtype)
    for columns, right in _hidden_blocks(weights, v, 1, threads):
        found = (
            (rows, *native.best_scores(left, right, layer, min(k, len(left)), threads=threads))
            for rows, left in _hidden_blocks(weights, u, 0, threads)
        )
        values[columns], ids[columns] = blockwise_search.merge_top_k(found, k)
    return values, ids


def group_maxima(weights: SimilarityWeights, u: Array | PrecomputedSide, v: Array, starts: Ids, threads: int) -> Array:
    """For every row of v the largest S in every group of rows of u, which begin at `starts`, (v, group)."""
    out = np.empty((len(v), len(starts)), v.dtype)
    layer = weights.second_layer(v.dtype)
    for columns, right in _hidden_blocks(weights, v, 1, threads):
        found = (
            (
                rows,
                native.group_maxima(
                    left, right, layer, blockwise_search.group_starts_in_rows(starts, rows), threads=threads
                ),
            )
            for rows, left in _hidden_blocks(weights, u, 0, threads)
        )
        out[columns] = blockwise_search.merge_group_maxima(found, starts)
    return out


def _hidden_blocks(
    weights: SimilarityWeights, side: Array | PrecomputedSide, which: int, threads: int
) -> Iterator[tuple[slice, Array]]:
    """First-layer activations of a side, in blocks that bound memory."""
    if isinstance(side, PrecomputedSide):
        yield slice(0, len(side)), side.hidden
        return
    at_once = max(1, MAX_HIDDEN_UNITS // len(weights.last))
    for begin in range(0, len(side), at_once):
        rows = slice(begin, min(begin + at_once, len(side)))
        yield rows, _first_layer(side[rows], weights.sides[which], weights.biases[which], threads)


def _first_layer(side: Array, weight: Tensor, bias: Tensor, threads: int) -> Array:
    """The first layer of one side; the rounding of a row is independent of the batch."""
    n_features, n_hidden = weight.shape
    exact = side.dtype == np.float64 or not is_batch_invariant(n_features, n_hidden, threads)
    dtype = torch.float64 if exact else torch.float32
    with torch.no_grad(), torch_threads(threads):
        found = batch_invariant.matmul_with_bias(torch.tensor(side, dtype=dtype), weight.to(dtype), bias.to(dtype))
    return np.ascontiguousarray(found.numpy().astype(side.dtype, copy=False))
