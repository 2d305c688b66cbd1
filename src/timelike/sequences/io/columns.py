"""The roles of the columns of a recording (time, channels, label, group), given by the caller or inferred."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .column_spec import MAX_LISTED, ColumnSpec, Role, find_column
from .formats import raw_columns
from .formats.raw_columns import Cells, RawColumns
from .time_column import find_times, find_times_by_id, refuse_restart

_NOT_CHANNELS = ("id", "label", "group")


@dataclass(frozen=True)
class ParsedFile:
    """The content of one file: a recording, or several with a column `id`."""

    path: Path
    values: NDArray[Any]  # (time, *frame)
    lengths: list[int]
    names: tuple[str, ...] | None
    times: NDArray[Any] | None
    ids: list[Any] | None = None
    label: list[Any] | None = None  # for every recording, if a column has it
    group: list[Any] | None = None
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # all that the file has


def parse_columns(sheet: RawColumns, spec: ColumnSpec) -> ParsedFile:
    """Assign roles to the columns of a file."""
    sheet = _normalize_id(sheet)
    if sheet.has_names and "id" in sheet.columns and raw_columns.count_axes(sheet.columns["id"]) == 1:
        return _parse_long(sheet, spec)
    sheet = _split_block(sheet, spec)
    time_columns, time = find_times(sheet, spec)
    notes = [*sheet.notes, *time_columns.notes]
    label = _constant_column(sheet, spec.label, "label", notes)
    group = _constant_column(sheet, spec.group, "group", notes)
    taken = {*time_columns.columns, *(column for column in (label[0], group[0]) if column)}
    values, names = _select_channels(sheet, spec, taken, notes)
    if time is not None and len(time) != len(values):
        raise sheet.make_format_error(f"has {len(time)} times for {len(values)} time steps: expected as many")
    if time is not None and (time[1:] < time[:-1]).any():
        refuse_restart(sheet, time)
        order = np.argsort(time, kind="stable")
        values, time = values[order], time[order]
        notes.append("rows are sorted by time")
    return ParsedFile(
        sheet.path, values, [len(values)], names, time, None, label[1], group[1], tuple(notes), tuple(sheet.columns)
    )


def _normalize_id(sheet: RawColumns) -> RawColumns:
    """Rename a column ID or Id to id."""
    id_columns = [name for name in sheet.columns if name.strip().lower() == "id"]
    if not sheet.has_names or len(id_columns) != 1 or id_columns == ["id"]:
        return sheet
    columns = {"id" if name == id_columns[0] else name: cells for name, cells in sheet.columns.items()}
    return replace(sheet, columns=columns)


# --- channels ----------------------------------------------------------------------------------------------------


def _select_channels(
    sheet: RawColumns, spec: ColumnSpec, taken: set[str], notes: list[str]
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """The values (time, *frame), and the channel names if the file has them."""
    if spec.values is None:
        numeric = _numeric_columns(sheet, taken, notes)
    else:
        numeric = {
            name: _requested_numbers(sheet, name) for name in (find_column(sheet, one, "values") for one in spec.values)
        }
    steps = {len(block) for block in numeric.values()}
    if len(steps) > 1:
        sizes = ", ".join(f"{name!r} {block.shape}" for name, block in numeric.items())
        raise sheet.make_format_error(
            f"its arrays have different lengths, {sizes[:200]}: name the channels with values=[...]"
        )
    if sheet.has_names and max(block.ndim for block in numeric.values()) > 2:
        sizes = ", ".join(f"{name!r} {block.shape}" for name, block in numeric.items())
        raise sheet.make_format_error(
            f"its arrays are {sizes[:200]}: expected (time,) or (time, channel) of one recording; read many sequences "
            "in one array with NumPy or SciPy, and make Sequences(array, labels=...) of it"
        )
    if 0 in steps:
        raise sheet.make_format_error("has no time steps: expected at least one")
    names = [part for name, block in numeric.items() for part in _channel_names(name, block)]
    blocks = list(numeric.values())
    if sheet.block is not None:
        place = {name: at for at, name in enumerate(sheet.columns)}  # a search for each is slow
        return sheet.block[:, [place[name] for name in numeric]], tuple(names) if sheet.has_names else None
    if len(blocks) == 1 and blocks[0].ndim > 1:
        return blocks[0], tuple(names) if sheet.has_names and blocks[0].ndim == 2 and len(names) > 1 else None
    return np.column_stack(blocks), tuple(names) if sheet.has_names else None


def _channel_names(name: str, block: NDArray[Any]) -> list[str]:
    if block.ndim == 1 or (block.ndim == 2 and block.shape[1] == 1):
        return [name]
    return [f"{name}_{i}" for i in range(block.shape[1])]


def _numeric_columns(sheet: RawColumns, taken: set[str], notes: list[str]) -> dict[str, NDArray[Any]]:
    """Every numeric column without another role; text columns are skipped, with a note."""
    numeric, others = {}, []
    for name, cells in sheet.columns.items():
        if name in taken or raw_columns.count_axes(cells) == 0 or (sheet.has_names and name in _NOT_CHANNELS):
            others += [name] if name not in taken else []
            continue
        block = raw_columns.parse_numbers(sheet, name)
        if block is None:
            others.append(name)
        else:
            numeric[name] = block
    if not numeric:
        listed = ", ".join(map(repr, list(sheet.columns)[:MAX_LISTED]))
        shown = next((f", and {name!r} holds {cells[0][:40]!r}" for name, cells in sheet.columns.items()
                      if name not in taken and isinstance(cells, list)), "")  # fmt: skip
        raise sheet.make_format_error(f"has no column of numbers for a channel: it has {listed or 'nothing'}{shown}")
    if others:
        notes.append(f"left out, as no channel: {', '.join(map(repr, others[:MAX_LISTED]))}")
    return numeric


def _requested_numbers(sheet: RawColumns, name: str) -> NDArray[Any]:
    numbers = raw_columns.parse_numbers(sheet, name)
    if numbers is None or numbers.ndim == 0:
        raise sheet.make_format_error(
            f"values: the column {name!r} is text, a single value or an object: expected numbers"
        )
    return numbers


def _split_block(sheet: RawColumns, spec: ColumnSpec) -> RawColumns:
    """An array whose columns are chosen by position becomes one column for each."""
    block = next(iter(sheet.columns.values()))
    if sheet.has_names or raw_columns.count_axes(block) < 2 or (spec.time is None and spec.values is None):
        return sheet
    assert isinstance(block, np.ndarray)
    return replace(sheet, columns={str(i): block[:, i] for i in range(block.shape[1])})


# --- labels and groups -------------------------------------------------------------------------------------------


def _constant_column(
    sheet: RawColumns, column: Role, role: str, notes: list[str]
) -> tuple[str | None, list[Any] | None]:
    """The column that a label or group is in, and the one value that it has throughout."""
    if not sheet.has_names or not (isinstance(column, str) or column is None):
        return None, None
    name = role if column is None else column
    if name not in sheet.columns:
        return None, None
    cells = sheet.columns[name] if sheet.column_text is None else sheet.column_text(name)
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "O":
        raise sheet.make_format_error(
            f"the {role} in column {name!r} is a list, bytes or another object: expected text or numbers"
        )
    entries = [cell.strip() for cell in cells] if isinstance(cells, list) else np.atleast_1d(cells).tolist()
    blank = next((row for row, entry in enumerate(entries) if str(entry) in ("", "nan")), None)
    if blank is not None:
        raise sheet.make_format_error(
            f"no {role} in column {name!r}, row {blank}: expected one in every row; drop or fill it", blank
        )
    kinds = list(dict.fromkeys(entries))
    if len(kinds) > 1:
        row = next(row for row, entry in enumerate(entries) if entry != kinds[0])
        raise sheet.make_format_error(
            f"the {role} in column {name!r} changes from {kinds[0]!r} to {kinds[1]!r}: expected one {role} per "
            f"recording; cut the file where it changes, or give {role}= as a function of the path",
            row,
        )
    if column is None:
        notes.append(f"{role}: the column {name!r}, by its name")
    return name, kinds


# --- long tables -------------------------------------------------------------------------------------------------


def _parse_long(sheet: RawColumns, spec: ColumnSpec) -> ParsedFile:
    """A file whose column `id` tells several recordings apart."""
    clock = find_times_by_id(sheet, spec)
    roles: dict[str, Any] = {
        role: column
        for role, column in (("label", spec.label), ("group", spec.group))
        if isinstance(column, str) and column in sheet.columns
    }
    if spec.values is not None:
        column_names = {
            "id",
            *clock[0].columns,
            *roles.values(),
            *(find_column(sheet, one, "values") for one in spec.values),
        }
        column_names |= {role for role in ("label", "group") if role not in roles}
        sheet = replace(
            sheet, columns={name: cells for name, cells in sheet.columns.items() if name in column_names}, block=None
        )
    from .formats import csv_parquet  # a format is imported when such a file is read

    data, notes = csv_parquet.sequences_from_columns(_as_text(sheet), clock, **roles)
    metadata = {
        # a name that is no column may be a pattern for file names, or misspelt: the usual column does not replace it
        role: None if entries is None or (isinstance(asked, str) and role not in roles) else entries.tolist()
        for role, asked, entries in (("label", spec.label, data.labels), ("group", spec.group, data.groups))
    }
    ids = None if data.ids is None else data.ids.tolist()
    return ParsedFile(
        sheet.path, data.values, data.lengths.tolist(), data.channel_names, data.times, ids,
        metadata["label"], metadata["group"], (*sheet.notes, *notes), tuple(sheet.columns),
    )  # fmt: skip


def _as_text(sheet: RawColumns) -> RawColumns:
    """A long table of arrays, such as a .parquet, in the words of one of text."""
    if all(isinstance(cells, list) for cells in sheet.columns.values()):
        return sheet
    return replace(sheet, columns={name: _format_cells(cells) for name, cells in sheet.columns.items()}, block=None)


def _format_cells(cells: Cells) -> list[str]:
    if isinstance(cells, list):
        return cells
    if cells.dtype.kind == "M":
        return list(np.datetime_as_string(cells.astype("datetime64[ns]")))
    return ["" if cell == "nan" else cell for cell in map(str, cells.tolist())]
