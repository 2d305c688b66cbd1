"""The UCR archive's .tsv and .txt: one univariate sequence per line, its integer class label first.

The archive pads sequences of varying lengths with NaN at the end, so NaN there means that the sequence is shorter; NaN
inside is a missing value. Labels are required, and nothing else has a place. A file whose first row is names of columns
is one recording, a row for every time step; so is one of several files that are loaded together.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..atomic import write_text
from ..container import Sequences
from . import delimited, text
from .sheets import Sheet

_ATTRIBUTES: tuple[text.Lack, ...] = ("times", "groups", "ids", "channel_names", "class_names")
_KINDS: tuple[text.Lack, ...] = ("frames", "channels", "targets", "unlabelled", "missing ends", "dtypes")
LACKS = dict.fromkeys((".tsv", ".txt"), _ATTRIBUTES + _KINDS)


def sheet(path: Path, layout: str | None = None) -> Sheet:
    """One recording."""
    return delimited.sheet(path)


def read(path: Path) -> dict[str, Sequences]:
    """The sequences of a UCR file, separated by tabs, commas or blanks."""
    if delimited.has_header(path):
        from ..files.gathering import alone

        return {"all": alone(path)}
    rows: list[NDArray[np.float64]] = []
    labels = []
    n_cells, first = 0, 0
    lines = text.read_lines(path)
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if not line:
            continue
        label, *cells = line.split("," if "," in line else "\t" if "\t" in line else None)
        if rows and len(cells) != n_cells:
            raise text.wrong(
                path,
                f"{len(cells)} values but line {first} has {n_cells}: expected the same number in every line, shorter "
                "sequences padded with NaN; is the line cut short?",
                number,
            )
        n_cells, first = len(cells), first or number
        row = text.trimmed(text.numbers(cells, path, number)[:, None])
        if len(row) == 0:
            raise text.wrong(path, "no value after the label: expected at least one that is not missing", number)
        labels.append(_label(label.strip(), path, number))
        rows.append(row)
    if not rows:
        raise text.wrong(path, "is empty: expected a label and values on every line")
    return {"all": Sequences.from_packed(np.concatenate(rows), np.cumsum([0, *map(len, rows)]), labels=labels)}


def _label(token: str, path: Path, number: int) -> int:
    meaning = text.whole_numbers([token])
    if meaning is None:
        raise text.wrong(
            path, f"the line begins with {token[:40]!r}: expected an integer class label, then the values", number
        )
    return meaning[token]


def write(data: Sequences, path: Path) -> None:
    """A UCR file: tabs in .tsv, blanks in .txt."""
    what = path.suffix.lower()
    text.refuse(data, what, LACKS[what], ".npz")
    if data.frame != (1,):
        raise ValueError(f"{data.frame[0]} channels cannot be stored in {what}, which is univariate: use .ts or .npz")
    if data.labels is None or data.labels.dtype.kind not in "iu":
        came = "no" if data.labels is None else "string" if data.labels.dtype.kind == "U" else str(data.labels.dtype)
        raise ValueError(f"{came} labels cannot be stored in {what}, which has integer class labels: use .ts or .npz")
    text.refuse_missing_ends(data, what)
    write_text(path, _written(data, "\t" if what == ".tsv" else "  "))


def _written(data: Sequences, separator: str) -> Iterator[str]:
    labels, _ = text.label_tokens(data, "a UCR file")
    for label, sequence in zip(labels, data, strict=True):
        cells = list(map(repr, sequence.astype(np.float64).ravel().tolist()))
        padding = ["nan"] * (data.shape[1] - len(cells))
        yield separator.join([label, *("NaN" if cell == "nan" else cell for cell in cells + padding)])
