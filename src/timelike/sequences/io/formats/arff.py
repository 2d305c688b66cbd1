"""The archive's .arff: numeric attributes and a nominal class, or one relational attribute with a channel per line.

Inside the quotes of a relational value the channels are separated by a literal backslash and n. The archive fills
sequences of unequal lengths with `?` at the end, so steps there that are missing in all channels are not part of the
sequence. Classes are required; times, targets, groups, ids, channel names and frames cannot be stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....core.files import write_lines
from ...container import Sequences
from . import text

UNSUPPORTED: dict[str, tuple[text.UnsupportedFeature, ...]] = {
    ".arff": ("frames", "times", "groups", "ids", "channel_names", "targets", "unlabelled", "missing ends", "dtypes")
}

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(\S.*)", re.IGNORECASE)
_QUOTED = re.compile(r"\s*+('[^']*+'|\"[^\"]*+\"|[^,'\"]*+)\s*+(?:,|$)")  # possessive: no backtracking
_NEEDS_QUOTES = re.compile(r"[\s,%{}?@]")


@dataclass
class _ArffHeader:
    n_steps: int = 0
    relational: bool = False
    classes: list[str] = field(default_factory=list)
    data_line: int = 0


def read(path: Path) -> dict[str, Sequences]:
    """The sequences of an .arff file."""
    lines = text.read_lines(path)
    header = _parse_header(lines, path)
    rows: list[NDArray[np.float64]] = []
    tokens = []
    for number, line in enumerate(lines[header.data_line :], header.data_line + 1):
        line = line.strip()
        if not line or line[0] == "%":
            continue
        body, label = _split_label(line, path, number)
        if label not in header.classes:
            listed = ",".join(header.classes)[:200]
            raise text.make_format_error(
                path, f"the class {label[:40]!r} is not among the declared {{{listed}}}", number
            )
        values = text.trim_padding(_parse_values(body, header, path, number))
        if len(values) == 0:
            raise text.make_format_error(path, "every value is missing: expected at least one", number)
        if rows and values.shape[1] != rows[0].shape[1]:
            raise text.make_format_error(
                path, f"{values.shape[1]} channels, but the first sequence has {rows[0].shape[1]}", number
            )
        rows.append(values)
        tokens.append(label)
    if not rows:
        raise text.make_format_error(path, "no data after @data: expected at least one sequence", len(lines))
    labels, names = text.parse_class_labels(tokens, header.classes)
    whole = Sequences.from_packed(
        np.concatenate(rows), np.cumsum([0, *map(len, rows)]), labels=labels, class_names=names
    )
    return {"all": whole}


def _parse_header(lines: list[str], path: Path) -> _ArffHeader:
    header, inside = _ArffHeader(), False
    for number, line in enumerate(lines, 1):
        line = line.strip()
        word = line.split(None, 1)[0].lower() if line else "%"
        if word[0] == "%" or word == "@relation":
            continue
        if word == "@end":
            inside = False
        elif word == "@attribute":
            inside = _parse_attribute(header, inside, line, path, number)
        elif word == "@data":
            header.data_line = number
            _check_header(header, path, number)
            return header
        else:
            raise text.make_format_error(
                path, f"{line[:40]!r} before @data: expected @relation, @attribute or @data", number
            )
    raise text.make_format_error(
        path, "no @data line: expected one after the attributes; is the file cut short?", len(lines)
    )


def _check_header(header: _ArffHeader, path: Path, number: int) -> None:
    if not header.n_steps:
        raise text.make_format_error(path, "no numeric attribute is declared: expected one per time step", number)
    if not header.classes:
        raise text.make_format_error(
            path, "no class is declared: expected a last attribute like @attribute target {1,2}", number
        )


def _parse_attribute(header: _ArffHeader, inside: bool, line: str, path: Path, number: int) -> bool:
    """Take note of one attribute; whether the next one is inside a relational attribute."""
    match = _ATTRIBUTE.fullmatch(line)
    if match is None:
        raise text.make_format_error(path, f"{line[:60]!r}: expected @attribute name type", number)
    kind = match[2].strip()
    if header.classes:
        raise text.make_format_error(path, "an attribute after the class: expected the class last", number)
    if kind.lower() == "relational":
        if inside or header.n_steps:
            raise text.make_format_error(path, "a relational attribute after others: expected it first", number)
        header.relational = True
        return True
    if kind.lower() in ("numeric", "real", "integer") and (inside or not header.relational):
        header.n_steps += 1
    elif kind[0] == "{" and kind[-1] == "}" and not inside:
        header.classes = _parse_classes(kind[1:-1], path, number)
    else:
        raise text.make_format_error(
            path, f"the attribute type {kind[:40]!r}: expected numeric, relational or a class {{a,b}}", number
        )
    return inside


def _parse_classes(listed: str, path: Path, number: int) -> list[str]:
    names, position = [], 0
    while position < len(listed):
        match = _QUOTED.match(listed, position)
        name = "" if match is None else _unquote(match[1])
        if match is None or not name or match.end() == position:
            raise text.make_format_error(
                path, f"the classes {{{listed[:60]}}}: expected names separated by commas", number
            )
        names.append(name)
        position = match.end()
    if len(set(names)) < len(names):
        raise text.make_format_error(path, f"the classes {{{listed[:60]}}} hold a name twice", number)
    return names


def _unquote(name: str) -> str:
    name = name.strip()
    return name[1:-1] if len(name) > 1 and name[0] in "'\"" and name[-1] == name[0] else name


def _split_label(line: str, path: Path, number: int) -> tuple[str, str]:
    quote = line[-1]
    end = line.rfind(quote, 0, -1) if quote in "'\"" else len(line)
    body, comma, label = line[:end].rpartition(",")
    if not comma or (end < len(line) and label.strip()):
        raise text.make_format_error(path, "no class after the last comma: is the line cut short?", number)
    return body.strip(), _unquote(label + line[end:])


def _parse_values(body: str, header: _ArffHeader, path: Path, number: int) -> NDArray[np.float64]:
    """(time, channel) of one line."""
    if header.relational:
        if len(body) < 2 or body[0] not in "'\"" or body[-1] != body[0]:
            raise text.make_format_error(
                path, "expected the channels in quotes before the class: is the line cut short?", number
            )
        body = body[1:-1]
    channels = body.split("\\n") if header.relational else [body]
    for position, channel in enumerate(channels):
        n_cells = channel.count(",") + 1
        if n_cells != header.n_steps:
            raise text.make_format_error(
                path, f"channel {position} has {n_cells} values for {header.n_steps} numeric attributes", number
            )
    cells = ",".join(channels).split(",")
    return text.parse_numbers(cells, path, number).reshape(len(channels), -1).T


def write(data: Sequences, path: Path) -> None:
    """An .arff file; shorter sequences are filled with `?`, as in the archive."""
    text.refuse_unsupported(data, ".arff", UNSUPPORTED[".arff"], ".npz")
    if data.labels is None or data.labels.dtype.kind == "f":
        came = "no labels" if data.labels is None else "regression targets"
        raise ValueError(f"{came} cannot be stored in .arff, which has a nominal class: use .ts or .npz")
    text.refuse_missing_ends(data, ".arff")
    write_lines(path, _format_lines(data, path.stem))


def _format_lines(data: Sequences, name: str) -> Iterator[str]:
    tokens, classes = text.format_labels(data, ".arff", forbidden="'\"\\")
    relational = data.frame != (1,)
    yield f"@relation '{re.sub(r'[^ -~]|[^a-zA-Z0-9_.-]', '_', name)}'"
    if relational:
        yield "@attribute relationalAtt relational"
    yield from (f"@attribute att{step} numeric" for step in range(data.shape[1]))
    if relational:
        yield "@end relationalAtt"
    yield f"@attribute target {{{','.join(map(_quote, classes))}}}"
    yield "@data"
    for token, sequence in zip(tokens, data, strict=True):
        padding = ["?"] * (data.shape[1] - len(sequence))
        channels = [",".join(_format_cells(channel) + padding) for channel in sequence.astype(np.float64).T]
        body = "'" + "\\n".join(channels) + "'" if relational else channels[0]
        yield f"{body},{_quote(token)}"


def _format_cells(channel: NDArray[np.float64]) -> list[str]:
    return ["?" if cell == "nan" else cell for cell in map(repr, channel.tolist())]


def _quote(name: str) -> str:
    return f"'{name}'" if _NEEDS_QUOTES.search(name) else name
