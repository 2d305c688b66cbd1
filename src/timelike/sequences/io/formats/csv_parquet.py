"""Long tables, one row per sequence and time step: .csv and .parquet.

The columns are `id` and, if present, `time`, `label` and `group`; every other column is a channel. Sequences without
ids get their positions 0, 1, … as ids. A .csv needs neither pandas nor polars. It stores labels, ids and groups, reads
positions back as ids, and can store `class_names` only if they are the sorted labels. A .parquet needs the extra
`parquet`, records whether there were ids, and stores everything except frames (video, grids), which do not fit a table.
Cells may be separated by commas, semicolons, tabs or blanks, with decimal commas if the separator is not a comma. A
file without `id` is one recording, whose columns are interpreted as in `load`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....core.extras import import_extra
from ....core.files import atomic_write
from ...container import Sequences
from .. import long_tables
from . import delimited, raw_columns, text
from .raw_columns import RawColumns
from .text import refuse_large_claim

UNSUPPORTED: dict[str, tuple[text.UnsupportedFeature, ...]] = {
    ".csv": ("frames", "other classes", "no ids", "dtypes"),
    ".parquet": ("frames",),
}

_METADATA_KEY = b"timelike"
_MAX_LISTED = 12  # columns that a note names


def read(path: Path) -> dict[str, Sequences]:
    """The sequences of a long .csv or .parquet file."""
    return {"all": _read_csv(path) if path.suffix.lower() == ".csv" else _read_parquet(path)}


def write(data: Sequences, path: Path) -> None:
    """A long .csv or .parquet file."""
    if len(data) == 0:
        raise ValueError(f"there are no sequences to write to {path.name}: expected at least one")
    (_write_csv if path.suffix.lower() == ".csv" else _write_parquet)(data, path)


def read_columns(path: Path, layout: str | None = None) -> RawColumns:
    """The columns of a file, of one recording or of several."""
    return delimited.read_columns(path) if path.suffix.lower() == ".csv" else _read_parquet_columns(path)


def _read_csv(path: Path) -> Sequences:
    sheet = delimited.read_columns(path)
    if "id" not in sheet.columns:
        from ..combine import read_single_file

        return read_single_file(path, sheet)
    from ..column_spec import ColumnSpec
    from ..origin import Origin
    from ..time_column import find_times_by_id

    data, notes = sequences_from_columns(sheet, find_times_by_id(sheet, ColumnSpec()))
    data._source = Origin((str(path),), (*sheet.notes, *notes))
    return data


def sequences_from_columns(
    sheet: RawColumns, clock: tuple[Any, NDArray[Any] | None], **roles: str | None
) -> tuple[Sequences, list[str]]:
    """The sequences of a long table of text, and notes about its interpretation.

    `clock` says which columns are about time, and the times where they are known already; `roles` which are label and
    group, where they have other names.
    """
    path, table = sheet.path, dict(sheet.columns)
    times: dict[str, Any] = {name: table.pop(name) for name in clock[0].columns}
    named = {role: roles.get(role) or role for role in long_tables.RESERVED_COLUMNS}
    metadata: dict[str, Any] = {role: table.pop(column, None) for role, column in named.items()}
    for other in long_tables.RESERVED_COLUMNS:  # never a channel, even if another column has its role
        table.pop(other, None)
    notes = ["the column 'id' tells recordings apart", *clock[0].notes]
    table = _drop_text_columns(table, notes)
    if not table:
        raise text.make_format_error(
            path, "no column besides id, time, label and group: expected at least one channel", 1
        )
    for name in ("id", "label", "group"):
        _refuse_blank(metadata[name], named[name], sheet)
    tokens = metadata["id"]
    position = {token: code for code, token in enumerate(dict.fromkeys(tokens))}
    parsed = long_tables.LongColumns(
        np.fromiter(map(position.__getitem__, tokens), np.int64, len(tokens)),
        parse_entries(list(position)),
        np.column_stack([_parse_channel(cells, name, sheet) for name, cells in table.items()]),
        clock[1] if clock[1] is not None or not times else _parse_times(times["time"], "time", sheet),
        None if metadata["label"] is None else parse_entries(metadata["label"]),
        None if metadata["group"] is None else parse_entries(metadata["group"]),
    )
    return long_tables.group_rows(Sequences, parsed, table), notes


def _drop_text_columns(table: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """The columns that may be channels; text columns are skipped, with a note."""
    text_ = [name for name, cells in table.items() if not raw_columns.has_numbers(cells)]
    if not text_ or len(text_) == len(table):
        return table
    notes.append(f"left out, as no channel: {', '.join(map(repr, text_[:_MAX_LISTED]))}")
    return {name: cells for name, cells in table.items() if name not in text_}


def _refuse_blank(cells: list[str] | None, name: str, sheet: RawColumns) -> None:
    if cells is not None and "" in cells:
        raise sheet.make_format_error(f"no {name}: expected one in every row", cells.index(""))


def _parse_channel(cells: Any, name: str, sheet: RawColumns) -> NDArray[np.float64]:
    filled = ["nan" if cell == "" else cell.replace(",", ".") if sheet.decimal == "," else cell for cell in cells]
    try:
        return text.parse_numbers(filled, sheet.path, 0)
    except text.FormatError:
        for row, cell in enumerate(filled):
            try:
                text.parse_numbers([cell], sheet.path, 0)
            except text.FormatError:
                raise sheet.make_format_error(
                    f"column {name!r} holds {cells[row][:40]!r}: expected a number, or nothing where missing", row
                ) from None
        raise


def _parse_times(cells: list[str], name: str, sheet: RawColumns) -> NDArray[Any]:
    _refuse_blank(cells, name, sheet)
    if sheet.decimal == ",":
        cells = [cell.replace(",", ".") for cell in cells]
    try:
        return text.parse_times(cells, sheet.path, 0)
    except text.FormatError:
        for row, cell in enumerate(cells):
            try:
                text.parse_times([cell], sheet.path, 0)
            except text.FormatError:
                problem = f"column {name!r} holds {cell[:40]!r}: expected a number up to 2**53 or a datetime"
                raise sheet.make_format_error(f"{problem} (2007-01-31 23:59:59)", row) from None
        kinds = "numbers, datetimes, and datetimes with a time zone"
        raise sheet.make_format_error(f"column {name!r} mixes {kinds}: expected one kind") from None


def parse_entries(tokens: list[str]) -> NDArray[Any]:
    """Labels, groups and ids: integers if all are, numbers if all are, otherwise strings."""
    distinct = dict.fromkeys(tokens)
    if all(token.removeprefix("-").isdecimal() for token in distinct):
        meaning = text.parse_integers(distinct)
        if meaning is not None:
            return np.array([meaning[token] for token in tokens], np.int64)
    return np.array(tokens, dtype=np.float64 if text.is_all_numbers(distinct) else str)


def _write_csv(data: Sequences, path: Path) -> None:
    text.refuse_unsupported(data, ".csv", UNSUPPORTED[".csv"], ".npz")
    columns = long_tables.long_columns(data, "a .csv")
    for name in columns:
        text.refuse_unwritable_name(name, "a .csv", "")
    _refuse_time_channel(data)
    _refuse_unused_classes(data)
    for name in ("ids", "labels", "groups"):
        _refuse_ambiguous_entries(getattr(data, name), name)
    written = [_format_column(column, name) for name, column in columns.items()]
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*written, strict=True))


def _refuse_time_channel(data: Sequences) -> None:
    """Raise an error for a channel that would be read back as the time, if there is no other."""
    from ..time_column import is_time_name

    time_channel = next((name for name in data.channel_names or () if data.times is None and is_time_name(name)), None)
    if time_channel is not None:
        raise ValueError(
            f"the channel {time_channel!r} would be read back from .csv as the time: rename it with "
            "replace(channel_names=), or use .parquet or .npz"
        )


def _refuse_unused_classes(data: Sequences) -> None:
    if data.class_names is not None and data.class_names != data.replace(labels=data.labels).class_names:
        raise ValueError(
            f"class_names {data.class_names[:5]} cannot be stored in .csv, which knows the classes that occur, in "
            "alphabetical order: use .parquet, .npz or .ts, or forget the others with replace(labels=s.labels)"
        )


def _refuse_ambiguous_entries(entries: NDArray[Any] | None, name: str) -> None:
    if entries is None:
        return
    if entries.dtype.kind == "b" or (entries.dtype.kind == "u" and entries.max() > 2**63 - 1):
        raise ValueError(f"{name} of dtype {entries.dtype} cannot be stored in .csv: use .parquet or .npz")
    if entries.dtype.kind == "U":
        if parse_entries(np.unique(entries).tolist()).dtype.kind != "U":
            raise ValueError(f"{name} are strings that .csv would read back as numbers: use .parquet or .npz")
        for entry in np.unique(entries).tolist():
            text.refuse_unwritable_name(entry, "a .csv", "")


def _format_column(column: NDArray[Any], name: str) -> Iterator[str]:
    if column.dtype.kind == "M":
        return iter(np.datetime_as_string(column).tolist())
    if column.dtype.kind == "U":
        return iter(column.tolist())
    if name not in ("id", "label", "group"):
        column = column.astype(np.float64)
    return ("" if cell == "nan" else cell for cell in map(repr, column.tolist()))


def _import_pyarrow() -> Any:
    import_extra("pyarrow.parquet", "a .parquet file")
    return import_extra("pyarrow", "a .parquet file")


def _read_arrow(path: Path) -> Any:
    pyarrow = _import_pyarrow()
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            refuse_large_claim(path, _claimed_bytes(file.metadata))
            table = file.read()
        table.validate(full=True)
    except (text.FormatError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:  # pyarrow has no error of its own for a name that is not UTF-8
        raise text.make_format_error(path, f"is not a whole parquet file ({str(error)[:200]}): get it again") from None
    return table


def _read_parquet_columns(path: Path) -> RawColumns:
    from ..dataframes import raw_columns_from_table

    table = _read_arrow(path)
    names = [
        name for name in table.column_names if not name.startswith("__index_level_") or _is_time_column(table, name)
    ]
    return raw_columns_from_table(table.select(names), path)


def _is_time_column(table: Any, name: str) -> bool:
    return str(table.schema.field(name).type).startswith(("timestamp", "date"))


def _read_parquet(path: Path) -> Sequences:
    pyarrow, table = _import_pyarrow(), _read_arrow(path)
    roles = {name: name if name in table.column_names else None for name in long_tables.RESERVED_COLUMNS}
    channels = [name for name in table.column_names if name not in roles and not name.startswith("__index_level_")]
    if roles["id"] is None:
        from ..combine import read_single_file

        return read_single_file(path)
    if not channels:
        raise text.make_format_error(
            path,
            f"the columns are {', '.join(map(repr, table.column_names))[:200]}: expected 'id' and a channel; or "
            "use Sequences.from_frame(table, id=...)",
        )
    meta = _read_metadata(table.schema.metadata, path)
    halves = [name for name in channels if table.schema.field(name).type == pyarrow.float16()]
    for name in halves:
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pyarrow.float32()))
    ours = _METADATA_KEY in (table.schema.metadata or {})  # nothing is left to be detected
    column_names = [
        name for name in table.column_names if not name.startswith("__index_level_") or _is_time_column(table, name)
    ]
    data = Sequences.from_frame(
        table.select(column_names),
        id="id",
        time=roles["time"],
        label=roles["label"],
        group=roles["group"],
        values=channels if ours else None,
    )
    source = data.source
    if len(halves) == data.frame[0]:
        data = Sequences.from_packed(
            data.values.astype(np.float16), data.offsets, **{name: getattr(data, name) for name in _ATTRIBUTES}
        )
    replaced: dict[str, Any] = {} if meta.get("ids", True) else {"ids": None}
    if meta.get("class_names") is not None:
        replaced |= {"labels": data.labels, "class_names": meta["class_names"]}
    data = data.replace(**replaced) if replaced else data
    data._source = None if source is None else replace(source, files=(str(path),))
    return data


def _claimed_bytes(metadata: Any) -> int:
    """Bytes that the columns take: numbers of a run, or of one page, are kept once in the file and often in memory.

    What the columns of a group say of themselves is not looked at: where it is damaged pyarrow ends the process.
    """
    stored = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    return int(max(8 * metadata.num_rows * metadata.num_columns, stored))


_ATTRIBUTES = ("labels", "groups", "ids", "times", "channel_names", "class_names")


def _read_metadata(metadata: dict[bytes, bytes] | None, path: Path) -> dict[str, Any]:
    try:
        metadata_json = json.loads((metadata or {}).get(_METADATA_KEY, b"{}"))
    except (ValueError, RecursionError):
        metadata_json = None
    if not isinstance(metadata_json, dict):
        raise text.make_format_error(path, "the note of timelike in it is damaged: get the file again")
    return metadata_json


def _write_parquet(data: Sequences, path: Path) -> None:
    pyarrow = _import_pyarrow()
    columns = {name: np.ascontiguousarray(c) for name, c in long_tables.long_columns(data, "a .parquet").items()}
    note = {"ids": data.ids is not None, "class_names": data.class_names}
    table = pyarrow.table(
        {name: pyarrow.array(c.tolist() if c.dtype.kind == "U" else c) for name, c in columns.items()}
    )
    table = table.replace_schema_metadata({_METADATA_KEY: json.dumps(note).encode()})
    with atomic_write(path) as temporary:
        pyarrow.parquet.write_table(table, temporary)
