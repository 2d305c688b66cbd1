"""The door: whatever the caller has becomes plain arrays here, and nothing behind it checks again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Layout = Literal["ntc", "nct"]
_CHUNK = 1 << 20  # values looked at in one go, so that checking 1 GB needs no second gigabyte


def computed_dtype(*dtypes: Any) -> np.dtype[Any]:
    """What numbers of these dtypes are computed in: float64 where float32 could not hold them, otherwise float32.

    >>> computed_dtype(np.int64), computed_dtype(np.uint8, np.float16)
    (dtype('float64'), dtype('float32'))
    """
    return np.result_type(*(np.result_type(dtype, np.float32) for dtype in dtypes))


def plain_array(value: Any, name: str) -> NDArray[Any]:
    """A numeric NumPy array over the caller's memory (no copy where that is possible); what is masked is missing."""
    if type(value) is not np.ndarray:
        value = _opened(value, name)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"{name} cannot be read as an array of numbers: {error}") from None
    if array.dtype == object:
        array = _from_objects(array, name)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {array.dtype}: expected numbers, real ones; convert text with astype(float)")
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _opened(value: Any, name: str) -> Any:
    """What NumPy can read without losing anything: tensors as arrays, masked entries as NaN; the rest is refused."""
    if value is None:
        raise TypeError(f"{name} is None: expected an array of numbers")
    if hasattr(value, "detach"):
        return from_torch(value, name)
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        raise TypeError(f"{name} is a sparse {type(value).__name__}: expected a dense array; use its toarray()")
    if isinstance(value, str | bytes | dict | set):
        raise TypeError(f"{name} is a {type(value).__name__}: expected an array of numbers")
    if hasattr(value, "columns"):
        raise TypeError(
            f"{name} is a table ({type(value).__name__}): expected an array of numbers; put all rows into one table "
            "with a column that tells the sequences apart, and use Sequences.from_frame(table, id=..., time=...)"
        )
    if hasattr(value, "buffers") and hasattr(value, "offsets"):
        raise TypeError(f"{name} is a collection ({type(value).__name__}): join several with timelike.concat([...])")
    if isinstance(value, np.ma.MaskedArray):
        return _unmasked(value)
    if isinstance(value, list | tuple) and len(value) and isinstance(value[0], np.ndarray):
        return [_unmasked(row) if isinstance(row, np.ma.MaskedArray) else row for row in value]
    return value


def from_torch(tensor: Any, name: str) -> NDArray[Any]:
    """A tensor as an array, recognised without importing torch; bfloat16, which NumPy lacks, as float32."""
    if "strided" not in str(tensor.layout):
        raise TypeError(f"{name} is a sparse tensor ({tensor.layout}): expected a dense one; use to_dense()")
    tensor = tensor.detach().cpu()
    array: NDArray[Any] = (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy()
    return array


def _unmasked(array: Any) -> NDArray[Any]:
    if not np.ma.is_masked(array):
        return np.asarray(array.data)
    return np.asarray((array if array.dtype.kind == "f" else array.astype(np.float64)).filled(np.nan))


def _from_objects(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Objects that are all numbers or None (missing) become float64; anything else is named."""
    for position, item in np.ndenumerate(array):
        if not (item is None or isinstance(item, int | float | np.number | np.bool_)):
            where = position[0] if len(position) == 1 else position
            raise TypeError(f"{name} holds {item!r} ({type(item).__name__}) at {where}: expected numbers")
    return array.astype(np.float64)


def packed(data: Any, layout: Layout, name: str = "data") -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Values (total_time, *frame) and the length of every sequence."""
    if layout not in ("ntc", "nct"):
        raise ValueError(f'layout={layout!r}: expected "ntc" (item, time, channel) or "nct" (item, channel, time)')
    if hasattr(data, "columns"):
        raise TypeError(f"{name} is a table ({type(data).__name__}): use Sequences.from_frame(table, id=..., time=...)")
    if hasattr(data, "dims") and hasattr(data, "coords"):
        raise TypeError(f"{name} is an xarray {type(data).__name__}: use Sequences.from_xarray(data)")
    if isinstance(data, str | bytes):
        raise TypeError(f"{name} is text ({data!r:.60}): use timelike.load(path_or_name) to read a file")
    if hasattr(data, "toarray"):
        data = _opened(data, name)
    if hasattr(data, "detach") or (isinstance(data, np.ndarray) and data.dtype != object):
        return _packed_block(plain_array(data, name), layout, name)
    if not isinstance(data, Iterable):
        raise TypeError(
            f"{name} is a {type(data).__name__}: expected a list of arrays or an array (item, time, channel)"
        )
    return _packed_list(list(data), layout, name)


def _packed_block(block: NDArray[Any], layout: Layout, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if block.ndim < 2:
        raise ValueError(
            f"{name} has shape {block.shape}: expected (item, time) or (item, time, channel); "
            "for one sequence pass a list: Sequences([x])"
        )
    if block.shape[0] == 0:
        raise ValueError(f"{name} is empty (shape {block.shape}): expected at least one sequence")
    if block.ndim == 2:
        block = block[:, :, None]
    elif layout == "nct":
        block = block.swapaxes(1, 2)
    n_items, length, *frame = block.shape
    if length == 0:
        raise ValueError(
            f"every sequence of {name} has length 0 (shape {block.shape}): expected at least one time step"
        )
    if 0 in frame:
        raise ValueError(f"{name} has an empty frame (shape {block.shape}): expected at least one channel")
    if not block.flags.c_contiguous:
        block = locked(np.ascontiguousarray(block))
    return block.reshape(n_items * length, *frame), np.full(n_items, length, np.int64)


def _packed_list(items: list[Any], layout: Layout, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if not items:
        raise ValueError(f"{name} is empty: expected at least one sequence")
    arrays = [one_sequence(item, f"{name}[{i}]", layout) for i, item in enumerate(items)]
    frame = arrays[0].shape[1:]
    for i, array in enumerate(arrays):
        if array.shape[1:] != frame:
            raise ValueError(
                f"{name}[{i}] has frames of shape {array.shape[1:]} but {name}[0] has {frame}: all need the same "
                f'channels; if your arrays are (channel, time), use Sequences({name}, layout="nct")'
            )
    lengths = np.array([len(a) for a in arrays], np.int64)
    return np.ascontiguousarray(arrays[0]) if len(arrays) == 1 else locked(np.concatenate(arrays)), lengths


def one_sequence(value: Any, name: str, layout: Layout = "ntc") -> NDArray[Any]:
    """One sequence as (time, *frame); a plain (time,) gets one channel."""
    array = plain_array(value, name)
    if array.ndim == 0:
        raise TypeError(
            f"{name} is a single number: expected a sequence (time,) or (time, channel); a collection of one is [x]"
        )
    if array.ndim == 1:
        array = array[:, None]
    elif layout == "nct":
        array = array.swapaxes(0, 1)
    if len(array) == 0:
        raise ValueError(f"{name} has length 0: expected at least one time step; drop it or give it values")
    if 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}: expected at least one channel")
    return array


def first_step(values: NDArray[Any], test: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> int | None:
    """The first time step at which a value passes the test (np.isinf, np.isnan), looking at a chunk at a time."""
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
    """Infinity is never data; NaN is, and means missing."""
    step = first_step(values, np.isinf)
    if step is not None:
        item, time = locate(step, starts)
        raise ValueError(f"{name}[{item}] is infinite at time step {time}: expected finite values; nan means missing")


def locate(step: int, starts: NDArray[np.int64]) -> tuple[int, int]:
    """The sequence that a packed time step belongs to, and the step inside it."""
    item = int(np.searchsorted(starts, step, side="right")) - 1
    return item, step - int(starts[item])


def per_item(value: Any, name: str, n_items: int) -> NDArray[Any] | None:
    """One entry per sequence: numbers or strings, copied and made read-only."""
    if value is None:
        return None
    if hasattr(value, "detach"):
        value = from_torch(value, name)
    if np.ma.is_masked(value):
        raise ValueError(f"{name} is masked at some sequence: expected an entry for every one; drop those without")
    entries = value if isinstance(value, list | tuple) else None
    array = np.array(value)
    if array.ndim != 1 or len(array) != n_items:
        raise ValueError(f"{name} has shape {array.shape} for {n_items} sequences: expected one entry per sequence")
    if array.dtype.kind in "OT" or (array.dtype.kind == "U" and entries is not None):
        # NumPy turns [1, "1"] into strings, so the list itself is looked at
        array = of_one_kind(array.tolist() if entries is None else entries, name)
    if array.dtype.kind not in "biufU":
        raise TypeError(f"{name} has dtype {array.dtype}: expected numbers or strings")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name}[{bad}] is {array[bad]}: expected finite numbers; drop the sequences without one")
    return locked(array)


def of_one_kind(entries: Sequence[Any], name: str) -> NDArray[Any]:
    """All numbers or all text: 1 and "1" would be one class to NumPy, and bytes and dates no model folder holds."""
    if all(isinstance(entry, str) for entry in entries):
        return np.array(entries, dtype=str)
    for i, entry in enumerate(entries):
        if not isinstance(entry, str | int | float | np.integer | np.floating | np.bool_):
            raise TypeError(
                f"{name}[{i}] is {entry!r:.60} ({type(entry).__name__}): expected all numbers or all strings; write "
                "them as text"
            )
    odd = next((i for i, entry in enumerate(entries) if isinstance(entry, str) != isinstance(entries[0], str)), None)
    if odd is not None:
        raise TypeError(
            f"{name} mixes numbers and text, {name}[{odd}] is {entries[odd]!r} but {name}[0] is {entries[0]!r}: "
            "expected all numbers or all strings; write the numbers as text"
        )
    return np.array(entries)


def names(value: Any, name: str, expected: int | None = None) -> tuple[str, ...] | None:
    """A tuple of distinct names."""
    if value is None:
        return None
    if isinstance(value, str):
        raise TypeError(f"{name} is the string {value!r}: expected a list of names")
    result = tuple(str(entry) for entry in value)
    if expected is not None and len(result) != expected:
        raise ValueError(f"{name} has {len(result)} names for {expected} channels")
    if len(set(result)) != len(result):
        twice = next(entry for entry in result if result.count(entry) > 1)
        raise ValueError(f"{name} holds {twice!r} twice: expected distinct names")
    return result


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view; the caller's own array stays writeable."""
    view = array.view()
    view.flags.writeable = False
    return view


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """An array of our own making, closed for writing; for one that may be the caller's, use `frozen`."""
    array.flags.writeable = False
    return array
