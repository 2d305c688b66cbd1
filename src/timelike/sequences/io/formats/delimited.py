"""Text of separated cells → rows and columns: the separator, the decimal mark and the header are detected."""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import text
from .raw_columns import Cells, RawColumns, parse_dates

BLANKS = " "  # any number of them separates
_SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas", BLANKS: "blanks"}
_MAX_EXACT = 2**53  # integers beyond it are not all float64
_SAMPLE_LINES = 20  # lines by which a separator is judged
_QUOTED = re.compile(r'"[^"]*"')
_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?", re.ASCII)
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d++([.,]\d*+)?|[.,]\d++)([eE][+-]?\d++)?|nan|NaN|\?|", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


class DelimitedTable(NamedTuple):
    """The cells of a file by columns: numbers if all cells are numbers, otherwise text."""

    header: list[str] | None
    columns: list[Cells]
    separator: str
    decimal: str = "."
    block: NDArray[np.float64] | None = None  # (row, column), where all are numbers
    lines: list[str] | None = None  # which they were read from


def read_table(path: Path) -> DelimitedTable:
    """All cells of a file; the separator, the decimal mark and whether there is a header are seen from it."""
    lines = _read_rows(path)
    quoted = '"' in "".join(lines)
    separator = _detect_separator(
        [_QUOTED.sub('""', line) for line in lines[:_SAMPLE_LINES]] if quoted else lines[:_SAMPLE_LINES]
    )
    numeric = None if quoted else _read_numeric(lines, separator)
    if numeric is not None:
        return numeric
    cells, widths = _split_quoted(path, separator) if quoted else _split_cells(lines, separator)
    if not widths:
        raise text.make_format_error(
            path, "is empty, no rows: expected a header with column names, then one row per time step"
        )
    width = widths[0]
    if len(set(widths)) > 1:
        raise _ragged_error(path, widths, separator)
    first = [cell.strip() for cell in cells[:width]]
    named = _is_header(first) or _is_column_numbers(first, lines[1:])
    if len(widths) < 1 + named:
        raise text.make_format_error(path, "no rows: expected a header with column names, then one row per time step")
    columns = [cells[i + width * named :: width] for i in range(width)]
    return DelimitedTable(first if named else None, list(columns), separator, _detect_decimal(path, columns, separator))


def _read_numeric(lines: list[str], separator: str) -> DelimitedTable | None:
    """A common file, read by NumPy in half the time; None if it needs the full parser."""
    first = [cell.strip() for cell in _split_cells(lines[:1], separator)[0]]
    named = _is_header(first) or _is_column_numbers(first, lines[1:])
    if len(lines) < 1 + named or "id" in map(str.lower, first):  # ids are text, also where they are digits
        return None
    body = lines[named:]
    try:
        block = np.loadtxt(body, delimiter=None if separator == BLANKS else separator, comments=None, ndmin=2)
    except ValueError:
        return None
    if block.shape[1] != len(first) or not (np.abs(block) < _MAX_EXACT).all():  # infinite, missing, or not exact
        return None
    return DelimitedTable(first if named else None, list(block.T), separator, block=block, lines=body)


def has_header(path: Path) -> bool:
    """Whether the first row of a file is names throughout, however it is separated: a label before numbers is none."""
    lines = _read_rows(path)[:1]
    cells = re.split(r"[\t;,\s]+", lines[0].strip()) if lines else []
    return bool(cells) and not any(
        _NUMBER.fullmatch(cell.strip('"')) or parse_dates([cell]) is not None for cell in cells
    )


def read_columns(path: Path) -> RawColumns:
    """A file of one recording: a row for every time step."""
    table = read_table(path)
    notes = [f"separated by {_SEPARATORS[table.separator]}"] if table.separator in ";" + BLANKS else []
    notes += ["commas are decimal marks"] if table.decimal == "," else []
    named = table.header is not None
    columns = (
        _columns_by_name(path, table, notes) if named else {str(i): cells for i, cells in enumerate(table.columns)}
    )
    notes += [] if named else ["there is no row of names: columns are channels by their positions"]
    whole = table.block is not None and len(columns) == len(table.columns)
    return RawColumns(
        path,
        columns,
        has_names=named,
        decimal=table.decimal,
        notes=tuple(notes),
        line_number=lambda row: line_number(path, row + named, table.separator),
        block=table.block if whole else None,
        column_text=None if table.lines is None else lambda name: _column_text(table, name),
    )


def _column_text(table: DelimitedTable, name: str) -> list[str]:
    """A column as it is written, of a file that was read as numbers."""
    names = table.header or [str(i) for i in range(len(table.columns))]
    place = names.index(name)
    return [_split_cells([line], table.separator)[0][place].strip() for line in table.lines or ()]


def _columns_by_name(path: Path, table: DelimitedTable, notes: list[str]) -> dict[str, Cells]:
    """Columns of distinct names. The first may be the nameless index that pandas writes, the last may be empty."""
    assert table.header is not None
    names, columns = list(table.header), list(table.columns)
    if len(names) > 1 and names[-1] == "" and not any(str(cell).strip() for cell in columns[-1]):
        names.pop(), columns.pop()
    if names[0] in ("", "Unnamed: 0"):
        if len(names) > 1 and all(cell in (str(row), row) for row, cell in enumerate(columns[0])):
            names, columns = names[1:], columns[1:]
            notes.append("the first column counts the rows, and is left out")
        else:
            names[0] = "index"
    refuse_ambiguous_names(path, names)
    return dict(zip(names, columns, strict=True))


def refuse_ambiguous_names(path: Path, names: list[str]) -> None:
    """Raise an error if names of columns are empty or repeat."""
    if "" in names or len(set(names)) < len(names):
        raise text.make_format_error(path, f"the column names {names[:20]} are not all different and non-empty", 1)


def _read_uncommented(path: Path) -> list[str]:
    """All lines, those before the header that begin with # made empty: a later one may be a name such as #7."""
    lines = text.read_lines(path)
    for at, line in enumerate(lines):
        if line.startswith("#"):
            lines[at] = ""
        elif line and not line.isspace():
            break
    return lines


def _read_rows(path: Path) -> list[str]:
    return [line for line in _read_uncommented(path) if line and not line.isspace()]


def _detect_separator(lines: list[str]) -> str:
    """The first that cuts all lines into the same number of cells, more than one; of none, one that the first has."""
    for separator in _SEPARATORS if lines else ():
        width = _count_cells(lines[0], separator)
        if width > 1 and all(_count_cells(line, separator) == width for line in lines):
            return separator
    return next((separator for separator in "\t;," if lines and separator in lines[0]), "\t")


def _count_cells(line: str, separator: str) -> int:
    return len(line.split()) if separator == BLANKS else line.count(separator) + 1


def _split_cells(lines: list[str], separator: str) -> tuple[list[str], list[int]]:
    """All cells in one list and how many each row has: a list per row would be twice as slow."""
    if separator == BLANKS:
        lines = [" ".join(line.split()) for line in lines]
    cells = separator.join(lines).split(separator) if lines else []
    return cells, [line.count(separator) + 1 for line in lines]


def _split_quoted(path: Path, separator: str) -> tuple[list[str], list[int]]:
    reader = _csv_reader(path, separator)
    try:
        rows = list(filter(_is_row, reader))
    except csv.Error as error:
        raise text.make_format_error(
            path, f"{error}: expected values separated by {_SEPARATORS[separator]}", reader.line_num
        ) from None
    return [cell for row in rows for cell in row], [len(row) for row in rows]


def _csv_reader(path: Path, separator: str, strict: bool = True) -> csv._reader:  # type: ignore[name-defined]
    lines = (line + "\n" for line in _read_uncommented(path))
    return csv.reader(lines, delimiter=separator, skipinitialspace=separator == BLANKS, strict=strict)


def line_number(path: Path, row: int, separator: str) -> int:
    """The line on which a row ends; quoted cells may hold line breaks, so it takes a second look to know."""
    reader = _csv_reader(path, separator, strict=False)
    with suppress(csv.Error):  # a cell too large for the reader is on the line that it stopped at
        for _ in zip(range(row + 1), filter(_is_row, reader), strict=False):
            pass
    return int(reader.line_num)


def _is_row(cells: list[str]) -> bool:
    """Not a blank line, of which the reader makes no cell or one."""
    return len(cells) > 1 or (len(cells) == 1 and cells[0].strip() != "")


def _ragged_error(path: Path, widths: list[int], separator: str) -> text.FormatError:
    bad = next(i for i, width in enumerate(widths) if width != widths[0])
    doubled = separator == "," and widths[bad] == 2 * widths[0]
    why = "are commas both between the values and in them? Export it with semicolons" if doubled else "is it cut short?"
    return text.make_format_error(
        path, f"{widths[bad]} values for {widths[0]} columns: {why}", line_number(path, bad, separator)
    )


def _is_header(cells: list[str]) -> bool:
    """Whether a first row is names: not all of it numbers and dates, and no number with a fraction among them."""
    if "id" in cells:
        return True
    strange = [cell for cell in cells if not _NUMBER.fullmatch(cell)]
    if any(_NUMBER.fullmatch(cell) and cell and not _WHOLE.fullmatch(cell) for cell in cells):
        return False
    return any(parse_dates([cell]) is None for cell in strange)


def _is_column_numbers(cells: list[str], below: list[str]) -> bool:
    """Whether a first row is the numbers of columns that pandas writes: 0, 1, 2 above fractions, or after a blank."""
    if cells[:1] == [""]:
        return len(cells) > 1 and cells[1:] == list(map(str, range(len(cells) - 1)))
    return (
        len(cells) > 1
        and cells == list(map(str, range(len(cells))))
        and bool(below)
        and all("." in line for line in below[:_SAMPLE_LINES])
    )


def _detect_decimal(path: Path, columns: list[list[str]], separator: str) -> str:
    """A comma, where cells have one in numbers; an error where others have a point."""
    if separator == ",":
        return "."
    with_comma = next(
        (cell for cells in columns for cell in cells if "," in cell and _COMMA.fullmatch(cell.strip())), None
    )
    if with_comma is None:
        return "."
    with_point = next(
        (cell for cells in columns for cell in cells if "." in cell and _POINT.fullmatch(cell.strip())), None
    )
    if with_point is not None:
        raise text.make_format_error(
            path, f"holds both {with_comma.strip()!r} and {with_point.strip()!r}: expected one decimal mark throughout"
        )
    return ","
