"""`FrozenNetwork`: the weights of a saved `PrototypeNetwork` that has no encoder of its own, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encode.base import normalize_vectors
from .cosine import CosineScorer
from .options import DenseHead

MARGIN_SCALE = 30.0  # s of the additive-margin softmax, s cos(w_k, z)


def dense_head_scores(
    vectors: NDArray[np.float64], weight: NDArray[Any], bias: NDArray[Any] | None
) -> NDArray[np.float64]:
    """⟨w_k, z⟩ + b_k of vectors z (item, feature), (item, class); without a bias 30 cos(w_k, z), the margin head.

    >>> dense_head_scores(np.array([[3.0, 4.0]]), np.eye(2), None).tolist()
    [[18.0, 24.0]]
    """
    rows = weight.astype(np.float64)
    if bias is None:
        vectors, rows = normalize_vectors(vectors), normalize_vectors(rows)
    # a product for every pair, not of matrices: its rounding is independent of the other items in the batch
    products = np.vecdot(vectors[:, None], rows)
    return np.asarray(MARGIN_SCALE * products if bias is None else products + bias.astype(np.float64))


class FrozenNetwork:
    """A cosine similarity and a dense head that answer without torch, with the numbers of `PrototypeNetwork`.

    The encoder of such a model, a `Rocket` for example, has no weights here. A learned similarity is a network and
    needs torch.
    """

    def __init__(self, weights: Mapping[str, NDArray[Any]], dense: DenseHead | None) -> None:
        self.weights, self._head = dict(weights), dense
        self.similarity = CosineScorer.from_weights(weights["similarity.log_scale"], weights["similarity.bias"])

    @classmethod
    def from_weights(cls, weights: Any, n_features: int, n_classes: int, *, dense: DenseHead | None) -> FrozenNetwork:
        """A network with exactly these weights; an error names the first that is missing or has another shape."""
        if not isinstance(weights, dict):
            raise ValueError(f"network_ is a {type(weights).__name__}: expected an array for every weight")
        expected = cls._shapes(n_features, n_classes, dense)
        for name in sorted(expected.keys() ^ weights.keys()):
            raise ValueError(f"network_.{name} is {'missing' if name in expected else 'no weight of this network'}")
        for name, (shape, dtype) in expected.items():
            array = weights[name]
            if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
                got = f"shape {np.shape(array)} and dtype {getattr(array, 'dtype', type(array).__name__)}"
                raise ValueError(f"network_.{name} has {got}: expected {shape} and {dtype}")
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ValueError(f"network_.{name} holds {array[~np.isfinite(array)][0]}: expected finite numbers")
        return cls(weights, dense)

    @staticmethod
    def _shapes(n_features: int, n_classes: int, dense: DenseHead | None) -> dict[str, tuple[tuple[int, ...], str]]:
        shapes: dict[str, tuple[tuple[int, ...], str]] = {
            "averages": ((n_classes, n_features), "float32"),
            "seen_classes": ((n_classes,), "bool"),
            "similarity.log_scale": ((), "float32"),
            "similarity.bias": ((), "float32"),
        }
        if dense is not None:
            shapes["dense.weight"] = ((n_classes, n_features), "float32")
        if dense == "plain":
            shapes["dense.bias"] = ((n_classes,), "float32")
        return shapes

    @property
    def dense(self) -> DenseHead | None:
        """The kind of the dense head; None if there is none."""
        return self._head

    def dense_scores(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of the dense head, (item, class)."""
        return dense_head_scores(vectors, self.weights["dense.weight"], self.weights.get("dense.bias"))
