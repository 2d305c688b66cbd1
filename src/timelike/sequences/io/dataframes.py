"""Tables of pandas, polars and others, and arrays, one recording each → the columns of a recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.validation import arrays
from . import long_tables
from .column_spec import ColumnSpec
from .combine import combine_columns
from .formats.raw_columns import Cells, RawColumns

if TYPE_CHECKING:
    from ..container import Sequences


def read_dataframes(
    frames: Any, *, time: Any = None, values: Any = None, label: Any = None, group: Any = None
) -> Sequences:
    """The implementation of `Sequences.from_frames`."""
    named, spec = _name_recordings(frames), ColumnSpec.from_options(time=time, values=values, label=label, group=group)
    sheets = [_to_raw_columns(one, Path(name)) for name, one in named.items()]
    unnamed = next(iter(named)) == "frames[0]"
    return combine_columns(sheets, spec, None if unnamed else list(named), what="tables")


def _name_recordings(frames: Any) -> dict[str, Any]:
    """Recordings by name; those without one by their place in the list."""
    if isinstance(frames, str | bytes | np.ndarray) or hasattr(frames, "columns"):
        raise TypeError(
            f"frames is one {type(frames).__name__}: expected a list of tables, one recording each; one is [table]"
        )
    if isinstance(frames, Mapping):
        pairs = list(frames.items())
    else:
        if getattr(frames, "ndim", 1) == 0:
            raise TypeError(f"frames is one {type(frames).__name__}: expected a list of tables, one recording each")
        several = list(frames)
        paired = [isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[0], str) for one in several]
        if any(paired) and not all(paired):
            raise TypeError(f"frames[{paired.index(False)}] has no name but others have: expected pairs (name, table)")
        pairs = several if any(paired) else [(f"frames[{i}]", one) for i, one in enumerate(several)]
    if not pairs:
        raise ValueError("frames is empty: expected at least one table")
    names = [str(name) for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ValueError(f"frames has {twice!r} twice: expected distinct names")
    return dict(zip(names, (one for _, one in pairs), strict=True))


def _to_raw_columns(one: Any, name: Path) -> RawColumns:
    if hasattr(one, "columns"):
        return raw_columns_from_table(one, name)
    array = arrays.validate_array(one, str(name))
    if array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}: expected (time,) or (time, channel)")
    return RawColumns(name, {"0": array[:, None] if array.ndim == 1 else array}, has_names=False)


def raw_columns_from_table(table: Any, name: Path) -> RawColumns:
    """The columns of a table, with the pandas index if it is not just the row number."""
    index = getattr(table, "index", None)
    notes: tuple[str, ...] = ()
    if index is not None and hasattr(index, "names") and type(index).__name__ != "RangeIndex":
        if index.nlevels > 1 or (index.names[0] is None and not _has_dates(index)):
            notes = ("the index of the table is left out",)
        else:
            table = table.reset_index(names=str(index.names[0] or "index"))
    frame = long_tables.as_narwhals(table)
    if len(frame.columns) == 0:
        raise ValueError(f"{name} has no columns: expected at least one of numbers")
    if len(frame) == 0:
        raise ValueError(f"{name} has no rows: expected at least one")
    return RawColumns(name, {column: cells_from_column(frame[column], column) for column in frame.columns}, notes=notes)


def _has_dates(index: Any) -> bool:
    return np.issubdtype(getattr(index.dtype, "base", np.dtype(object)), np.datetime64) or "datetime" in str(
        index.dtype
    )


def cells_from_column(column: Any, name: str) -> Cells:
    """A column as the columns of files are: numbers and dates in arrays, durations in seconds, all else as text."""
    import narwhals as nw

    kind = column.dtype
    if kind == nw.Duration:
        return np.asarray(column.dt.total_nanoseconds().to_numpy()) / 1e9
    if kind in (nw.Datetime, nw.Date):
        return long_tables.to_times(column, name, gaps=True)  # which matters only where it is the time
    if kind.is_numeric() or kind == nw.Boolean:
        return long_tables.to_numbers(column)
    if kind.is_nested() or kind == nw.Binary:
        return unreadable_cells(len(column))
    try:
        words = column.cast(nw.String).to_list()
    except Exception:  # each kind of table raises its own error for objects that are not text
        return unreadable_cells(len(column))
    # missing values are None, NaN or NA, depending on the library and the dtype; the column detects them
    return ["" if gone else str(word) for gone, word in zip(column.is_null().to_list(), words, strict=True)]


def unreadable_cells(n_rows: int) -> NDArray[Any]:
    """The placeholder of a column of lists, structures, bytes or other objects, neither channel nor label."""
    return np.full(n_rows, None, dtype=object)
