"""Which column of a recording is its time: asked for, or found by its name or its dates, and said."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats import sheets
from ..formats.sheets import Sheet
from .asked import Asked, column_of

_CERTAIN = {"time", "times", "timestamp", "timestamps", "time_stamp", "date", "dates", "datetime", "date_time", "epoch",
            "unix", "unixtime", "unix_time", "utc", "local_time", "recorded_at"}  # fmt: skip
_LIKELY = {"t", "ts", "stamp", "clock", "elapsed", "elapsed_time", "second", "seconds", "secs", "millis",
           "milliseconds", "ms", "index"}  # fmt: skip
_UNIT = re.compile(r"[ _-]*[(\[][^)\]]*[)\]]$|[ _-](s|sec|secs|seconds|ms|us|ns|utc)$")
_RISING = 0.9  # of the steps of a column that may be the time


@dataclass(frozen=True)
class Clock:
    """Which columns are about time, and what is to be said of them."""

    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def time_of(sheet: Sheet, asked: Asked, codes: NDArray[np.int64] | None = None) -> tuple[Clock, NDArray[Any] | None]:
    """Which columns are about time, and the times; `codes` say which recording a row is of, where there are several."""
    if asked.time is not None:
        name = column_of(sheet, asked.time, "time")
        return _read_clock(sheet, name, "")
    if sheet.clock is not None:
        return Clock(), sheet.clock
    if not sheet.named and all(isinstance(cells, np.ndarray) for cells in sheet.columns.values()):
        return Clock(), None
    certain = [name for name in sheet.columns if _plain(name) in _CERTAIN and _is_series(sheet, name)]
    if asked.values is not None:
        certain = [name for name in certain if name not in asked.values]
    both = _date_and_time(sheet, certain)
    if both is not None:
        return both
    if certain:
        return _first(sheet, certain)
    notes: list[str] = []
    for name in sheet.columns:
        if _plain(name) in _LIKELY and (asked.values is None or name not in asked.values):
            found = sheets.clock(sheet, name) if _is_series(sheet, name) else None
            if found is not None and _goes_on(found[0], codes):
                return _read_clock(sheet, name, "by its name", found)
            if found is not None:
                notes.append(f"{name!r} does not rise as a time does, and is a channel")
    dated = {name: found for name in sheet.columns if (found := _dates(sheet, name)) is not None}
    if len(dated) > 1:
        raise _ambiguous(sheet, list(dated))
    for name, found in dated.items():
        return _read_clock(sheet, name, "by its dates", found)
    return Clock((), tuple(notes)), None


def time_of_long(sheet: Sheet, asked: Asked) -> tuple[Clock, NDArray[Any] | None]:
    """The same of a table whose column `id` tells several recordings apart.

    A column that is called `time` is read as it is written, as `save` writes it, and given back as None.
    """
    taken = {"id", *(role for role in (asked.label, asked.group, "label", "group") if isinstance(role, str))}
    if asked.time is None and "time" in sheet.columns and "time" not in (asked.values or ()):
        return Clock(("time",), ("time: the column 'time', by its name",)), None
    position: dict[Any, int] = {}
    tokens = sheet.columns["id"]
    codes = [
        position.setdefault(token, len(position)) for token in (tokens if isinstance(tokens, list) else tokens.tolist())
    ]
    rest = {name: cells for name, cells in sheet.columns.items() if name not in taken}
    return time_of(replace(sheet, columns=rest, block=None), asked, np.array(codes, np.int64))


def is_likely(name: str) -> bool:
    """Whether a column is called as times are."""
    return _plain(name) in _CERTAIN | _LIKELY


def _goes_on(times: NDArray[Any], codes: NDArray[np.int64] | None) -> bool:
    """Whether numbers rise almost always, as a time does and a temperature does not; within each of several."""
    steps = times[1:] > times[:-1]
    if codes is not None:
        order = np.argsort(codes, kind="stable")
        times, codes = times[order], codes[order]
        steps = (times[1:] > times[:-1])[codes[1:] == codes[:-1]]
    return int(steps.sum()) >= _RISING * len(steps)


def _is_series(sheet: Sheet, name: str) -> bool:
    return sheets.axes(sheet.columns[name]) == 1 and len(sheet.columns[name]) > 0


def _plain(name: str) -> str:
    return _UNIT.sub("", name.strip().lower()).replace(" ", "_").replace("-", "_")


def _dates(sheet: Sheet, name: str) -> tuple[NDArray[Any], str] | None:
    cells = sheet.columns[name]
    if isinstance(cells, np.ndarray):
        return (cells, "") if cells.dtype.kind == "M" else None
    if not cells or not cells[0].strip()[:4].isdecimal() or sheets.dates([cells[0].strip()]) is None:
        return None
    found = sheets.clock(sheet, name)
    return found if found is not None and found[0].dtype.kind == "M" else None


def _first(sheet: Sheet, certain: list[str]) -> tuple[Clock, NDArray[Any]]:
    """Of several columns with the name of a time, the one of dates; the others are no channels."""
    read = {name: _clock_of(sheet, name) for name in certain}
    dated = [name for name, found in read.items() if found[0].dtype.kind == "M"] or certain
    if len(dated) > 1:
        raise _ambiguous(sheet, dated)
    found, time = _read_clock(sheet, dated[0], "by its name", read[dated[0]])
    others = tuple(name for name in certain if name != dated[0])
    notes = found.notes + tuple(f"left out, as another time: {name!r}" for name in others)
    return Clock((*found.columns, *others), notes), time


def _date_and_time(sheet: Sheet, certain: list[str]) -> tuple[Clock, NDArray[Any]] | None:
    """A column of dates beside one of times of the day is one clock."""
    if len(certain) != 2 or not all(isinstance(sheet.columns[name], list) for name in certain):
        return None
    for day, moment in (certain, certain[::-1]):
        found = sheets.joined(list(sheet.columns[day]), list(sheet.columns[moment]))
        if found is not None:
            return Clock((day, moment), (f"time: the columns {day!r} and {moment!r}, joined",)), found
    return None


def _ambiguous(sheet: Sheet, names: list[str]) -> ValueError:
    listed = " and ".join(map(repr, names[:3]))
    return sheet.wrong(f"the columns {listed} may each be the time: name one with time=...")


def _clock_of(sheet: Sheet, name: str) -> tuple[NDArray[Any], str]:
    cells = sheet.columns[name]
    found = sheets.clock(sheet, name)
    if found is not None and not _lacks(found[0]):
        return found
    if isinstance(cells, list):
        bad = next((row for row, cell in enumerate(cells) if not cell.strip()), None)
        if bad is not None:
            raise sheet.wrong(f"no time in column {name!r}: expected one in every row; drop the row, or fill it", bad)
        alone = [replace(sheet, columns={name: [cell]}, block=None) for cell in cells]
        bad = next((row for row, one in enumerate(alone) if sheets.clock(one, name) is None), None)
        if bad is not None:
            raise sheet.wrong(
                f"column {name!r} holds {cells[bad][:40]!r}: expected a number or a datetime (2007-01-31 23:59:59); "
                "days before months are not guessed at",
                bad,
            )
        kinds = "numbers, datetimes, and datetimes with a time zone"
        raise sheet.wrong(f"column {name!r} mixes {kinds}: expected one kind")
    if found is not None:
        row = int(np.flatnonzero((np.isnat if found[0].dtype.kind == "M" else np.isnan)(found[0]))[0])
        raise sheet.wrong(f"no time in column {name!r}, row {row}: expected one in every row; drop the row, or fill it")
    raise sheet.wrong(f"column {name!r} has dtype {cells.dtype}: expected numbers or datetimes")


def _lacks(times: NDArray[Any]) -> bool:
    return bool((np.isnat if times.dtype.kind == "M" else np.isnan)(times).any())


def _read_clock(
    sheet: Sheet, name: str, how: str, found: tuple[NDArray[Any], str] | None = None
) -> tuple[Clock, NDArray[Any]]:
    times, meaning = _clock_of(sheet, name) if found is None or _lacks(found[0]) else found
    said = ", ".join(word for word in (f"time: the column {name!r}", how, meaning) if word)
    return Clock((name,), (said,)), times


def refuse_restart(sheet: Sheet, time: NDArray[Any]) -> None:
    """An error where times begin anew: several recordings in one file, which must not be sorted into each other."""
    steps = np.diff((time - time.min()).astype(np.float64))
    falls = np.flatnonzero(steps < -np.ptp(time).astype(np.float64) / 2)
    if len(falls) and (steps > 0).any():  # rows that all go backwards are one recording, newest first
        row = int(falls[0]) + 1
        raise sheet.wrong(
            f"time begins anew, {time[row]} after {time[row - 1]}: expected one recording; tell several apart by a "
            "column 'id', or sort the rows",
            row,
        )
