"""Two padded batches with their lengths, checked at the door of a module."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

_HALF = (torch.float16, torch.bfloat16)


class Padded(NamedTuple):
    """Sequences (item, time, channel), zeros past the end of each, and their lengths (item,)."""

    values: torch.Tensor
    lengths: NDArray[np.int64]


def padded_pair(x: Any, y: Any, x_lengths: Any, y_lengths: Any) -> tuple[Padded, Padded]:
    """Both sides, checked by themselves and against each other; half precision becomes float32."""
    for name, side in (("x", x), ("y", y)):
        _refuse_other_than_batch(name, side)
    if x.dtype != y.dtype:
        raise TypeError(f"x is {x.dtype} and y {y.dtype}: expected one dtype; use y.to(x.dtype)")
    if x.device != y.device:
        raise ValueError(f"x is on {x.device} and y on {y.device}: expected one device; use y.to(x.device)")
    if len(x) != len(y):
        raise ValueError(f"x has {len(x)} items and y {len(y)}: expected pairs, as many of one as of the other")
    if x.shape[2] != y.shape[2]:
        raise ValueError(
            f"x has {x.shape[2]} channels and y {y.shape[2]}: expected the same; a batch is (item, time, channel), so "
            "(item, channel, time) needs transpose(1, 2)"
        )
    return _padded("x", x, x_lengths), _padded("y", y, y_lengths)


def finite(values: torch.Tensor) -> bool:
    """Whether no number is nan or inf."""
    if values.device.type != "cpu":
        return bool(torch.isfinite(values).all())
    # not by torch: its threads stay awake for a while after an operation, and take the processors from the kernels
    array = values.detach().numpy()
    return array.size == 0 or bool(np.isfinite(array.max()) and np.isfinite(array.min()))


def valid_steps(side: Padded) -> torch.Tensor:
    """Which steps (item, time) are no padding."""
    steps = torch.arange(side.values.shape[1], device=side.values.device)
    return steps < torch.from_numpy(side.lengths).to(side.values.device)[:, None]


def _refuse_other_than_batch(name: str, side: Any) -> None:
    if not isinstance(side, torch.Tensor):
        raise TypeError(f"{name} is a {type(side).__name__}: expected a torch.Tensor; use torch.as_tensor")
    if not side.is_floating_point():
        raise TypeError(f"{name} is {side.dtype}: expected floating point numbers; use {name}.float()")
    if side.ndim != 3:
        raise ValueError(
            f"{name} has shape {tuple(side.shape)}: expected (item, time, channel); a single sequence is {name}[None], "
            f"a single channel {name}[..., None]"
        )
    if 0 in side.shape[1:]:
        raise ValueError(f"{name} has shape {tuple(side.shape)}: expected at least one time step and one channel")


def _padded(name: str, side: torch.Tensor, given: Any) -> Padded:
    side = side.float() if side.dtype in _HALF else side
    lengths = _lengths(f"{name}_lengths", given, len(side), side.shape[1])
    if (lengths < side.shape[1]).any():
        valid = valid_steps(Padded(side, lengths))
        side = torch.where(valid[:, :, None], side, 0.0)  # padding may be nan, and 0 · nan is nan
    if not finite(side):
        item, time = torch.argwhere(~torch.isfinite(side))[0, :2].tolist()
        raise ValueError(
            f"{name}[{item}] is {side[item, time].tolist()} at time {time}: expected finite numbers; if that is "
            f"padding, give {name}_lengths"
        )
    return Padded(side, lengths)


def _lengths(name: str, given: Any, items: int, time: int) -> NDArray[np.int64]:
    if given is None:
        return np.full(items, time, np.int64)
    array = given.detach().cpu().numpy() if isinstance(given, torch.Tensor) else np.asarray(given)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name} is {array.dtype}: expected whole numbers of time steps")
    if array.shape != (items,):
        raise ValueError(f"{name} has shape {array.shape}: expected ({items},), one length for each item")
    wrong = np.flatnonzero((array < 1) | (array > time))
    if len(wrong):
        raise ValueError(
            f"{name}[{wrong[0]}] is {array[wrong[0]]}: expected 1 to {time}, the number of time steps it is padded to"
        )
    return array.astype(np.int64)
