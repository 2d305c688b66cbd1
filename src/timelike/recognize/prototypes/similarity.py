"""Similarity: a perceptron of two vectors, whose first layer is computed once per vector and not once per pair."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ...sequences.arguments import flag, real, whole
from ...sequences.padding import plain

_AT_ONCE = 1 << 24  # numbers between the layers of a block of pairs, without gradients


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
        self._refuse(u, "u")
        self._refuse(v, "v")
        sides = self.sides(u, v)
        return self._joined(sides.first + sides.second, sides.weight)

    def matrix(self, u: Tensor, v: Tensor) -> Tensor:
        """S of every row of u (n, feature) and every row of v (m, feature), (n, m), with gradients."""
        for side, name in ((u, "u"), (v, "v")):
            self._refuse(side, name)
            if side.ndim != 2:
                raise ValueError(f"{name} has shape {tuple(side.shape)}: expected (item, feature)")
        sides = self.sides(u, v)
        return self._joined(sides.first[:, None] + sides.second, sides.weight)

    def scores(self, u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        """S of every row of u and every row of v as arrays, (n, m), without dropout and without gradients.

        Computed in the dtype of u and v.
        """
        first, second = np.asarray(u), np.asarray(v)
        with torch.no_grad():
            dtype = torch.float64 if np.result_type(first, second) == np.float64 else torch.float32
            sides = Sides(*(side.to(dtype) for side in self.sides(*(self._tensor(x) for x in (first, second)))))
            out = torch.empty(len(first), len(second), dtype=dtype)
            rows = max(1, _AT_ONCE // max(1, sides.second.numel()))
            for begin in range(0, len(first), rows):
                hidden = sides.first[begin : begin + rows, None] + sides.second
                out[begin : begin + rows] = F.leaky_relu(hidden, self.slope) @ sides.weight + self.last.bias.to(dtype)
        return out.numpy()

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
        found: Tensor = self.dropout(F.leaky_relu(hidden, self.slope)) @ weight + self.last.bias
        return found

    def _tensor(self, side: NDArray[Any]) -> Tensor:
        return torch.as_tensor(side, dtype=self.first.weight.dtype, device=self.first.weight.device)

    def _refuse(self, side: Tensor, name: str) -> None:
        if not isinstance(side, Tensor) or not side.is_floating_point():
            what = plain(side.dtype) if isinstance(side, Tensor) else f"a {type(side).__name__}"
            raise TypeError(f"{name} is {what}: expected a tensor of floating point numbers (…, feature)")
        if not side.ndim or side.shape[-1] != self.n_features:
            raise ValueError(
                f"{name} has shape {tuple(side.shape)}: expected (…, {self.n_features}), the features that this "
                "Similarity was made for"
            )
