"""The time column of a recording: given by the caller, or inferred from its name or its dates and noted."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .column_spec import ColumnSpec, find_column
from .formats import raw_columns
from .formats.raw_columns import RawColumns

_TIME_NAMES = {"time", "times", "timestamp", "timestamps", "time_stamp", "date", "dates", "datetime", "date_time",
            "epoch", "unix", "unixtime", "unix_time", "utc", "local_time", "recorded_at"}  # fmt: skip
_LIKELY_TIME_NAMES = {"t", "ts", "stamp", "clock", "elapsed", "elapsed_time", "second", "seconds", "secs", "millis",
           "milliseconds", "ms", "index"}  # fmt: skip
_UNIT = re.compile(r"[ _-]*[(\[][^)\]]*[)\]]$|[ _-](s|sec|secs|seconds|ms|us|ns|utc)$")
_RISING_SHARE = 0.9  # of the steps of a column that may be the time


@dataclass(frozen=True)
class TimeColumns:
    """The columns about time, and notes about them."""

    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def find_times(
    sheet: RawColumns, spec: ColumnSpec, codes: NDArray[np.int64] | None = None
) -> tuple[TimeColumns, NDArray[Any] | None]:
    """Which columns are about time, and the times; `codes` say which recording a row is of, where there are several."""
    if spec.time is not None:
        name = find_column(sheet, spec.time, "time")
        return _read_time_column(sheet, name, "")
    if sheet.times is not None:
        return TimeColumns(), sheet.times
    if not sheet.has_names and all(isinstance(cells, np.ndarray) for cells in sheet.columns.values()):
        return TimeColumns(), None
    certain = [name for name in sheet.columns if _normalize_name(name) in _TIME_NAMES and _is_series(sheet, name)]
    if spec.values is not None:
        certain = [name for name in certain if name not in spec.values]
    both = _join_date_and_time(sheet, certain)
    if both is not None:
        return both
    if certain:
        return _choose_time_column(sheet, certain)
    notes: list[str] = []
    for name in sheet.columns:
        if _normalize_name(name) in _LIKELY_TIME_NAMES and (spec.values is None or name not in spec.values):
            parsed = raw_columns.parse_times(sheet, name) if _is_series(sheet, name) else None
            if parsed is not None and _is_rising(parsed[0], codes):
                return _read_time_column(sheet, name, "by its name", parsed)
            if parsed is not None:
                notes.append(f"{name!r} does not rise as a time does, and is a channel")
    dated = {name: parsed for name in sheet.columns if (parsed := _parse_dates(sheet, name)) is not None}
    if len(dated) > 1:
        raise _ambiguity_error(sheet, list(dated))
    for name, parsed in dated.items():
        return _read_time_column(sheet, name, "by its dates", parsed)
    return TimeColumns((), tuple(notes)), None


def find_times_by_id(sheet: RawColumns, spec: ColumnSpec) -> tuple[TimeColumns, NDArray[Any] | None]:
    """The time columns and times of a table whose column `id` tells several recordings apart.

    A column that is called `time` is read as it is written, as `save` writes it, and given back as None.
    """
    taken = {"id", *(role for role in (spec.label, spec.group, "label", "group") if isinstance(role, str))}
    if spec.time is None and "time" in sheet.columns and "time" not in (spec.values or ()):
        return TimeColumns(("time",), ("time: the column 'time', by its name",)), None
    position: dict[Any, int] = {}
    tokens = sheet.columns["id"]
    codes = [
        position.setdefault(token, len(position)) for token in (tokens if isinstance(tokens, list) else tokens.tolist())
    ]
    rest = {name: cells for name, cells in sheet.columns.items() if name not in taken}
    return find_times(replace(sheet, columns=rest, block=None), spec, np.array(codes, np.int64))


def is_time_name(name: str) -> bool:
    """Whether the name of a column is one of a time column."""
    return _normalize_name(name) in _TIME_NAMES | _LIKELY_TIME_NAMES


def _is_rising(times: NDArray[Any], codes: NDArray[np.int64] | None) -> bool:
    """Whether numbers rise almost always, as a time does and a temperature does not; within each of several."""
    steps = times[1:] > times[:-1]
    if codes is not None:
        order = np.argsort(codes, kind="stable")
        times, codes = times[order], codes[order]
        steps = (times[1:] > times[:-1])[codes[1:] == codes[:-1]]
    return int(steps.sum()) >= _RISING_SHARE * len(steps)


def _is_series(sheet: RawColumns, name: str) -> bool:
    return raw_columns.count_axes(sheet.columns[name]) == 1 and len(sheet.columns[name]) > 0


def _normalize_name(name: str) -> str:
    return _UNIT.sub("", name.strip().lower()).replace(" ", "_").replace("-", "_")


def _parse_dates(sheet: RawColumns, name: str) -> tuple[NDArray[Any], str] | None:
    cells = sheet.columns[name]
    if isinstance(cells, np.ndarray):
        return (cells, "") if cells.dtype.kind == "M" else None
    if not cells or not cells[0].strip()[:4].isdecimal() or raw_columns.parse_dates([cells[0].strip()]) is None:
        return None
    parsed = raw_columns.parse_times(sheet, name)
    return parsed if parsed is not None and parsed[0].dtype.kind == "M" else None


def _choose_time_column(sheet: RawColumns, certain: list[str]) -> tuple[TimeColumns, NDArray[Any]]:
    """The column of dates among several columns with time names; the others are not channels."""
    read = {name: _parse_times(sheet, name) for name in certain}
    dated = [name for name, parsed in read.items() if parsed[0].dtype.kind == "M"] or certain
    if len(dated) > 1:
        raise _ambiguity_error(sheet, dated)
    time_columns, time = _read_time_column(sheet, dated[0], "by its name", read[dated[0]])
    others = tuple(name for name in certain if name != dated[0])
    notes = time_columns.notes + tuple(f"left out, as another time: {name!r}" for name in others)
    return TimeColumns((*time_columns.columns, *others), notes), time


def _join_date_and_time(sheet: RawColumns, certain: list[str]) -> tuple[TimeColumns, NDArray[Any]] | None:
    """Join a column of dates and a column of times of the day."""
    if len(certain) != 2 or not all(isinstance(sheet.columns[name], list) for name in certain):
        return None
    for day, moment in (certain, certain[::-1]):
        joined = raw_columns.join_dates_and_times(list(sheet.columns[day]), list(sheet.columns[moment]))
        if joined is not None:
            return TimeColumns((day, moment), (f"time: the columns {day!r} and {moment!r}, joined",)), joined
    return None


def _ambiguity_error(sheet: RawColumns, names: list[str]) -> ValueError:
    listed = " and ".join(map(repr, names[:3]))
    return sheet.make_format_error(f"the columns {listed} may each be the time: name one with time=...")


def _parse_times(sheet: RawColumns, name: str) -> tuple[NDArray[Any], str]:
    cells = sheet.columns[name]
    parsed = raw_columns.parse_times(sheet, name)
    if parsed is not None and not _has_gaps(parsed[0]):
        return parsed
    if isinstance(cells, list):
        bad = next((row for row, cell in enumerate(cells) if not cell.strip()), None)
        if bad is not None:
            raise sheet.make_format_error(
                f"no time in column {name!r}: expected one in every row; drop the row, or fill it", bad
            )
        alone = [replace(sheet, columns={name: [cell]}, block=None) for cell in cells]
        bad = next((row for row, one in enumerate(alone) if raw_columns.parse_times(one, name) is None), None)
        if bad is not None:
            raise sheet.make_format_error(
                f"column {name!r} holds {cells[bad][:40]!r}: expected a number or a datetime (2007-01-31 23:59:59); "
                "days before months are not guessed at",
                bad,
            )
        kinds = "numbers, datetimes, and datetimes with a time zone"
        raise sheet.make_format_error(f"column {name!r} mixes {kinds}: expected one kind")
    if parsed is not None:
        row = int(np.flatnonzero((np.isnat if parsed[0].dtype.kind == "M" else np.isnan)(parsed[0]))[0])
        raise sheet.make_format_error(
            f"no time in column {name!r}, row {row}: expected one in every row; drop the row, or fill it"
        )
    raise sheet.make_format_error(f"column {name!r} has dtype {cells.dtype}: expected numbers or datetimes")


def _has_gaps(times: NDArray[Any]) -> bool:
    return bool((np.isnat if times.dtype.kind == "M" else np.isnan)(times).any())


def _read_time_column(
    sheet: RawColumns, name: str, how: str, parsed: tuple[NDArray[Any], str] | None = None
) -> tuple[TimeColumns, NDArray[Any]]:
    times, meaning = _parse_times(sheet, name) if parsed is None or _has_gaps(parsed[0]) else parsed
    note = ", ".join(word for word in (f"time: the column {name!r}", how, meaning) if word)
    return TimeColumns((name,), (note,)), times


def refuse_restart(sheet: RawColumns, time: NDArray[Any]) -> None:
    """Raise an error if times begin again: several recordings in one file, which must not be sorted into each other."""
    steps = np.diff((time - time.min()).astype(np.float64))
    falls = np.flatnonzero(steps < -np.ptp(time).astype(np.float64) / 2)
    if len(falls) and (steps > 0).any():  # rows that all go backwards are one recording, newest first
        row = int(falls[0]) + 1
        raise sheet.make_format_error(
            f"time begins anew, {time[row]} after {time[row - 1]}: expected one recording; tell several apart by a "
            "column 'id', or sort the rows",
            row,
        )
