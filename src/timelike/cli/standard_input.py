"""Time steps on standard input: a line of numbers for each, below a header or not."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence


def read_samples(n_channels: int, names: Sequence[str] | None = None) -> Iterator[list[float]]:
    """The numbers of every line, as soon as it is there; empty lines are left out.

    Between numbers are commas or spaces, or semicolons, beside which commas are decimal marks. A first line of words is
    a header; where it has the `names` of the channels, their columns are taken.
    """
    columns: list[int] = []
    width = 0  # of the first line
    for number, line in enumerate(iter(_read_line, ""), start=1):
        words = _split_line(line)
        if not words:
            continue
        if not width:
            width, columns = len(words), _find_columns(words, names)
            if not any(map(_is_number, words)):
                continue
        chosen = [words[column] for column in columns] if len(words) == width else []
        if len(chosen) != n_channels or not all(map(_is_number, chosen)):
            what = f"line {number} of standard input is {line.strip()!r:.60}"
            raise ValueError(
                f"{what}: expected {n_channels} number{'s'[: n_channels > 1]}, the channels of the pattern"
            )
        yield [float(word) for word in chosen]


def _read_line() -> str:
    try:
        return sys.stdin.readline()
    except UnicodeDecodeError:
        raise ValueError("standard input is not text: expected a line of numbers for every step") from None


def _split_line(line: str) -> list[str]:
    r"""The cells of a line.

    >>> _split_line("0.5, 1"), _split_line("0,5;1"), _split_line("0.5\t1,")
    (['0.5', '1'], ['0.5', '1'], ['0.5', '1'])
    """
    if ";" in line:
        return [cell.strip().replace(",", ".") for cell in line.strip().strip(";").split(";")]
    return [cell for cell in re.split(r"[,\s]+", line) if cell]


def _find_columns(words: list[str], names: Sequence[str] | None) -> list[int]:
    """The columns of the channels by the header; all columns where that has other words, or is none."""
    if names is not None and set(names) <= set(words):
        return [words.index(name) for name in names]
    return list(range(len(words)))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
