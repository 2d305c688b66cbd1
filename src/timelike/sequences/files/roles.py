"""Which columns of a recording are its time, its channels, its label and its group: asked for, or found and said."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats import long, sheets
from ..formats.sheets import Cells, Sheet

Role = str | int | float | Callable[[Path], Any] | None  # a column, a regular expression, a constant, a function

_CERTAIN = {"time", "times", "timestamp", "timestamps", "time_stamp", "date", "dates", "datetime", "date_time", "epoch",
            "unix", "unixtime", "unix_time", "utc", "local_time", "recorded_at"}  # fmt: skip
_LIKELY = {"t", "ts", "stamp", "clock", "elapsed", "elapsed_time", "second", "seconds", "secs", "millis",
           "milliseconds", "ms", "index"}  # fmt: skip
_UNIT = re.compile(r"[ _-]*[(\[][^)\]]*[)\]]$|[ _-](s|sec|secs|seconds|ms|us|ns|utc)$")
_NOT_CHANNELS = ("id", "label", "group")
_RISING = 0.9  # of the steps of a column that may be the time
_LISTED = 12  # columns that an error names


@dataclass(frozen=True)
class Asked:
    """What the caller said about the columns of recordings."""

    time: str | int | None = None
    values: tuple[str | int, ...] | None = None
    label: Role = None
    group: Role = None

    @classmethod
    def checked(cls, *, time: Any = None, values: Any = None, label: Any = None, group: Any = None) -> Asked:
        """The same from whatever came."""
        if time is not None and not _is_column(time):
            raise TypeError(f"time={time!r:.60}: expected the name of a column, or its position")
        if values is not None:
            several = [values] if _is_column(values) else list(values) if isinstance(values, Iterable) else [None]
            if not all(map(_is_column, several)):
                raise TypeError(f"values={values!r:.60}: expected names of columns, or their positions")
            if not several or len(set(several)) < len(several):
                raise ValueError(f"values={values!r:.60}: expected at least one column, and none twice")
            values = tuple(several)
        for name, role in (("label", label), ("group", group)):
            if role is not None and not callable(role) and not isinstance(role, str | int | float | np.number):
                raise TypeError(
                    f"{name}={role!r:.60}: expected the name of a column, a regular expression with a group ( ), a "
                    f"function of the path, or a constant; a list of {name}s is given with replace({name}s=...)"
                )
            if role == "":
                raise ValueError(f"{name}='': expected the name of a column, a regular expression or a constant")
        return cls(time, values, label, group)


def _is_column(value: Any) -> bool:
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


@dataclass(frozen=True)
class Piece:
    """What one file gives: a recording, or several where they are told apart by `id`."""

    path: Path
    values: NDArray[Any]  # (time, *frame)
    lengths: list[int]
    names: tuple[str, ...] | None
    times: NDArray[Any] | None
    ids: list[Any] | None = None
    label: list[Any] | None = None  # of every recording, where a column says it
    group: list[Any] | None = None
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # all that the file has


def piece(sheet: Sheet, asked: Asked) -> Piece:
    """The columns of a file told apart."""
    sheet = _with_id(sheet)
    if sheet.named and "id" in sheet.columns and all(isinstance(cells, list) for cells in sheet.columns.values()):
        return _several(sheet, asked)
    if sheet.named and "id" in sheet.columns and sheets.axes(sheet.columns["id"]) == 1:
        return _several(_as_text(sheet), asked)
    sheet = _split_block(sheet, asked)
    found, time = _time(sheet, asked)
    notes = [*sheet.notes, *found.notes]
    label = _constant(sheet, asked.label, "label", notes)
    group = _constant(sheet, asked.group, "group", notes)
    taken = {*found.columns, *(column for column in (label[0], group[0]) if column)}
    values, names = _channels(sheet, asked, taken, notes)
    if time is not None and len(time) != len(values):
        raise sheet.wrong(f"has {len(time)} times for {len(values)} time steps: expected as many")
    if time is not None and (time[1:] < time[:-1]).any():
        _refuse_restart(sheet, time)
        order = np.argsort(time, kind="stable")
        values, time = values[order], time[order]
        notes.append("rows are sorted by time")
    return Piece(
        sheet.path, values, [len(values)], names, time, None, label[1], group[1], tuple(notes), tuple(sheet.columns)
    )


def _with_id(sheet: Sheet) -> Sheet:
    """The same with a column ID or Id called id."""
    found = [name for name in sheet.columns if name.strip().lower() == "id"]
    if not sheet.named or len(found) != 1 or found == ["id"]:
        return sheet
    columns = {"id" if name == found[0] else name: cells for name, cells in sheet.columns.items()}
    return replace(sheet, columns=columns)


def _refuse_restart(sheet: Sheet, time: NDArray[Any]) -> None:
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


# --- time --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Clock:
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _time(sheet: Sheet, asked: Asked) -> tuple[_Clock, NDArray[Any] | None]:
    """Which columns are about time, and the times."""
    if asked.time is not None:
        name = column_of(sheet, asked.time, "time")
        return _read_clock(sheet, name, "")
    if sheet.clock is not None:
        return _Clock(), sheet.clock
    if not sheet.named and all(isinstance(cells, np.ndarray) for cells in sheet.columns.values()):
        return _Clock(), None
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
            if found is not None and _goes_on(found[0]):
                return _read_clock(sheet, name, "by its name", found)
            if found is not None:
                notes.append(f"{name!r} does not rise as a time does, and is a channel")
    dated = {name: found for name in sheet.columns if (found := _dates(sheet, name)) is not None}
    if len(dated) > 1:
        raise _ambiguous(sheet, list(dated))
    for name, found in dated.items():
        return _read_clock(sheet, name, "by its dates", found)
    return _Clock((), tuple(notes)), None


def is_likely(name: str) -> bool:
    """Whether a column is called as times are."""
    return _plain(name) in _CERTAIN | _LIKELY


def _goes_on(times: NDArray[Any]) -> bool:
    """Whether numbers rise almost always, as a time does and a temperature does not."""
    steps = times[1:] > times[:-1]
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


def _first(sheet: Sheet, certain: list[str]) -> tuple[_Clock, NDArray[Any]]:
    """Of several columns with the name of a time, the one of dates; the others are no channels."""
    read = {name: _clock_of(sheet, name) for name in certain}
    dated = [name for name, found in read.items() if found[0].dtype.kind == "M"] or certain
    if len(dated) > 1:
        raise _ambiguous(sheet, dated)
    found, time = _read_clock(sheet, dated[0], "by its name", read[dated[0]])
    others = tuple(name for name in certain if name != dated[0])
    notes = found.notes + tuple(f"left out, as another time: {name!r}" for name in others)
    return _Clock((*found.columns, *others), notes), time


def _date_and_time(sheet: Sheet, certain: list[str]) -> tuple[_Clock, NDArray[Any]] | None:
    """A column of dates beside one of times of the day is one clock."""
    if len(certain) != 2 or not all(isinstance(sheet.columns[name], list) for name in certain):
        return None
    for day, moment in (certain, certain[::-1]):
        found = sheets.joined(list(sheet.columns[day]), list(sheet.columns[moment]))
        if found is not None:
            return _Clock((day, moment), (f"time: the columns {day!r} and {moment!r}, joined",)), found
    return None


def _ambiguous(sheet: Sheet, names: list[str]) -> ValueError:
    listed = " and ".join(map(repr, names[:3]))
    return sheet.wrong(f"the columns {listed} may each be the time: name one with time=...")


def _clock_of(sheet: Sheet, name: str) -> tuple[NDArray[Any], str]:
    cells = sheet.columns[name]
    found = sheets.clock(sheet, name)
    if found is not None and not (np.isnat if found[0].dtype.kind == "M" else np.isnan)(found[0]).any():
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
    raise sheet.wrong(f"column {name!r} has dtype {cells.dtype} or lacks some times: expected numbers or datetimes")


def _read_clock(
    sheet: Sheet, name: str, how: str, found: tuple[NDArray[Any], str] | None = None
) -> tuple[_Clock, NDArray[Any]]:
    times, meaning = found or _clock_of(sheet, name)
    said = ", ".join(word for word in (f"time: the column {name!r}", how, meaning) if word)
    return _Clock((name,), (said,)), times


# --- channels ----------------------------------------------------------------------------------------------------


def column_of(sheet: Sheet, asked: Any, role: str) -> str:
    """The column of a name or a position; an error that says which there are."""
    if isinstance(asked, int | np.integer) and not isinstance(asked, bool):
        names = list(sheet.columns)
        if not -len(names) <= asked < len(names):
            raise sheet.wrong(f"{role}={asked}: expected a position among its {len(names)} columns")
        return names[asked]
    if asked in sheet.columns:
        return str(asked)
    near = difflib.get_close_matches(str(asked), sheet.columns, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    if not sheet.named:
        raise sheet.wrong(f"{role}={asked!r}: its columns have no names; give positions, such as {role}=0")
    listed = ", ".join(map(repr, list(sheet.columns)[:_LISTED]))
    raise sheet.wrong(f"{role}={asked!r} is not a column: it has {listed}{hint}")


def _channels(
    sheet: Sheet, asked: Asked, taken: set[str], notes: list[str]
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """The values (time, *frame), and the names of the channels where the file has some."""
    if asked.values is None:
        found = _numeric(sheet, taken, notes)
    else:
        found = {
            name: _asked_numbers(sheet, name) for name in (column_of(sheet, one, "values") for one in asked.values)
        }
    steps = {len(block) for block in found.values()}
    if len(steps) > 1:
        sizes = ", ".join(f"{name!r} {block.shape}" for name, block in found.items())
        raise sheet.wrong(f"its arrays have different lengths, {sizes[:200]}: name the channels with values=[...]")
    if sheet.named and max(block.ndim for block in found.values()) > 2:
        sizes = ", ".join(f"{name!r} {block.shape}" for name, block in found.items())
        raise sheet.wrong(
            f"its arrays are {sizes[:200]}: expected (time,) or (time, channel) of one recording; read many sequences "
            "in one array with NumPy or SciPy, and make Sequences(array, labels=...) of it"
        )
    if 0 in steps:
        raise sheet.wrong("has no time steps: expected at least one")
    names = [part for name, block in found.items() for part in _names(name, block)]
    blocks = list(found.values())
    if sheet.block is not None:
        places = [list(sheet.columns).index(name) for name in found]
        return sheet.block[:, places], tuple(names) if sheet.named else None
    if len(blocks) == 1 and blocks[0].ndim > 1:
        return blocks[0], tuple(names) if sheet.named and blocks[0].ndim == 2 and len(names) > 1 else None
    return np.column_stack(blocks), tuple(names) if sheet.named else None


def _names(name: str, block: NDArray[Any]) -> list[str]:
    if block.ndim == 1 or (block.ndim == 2 and block.shape[1] == 1):
        return [name]
    return [f"{name}_{i}" for i in range(block.shape[1])]


def _numeric(sheet: Sheet, taken: set[str], notes: list[str]) -> dict[str, NDArray[Any]]:
    """Every column of numbers that is nothing else; what is text is left out, and that is said."""
    found, others = {}, []
    for name, cells in sheet.columns.items():
        if name in taken or sheets.axes(cells) == 0 or (sheet.named and name in _NOT_CHANNELS):
            others += [name] if name not in taken else []
            continue
        block = sheets.numbers(sheet, name)
        if block is None:
            others.append(name)
        else:
            found[name] = block
    if not found:
        listed = ", ".join(map(repr, list(sheet.columns)[:_LISTED]))
        shown = next((f", and {name!r} holds {cells[0][:40]!r}" for name, cells in sheet.columns.items()
                      if name not in taken and isinstance(cells, list)), "")  # fmt: skip
        raise sheet.wrong(f"has no column of numbers for a channel: it has {listed or 'nothing'}{shown}")
    if others:
        notes.append(f"left out, as no channel: {', '.join(map(repr, others[:_LISTED]))}")
    return found


def _asked_numbers(sheet: Sheet, name: str) -> NDArray[Any]:
    found = sheets.numbers(sheet, name)
    if found is None or found.ndim == 0:
        raise sheet.wrong(f"values: the column {name!r} is text or a single value: expected numbers")
    return found


def _split_block(sheet: Sheet, asked: Asked) -> Sheet:
    """A plain array whose columns are asked for by position is one column for each."""
    block = next(iter(sheet.columns.values()))
    if sheet.named or sheets.axes(block) < 2 or (asked.time is None and asked.values is None):
        return sheet
    assert isinstance(block, np.ndarray)
    return replace(sheet, columns={str(i): block[:, i] for i in range(block.shape[1])})


# --- labels and groups -------------------------------------------------------------------------------------------


def _constant(sheet: Sheet, asked: Role, role: str, notes: list[str]) -> tuple[str | None, list[Any] | None]:
    """The column that a label or group is in, and the one value that it has throughout."""
    if not sheet.named or not (isinstance(asked, str) or asked is None):
        return None, None
    name = role if asked is None else asked
    if name not in sheet.columns:
        return None, None
    cells = sheet.columns[name] if sheet.written is None else sheet.written(name)
    entries = [cell.strip() for cell in cells] if isinstance(cells, list) else np.atleast_1d(cells).tolist()
    kinds = list(dict.fromkeys(entries))
    if len(kinds) > 1:
        row = next(row for row, entry in enumerate(entries) if entry != kinds[0])
        raise sheet.wrong(
            f"the {role} in column {name!r} changes from {kinds[0]!r} to {kinds[1]!r}: expected one {role} per "
            f"recording; cut the file where it changes, or give {role}= as a function of the path",
            row,
        )
    if str(kinds[0]) in ("", "nan"):
        raise sheet.wrong(f"no {role} in column {name!r}: expected one in every row", 0)
    if asked is None:
        notes.append(f"{role}: the column {name!r}, by its name")
    return name, kinds


# --- long tables -------------------------------------------------------------------------------------------------


def _several(sheet: Sheet, asked: Asked) -> Piece:
    """A file whose column `id` tells several recordings apart."""
    roles = {
        role: column_of(sheet, given, role) if role == "time" else given
        for role, given in (("time", asked.time), ("label", asked.label), ("group", asked.group))
        if given is not None and (role == "time" or (isinstance(given, str) and given in sheet.columns))
    }
    if asked.values is not None:
        kept = {"id", *roles.values(), *(column_of(sheet, one, "values") for one in asked.values)}
        kept |= {role for role in ("time", "label", "group") if role not in roles}
        sheet = replace(
            sheet, columns={name: cells for name, cells in sheet.columns.items() if name in kept}, block=None
        )
    data = long.of_sheet(sheet, **{role: str(column) for role, column in roles.items()})
    known = {role: None if entries is None else entries.tolist() for role, entries in
             (("label", data.labels), ("group", data.groups))}  # fmt: skip
    ids = None if data.ids is None else data.ids.tolist()
    return Piece(
        sheet.path, data.values, data.lengths.tolist(), data.channel_names, data.times, ids,
        known["label"], known["group"], (*sheet.notes, "the column 'id' tells recordings apart"), tuple(sheet.columns),
    )  # fmt: skip


def _as_text(sheet: Sheet) -> Sheet:
    """A long table of arrays, such as a .parquet, in the words of one of text."""
    return replace(sheet, columns={name: _written(cells) for name, cells in sheet.columns.items()}, block=None)


def _written(cells: Cells) -> list[str]:
    if isinstance(cells, list):
        return cells
    if cells.dtype.kind == "M":
        return list(np.datetime_as_string(cells.astype("datetime64[ns]")))
    return ["" if cell == "nan" else cell for cell in map(str, cells.tolist())]
