"""Sequences → arrays and tensors that other libraries take. Each is a method of `Sequences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import check
from .arguments import whole

if TYPE_CHECKING:
    import torch

    from .check import Layout
    from .container import Sequences


class Padded(NamedTuple):
    """A rectangular batch: `values` (item, longest, *frame) and the true `lengths` (item,)."""

    values: NDArray[Any]
    lengths: NDArray[np.int64]


class PaddedTensor(NamedTuple):
    """The same for torch."""

    values: torch.Tensor
    lengths: torch.Tensor


def padded(self: Sequences, *, fill: float = 0.0, length: int | None = None) -> Padded:
    """A rectangular array (item, length, *frame) and the true lengths; unpack it: `x, lengths = s.padded()`.

    The dtype is that of the values where it can hold `fill`.
    """
    dtype = _holding(self.dtype, fill)
    longest = self.shape[1]
    length = longest if length is None else whole(length, "length", 0)
    if length < longest:
        raise ValueError(f"length={length} is shorter than the longest sequence ({longest}): crop or resample first")
    lengths = self._lengths.copy()
    if self.equal_length and length == longest:
        return Padded(self.values.reshape(self.shape).copy(), lengths)
    block = np.full((len(self), length, *self.frame), fill, dtype)
    block[np.arange(length) < lengths[:, None]] = self.values
    return Padded(block, lengths)


def tensor(self: Sequences, device: Any = None, *, dtype: torch.dtype | str | None = None) -> PaddedTensor:
    """The padded batch as torch tensors with its lengths; float64 where the values need it, otherwise float32."""
    import torch

    kind = _torch_dtype(check.computed_dtype(self.dtype) if dtype is None else dtype)
    values, lengths = self.padded()
    if dtype is None:
        values = values.astype(check.computed_dtype(self.dtype), copy=False)
    return PaddedTensor(torch.from_numpy(values).to(device, kind), torch.from_numpy(lengths).to(device))


def to_list(self: Sequences, *, layout: Layout = "ntc") -> list[NDArray[Any]]:
    """One array per sequence, (time, *frame), or (channel, time) with `layout="nct"`; read-only views."""
    return [sequence if layout == "ntc" else sequence.swapaxes(0, 1) for sequence in self]


def to_nct(self: Sequences) -> NDArray[Any] | list[NDArray[Any]]:
    """What aeon and sktime take: an array (item, channel, time), or a list of (channel, time) if ragged."""
    if not self.equal_length:
        return self.to_list(layout="nct")
    return self.values.reshape(self.shape).swapaxes(1, 2)


def _holding(dtype: np.dtype[Any], fill: Any) -> np.dtype[Any]:
    """The dtype itself if it holds the number exactly, otherwise one that holds both."""
    if not isinstance(fill, int | float | np.integer | np.floating | np.bool_):
        raise TypeError(f"fill={fill!r:.40}: expected a number")
    kind = np.min_scalar_type(fill)
    if kind.kind == "O":
        raise ValueError(f"fill={fill}: expected a number within the range of 64 bits")
    if dtype.kind in "biu" and fill == int(fill if np.isfinite(fill) else -1):
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if low <= fill <= high:
            return dtype
    return np.result_type(dtype, kind)


def _torch_dtype(wanted: Any) -> torch.dtype:
    import torch

    if isinstance(wanted, torch.dtype):
        return wanted
    try:
        name = wanted if isinstance(wanted, str) else np.dtype(wanted).name
    except TypeError:
        name = ""
    found = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"dtype={wanted!r:.60}: expected a torch dtype or its name, such as 'float32'")
    return found
