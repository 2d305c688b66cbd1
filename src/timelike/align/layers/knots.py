"""Numbers at the knots of warps, checked for the layer: times, and λ, slopes and bounds as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...core.validation.tensors import valid_mask
from ..warp_problem import UnitTimes, step_numbers, to_unit_times
from .padded_pairs import PaddedPairs


class KnotTimes:
    """One side's times, packed: as given and from 0 to 1."""

    def __init__(self, times: Any, side: Tensor, lengths: Tensor, name: str) -> None:
        self.lengths = lengths.numpy()
        if times is None:
            self.times = step_numbers(self.lengths)
        else:
            self.times = _pack_times(times, side, lengths, f"{name}_times")
        self.unit_times: UnitTimes = to_unit_times(self.times, self.lengths, f"{name}_times")
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.scale = np.where(self.lengths > 1, self.unit_times.spans, 0.0)  # a single step has one time

    def refuse_rounding(self, dtype: torch.dtype, name: str) -> None:
        """Raise an error if warp values in `dtype` could not be distinguished: seconds since 1970 in float32, say."""
        shortest = np.diff(self.times)[np.diff(self.times) > 0].min(initial=np.inf)
        grain = torch.finfo(dtype).eps * np.abs(self.times).max(initial=0.0)
        if grain > 0.1 * shortest and np.abs(self.unit_times.starts).max(initial=0.0) > 0:
            kind = str(dtype).removeprefix("torch.")
            raise ValueError(
                f"{name} are up to {np.abs(self.times).max():g} and {shortest:g} apart, which {kind} cannot tell: "
                "subtract the first time, or give x and y as float64"
            )


def _pack_times(times: Any, side: Tensor, lengths: Tensor, name: str) -> NDArray[np.float64]:
    tensor = torch.as_tensor(times)
    if tensor.requires_grad:
        raise ValueError(f"{name} requires gradients, and warps have none with respect to times: give {name}.detach()")
    shape = tuple(side.shape[:2])
    if tensor.shape not in (shape, shape[1:]) or tensor.is_complex() or tensor.dtype == torch.bool:
        raise ValueError(
            f"{name} is of shape {tuple(tensor.shape)}: expected {shape}, or {shape[1:]} for all items alike, of "
            "numbers"
        )
    rows = tensor.detach().cpu().double().expand(shape)
    inside = valid_mask(lengths, shape[1])
    wrong = torch.nonzero((inside & ~torch.isfinite(rows)) | _falling_mask(rows, inside))
    if len(wrong):
        item, time = wrong[0].tolist()
        raise ValueError(
            f"{name}[{item}, {time}] is {float(rows[item, time])}"
            + (f" after {float(rows[item, time - 1])}" if time else "")
            + ": expected finite times that increase strictly; sort them and drop repeated ones"
        )
    return rows[inside].numpy()


def _falling_mask(rows: Tensor, inside: Tensor) -> Tensor:
    falls = torch.zeros_like(inside)
    falls[:, 1:] = ~(rows[:, 1:] > rows[:, :-1]) & inside[:, 1:]
    return falls


def expand_per_knot(value: Any, shape: tuple[int, int] | torch.Size, padded: PaddedPairs, name: str) -> Tensor:
    """A number, or a tensor that broadcasts, for every item and knot or interval; on x's device."""
    if isinstance(value, bool) or not isinstance(value, int | float | Tensor | np.ndarray | np.number):
        raise TypeError(f"{name}={value!r}: expected a number or a tensor")
    tensor = value if isinstance(value, Tensor) else torch.as_tensor(np.asarray(value), device=padded.x.device)
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise TypeError(f"{name} is {tensor.dtype}: expected real numbers")
    if tensor.device != padded.x.device:
        raise ValueError(
            f"{name} is on {tensor.device} and x on {padded.x.device}: bring them together with .to(x.device)"
        )
    try:
        return tensor.double().expand(shape)
    except RuntimeError:
        what = "knots" if name.startswith("bounds") else "intervals between knots"
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}: expected a number or a tensor that broadcasts against "
            f"{tuple(shape)}, items and {what}"
        ) from None


def check_constraints(constraints: tuple[Tensor, ...], lengths: Tensor) -> None:
    """An error that names the first λ, slope or bound that cannot be."""
    strength, s_min, s_max, b_min, b_max = (constraint.detach().cpu() for constraint in constraints)
    intervals, knots = valid_mask(lengths - 1, strength.shape[1]), valid_mask(lengths, b_min.shape[1])
    _refuse_where(
        intervals & ~((strength >= 0) & torch.isfinite(strength)),
        strength,
        "regularization",
        "a finite number, 0 or more",
    )
    _refuse_where(intervals & ~torch.isfinite(s_min), s_min, "slope[0]", "a finite number")
    _refuse_where(intervals & ~(s_max >= s_min), s_max, "slope[1]", "at least slope[0]")
    _refuse_where(knots & ~(b_min < torch.inf), b_min, "bounds[0]", "a finite number")
    _refuse_where(knots & ~(b_max >= b_min), b_max, "bounds[1]", "at least bounds[0]")


def _refuse_where(wrong: Tensor, values: Tensor, name: str, expected: str) -> None:
    positions = torch.nonzero(wrong)
    if len(positions):
        item, at = positions[0].tolist()
        raise ValueError(f"{name} is {float(values[item, at])} for item {item} at knot {at}: expected {expected}")
