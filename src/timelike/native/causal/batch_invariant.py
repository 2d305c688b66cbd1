"""Matrix products whose rows do not depend on the other rows, bit for bit."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

# for every thread this many rows at least, and a multiple of this many columns: see `matmul_with_bias`
_ROWS, _COLUMNS = 64, 8


def matmul_with_bias(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """b + x W for rows x (row, input) and W (input, output); the bits of a row do not depend on the other rows.

    Libraries use special kernels for few rows and for odd numbers of columns, which round differently, so zeros are
    added until there are enough of both. `is_batch_invariant` checks that this is enough.
    """
    n_rows, n_columns = len(x), len(bias)
    lacking, odd = _ROWS * torch.get_num_threads() - n_rows, -n_columns % _COLUMNS
    if lacking > 0:
        x = F.pad(x, (0, 0, 0, lacking))
    if odd:
        weight, bias = F.pad(weight, (0, odd)), F.pad(bias, (0, odd))
    return torch.addmm(bias, x, weight)[:n_rows, :n_columns]


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """b + x Wᵀ of x (…, input) and W (output, input), as a linear layer has it."""
    rows = matmul_with_bias(x.reshape(-1, x.shape[-1]), weight.T, bias)
    return rows.reshape(*x.shape[:-1], len(bias))
