"""Random walks to measure on: about 1 large however long they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def walks(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    """(..., time, channel)."""
    walk: np.ndarray[Any, Any] = rng.standard_normal(shape).cumsum(-2) / np.sqrt(shape[-2])
    return walk


def float_walks(seed: int, *shape: int) -> Tensor:
    """The same in float32, for networks."""
    return torch.tensor(walks(np.random.default_rng(seed), *shape), dtype=torch.float32)
