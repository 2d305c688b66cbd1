"""Validation of array input: single sequences, collections, offsets, positions and fill values.

Public functions validate their input once; private code does not check it again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .conversion import as_numpy_readable, from_objects, from_torch
from .layouts import Layout, check_layout, is_single_frame, reorder_axes

_CHUNK = 1 << 20  # values checked at a time, so that checking 1 GB needs no second gigabyte


def computed_dtype(*dtypes: Any) -> np.dtype[Any]:
    """The dtype to compute in: float64 if float32 cannot represent numbers of these dtypes, otherwise float32.

    >>> computed_dtype(np.int64), computed_dtype(np.uint8, np.float16)
    (dtype('float64'), dtype('float32'))
    """
    return np.result_type(*(np.result_type(dtype, np.float32) for dtype in dtypes))


def validate_array(value: Any, name: str) -> NDArray[Any]:
    """A numeric NumPy array in C order, without a copy where possible; masked entries become NaN."""
    return as_c_contiguous(as_numeric_array(value, name))


def count_axes(value: Any) -> int:
    """The number of axes of an array, or the depth of nested lists: NumPy's `ndim` fails for lists of unequal lengths.

    >>> count_axes(np.zeros((2, 3))), count_axes([[1.0, 2.0], [3.0]]), count_axes(4.0)
    (2, 2, 0)
    """
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return 1 + max(map(count_axes, value[:1]), default=0)
    return int(value.ndim if hasattr(value, "ndim") else np.ndim(value) if hasattr(value, "__array__") else 0)


def as_numeric_array(value: Any, name: str) -> NDArray[Any]:
    """A numeric NumPy array in any memory order, for input that is packed, and so copied, afterwards."""
    if type(value) is not np.ndarray:
        value = as_numpy_readable(value, name)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"{name} cannot be read as an array of numbers: {error}") from None
    if array.dtype == object:
        array = from_objects(array, name)
    if array.dtype.kind == "c":
        raise TypeError(f"{name} is {array.dtype}: expected real numbers; take {name}.real, or both parts as channels")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}: expected numbers, real ones; convert text with astype(float)")
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return array


def pack_sequences(data: Any, layout: Layout, name: str = "data") -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Values (total_time, *frame) and the length of every sequence."""
    check_layout(layout)
    if hasattr(data, "columns"):
        if is_single_frame(layout):
            raise TypeError(f'{name} is a table: give its numbers, Sequences(table.to_numpy(), layout="{layout}")')
        raise TypeError(f"{name} is a table ({type(data).__name__}): use Sequences.from_frame(table, id=..., time=...)")
    if hasattr(data, "dims") and hasattr(data, "coords"):
        raise TypeError(f"{name} is an xarray {type(data).__name__}: use Sequences.from_xarray(data)")
    if isinstance(data, str | bytes):
        raise TypeError(f"{name} is text ({data!r:.60}): use timelike.load(path_or_name) to read a file")
    if hasattr(data, "toarray"):
        data = as_numpy_readable(data, name)
    if (
        hasattr(data, "detach")
        or isinstance(data, memoryview)
        or (isinstance(data, np.ndarray) and data.dtype != object)
    ):
        return _pack_block(as_numeric_array(data, name), layout, name)
    if not isinstance(data, Iterable):
        raise TypeError(
            f"{name} is a {type(data).__name__}: expected a list of arrays or an array (item, time, channel)"
        )
    return _pack_list(list(data), layout, name)


def _pack_block(block: NDArray[Any], layout: Layout, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if block.ndim < 2 and not is_single_frame(layout):
        raise ValueError(
            f"{name} has shape {block.shape}: expected (item, time) or (item, time, channel); "
            "for one sequence pass a list: Sequences([x])"
        )
    if block.ndim and block.shape[0] == 0:
        raise ValueError(f"{name} is empty (shape {block.shape}): expected at least one sequence")
    block = reorder_axes(block, layout, name, leading=1)
    n_items, length, *frame = block.shape
    if length == 0:
        raise ValueError(
            f"every sequence of {name} has length 0 (shape {block.shape}): expected at least one time step"
        )
    if 0 in frame:
        raise ValueError(f"{name} has an empty frame (shape {block.shape}): expected at least one channel")
    block = as_c_contiguous(block)  # reshaping another memory order would copy too, and more slowly
    return block.reshape(n_items * length, *frame), np.full(n_items, length, np.int64)


def _pack_list(items: list[Any], layout: Layout, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if not items:
        raise ValueError(f"{name} is empty: expected at least one sequence")
    arrays = [validate_sequence(item, f"{name}[{i}]", layout) for i, item in enumerate(items)]
    frame = arrays[0].shape[1:]
    for i, array in enumerate(arrays):
        if array.shape[1:] != frame:
            way = (
                "size; resize or crop them first"
                if is_single_frame(layout)
                else f'channels; if your arrays are (channel, time), use Sequences({name}, layout="nct")'
            )
            raise ValueError(
                f"{name}[{i}] has frames of shape {array.shape[1:]} but {name}[0] has {frame}: all need the same {way}"
            )
    lengths = np.array([len(a) for a in arrays], np.int64)
    return arrays[0] if len(arrays) == 1 else make_read_only(np.concatenate(arrays)), lengths


def validate_sequence(value: Any, name: str, layout: Layout = "ntc") -> NDArray[Any]:
    """One sequence as (time, *frame); a plain (time,) gets one channel."""
    array = as_numeric_array(value, name)
    if array.ndim == 0 and not is_single_frame(layout):
        raise TypeError(
            f"{name} is a single number: expected a sequence (time,) or (time, channel); a collection of one is [x]"
        )
    array = reorder_axes(array, layout, name, leading=0)
    if len(array) == 0:
        raise ValueError(f"{name} has length 0: expected at least one time step; drop it or give it values")
    if 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}: expected at least one channel")
    return array


def lengths_from_offsets(offsets: Any, n_steps: int) -> NDArray[np.int64]:
    """The lengths of the n sequences between n + 1 offsets into `n_steps` packed steps."""
    marks = validate_array(offsets, "offsets")
    if marks.ndim != 1 or len(marks) < 2 or marks.dtype.kind not in "iu":
        raise ValueError(f"offsets has shape {marks.shape}, dtype {marks.dtype}: expected n + 1 integers")
    if marks[0] != 0 or marks[-1] != n_steps:
        raise ValueError(
            f"offsets runs from {marks[0]} to {marks[-1]}: expected 0 to {n_steps}, the number of time steps"
        )
    marks = marks.astype(np.int64)
    lengths: NDArray[np.int64] = np.diff(marks)
    if (lengths <= 0).any():
        bad = int(np.flatnonzero(lengths <= 0)[0])
        raise ValueError(f"offsets gives sequence {bad} the length {lengths[bad]}: expected increasing offsets")
    return lengths


def find_first_step(values: NDArray[Any], test: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> int | None:
    """The first time step at which a value passes the test (np.isinf, np.isnan), searched in chunks."""
    if values.dtype.kind != "f":
        return None
    width = int(np.prod(values.shape[1:]))
    rows = max(1, _CHUNK // width)
    for begin in range(0, len(values), rows):
        hit = np.flatnonzero(test(values[begin : begin + rows]))
        if hit.size:
            return begin + int(hit[0]) // width
    return None


def refuse_inf(values: NDArray[Any], starts: NDArray[np.int64], name: str = "data") -> None:
    """Raise an error if a value is infinite; NaN is allowed and means missing."""
    step = find_first_step(values, np.isinf)
    if step is not None:
        item, time = locate_step(step, starts)
        raise ValueError(f"{name}[{item}] is infinite at time step {time}: expected finite values; nan means missing")


def locate_step(step: int, starts: NDArray[np.int64]) -> tuple[int, int]:
    """The sequence that a packed time step belongs to, and the step inside it."""
    item = int(np.searchsorted(starts, step, side="right")) - 1
    return item, step - int(starts[item])


def as_position(key: Any) -> int:
    """An integer index from an integer, or an array or tensor without axes."""
    if "bool" in str(getattr(key, "dtype", "")) or not hasattr(key, "__index__"):
        raise IndexError(
            f"sequences are indexed by a position, a slice, a mask or a list of positions, not {key!r:.80}"
        )
    try:
        return int(operator.index(key))
    except TypeError:
        raise IndexError(f"position {key!r:.80}: expected an integer") from None


def as_positions(key: Any, n_items: int) -> NDArray[np.int64]:
    """The positions that `s[key]` selects, from a mask or a list of positions."""
    index = from_torch(key, "positions") if hasattr(key, "detach") else np.asarray(key)
    if index.ndim != 1:
        raise IndexError(
            f"sequences are indexed by a position, a slice, a mask or a list of positions, not {key!r:.80}"
        )
    if index.dtype == bool:
        if len(index) != n_items:
            raise IndexError(f"the mask has {len(index)} entries for {n_items} sequences")
        return np.flatnonzero(index)
    if index.size == 0:
        return np.zeros(0, np.int64)
    if index.dtype.kind not in "iu":
        raise IndexError(f"positions have dtype {index.dtype}: expected integers or a mask")
    outside = index[(index < -n_items) | (index >= n_items)]
    if outside.size:
        raise IndexError(f"position {outside[0]} is out of range for {n_items} sequences")
    return index.astype(np.int64)


def refuse_column_vector(value: Any, name: str) -> None:
    """Raise an error for an array (time, 1), one sequence that would be read as many of one step."""
    shape: tuple[int, ...] = getattr(value, "shape", ())
    if len(shape) == 2 and shape[1] == 1 and shape[0] > 1:
        raise ValueError(
            f"{name} has shape {tuple(shape)}, which are {shape[0]} sequences of one step, as the first axis counts "
            f"sequences and the second time: one sequence is s[:1], or [x] around its array; if they are sequences of "
            f"one step, give Sequences({name})"
        )


def refuse_reordered_channels(left: Sequence[str] | None, right: Sequence[str] | None, names: tuple[str, str]) -> None:
    """Raise an error if both have the same channel names in different orders; different names are allowed."""
    if left is not None and right is not None and tuple(left) != tuple(right) and sorted(left) == sorted(right):
        raise ValueError(
            f"{names[0]} has channels ({', '.join(left)}) and {names[1]} ({', '.join(right)}): expected one order; put "
            f"them into it with {names[0]}.channels({list(right)})"
        )


def dtype_with_fill(dtype: np.dtype[Any], fill: Any) -> np.dtype[Any]:
    """The dtype itself if it holds the fill value exactly, otherwise one that holds both."""
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


def as_c_contiguous(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself if compiled code can read it (C order, aligned, native byte order), otherwise a copy.

    Column order is not rare: `np.concatenate` and arithmetic preserve it.

    >>> x = np.zeros((3, 2))
    >>> as_c_contiguous(x) is x, as_c_contiguous(x.T).flags.c_contiguous
    (True, True)
    """
    if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return array
    return np.array(array, array.dtype.newbyteorder("="), order="C", subok=False)


def read_only_view(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view; the array itself stays writeable."""
    view = array.view()
    view.flags.writeable = False
    return view


def make_read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array that we created read-only; for one that may be the caller's, use `read_only_view`."""
    array.flags.writeable = False
    return array
