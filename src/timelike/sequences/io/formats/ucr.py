"""The UCR archive's .tsv and .txt: one univariate sequence per line, its integer class label first.

The archive pads sequences of varying lengths with NaN at the end, so NaN there means that the sequence is shorter; NaN
inside is a missing value. Labels are required, and nothing else can be stored. A file whose first row has column names
is one recording with one row per time step; so is each of several files that are loaded together.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....core.files import write_lines
from ...container import Sequences
from . import delimited, text
from .raw_columns import RawColumns

_ATTRIBUTES: tuple[text.UnsupportedFeature, ...] = ("times", "groups", "ids", "channel_names", "class_names")
_KINDS: tuple[text.UnsupportedFeature, ...] = ("frames", "channels", "targets", "unlabelled", "missing ends", "dtypes")
UNSUPPORTED = dict.fromkeys((".tsv", ".txt"), _ATTRIBUTES + _KINDS)


def read_columns(path: Path, layout: str | None = None) -> RawColumns:
    """One recording."""
    return delimited.read_columns(path)


def read(path: Path) -> dict[str, Sequences]:
    """The sequences of a UCR file, separated by tabs, commas or blanks."""
    if delimited.has_header(path):
        from ..combine import read_single_file

        return {"all": read_single_file(path)}
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
            raise text.make_format_error(
                path,
                f"{len(cells)} values but line {first} has {n_cells}: expected the same number in every line, shorter "
                "sequences padded with NaN; is the line cut short?",
                number,
            )
        n_cells, first = len(cells), first or number
        row = text.trim_padding(text.parse_numbers(cells, path, number)[:, None])
        if len(row) == 0:
            raise text.make_format_error(
                path, "no value after the label: expected at least one that is not missing", number
            )
        labels.append(_parse_label(label.strip(), path, number))
        rows.append(row)
    if not rows:
        raise text.make_format_error(path, "is empty: expected a label and values on every line")
    return {"all": Sequences.from_packed(np.concatenate(rows), np.cumsum([0, *map(len, rows)]), labels=labels)}


def _parse_label(token: str, path: Path, number: int) -> int:
    meaning = text.parse_integers([token])
    if meaning is None:
        raise text.make_format_error(
            path, f"the line begins with {token[:40]!r}: expected an integer class label, then the values", number
        )
    return meaning[token]


def write(data: Sequences, path: Path) -> None:
    """A UCR file: tabs in .tsv, blanks in .txt."""
    what = path.suffix.lower()
    text.refuse_unsupported(data, what, UNSUPPORTED[what], ".npz")
    if data.frame != (1,):
        raise ValueError(f"{data.frame[0]} channels cannot be stored in {what}, which is univariate: use .ts or .npz")
    if data.labels is None or data.labels.dtype.kind not in "iu":
        came = "no" if data.labels is None else "string" if data.labels.dtype.kind == "U" else str(data.labels.dtype)
        raise ValueError(f"{came} labels cannot be stored in {what}, which has integer class labels: use .ts or .npz")
    text.refuse_missing_ends(data, what)
    write_lines(path, _format_lines(data, "\t" if what == ".tsv" else "  "))


def _format_lines(data: Sequences, separator: str) -> Iterator[str]:
    labels, _ = text.format_labels(data, "a UCR file")
    for label, sequence in zip(labels, data, strict=True):
        cells = list(map(repr, sequence.astype(np.float64).ravel().tolist()))
        padding = ["nan"] * (data.shape[1] - len(cells))
        yield separator.join([label, *("NaN" if cell == "nan" else cell for cell in cells + padding)])
