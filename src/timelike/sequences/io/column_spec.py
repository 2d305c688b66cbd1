"""`ColumnSpec`: the options of the caller about the columns of recordings."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .formats.raw_columns import RawColumns

Role = str | int | float | Callable[[Path], Any] | None  # a column, a regular expression, a constant, a function

MAX_LISTED = 12  # columns that an error names


@dataclass(frozen=True)
class ColumnSpec:
    """The options of the caller about the columns of recordings."""

    time: str | int | None = None
    values: tuple[str | int, ...] | None = None
    label: Role = None
    group: Role = None
    folders_are_classes: bool = False
    """Whether recordings without a label of their own are of the class that their folder is called."""
    root: Path | None = None
    """The folder below which a regular expression may match; None for the common folder of all files."""

    @classmethod
    def from_options(
        cls,
        *,
        time: Any = None,
        values: Any = None,
        label: Any = None,
        group: Any = None,
        folders_are_classes: bool = False,
        root: Path | None = None,
    ) -> ColumnSpec:
        """Validated options."""
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
        return cls(time, values, label, group, folders_are_classes, root)


def _is_column(value: Any) -> bool:
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def find_column(sheet: RawColumns, column: Any, role: str) -> str:
    """The column with a name or position; the error lists the columns."""
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if not -len(sheet.names) <= column < len(sheet.names):
            raise sheet.make_format_error(f"{role}={column}: expected a position among its {len(sheet.names)} columns")
        return sheet.names[column]
    if column in sheet.columns:
        return str(column)
    near = difflib.get_close_matches(str(column), sheet.columns, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    if not sheet.has_names:
        raise sheet.make_format_error(f"{role}={column!r}: its columns have no names; give positions, such as {role}=0")
    listed = ", ".join(map(repr, list(sheet.columns)[:MAX_LISTED]))
    raise sheet.make_format_error(f"{role}={column!r} is not a column: it has {listed}{hint}")
