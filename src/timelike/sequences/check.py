"""The door: whatever the caller has becomes plain arrays here, and nothing behind it checks again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Layout = Literal["ntc", "nct"]
_CHUNK = 1 << 20  # values looked at in one go, so that checking 1 GB needs no second gigabyte


def plain_array(value: Any, name: str) -> NDArray[Any]:
    """A numeric NumPy array over the caller's memory (no copy where that is possible)."""
    if hasattr(value, "detach"):  # a torch tensor, recognised without importing torch
        value = value.detach().cpu().numpy()
    if isinstance(value, str | bytes | dict | set) or hasattr(value, "columns"):
        raise TypeError(f"{name} is a {type(value).__name__}: expected an array of numbers")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"{name} cannot be read as an array of numbers: {error}") from None
    if array.dtype == object:
        array = _from_objects(array, name)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} has dtype {array.dtype}: expected numbers; convert text with astype(float) and use nan for missing"
        )
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


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
    return np.ascontiguousarray(block).reshape(n_items * length, *frame), np.full(n_items, length, np.int64)


def _packed_list(items: list[Any], layout: Layout, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    if not items:
        raise ValueError(f"{name} is empty: expected at least one sequence")
    arrays = [one_sequence(item, f"{name}[{i}]", layout) for i, item in enumerate(items)]
    frame = arrays[0].shape[1:]
    for i, array in enumerate(arrays):
        if array.shape[1:] != frame:
            raise ValueError(
                f"{name}[{i}] has frames of shape {array.shape[1:]} but {name}[0] has {frame}: all need the same "
                'channels; if your arrays are (channel, time), pass layout="nct"'
            )
    lengths = np.array([len(a) for a in arrays], np.int64)
    return np.ascontiguousarray(arrays[0]) if len(arrays) == 1 else np.concatenate(arrays), lengths


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
        item, time = _locate(step, starts)
        raise ValueError(f"{name}[{item}] is infinite at time step {time}: expected finite values; nan means missing")


def _locate(step: int, starts: NDArray[np.int64]) -> tuple[int, int]:
    item = int(np.searchsorted(starts, step, side="right")) - 1
    return item, step - int(starts[item])


def per_item(value: Any, name: str, n_items: int) -> NDArray[Any] | None:
    """One entry per sequence: numbers or strings, copied and made read-only."""
    if value is None:
        return None
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    array = np.array(value)
    if array.ndim != 1 or len(array) != n_items:
        raise ValueError(f"{name} has shape {array.shape} for {n_items} sequences: expected one entry per sequence")
    if array.dtype.kind in "OT":
        array = _from_entries(array, name)
    if array.dtype.kind not in "biufU":
        raise TypeError(f"{name} has dtype {array.dtype}: expected numbers or strings")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name}[{bad}] is {array[bad]}: expected finite numbers; drop the sequences without one")
    return frozen(array)


def _from_entries(array: NDArray[Any], name: str) -> NDArray[Any]:
    entries = array.tolist()
    if all(isinstance(entry, str) for entry in entries):
        return np.array(entries, dtype=str)
    for i, entry in enumerate(entries):
        if not isinstance(entry, int | float | np.number | np.bool_):
            raise TypeError(f"{name}[{i}] is {entry!r} ({type(entry).__name__}): expected all numbers or all strings")
    return np.array(entries)


def packed_times(times: Any, lengths: NDArray[np.int64]) -> NDArray[Any] | None:
    """Timestamps of all sequences in one row, strictly increasing inside each: float64 or datetime64."""
    if times is None:
        return None
    n_items, total = len(lengths), int(lengths.sum())
    if not isinstance(times, np.ndarray) and isinstance(times, Sequence) and len(times) and np.ndim(times[0]) > 0:
        rows = [_clock(row, f"times[{i}]") for i, row in enumerate(times)]
        if len(rows) != n_items:
            raise ValueError(f"times holds {len(rows)} arrays for {n_items} sequences: expected one per sequence")
        for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            if row.shape != (length,):
                raise ValueError(f"times[{i}] has shape {row.shape}: sequence {i} has {length} time steps")
        clock = np.concatenate(rows)
    else:
        clock = _clock(times, "times")
        if clock.ndim == 2 and clock.shape == (n_items, total // n_items) and total == n_items * int(lengths[0]):
            clock = clock.reshape(-1)
        elif clock.ndim == 1 and (lengths == len(clock)).all():
            clock = np.tile(clock, n_items)
        elif clock.shape != (total,):  # packed like the values
            raise ValueError(
                f"times has shape {clock.shape} for {n_items} sequences of lengths {lengths.min()} to {lengths.max()}: "
                "expected one array per sequence, or one for all when they have equal lengths"
            )
    refuse_disorder(clock, lengths)
    return frozen(clock)


def _clock(value: Any, name: str) -> NDArray[Any]:
    array = np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            raise ValueError(f"{name} holds NaT (no time) at {int(np.flatnonzero(np.isnat(array))[0])}: expected times")
        exact = array.astype("datetime64[ns]")  # beyond the years 1678 to 2261 NumPy wraps around silently
        if (exact.astype(array.dtype) != array).any():
            bad = array[exact.astype(array.dtype) != array].ravel()[0]
            raise ValueError(f"{name} holds {bad}: expected datetimes in nanoseconds, from 1678 to 2261")
        return exact
    array = plain_array(array, name).astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} is {array[~np.isfinite(array)][0]} at one step: expected finite times")
    return array


def refuse_disorder(clock: NDArray[Any], lengths: NDArray[np.int64]) -> None:
    """Time runs forward inside every sequence."""
    ends = np.cumsum(lengths)
    inside = np.ones(max(len(clock) - 1, 0), bool)
    inside[ends[:-1] - 1] = False
    bad = np.flatnonzero(inside & (clock[1:] <= clock[:-1]))
    if bad.size:
        step = int(bad[0]) + 1
        item, time = _locate(step, ends - lengths)
        how = "repeats" if clock[step] == clock[step - 1] else "decreases"
        raise ValueError(
            f"times of sequence {item} {how} at time step {time} ({clock[step - 1]} then {clock[step]}): "
            "expected strictly increasing times; sort the samples and merge duplicates first"
        )


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
