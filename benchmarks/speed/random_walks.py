"""Random walks to measure on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor


def walks(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    """(..., time, channel), about 1 large however long they are."""
    walk: np.ndarray[Any, Any] = rng.standard_normal(shape).cumsum(-2) / np.sqrt(shape[-2])
    return walk


def float_walks(seed: int, *shape: int) -> Tensor:
    """The same in float32, for networks."""
    import torch

    return torch.tensor(walks(np.random.default_rng(seed), *shape), dtype=torch.float32)


def normalized_walks(n: int, length: int, seed: int) -> NDArray[np.float64]:
    """(item, time), each of mean 0 and deviation 1."""
    walk = np.cumsum(np.random.default_rng(seed).standard_normal((n, length)), axis=1)
    return np.asarray((walk - walk.mean(1, keepdims=True)) / walk.std(1, keepdims=True))
