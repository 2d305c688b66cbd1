"""Padded pairs of sequences for torch modules: shapes and lengths checked, zeros put into the padding."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_HALF = (torch.float16, torch.bfloat16)


class Padded(NamedTuple):
    """One side of pairs: sequences (item, time, channel), zeros past the end of each, and their lengths (item,)."""

    values: Tensor
    lengths: NDArray[np.int64]


class PaddedPairs(NamedTuple):
    """Pairs of sequences (item, time, channel) with zeros for padding, and their lengths (item,) in main memory."""

    x: Tensor
    y: Tensor
    x_lengths: Tensor
    y_lengths: Tensor


def padded_pairs(x: Any, y: Any, x_lengths: Any = None, y_lengths: Any = None) -> PaddedPairs:
    """Both sides, checked; padding may hold anything, even inf and nan, and takes no part in values or gradients."""
    refuse_shape(x, "x")
    refuse_shape(y, "y")
    refuse_unlike(x, y)
    lengths = checked_lengths(x_lengths, x, "x"), checked_lengths(y_lengths, y, "y")
    sides = cleared(x, lengths[0], "x"), cleared(y, lengths[1], "y")
    return PaddedPairs(*sides, *lengths)


def padded_sides(x: Any, y: Any, x_lengths: Any, y_lengths: Any) -> tuple[Padded, Padded]:
    """Both sides, checked, for modules that go on with one at a time; half precision becomes float32."""
    pairs = padded_pairs(x, y, x_lengths, y_lengths)
    first, second = (side.float() if side.dtype in _HALF else side for side in (pairs.x, pairs.y))
    return Padded(first, pairs.x_lengths.numpy()), Padded(second, pairs.y_lengths.numpy())


def valid_steps(side: Padded) -> Tensor:
    """Which steps (item, time) are no padding."""
    return valid(torch.from_numpy(side.lengths), side.values.shape[1]).to(side.values.device)


def refuse_shape(side: Any, name: str) -> None:
    """An error unless it is a floating tensor (item, time, channel)."""
    if not isinstance(side, Tensor):
        raise TypeError(
            f"{name} is a {type(side).__name__}: expected a torch tensor; torch.as_tensor({name}) makes one"
        )
    if side.ndim != 3 or 0 in side.shape[1:]:
        raise ValueError(
            f"{name} has shape {tuple(side.shape)}: expected (item, time, channel) with steps and channels; "
            f"{name}[None] adds an item and {name}[..., None] a channel"
        )
    if not side.is_floating_point():
        raise TypeError(f"{name} is {_plain(side.dtype)}: expected floating point numbers; {name}.float() makes them")


def refuse_unlike(x: Tensor, y: Tensor) -> None:
    """An error unless both have the same items, channels, dtype and device."""
    for what, one, two, way in (
        ("items", x.shape[0], y.shape[0], "expand() the one that is to be compared with all"),
        ("channels", x.shape[2], y.shape[2], "the last axis is the channels"),
        ("dtype", _plain(x.dtype), _plain(y.dtype), "y.to(x.dtype) makes them alike"),
        ("device", x.device, y.device, "y.to(x.device) brings them together"),
    ):
        if one != two:
            raise ValueError(f"x and y differ in {what}, {one} and {two}: expected the same; {way}")


def checked_lengths(lengths: Any, side: Tensor, name: str) -> Tensor:
    """Lengths (item,), all of the padded length where none are given."""
    n_items, longest = side.shape[:2]
    if longest < 1:
        raise ValueError(f"{name} has shape {tuple(side.shape)}: expected (item, time, channel) with steps")
    if lengths is None:
        return torch.full((n_items,), longest)
    given = torch.as_tensor(lengths).detach().cpu()
    if given.is_floating_point() or given.is_complex() or given.dtype == torch.bool or given.shape != (n_items,):
        raise ValueError(
            f"{name}_lengths is {_plain(given.dtype)} of shape {tuple(given.shape)}: expected {n_items} integers, "
            "one for every item"
        )
    wrong = torch.nonzero((given < 1) | (given > longest))
    if len(wrong):
        at = int(wrong[0])
        raise ValueError(f"{name}_lengths[{at}] is {int(given[at])}: expected 1 to {longest}, the time axis of {name}")
    return given.long()


def cleared(side: Tensor, lengths: Tensor, name: str) -> Tensor:
    """The same with zeros for padding; an error if what is not padding holds inf or nan."""
    clean = side
    if bool((lengths < side.shape[1]).any()):
        inside = valid(lengths, side.shape[1]).to(side.device)
        clean = torch.where(inside[..., None], side, 0.0)  # padding may be nan, and 0 · nan is nan
    if not finite(clean):
        item, time, channel = torch.nonzero(~torch.isfinite(clean.detach()))[0].tolist()
        raise ValueError(
            f"{name}[{item}, {time}, {channel}] is {float(side[item, time, channel].detach())}: expected finite "
            f"numbers up to each length; give {name}_lengths if this is padding, or interpolate()"
        )
    return clean


def finite(values: Tensor) -> bool:
    """Whether no number is nan or inf."""
    if values.device.type != "cpu" or values.dtype == torch.bfloat16:
        return bool(torch.isfinite(values).all())
    # not by torch: its threads stay awake for a while after an operation, and take the processors from the kernels
    array = values.detach().numpy()
    return array.size == 0 or bool(np.isfinite(array.max()) and np.isfinite(array.min()))


def valid(lengths: Tensor, longest: int) -> Tensor:
    """Where there are steps and not padding, (item, time)."""
    return torch.arange(longest) < lengths[:, None]


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
