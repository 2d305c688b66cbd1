"""Padded pairs of sequences for torch modules: checks of shapes and lengths, and zeros in the padding."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...core.validation.tensors import (
    check_padded_tensor,
    refuse_meta_device,
    refuse_mismatch,
    valid_mask,
    validate_lengths,
)

_HALF_DTYPES = (torch.float16, torch.bfloat16)


class PaddedSide(NamedTuple):
    """One side of pairs: sequences (item, time, channel), zeros past the end of each, and their lengths (item,)."""

    values: Tensor
    lengths: NDArray[np.int64]


class PaddedPairs(NamedTuple):
    """Pairs of sequences (item, time, channel) with zeros for padding, and their lengths (item,) in main memory."""

    x: Tensor
    y: Tensor
    x_lengths: Tensor
    y_lengths: Tensor


def validate_pairs(x: Any, y: Any, x_lengths: Any = None, y_lengths: Any = None) -> PaddedPairs:
    """Both sides, checked; padding may hold any value, even inf and nan, and affects neither values nor gradients."""
    for side, name in ((x, "x"), (y, "y")):
        check_padded_tensor(side, name)
    refuse_mismatch(x, y)
    refuse_meta_device(x, "x", "give it on a device that computes")
    lengths = validate_lengths(x_lengths, x.shape, "x_lengths"), validate_lengths(y_lengths, y.shape, "y_lengths")
    sides = zero_padding(x, lengths[0], "x"), zero_padding(y, lengths[1], "y")
    return PaddedPairs(*sides, *lengths)


def validate_sides(x: Any, y: Any, x_lengths: Any, y_lengths: Any) -> tuple[PaddedSide, PaddedSide]:
    """Both sides, checked, for modules that go on with one at a time; half precision becomes float32."""
    pairs = validate_pairs(x, y, x_lengths, y_lengths)
    first, second = (side.float() if side.dtype in _HALF_DTYPES else side for side in (pairs.x, pairs.y))
    return PaddedSide(first, pairs.x_lengths.numpy()), PaddedSide(second, pairs.y_lengths.numpy())


def valid_step_mask(side: PaddedSide) -> Tensor:
    """Mask (item, time) of the steps that are not padding."""
    return valid_mask(torch.from_numpy(side.lengths), side.values.shape[1], side.values.device)


def zero_padding(side: Tensor, lengths: Tensor, name: str) -> Tensor:
    """The same with zeros in the padding; raises an error if other steps hold inf or nan."""
    clean = side
    if bool((lengths < side.shape[1]).any()):
        inside = valid_mask(lengths, side.shape[1], side.device)
        clean = torch.where(inside[..., None], side, 0.0)  # padding may be nan, and 0 · nan is nan
    if not is_finite(clean):
        item, time, channel = torch.nonzero(~torch.isfinite(clean.detach()))[0].tolist()
        raise ValueError(
            f"{name}[{item}, {time}, {channel}] is {float(side[item, time, channel].detach())}: expected finite "
            f"numbers up to each length; give {name}_lengths if this is padding, or interpolate()"
        )
    return clean


def is_finite(values: Tensor) -> bool:
    """Whether no number is nan or inf."""
    if values.device.type != "cpu" or values.dtype == torch.bfloat16:
        return bool(torch.isfinite(values).all())
    # not by torch: its threads stay awake for a while after an operation, and take the CPUs from the kernels
    array = values.detach().numpy()
    return array.size == 0 or bool(np.isfinite(array.max()) and np.isfinite(array.min()))
