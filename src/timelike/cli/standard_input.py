"""Time steps on standard input: a line of numbers for each, below a header or not."""

from __future__ import annotations

import csv
import math
import re
import sys
from collections.abc import Iterator, Sequence

_DECIMAL_COMMA = re.compile(r"[-+]?(\d+,\d*|,\d+)(e[-+]?\d+)?", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')


def read_samples(n_channels: int, names: Sequence[str] | None = None) -> Iterator[list[float]]:
    """The numbers of every line, as soon as it is there; empty lines are left out, and no line at all is an error.

    Cells are separated by commas, or by tabs or semicolons, beside which commas are decimal marks; a line with none of
    these is separated by spaces. A first line of words is a header, in which the `names` of the channels are looked up.
    """
    columns: list[int] = []
    width = 0  # of the first line
    for number, line in enumerate(iter(_read_line, ""), start=1):
        words = _split_line(line if width else line.removeprefix("\ufeff"), names, width)
        if not words:
            continue
        if not width:
            width, columns = len(words), list(range(len(words)))
            if not any(map(_is_number, words)):
                columns = _find_columns(words, names, number)
                continue
        chosen = [words[column] for column in columns] if len(words) == width else []
        if len(chosen) == n_channels:
            _refuse_missing(chosen, line, number)
        if len(chosen) != n_channels or not all(map(_is_number, chosen)):
            raise ValueError(
                f"{_quote_line(line, number)}: expected {n_channels} number{'s'[: n_channels > 1]}, the channels of "
                "the pattern"
            )
        yield [float(word) for word in chosen]
    if not width:
        raise ValueError("standard input is empty: expected a line of numbers for every step")


def _read_line() -> str:
    try:
        return sys.stdin.readline()
    except UnicodeDecodeError:
        raise ValueError("standard input is not text: expected a line of numbers for every step") from None


def _split_line(line: str, names: Sequence[str] | None = None, width: int = 0) -> list[str]:
    r"""The cells of a line, without empty ones behind the first `width`.

    >>> _split_line("0.5, 1"), _split_line("0,5;1"), _split_line("0.5 1"), _split_line("0.5\t1")
    (['0.5', '1'], ['0.5', '1'], ['0.5', '1'], ['0.5', '1'])
    >>> _split_line('"acc, x",acc y,')
    ['acc, x', 'acc y']
    """
    line = line.strip(" \r\n")
    if names is not None and line in names:
        return [line]  # the header of a single column, whose name may have spaces
    unquoted = _QUOTED.sub("", line)
    separator = next((one for one in ";\t," if one in unquoted), None)
    if separator is None:
        separator, line = " ", " ".join(line.split())
    try:
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])]
    except csv.Error as error:
        raise ValueError(f"standard input has a line that is no table: {error}") from None
    while len(cells) > width and not cells[-1]:
        cells.pop()
    if separator in ";\t":
        return [cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell for cell in cells]
    return cells


def _find_columns(words: list[str], names: Sequence[str] | None, number: int) -> list[int]:
    """The columns of the channels by the header; of a pattern whose channels have no names, all columns."""
    if names is None:
        return list(range(len(words)))
    lacking = [name for name in names if name not in words]
    if lacking:  # by position the channels could be swapped, and nobody would notice
        raise ValueError(
            f"line {number} of standard input is a header without {', '.join(lacking)}: expected the pattern's "
            f"channels ({', '.join(names)}) among {', '.join(words):.60}, or no header"
        )
    return [words.index(name) for name in names]


def _refuse_missing(words: list[str], line: str, number: int) -> None:
    if any(not word or (_is_number(word) and math.isnan(float(word))) for word in words):
        raise ValueError(
            f"{_quote_line(line, number)}, with a missing value: matching needs all values, and standard input is not "
            "filled; leave such lines out, or write the stream to a file and add --interpolate"
        )


def _quote_line(line: str, number: int) -> str:
    return f"line {number} of standard input is {line.strip()!r:.60}"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
