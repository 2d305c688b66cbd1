"""Timestamps: conversion of numbers, datetimes and text to float64 or datetime64[ns], and elapsed times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice
from ..core.validation import arrays
from ..core.validation.conversion import from_torch

_DATE_TIME = r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?"
_PLAIN_DATETIME = re.compile(_DATE_TIME, re.ASCII)
_ZONED_DATETIME = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?:[Zz]|([+-]\d\d):?([0-5]\d))", re.ASCII
)
_MAX_SECONDS = 9.2e9  # on either side of 1970 are what nanoseconds can count: 1678 to 2261
_MAX_EXACT = 2**53  # integers beyond it are not all float64


def pack_times(times: Any, lengths: NDArray[np.int64], on_disorder: Any = "raise") -> tuple[NDArray[Any] | None, bool]:
    """Timestamps of all sequences in one row, float64 or datetime64, and whether they increase strictly inside each."""
    check_choice(on_disorder, "on_disorder", ("raise", "keep"))
    if times is None:
        return None, True
    n_items, total = len(lengths), int(lengths.sum())
    if isinstance(times, memoryview):
        times = np.asarray(times)  # of several axes it can neither be indexed nor gone through
    if _is_per_sequence(times):
        rows = [_as_times(row, f"times[{i}]") for i, row in enumerate(times)]
        if len(rows) != n_items:
            raise ValueError(f"times holds {len(rows)} arrays for {n_items} sequences: expected one per sequence")
        for i, (row, length) in enumerate(zip(rows, lengths, strict=True)):
            if row.shape != (length,):
                raise ValueError(f"times[{i}] has shape {row.shape}: sequence {i} has {length} time steps")
            if row.dtype != rows[0].dtype:
                raise TypeError(f"times[{i}] is {row.dtype} but times[0] {rows[0].dtype}: expected one kind")
        clock = np.concatenate(rows)
    else:
        clock = _as_times(times, "times")
        if clock.ndim == 2 and clock.shape == (n_items, total // n_items) and total == n_items * int(lengths[0]):
            clock = clock.reshape(-1)
        elif clock.ndim == 1 and (lengths == len(clock)).all():
            clock = np.tile(clock, n_items)
        elif clock.shape != (total,):  # packed like the values
            raise ValueError(
                f"times has shape {clock.shape} for {n_items} sequences of lengths {lengths.min()} to {lengths.max()}: "
                "expected one array per sequence, or one for all when they have equal lengths"
            )
    if on_disorder == "raise":
        refuse_disorder(clock, lengths)
    return arrays.read_only_view(clock), on_disorder == "raise" or first_disorder(clock, lengths) is None


def _is_per_sequence(times: Any) -> bool:
    """Whether there is one row per sequence, rather than an array for all."""
    if isinstance(times, np.ndarray):
        return times.dtype == object and times.ndim == 1 and len(times) > 0 and np.ndim(times[0]) > 0
    return isinstance(times, Sequence) and len(times) > 0 and np.ndim(times[0]) > 0


def _as_times(value: Any, name: str) -> NDArray[Any]:
    if hasattr(value, "detach"):
        value = from_torch(value, name)
    if np.ma.is_masked(value):
        raise ValueError(f"{name} is masked at some step: expected a time for every one; drop those steps")
    if getattr(value, "tz", None) is not None and hasattr(value, "tz_convert"):
        value = value.tz_convert("UTC").tz_localize(None)  # pandas
    array = np.asarray(value)
    if array.dtype == object:
        array = _from_objects(array, name)
    if array.dtype.kind in "UT":
        array = _from_text(array, name)
    if array.dtype.kind in "mM" and np.isnat(array).any():
        raise ValueError(f"{name} holds NaT (no time) at {int(np.flatnonzero(np.isnat(array))[0])}: expected times")
    if array.dtype.kind == "m":
        return np.asarray(array / np.timedelta64(1, "s"))
    return _to_nanoseconds(array, name) if array.dtype.kind == "M" else _as_float_times(array, name)


def _to_nanoseconds(array: NDArray[Any], name: str) -> NDArray[Any]:
    exact = array.astype("datetime64[ns]")  # beyond the years 1678 to 2261 NumPy wraps around silently
    if (exact.astype(array.dtype) != array).any():
        bad = array[exact.astype(array.dtype) != array].ravel()[0]
        raise ValueError(f"{name} holds {bad}: expected datetimes in nanoseconds, from 1678 to 2261")
    return exact


def _as_float_times(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    array = arrays.validate_array(array, name)
    if array.dtype.kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > _MAX_EXACT:
        raise ValueError(
            f"{name} holds integers beyond 2**53, such as {array.ravel()[-1]}, which float64 cannot tell apart: "
            'nanoseconds since 1970 are given as times.astype("datetime64[ns]")'
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} is {array[~np.isfinite(array)][0]} at one step: expected finite times")
    return array


def _from_objects(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Python's and pandas' datetimes (with a time zone: in UTC) and durations; other objects are left for later."""
    entries = array.ravel().tolist()
    if all(isinstance(entry, timedelta) for entry in entries):
        return np.array([entry.total_seconds() for entry in entries]).reshape(array.shape)
    if not all(isinstance(entry, date | np.datetime64) for entry in entries):
        return np.array(entries, dtype=str).reshape(array.shape) if _is_all_text(entries) else array
    if len({getattr(entry, "tzinfo", None) is None for entry in entries}) > 1:
        raise TypeError(f"{name} mixes datetimes with and without a time zone: expected one kind")
    return np.array([_to_datetime64(entry) for entry in entries], "datetime64").reshape(array.shape)


def _is_all_text(entries: list[Any]) -> bool:
    return len(entries) > 0 and all(isinstance(entry, str) for entry in entries)


def _to_datetime64(entry: Any) -> np.datetime64:
    if hasattr(entry, "to_datetime64"):  # pandas: to the nanosecond, in UTC
        return np.datetime64(entry.to_datetime64())
    if isinstance(entry, datetime) and entry.tzinfo is not None:
        entry = entry.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(entry)


def _from_text(array: NDArray[Any], name: str) -> NDArray[Any]:
    cells = array.ravel().tolist()
    parsed = parse_datetimes(cells)
    if parsed is None:
        raise ValueError(
            f"{name} is text such as {cells[0]!r:.40}: expected numbers, or datetimes like 2007-01-31 23:59:59 (all or "
            "none with a time zone: Z or +01:00), from 1678 to 2261"
        )
    return parsed.reshape(array.shape)


def parse_datetimes(cells: list[str]) -> NDArray[np.datetime64] | None:
    """Datetimes in text, those with an offset from UTC as UTC; None if some are not, or have no offset where others do.

    >>> parse_datetimes(["2024-01-01T00:30:00+01:00"])
    array(['2023-12-31T23:30:00.000000000'], dtype='datetime64[ns]')
    """
    if all(map(_PLAIN_DATETIME.fullmatch, cells)):
        return _parse_plain(cells)
    zoned = list(filter(None, map(_ZONED_DATETIME.fullmatch, cells)))
    if len(zoned) < len(cells):
        return None
    local = _parse_plain([match[1] for match in zoned])
    minutes = [60 * int(match[2] or 0) + int((match[2] or "+")[0] + (match[3] or "0")) for match in zoned]
    return None if local is None else local - np.array(minutes, "timedelta64[m]")


def _parse_plain(cells: list[str]) -> NDArray[np.datetime64] | None:
    try:
        coarse = np.array(cells, dtype="datetime64[s]")
        within = (np.abs(coarse.astype(np.int64)) < _MAX_SECONDS).all()
        return np.array(cells, dtype="datetime64[ns]") if within else None
    except ValueError:  # the 31st of February
        return None


def elapsed_since_first(times: NDArray[Any], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Time since the first sample of each sequence: datetimes in seconds, exact to the nanosecond for 100 days."""
    first = times[np.cumsum(lengths) - lengths]
    passed = times - np.repeat(first, lengths)
    return np.asarray(passed.astype(np.int64) / 1e9 if times.dtype.kind == "M" else passed)


def add_elapsed(first: Any, passed: NDArray[np.float64]) -> NDArray[Any]:
    """The inverse for one sequence: datetimes rounded to the nanosecond."""
    if isinstance(first, np.datetime64):
        return np.asarray(first + np.round(passed * 1e9).astype("timedelta64[ns]"))
    return np.asarray(first + passed)


def refuse_disorder(times: NDArray[Any], lengths: NDArray[np.int64]) -> None:
    """Raise an error unless times increase strictly inside every sequence."""
    disorder = first_disorder(times, lengths)
    if disorder is not None:
        raise ValueError(
            f"times of {disorder}: expected strictly increasing times; sort the samples, or keep them as they are with "
            'on_disorder="keep" and call merge_duplicates()'
        )


def same_sequence_mask(lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of every two neighbouring packed steps, whether they belong to one sequence: (total_time - 1,)."""
    ends = np.cumsum(lengths)
    same = np.ones(max(int(lengths.sum()) - 1, 0), bool)
    same[ends[:-1] - 1] = False
    return same


def first_disorder(times: NDArray[Any], lengths: NDArray[np.int64]) -> str | None:
    """A message with the first sequence whose times repeat or run backwards, and where."""
    bad = np.flatnonzero(same_sequence_mask(lengths) & (times[1:] <= times[:-1]))
    if not bad.size:
        return None
    step = int(bad[0]) + 1
    item, time = arrays.locate_step(step, np.cumsum(lengths) - lengths)
    how = "repeats" if times[step] == times[step - 1] else "decreases"
    return f"sequence {item} {how} at time step {time} ({times[step - 1]} then {times[step]})"
