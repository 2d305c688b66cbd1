"""Validation of the input of torch modules: padded tensors (item, time, channel) and their lengths.

The other modules of this package do not import it, as it needs torch.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_CAST_METHODS = {torch.float64: "double", torch.float32: "float", torch.float16: "half", torch.bfloat16: "bfloat16"}


def validate_lengths(lengths: Any, shape: tuple[int, ...] | torch.Size, name: str, *, least: int = 1) -> Tensor:
    """Lengths (item,) on the CPU, from a list, an array or a tensor; None means that all have the padded length.

    >>> validate_lengths([3, 1], (2, 5), "x_lengths")
    tensor([3, 1])
    """
    n_items, longest = shape[:2]
    if lengths is None:
        return torch.full((n_items,), longest)
    tensor = _as_lengths_tensor(lengths, name)
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool or tensor.shape != (n_items,):
        raise ValueError(
            f"{name} is {dtype_name(tensor.dtype)} of shape {tuple(tensor.shape)}: expected {n_items} integers, one "
            "for every item"
        )
    tensor = tensor.long()
    wrong = torch.nonzero((tensor < least) | (tensor > longest))
    if len(wrong):
        at = int(wrong[0])
        raise ValueError(f"{name}[{at}] is {int(tensor[at])}: expected {least} to {longest}, the padded length")
    return tensor


def _as_lengths_tensor(lengths: Any, name: str) -> Tensor:
    if isinstance(lengths, Tensor):
        refuse_meta_device(lengths, name, f"give {name} as a list")
        return lengths.detach().cpu()
    try:
        array = np.asarray(lengths)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is no row of integers ({error}): expected one for every item") from None
    if array.size and array.dtype.kind not in "biufc":
        raise ValueError(f"{name} is {lengths!r:.60}: expected integers, one for every item")
    if array.dtype.kind == "u":
        array = np.minimum(array, np.iinfo(np.int64).max)  # torch has no unsigned 64-bit integers to compare
    return torch.from_numpy(array.astype(np.int64 if array.dtype.kind in "iu" or not array.size else array.dtype))


def valid_mask(lengths: Tensor, longest: int, device: torch.device | str | None = None) -> Tensor:
    """A mask (item, time), true at steps and false at padding.

    >>> valid_mask(torch.tensor([2, 1]), 3)
    tensor([[ True,  True, False],
            [ True, False, False]])
    """
    return torch.arange(longest, device=device) < lengths.to(device)[:, None]


def check_padded_tensor(side: Any, name: str) -> None:
    """Raise an error unless it is a floating-point tensor (item, time, channel)."""
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
        raise TypeError(
            f"{name} is {dtype_name(side.dtype)}: expected floating point numbers; {name}.float() makes them"
        )


def refuse_meta_device(values: Tensor, name: str, way: str) -> None:
    """Raise an error if the tensor is on the meta device, where it has a shape but no numbers."""
    if values.device.type == "meta":
        raise ValueError(f"{name} is on the meta device, which keeps shapes and no numbers: {way}")


def refuse_mismatch(x: Tensor, y: Tensor) -> None:
    """Raise an error unless both have the same number of items, channels, dtype and device."""
    for what, one, two, way in (
        ("items", x.shape[0], y.shape[0], "expand() the one that is to be compared with all"),
        ("channels", x.shape[2], y.shape[2], "the last axis is the channels"),
        ("dtype", dtype_name(x.dtype), dtype_name(y.dtype), "y.to(x.dtype) makes them alike"),
        ("device", x.device, y.device, "y.to(x.device) brings them together"),
    ):
        if one != two:
            raise ValueError(f"x and y differ in {what}, {one} and {two}: expected the same; {way}")


def validate_network_input(network: nn.Module, x: Any, name: str, n_channels: int | None) -> Tensor:
    """x (item, time, channel) for the network; a dtype or device other than that of its weights raises an error.

    torch's own modules refuse it too, but with the error of some inner matrix product. Under autocast the dtype may
    differ.
    """
    check_padded_tensor(x, name)
    tensor: Tensor = x
    if n_channels is not None and x.shape[2] != n_channels:
        raise ValueError(
            f"{name} has {x.shape[2]} channels: this {type(network).__name__} was made for {n_channels}; "
            "the last axis is the channels"
        )
    return match_weights(network, tensor, name)


def match_weights(network: nn.Module, x: Tensor, name: str) -> Tensor:
    """x for the network, or an error if it has another dtype or device than the weights."""
    weight = next(network.parameters(), None)
    if weight is None:
        return x
    if x.device != weight.device:
        raise ValueError(
            f"{name} is on {x.device} and this {type(network).__name__} on {weight.device}: bring them together with "
            f"{name}.to({str(weight.device)!r})"
        )
    if x.dtype == weight.dtype:
        return x
    if has_autocast(x.device) and torch.is_autocast_enabled(x.device.type):
        return x.to(weight.dtype)
    raise ValueError(
        f"{name} is {dtype_name(x.dtype)} and this {type(network).__name__} {dtype_name(weight.dtype)}: expected the "
        f"same; the network's {_CAST_METHODS.get(x.dtype, 'to')}() computes in {dtype_name(x.dtype)}, and "
        f"{name}.{_CAST_METHODS.get(weight.dtype, 'to')}() in {dtype_name(weight.dtype)}"
    )


def has_autocast(device: torch.device) -> bool:
    """Whether torch has mixed precision on this device; for others `torch.is_autocast_enabled` raises."""
    return bool(torch.amp.is_autocast_available(device.type))


def disable_autocast(device: torch.device) -> AbstractContextManager[Any]:
    """Inside, autocast is off."""
    return torch.autocast(device.type, enabled=False) if has_autocast(device) else nullcontext()


def dtype_name(dtype: torch.dtype) -> str:
    """The short name of a dtype.

    >>> dtype_name(torch.float32)
    'float32'
    """
    return str(dtype).removeprefix("torch.")
