"""Conversion between long tables (pandas, polars and others that narwhals supports) and `Sequences`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_choice, format_value

if TYPE_CHECKING:
    from ..container import Sequences

RESERVED_COLUMNS = ("id", "time", "label", "group")  # the columns of a long table that are not channels


class LongColumns(NamedTuple):
    """The columns of a long table as plain arrays, one entry per row."""

    codes: NDArray[np.int64]  # which sequence a row belongs to, counted in order of appearance
    ids: NDArray[Any]  # the id behind every code
    values: NDArray[Any]  # (row, channel)
    time: NDArray[Any] | None = None
    label: NDArray[Any] | None = None
    group: NDArray[Any] | None = None


def from_frame(
    cls: type[Sequences],
    table: Any,
    *,
    id: str,
    time: str | None = None,
    values: str | Iterable[str] | None = None,
    label: str | None = None,
    group: str | None = None,
    on_disorder: Literal["raise", "keep"] = "raise",
) -> Sequences:
    """From a long table, one row per sequence and time step: pandas, polars, pyarrow and others.

    Rows with the same `id` form a sequence, in any order and not necessarily next to each other; sequences are in the
    order in which their ids first appear. Rows are sorted by `time` (numbers, datetimes, durations or ISO text; time
    zones become UTC). By default, the time column is found by its name (time, timestamp, date, t, …) or because it
    holds dates, as in `load`, and `X.source.notes` names it; a column listed in `values` is a channel. Without a time
    column, rows keep their order. `values` are the channels, by default every other numeric column. `label` and `group`
    must be constant within a sequence; an ordered categorical (or Enum) label defines `class_names`.
    Nulls become NaN. Repeated times raise an error; `on_disorder="keep"` keeps them for `merge_duplicates`. Channels
    called `value_0`, `value_1`, … are channels without names.

    >>> import pandas as pd, timelike as tl
    >>> table = pd.DataFrame({"who": ["a", "b", "a"], "t": [1, 0, 0], "x": [3.0, 5.0, 2.0]})
    >>> s = tl.Sequences.from_frame(table, id="who", time="t")
    >>> s[0].ravel(), s.ids
    (array([2., 3.]), array(['a', 'b'], dtype='<U1'))
    """
    frame = as_narwhals(table)
    named = _resolve_roles(frame, {"id": id, "time": time, "label": label, "group": group})
    if len(frame) == 0:
        raise ValueError("table has no rows: expected at least one")
    codes, ids = _encode_ids(frame[named["id"]], named["id"])
    chosen = None if values is None else [values] if isinstance(values, str) else [str(name) for name in values]
    about, times, notes = _find_times(frame, named, chosen, codes)
    channels = _choose_channels(frame, chosen, [*named.values(), *about])
    columns = LongColumns(
        codes,
        ids,
        np.column_stack([to_numbers(frame[name]) for name in channels]),
        times,
        *(_to_entries(frame[named[role]], role, named[role]) if role in named else None for role in ("label", "group")),
    )
    classes = _categories(frame[named["label"]]) if "label" in named else None
    data = group_rows(cls, columns, channels, class_names=classes, on_disorder=on_disorder)
    if notes:
        from .origin import Origin

        data._source = Origin(("table",), notes)
    return data


def _resolve_roles(frame: Any, roles: dict[str, Any]) -> dict[str, str]:
    """The columns that are named, by their role; an error for one that there is not."""
    if len(frame.columns) == 0:
        raise ValueError("table has no columns: expected one for the id and at least one of numbers")
    if roles["id"] is None:
        raise TypeError(
            "id=None: expected the column that tells sequences apart; a table that is one sequence is "
            "Sequences.from_frames([table])"
        )
    named = {role: str(column) for role, column in roles.items() if column is not None}
    for role, column in named.items():
        if column not in frame.columns:
            raise _missing_column_error(role, column, frame.columns)
    return named


def _find_times(
    frame: Any, named: dict[str, str], values: list[str] | None, codes: NDArray[np.int64]
) -> tuple[tuple[str, ...], NDArray[Any] | None, tuple[str, ...]]:
    """The columns about time, the times, and what was guessed: by the rules of files, where no column is named."""
    from .column_spec import ColumnSpec
    from .dataframes import cells_from_column
    from .formats.raw_columns import RawColumns
    from .time_column import find_times, is_time_name

    name = named.get("time")
    if name is not None and (frame[name].null_count() or _is_time_like(frame[name])):
        return (name,), to_times(frame[name], name), ()
    open_ = [column for column in frame.columns if column not in named.values() and column not in (values or ())]
    open_ = [column for column in open_ if is_time_name(column) or not frame[column].dtype.is_numeric()]
    wanted = [name] if name is not None else open_
    if not wanted:
        return (), None, ()
    sheet = RawColumns(Path("table"), {column: cells_from_column(frame[column], column) for column in wanted})
    time_columns, times = find_times(sheet, ColumnSpec(time=name), codes)
    return time_columns.columns, times, () if name is not None else time_columns.notes


def _is_time_like(column: Any) -> bool:
    import narwhals as nw

    return column.dtype in (nw.Date, nw.Datetime) or column.dtype.is_numeric() or column.dtype == nw.Boolean


def from_frames(
    cls: type[Sequences],
    frames: Mapping[str, Any] | Iterable[Any],
    *,
    time: str | int | None = None,
    values: str | int | Iterable[str | int] | None = None,
    label: str | float | Callable[[Path], Any] | None = None,
    group: str | float | Callable[[Path], Any] | None = None,
) -> Sequences:
    r"""From several tables or arrays, one recording each: a list of them, pairs (name, table), or a mapping from names.

    Tables may be from pandas, polars and others; an array is (time,) or (time, channel). Columns are interpreted as in
    `load`, and `X.source` records how: the time column is found by its name or dtype, or is the index of a pandas
    table. Names become `ids`; regular expressions and functions for `label` and `group` are applied to them.

    >>> import pandas as pd, timelike as tl
    >>> walk = pd.DataFrame({"t": [0.0, 0.1, 0.2], "ax": [1.0, 2.0, 4.0]})
    >>> X = tl.Sequences.from_frames({"anna_1": walk, "bob_1": walk[:2]}, group=r"(\w+)_")
    >>> X.lengths, X.ids.tolist(), X.groups.tolist(), X.channel_names
    (array([3, 2]), ['anna_1', 'bob_1'], ['anna', 'bob'], ('ax',))
    """
    from .dataframes import read_dataframes

    return read_dataframes(frames, time=time, values=values, label=label, group=group)


def as_narwhals(table: Any) -> Any:
    """A table as narwhals has it."""
    import narwhals as nw

    if hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas, whose column names may be anything
        table = _with_text_names(table)
    try:
        return nw.from_native(table, eager_only=True)
    except TypeError:
        raise TypeError(
            f"table is a {type(table).__module__}.{type(table).__qualname__}: expected a pandas or polars DataFrame "
            "(call collect() on a lazy one)"
        ) from None


def _with_text_names(table: Any) -> Any:
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ValueError(
            f"table has the column {format_value(twice)} twice: expected distinct names; rename or drop one"
        )
    return table if names == list(table.columns) else table.set_axis(names, axis=1)


def _missing_column_error(role: str, column: str, available: list[str]) -> ValueError:
    return ValueError(
        f"{role}={format_value(column)} is not a column of the table: it has {', '.join(map(format_value, available))}"
    )


def _choose_channels(frame: Any, chosen: list[str] | None, taken: list[str]) -> list[str]:
    if chosen is None:
        numeric = [name for name in frame.columns if name not in taken and frame[name].dtype.is_numeric()]
        if not numeric:
            raise ValueError(
                f"the table has no numeric column besides {', '.join(map(repr, taken))}: name the channels with "
                f"values=[...]; it has {', '.join(map(repr, frame.columns))}"
            )
        return numeric
    if not chosen:
        raise ValueError("values is empty: expected at least one column")
    for name in chosen:
        if name not in frame.columns:
            raise _missing_column_error("values", name, frame.columns)
        if not (frame[name].dtype.is_numeric() or str(frame[name].dtype) == "Boolean"):
            raise TypeError(f"values column {name!r} has dtype {frame[name].dtype}: expected numbers; cast it first")
    return chosen


def _encode_ids(column: Any, name: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The position of every row's id among the distinct ids, and those, in order of appearance."""
    import narwhals as nw

    if column.null_count():
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise ValueError(f"id column {name!r} has no id in row {row}: expected one in every row; drop or fill it")
    if not column.dtype.is_numeric():
        column = column.cast(nw.String)
    distinct = column.unique(maintain_order=True)
    codes = column.replace_strict(distinct.to_list(), list(range(len(distinct))), return_dtype=nw.Int64)
    ids = distinct.to_numpy()
    return codes.to_numpy().astype(np.int64), ids.astype(str) if ids.dtype.kind not in "biuf" else ids


def to_numbers(column: Any) -> NDArray[Any]:
    """A column of numbers, with NaN for missing values."""
    import narwhals as nw

    if column.null_count() or column.dtype.is_decimal():
        column = column.cast(nw.Float32 if column.dtype == nw.Float32 else nw.Float64)
    return np.asarray(column.to_numpy())


def to_times(column: Any, name: str, *, gaps: bool = False) -> NDArray[Any]:
    """A column of times: numbers, or datetimes, those with a time zone in UTC; `gaps` says that some may be missing."""
    import narwhals as nw

    if column.null_count() and not gaps:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise ValueError(f"time column {name!r} is empty in row {row}: expected a time in every row; drop or fill it")
    if column.dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    if column.dtype == nw.Datetime:
        if column.dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return np.asarray(column.to_numpy())
    if not column.dtype.is_numeric():
        raise TypeError(
            f"time column {name!r} has dtype {column.dtype}: expected numbers or datetimes; convert text with "
            "pandas.to_datetime or polars' str.to_datetime, a duration to seconds"
        )
    times = np.asarray(column.to_numpy())
    return times if times.dtype.kind in "iu" else times.astype(np.float64)


def _to_entries(column: Any, role: str, name: str) -> NDArray[Any]:
    import narwhals as nw

    if column.null_count():
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise ValueError(
            f"{role} column {name!r} is empty in row {row}: expected a {role} in every row; drop or fill it"
        )
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        column = column.cast(nw.String)
    return np.asarray(column.to_numpy())


def _categories(column: Any) -> list[str] | None:
    """The declared classes; a plain categorical is not asked, since polars pools those of unrelated columns."""
    import narwhals as nw

    return [str(name) for name in column.dtype.categories] if column.dtype == nw.Enum else None


def group_rows(
    cls: type[Sequences],
    columns: LongColumns,
    channels: Iterable[str],
    *,
    class_names: Iterable[str] | None = None,
    on_disorder: Literal["raise", "keep"] = "raise",
) -> Sequences:
    """Rows in any order become sequences; labels and groups are checked to be constant inside each."""
    codes, ids, values, time, label, group = columns
    order = _row_order(codes, time)
    if order is not None:
        codes, values = codes[order], values[order]
        time, label, group = (None if entry is None else entry[order] for entry in (time, label, group))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(ids)))])
    names: tuple[str, ...] | None = tuple(channels)
    if names == _default_names(values.shape[1]):
        names = None
    return cls.from_packed(
        values,
        offsets,
        times=time,
        ids=ids,
        labels=_constant_per_id(label, "label", codes, ids, offsets),
        groups=_constant_per_id(group, "group", codes, ids, offsets),
        channel_names=names,
        class_names=class_names,
        on_disorder=on_disorder,
    )


def _row_order(codes: NDArray[np.int64], time: NDArray[Any] | None) -> NDArray[np.int64] | None:
    """The stable order by sequence, then time; None if the rows are already sorted."""
    step = np.diff(codes)
    if (step >= 0).all() and (time is None or ((step > 0) | (time[1:] >= time[:-1])).all()):
        return None
    return np.argsort(codes, kind="stable") if time is None else np.lexsort((time, codes))


def _constant_per_id(
    entries: NDArray[Any] | None, role: str, codes: NDArray[np.int64], ids: NDArray[Any], offsets: NDArray[np.int64]
) -> list[Any] | NDArray[Any] | None:
    if entries is None:
        return None
    changes = np.flatnonzero((entries[1:] != entries[:-1]) & (codes[1:] == codes[:-1]))
    if changes.size:
        row = int(changes[0])
        before, after = entries[row : row + 2].tolist()
        raise ValueError(
            f"the {role} of id {format_value(ids[codes[row]].item())} changes from {format_value(before)} to "
            f"{format_value(after)}: expected one {role} per id; make the id finer or drop the {role}"
        )
    firsts = entries[offsets[:-1]]
    return firsts.astype(str) if firsts.dtype.kind not in "biuf" else firsts


def _default_names(n_channels: int) -> tuple[str, ...]:
    return tuple(f"value_{i}" for i in range(n_channels))


def long_columns(self: Sequences, what: str) -> dict[str, NDArray[Any]]:
    """The columns id, time, channels, label, group of a long table, one entry per time step."""
    if len(self.frame) > 1:
        raise ValueError(f"frames of shape {self.frame} do not fit {what}, which has one column per channel: use .npz")
    ids = np.arange(len(self)) if self.ids is None else self.ids
    distinct, counts = np.unique(ids, return_counts=True)
    if len(distinct) < len(ids):
        twice = distinct[counts > 1][0].item()
        raise ValueError(
            f"the id {format_value(twice)} occurs more than once: the rows of {what} would run together; give distinct "
            "ids with replace(ids=...) or drop them with replace(ids=None)"
        )
    channels = self.channel_names or _default_names(self.frame[0])
    clash = [name for name in channels if name in RESERVED_COLUMNS]
    if clash:
        raise ValueError(
            f"the channel {clash[0]!r} has the name of another column: rename it with replace(channel_names=)"
        )
    metadata = {"id": ids, "label": self.labels, "group": self.groups}
    repeated = {name: np.repeat(entry, self.lengths) for name, entry in metadata.items() if entry is not None}
    table = {"id": repeated.pop("id")}
    if self.times is not None:
        table["time"] = self.times
    return table | {name: self.values[:, i] for i, name in enumerate(channels)} | repeated


def to_frame(self: Sequences, kind: Literal["pandas", "polars"] = "pandas") -> Any:
    """A long table, one row per time step: `id`, `time` if there are times, the channels, `label` and `group`.

    The inverse of `from_frame(table, id="id", time="time", label="label", group="group")`. Without ids, the positions
    0, 1, … replace them; without times, there is no time column and the rows are in the order of time.
    Channels without names are called `value_0`, `value_1`, …. String labels are an ordered categorical (polars: Enum)
    of the `class_names`.

    >>> import timelike as tl
    >>> tl.Sequences([[1.0, 2.0], [3.0]], ids=["a", "b"]).to_frame()
      id  value_0
    0  a      1.0
    1  a      2.0
    2  b      3.0
    """
    import narwhals as nw

    check_choice(kind, "kind", ("pandas", "polars"))
    columns = long_columns(self, "a table")
    if self.dtype == np.float16:  # neither kind of table computes in it
        columns = {name: c.astype(np.float32) if c.dtype == np.float16 else c for name, c in columns.items()}
    try:
        frame = nw.from_dict(columns, backend=kind)
    except ImportError:
        raise ImportError(f'to_frame(kind="{kind}") needs {kind}: pip install {kind}') from None
    if self.class_names is not None:
        frame = frame.with_columns(nw.col("label").cast(nw.Enum(self.class_names)))
    return frame.to_native()
