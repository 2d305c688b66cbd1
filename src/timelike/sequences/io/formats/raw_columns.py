"""`RawColumns`: the columns of a file of one recording, before it is known which of them are time, channels and
labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...timestamps import parse_datetimes
from . import text

Cells = list[str] | NDArray[Any]  # text that is not read yet, or an array (time,), (time, *frame) or ()

_MISSING = frozenset({"", "nan", "na", "n/a", "null", "none", "?", "-nan", "+nan"})
_NUMBER = re.compile(r"[+-]?(\d++([.,]\d*+)?|[.,]\d++)([eE][+-]?\d++)?", re.ASCII)  # a number, by either mark
_DAYS = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_OF_DAY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d{1,9})?))?", re.ASCII)
_SLASHES = re.compile(r"(\d{4})[/.](\d\d)[/.](\d\d)(.*)", re.ASCII | re.DOTALL)
_EXACT_DIGITS = 16  # digits from which an integer may be beyond 2**53
_UNITS = ((1, "seconds"), (10**3, "milliseconds"), (10**6, "microseconds"), (10**9, "nanoseconds"))
_CENTURY = (946_684_800, 4_102_444_800)  # 2000 to 2100, in seconds since 1970
_DAY = 86_400  # seconds
_HOUR = 3600  # between two samples, at most, for integers to be taken for dates


@dataclass(frozen=True)
class RawColumns:
    """Columns by name. Without names they are called by their positions, "0", "1", …"""

    path: Path
    columns: dict[str, Cells]
    has_names: bool = True
    times: NDArray[Any] | None = None  # where it is not a column: the rate of a sound
    decimal: str = "."
    notes: tuple[str, ...] = ()  # how it was understood
    line_number: Callable[[int], int | None] = lambda row: None  # of a row, in a file of lines
    block: NDArray[np.float64] | None = None  # (time, column) of all columns, where they are in one array
    column_text: Callable[[str], list[str]] | None = None  # the text of a column that was read as numbers

    @cached_property
    def names(self) -> list[str]:
        """Of the columns, by position."""
        return list(self.columns)

    def make_format_error(self, problem: str, row: int | None = None) -> text.FormatError:
        """The error that names the file and, for text, the line."""
        return text.make_format_error(self.path, problem, None if row is None else self.line_number(row))


def count_axes(cells: Cells) -> int:
    """How many axes a column has; text has one, of time."""
    return 1 if isinstance(cells, list) else cells.ndim


def parse_numbers(sheet: RawColumns, name: str) -> NDArray[Any] | None:
    """A column as numbers; None if it is all text. A mixture of both raises an error."""
    cells = sheet.columns[name]
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind == "c":
            raise sheet.make_format_error(
                f"column {name!r} is complex: expected real numbers; choose others with values=[...], or store its "
                "real and imaginary parts, or its magnitude, as columns of their own"
            )
        return _refuse_infinite(sheet, name, cells) if cells.dtype.kind in "biuf" else None
    written = "".join(cells)
    if sheet.decimal == "," and "," in written:
        cells = [cell.replace(",", ".") for cell in cells]
    if written.isascii() and "_" not in written:  # float() accepts 1_000 and Arabic digits, files do not have them
        numbers = _parse_floats(cells)
        if numbers is None:
            numbers = _parse_floats(["nan" if cell.strip().lower() in _MISSING else cell for cell in cells])
        if numbers is not None:
            return _refuse_infinite(sheet, name, numbers)
    strange = [row for row, cell in enumerate(cells) if not _is_number(cell) and cell.strip().lower() not in _MISSING]
    if not any(map(_is_number, cells)):
        return None
    if not strange:  # numbers by the other mark, such as "1,234" in quotes
        odd = (row for row, cell in enumerate(cells) if "," in cell or "_" in cell or not cell.isascii())
        strange = [next(odd, 0)]
    shown = sheet.columns[name][strange[0]][:40]
    why = "; a comma in quotes may be a decimal mark or one of thousands: write points, or none" if "," in shown else ""
    why = why or ("; if it is the unit, delete the line" if strange == [0] else "")
    raise sheet.make_format_error(
        f"column {name!r} holds {shown!r}: expected a number, or nothing where missing{why}", strange[0]
    )


def has_numbers(cells: list[str]) -> bool:
    """Whether a column of text has a number in it, or nothing at all: others are words."""
    return any(map(_is_number, cells)) or all(cell.strip().lower() in _MISSING for cell in cells)


def _parse_floats(cells: list[str]) -> NDArray[np.float64] | None:
    try:
        return np.array(cells, dtype=np.float64)
    except (ValueError, OverflowError):
        return None


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None


def _refuse_infinite(sheet: RawColumns, name: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "f" and not np.isfinite(values).all() and np.isinf(values).any():
        row = int(np.argwhere(np.isinf(values))[0][0])
        raise sheet.make_format_error(
            f"column {name!r} is infinite: expected finite numbers, or nothing where missing", row
        )
    return values


def parse_times(sheet: RawColumns, name: str) -> tuple[NDArray[Any], str] | None:
    """A column as times, float64 or datetime64[ns], with a note about its interpretation; None if it is neither."""
    cells = sheet.columns[name]
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind == "M":
            return cells, ""
        return _decode_epoch(cells) if cells.ndim == 1 and cells.dtype.kind in "iuf" else None
    if _is_number(cells[0]) and len(cells[0]) < _EXACT_DIGITS:
        numbers = parse_numbers(sheet, name)
        return None if numbers is None else _decode_epoch(numbers)
    stripped = [cell.strip() for cell in cells]
    if all(cell.isdecimal() and cell.isascii() for cell in stripped) and max(map(len, stripped)) >= _EXACT_DIGITS:
        try:
            return _decode_epoch(np.array(stripped, dtype=np.int64))  # nanoseconds, which float64 would round
        except OverflowError:
            return None
    dated = parse_dates(stripped)
    if dated is not None:
        return dated, "in UTC" if _has_time_zone(stripped[0]) else ""
    of_day = _seconds_of_day(stripped)
    if of_day is not None:
        return of_day, "seconds since midnight"
    if not any(map(_is_number, stripped)):
        return None
    numbers = parse_numbers(sheet, name)
    return None if numbers is None else _decode_epoch(numbers)


def parse_dates(cells: list[str]) -> NDArray[np.datetime64] | None:
    """Datetimes in text, also with slashes (2024/01/31 10:00); None if some are none."""
    slashed = _SLASHES.fullmatch(cells[0])
    if slashed is not None:
        cells = [f"{m[1]}-{m[2]}-{m[3]}{m[4]}" if (m := _SLASHES.fullmatch(cell)) else cell for cell in cells]
    return parse_datetimes(cells) if cells[0][:4].isdecimal() else None


def join_dates_and_times(days: list[str], moments: list[str]) -> NDArray[np.datetime64] | None:
    """A column of dates and one of times of the day → datetimes; None if they are not that."""
    days, moments = [day.strip() for day in days], [moment.strip() for moment in moments]
    if not (all(map(_DAYS.fullmatch, days)) and all(map(_OF_DAY.fullmatch, moments))):
        return None
    padded = [moment if moment[1] != ":" else f"0{moment}" for moment in moments]
    return parse_datetimes([f"{day} {moment}" for day, moment in zip(days, padded, strict=True)])


def _has_time_zone(cell: str) -> bool:
    return cell[-1:] in "Zz" or "+" in cell[10:] or "-" in cell[10:]


def _seconds_of_day(cells: list[str]) -> NDArray[np.float64] | None:
    matches = [_OF_DAY.fullmatch(cell) for cell in cells]
    if not all(matches):
        return None
    seconds = np.array([3600 * int(m[1]) + 60 * int(m[2]) + float(m[3] or 0) for m in matches if m], np.float64)
    days = np.r_[0, np.cumsum(np.diff(seconds) < -_DAY / 2)]  # a clock that falls by half a day has passed midnight
    return np.asarray(seconds + _DAY * days)


def _decode_epoch(numbers: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """Numbers that count a unit since 1970 are dates: those of 2000 to 2100, at most an hour apart."""
    low, high = float(numbers.min()), float(numbers.max())
    if not low >= _CENTURY[0]:
        return (numbers if numbers.dtype.kind in "iu" else numbers.astype(np.float64)), ""
    step = abs(float(np.median(np.diff(numbers)))) if len(numbers) > 1 else 0.0
    for unit, word in _UNITS:
        if _CENTURY[0] * unit <= low and high <= _CENTURY[1] * unit and step <= _HOUR * unit:
            return _epoch_to_datetime(numbers, unit), f"{word} since 1970, in UTC"
    return (numbers if numbers.dtype.kind in "iu" else numbers.astype(np.float64)), ""


def _epoch_to_datetime(numbers: NDArray[Any], unit: int) -> NDArray[np.datetime64]:
    if numbers.dtype.kind in "iu":
        return np.asarray((numbers.astype(np.int64) * (10**9 // unit)).view("datetime64[ns]"))
    whole = np.floor(numbers)  # a float64 of today's seconds has a quarter of a microsecond
    parts = np.round((numbers - whole) * (10**6 // min(unit, 10**6))).astype(np.int64) * 1000
    return np.asarray((whole.astype(np.int64) * (10**9 // unit) + parts).view("datetime64[ns]"))
