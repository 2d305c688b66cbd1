"""Conversion of torch tensors, masked arrays and object arrays to NumPy, and parsing of torch devices and dtypes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch


def as_numpy_readable(value: Any, name: str) -> Any:
    """The value as NumPy reads it without loss: tensors as arrays, masked entries as NaN; tables raise an error."""
    if value is None:
        raise TypeError(f"{name} is None: expected an array of numbers")
    if hasattr(value, "detach"):
        return from_torch(value, name)
    if is_sparse(value):
        raise TypeError(f"{name} is a sparse {type(value).__name__}: expected a dense array; use its toarray()")
    if isinstance(value, str | bytes | dict | set):
        raise TypeError(f"{name} is a {type(value).__name__}: expected an array of numbers")
    if hasattr(value, "columns"):
        raise TypeError(
            f"{name} is a table ({type(value).__name__}): expected an array of numbers; of several tables, a recording "
            "each, make Sequences.from_frames(tables), and of one with a column that tells the sequences apart "
            "Sequences.from_frame(table, id=..., time=...)"
        )
    if hasattr(value, "buffers") and hasattr(value, "offsets"):
        raise TypeError(f"{name} is a collection ({type(value).__name__}): join several with timelike.concat([...])")
    if isinstance(value, np.ma.MaskedArray):
        return _fill_masked(value)
    if isinstance(value, list | tuple) and len(value) and isinstance(value[0], np.ndarray):
        return [_fill_masked(row) if isinstance(row, np.ma.MaskedArray) else row for row in value]
    return value


def is_sparse(value: Any) -> bool:
    """Whether it is a sparse matrix; SciPy is not imported for that."""
    return hasattr(value, "toarray") and hasattr(value, "nnz")


def from_torch(tensor: Any, name: str) -> NDArray[Any]:
    """A torch tensor as an array; bfloat16, which NumPy lacks, becomes float32."""
    if "strided" not in str(tensor.layout):
        raise TypeError(f"{name} is a sparse tensor ({tensor.layout}): expected a dense one; use to_dense()")
    if getattr(tensor, "is_meta", False):
        raise TypeError(f"{name} is a tensor on the meta device, which has a shape and no numbers: expected numbers")
    if getattr(tensor, "is_complex", bool)():
        raise TypeError(f"{name} is a complex tensor: expected real numbers; give real and imaginary part as channels")
    tensor = tensor.detach().cpu()
    array: NDArray[Any] = (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy()
    return array


def _fill_masked(array: Any) -> NDArray[Any]:
    if not np.ma.is_masked(array):
        return np.asarray(array.data)
    return np.asarray((array if array.dtype.kind == "f" else array.astype(np.float64)).filled(np.nan))


def from_objects(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    """An object array of numbers and None (missing) as float64; anything else is an error that names it."""
    for position, item in np.ndenumerate(array):
        if not (item is None or isinstance(item, int | float | np.number | np.bool_)):
            where = position[0] if len(position) == 1 else position
            raise TypeError(f"{name} holds {item!r} ({type(item).__name__}) at {where}: expected numbers")
    return array.astype(np.float64)


def is_torch_module(value: Any) -> bool:
    """Whether it is a torch module; torch is not imported for the answer."""
    torch = sys.modules.get("torch")  # without which nobody has made a module
    return torch is not None and isinstance(value, torch.nn.Module)


def torch_device(wanted: Any) -> torch.device | None:
    """The torch device from its name or number; None stays None."""
    import torch

    if wanted is None:
        return None
    try:
        return torch.device(wanted)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device={wanted!r:.60}: expected a torch device or its name, such as 'cpu'") from error


def torch_dtype(wanted: Any) -> torch.dtype:
    """The torch dtype from itself, its name, or a NumPy dtype."""
    import torch

    if isinstance(wanted, torch.dtype):
        return wanted
    try:
        name = wanted if isinstance(wanted, str) else np.dtype(wanted).name
    except TypeError:
        name = ""
    dtype = getattr(torch, name.removeprefix("torch."), None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"dtype={wanted!r:.60}: expected a torch dtype or its name, such as 'float32'")
    return dtype
