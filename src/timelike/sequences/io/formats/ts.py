"""The .ts format of aeon, sktime and the UCR/UEA archive (channels separated by colons, the label last).

It can store unequal lengths, channels, times, missing values, classes and targets, but not groups, ids, channel names
and frames (video, grids).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.files import write_lines
from ...container import Sequences
from . import text

UNSUPPORTED: dict[str, tuple[text.UnsupportedFeature, ...]] = {
    ".ts": ("frames", "groups", "ids", "channel_names", "dtypes")
}

_FLAGS = ("timestamps", "missing", "univariate", "equallength", "targetlabel")
_COUNTS = ("dimensions", "serieslength")
_BETWEEN_CHANNELS = re.compile(r"\)\s*:\s*\(")
_BETWEEN_PAIRS = re.compile(r"\)\s*,\s*\(")


@dataclass
class _TsHeader:
    """The header before @data, with line numbers."""

    flags: dict[str, bool] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    classes: list[str] | None = None
    data_line: int = 0

    @property
    def has_labels(self) -> bool:
        return self.classes is not None or self.flags.get("targetlabel", False)


class _TsRow(NamedTuple):
    line: int
    values: NDArray[np.float64]  # (time, channel)
    times: NDArray[Any] | None
    label: str


def read(path: Path) -> dict[str, Sequences]:
    """The sequences of a .ts file."""
    lines = text.read_lines(path)
    header = _parse_header(lines, path)
    rows = [
        _parse_row(line.strip(), header, path, number)
        for number, line in enumerate(lines[header.data_line :], header.data_line + 1)
        if line.strip() and line.strip()[0] not in "#%"
    ]
    if not rows:
        raise text.make_format_error(path, "no data after @data: expected at least one sequence", len(lines))
    _check_rows(header, rows, path)
    clocks = [row.times for row in rows if row.times is not None]
    if len({clock.dtype.kind for clock in clocks}) > 1:
        raise text.make_format_error(path, "some times are numbers and some are datetimes: expected one kind")
    data = Sequences.from_packed(
        np.concatenate([row.values for row in rows]),
        np.cumsum([0, *(len(row.values) for row in rows)]),
        times=np.concatenate(clocks) if clocks else None,
        **_parse_labels(header, rows, path),
    )
    return {"all": data}


def _parse_row(line: str, header: _TsHeader, path: Path, number: int) -> _TsRow:
    body, label = _split_label(line, header, path, number)
    if header.flags.get("timestamps"):
        return _TsRow(number, *_parse_timed(body, path, number), label)
    return _TsRow(number, _parse_plain(body, path, number), None, label)


def _parse_header(lines: list[str], path: Path) -> _TsHeader:
    header = _TsHeader()
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if not line or line[0] in "#%":
            continue
        if line[0] != "@":
            raise text.make_format_error(
                path, f"{line[:40]!r} before @data: expected a header line that begins with @", number
            )
        tag, *entries = line[1:].split()
        if tag.lower() == "data":
            header.data_line = number
            if header.classes is not None and header.flags.get("targetlabel"):
                raise text.make_format_error(
                    path, "both @classLabel and @targetLabel are true: expected one of them", number
                )
            return header
        _parse_declaration(header, tag.lower(), entries, path, number)
    raise text.make_format_error(
        path, "no @data line: expected one after the header; is the file cut short?", len(lines)
    )


def _parse_declaration(header: _TsHeader, tag: str, entries: list[str], path: Path, number: int) -> None:
    """One header line. Tags we do not know (@problemName, an author) say nothing about the numbers."""
    tag = {"dimension": "dimensions", "targetlabels": "targetlabel", "classlabels": "classlabel"}.get(tag, tag)
    if tag in _FLAGS:
        _set_once(header.flags, tag, _parse_bool(entries, tag, path, number), path, number)
    elif tag in _COUNTS:
        if len(entries) != 1 or not entries[0].isdecimal() or len(entries[0]) > 12:
            raise text.make_format_error(path, f"@{tag} is {' '.join(entries)[:40]!r}: expected a number", number)
        _set_once(header.counts, tag, int(entries[0]), path, number)
    elif tag == "classlabel" and _parse_bool(entries[:1], tag, path, number):
        if len(entries) == 1:
            raise text.make_format_error(
                path, "@classLabel true names no class: expected @classLabel true first second …", number
            )
        if header.classes not in (None, entries[1:]):
            raise text.make_format_error(path, "a second, different @classLabel", number)
        header.classes = entries[1:]


def _set_once(tags: dict[str, Any], tag: str, value: Any, path: Path, number: int) -> None:
    if tags.setdefault(tag, value) != value:
        raise text.make_format_error(path, f"@{tag} is declared twice, as {tags[tag]} and {value}", number)


def _parse_bool(entries: list[str], tag: str, path: Path, number: int) -> bool:
    word = " ".join(entries).lower()
    if word not in ("true", "false"):
        raise text.make_format_error(path, f"@{tag} is {word[:40]!r}: expected true or false", number)
    return word == "true"


def _split_label(line: str, header: _TsHeader, path: Path, number: int) -> tuple[str, str]:
    if not header.has_labels:
        return line, ""
    if header.flags.get("timestamps"):  # datetimes hold colons too, so the label follows the last parenthesis
        body, bracket, label = line.rpartition(")")
        body, label = body + bracket, label.strip()
        has_label = label.startswith(":")
        label = label[1:]
    else:
        body, colon, label = line.rpartition(":")
        has_label = colon == ":"
    label = label.strip()
    if not has_label or not label or not body:
        raise text.make_format_error(
            path, "no label after the last colon, though the header declares one: is the line cut short?", number
        )
    return body, label


def _parse_plain(body: str, path: Path, number: int) -> NDArray[np.float64]:
    """(time, channel) from `1,2,3:4,5,6`."""
    n_channels = body.count(":") + 1
    if n_channels > 1:
        lengths = [channel.count(",") + 1 for channel in body.split(":")]
        _refuse_unequal_lengths(lengths, path, number)
        body = body.replace(":", ",")
    return text.parse_numbers(body.split(","), path, number).reshape(n_channels, -1).T


def _refuse_unequal_lengths(lengths: list[int], path: Path, number: int) -> None:
    for channel, length in enumerate(lengths):
        if length != lengths[0]:
            raise text.make_format_error(
                path,
                f"channel {channel} has {length} values but channel 0 has {lengths[0]}: expected one length for all "
                "channels of a sequence; fill the shorter ones with ?",
                number,
            )


def _parse_timed(body: str, path: Path, number: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """(time, channel) and the timestamps from `(t,v),(t,v):(t,v),(t,v)`."""
    if not (body.startswith("(") and body.endswith(")")):
        raise text.make_format_error(path, "expected (time,value),(time,value) since @timeStamps is true", number)
    pairs = [_BETWEEN_PAIRS.split(channel) for channel in _BETWEEN_CHANNELS.split(body[1:-1])]
    _refuse_unequal_lengths([len(channel) for channel in pairs], path, number)
    values: list[NDArray[np.float64]] = []
    clock: NDArray[Any] | None = None
    for position, channel in enumerate(pairs):
        cells = ",".join(channel).split(",")
        if any(pair.count(",") != 1 for pair in channel):
            raise text.make_format_error(path, f"channel {position} is not made of (time,value) pairs", number)
        values.append(text.parse_numbers(cells[1::2], path, number))
        times = text.parse_times(cells[0::2], path, number)
        if clock is not None and not np.array_equal(times, clock):
            raise text.make_format_error(
                path, f"channel {position} has other times than channel 0: resample it to the same ones", number
            )
        clock = times
    assert clock is not None
    back = np.flatnonzero(clock[1:] <= clock[:-1])
    if back.size:
        step = int(back[0]) + 1
        how = "repeats" if clock[step] == clock[step - 1] else "goes back"
        raise text.make_format_error(
            path, f"time {how} at step {step} ({clock[step]}): expected increasing times; sort the pairs", number
        )
    return np.stack(values, axis=1), clock


def _check_rows(header: _TsHeader, rows: list[_TsRow], path: Path) -> None:
    """The header against the data. `@missing` is not checked: a NaN shows in the values."""
    flags, counts = header.flags, header.counts
    n_channels: int = counts.get("dimensions", int(rows[0].values.shape[1]))
    if flags.get("univariate") and n_channels > 1:
        hint = "" if header.has_labels else "; if the last part is a label, declare @classLabel true with the classes"
        raise text.make_format_error(path, f"{n_channels} channels though @univariate is true{hint}", rows[0].line)
    # a writer of unequal lengths may put the longest into @seriesLength, so it only counts where lengths are equal
    length = counts.get("serieslength") if flags.get("equallength", True) else None
    if length is None and flags.get("equallength"):
        length = len(rows[0].values)
    for row in rows:
        steps, channels = row.values.shape
        if channels != n_channels:
            source = "@dimensions" if "dimensions" in counts else f"line {rows[0].line}"
            raise text.make_format_error(
                path, f"{channels} channels but {source} has {n_channels}: is the line cut short?", row.line
            )
        if length is not None and steps != length:
            source = "@seriesLength is" if "serieslength" in counts else "@equalLength is true and the first row has"
            raise text.make_format_error(
                path, f"{steps} time steps but {source} {length}: correct the header or the row", row.line
            )


def _parse_labels(header: _TsHeader, rows: list[_TsRow], path: Path) -> dict[str, Any]:
    if not header.has_labels:
        return {}
    tokens = [row.label for row in rows]
    if header.classes is None:
        for row in rows:
            if not text.is_all_numbers([row.label]):
                raise text.make_format_error(
                    path, f"the target is {row.label[:40]!r}: expected a number (@targetLabel)", row.line
                )
        return {"labels": np.array(tokens, dtype=np.float64)}
    classes = list(dict.fromkeys(header.classes))
    meaning = text.parse_integers([*classes, *dict.fromkeys(tokens)])
    declared = set(classes) if meaning is None else {meaning[name] for name in classes}  # 1.0 may be declared as 1
    for row in rows:
        if (row.label if meaning is None else meaning[row.label]) not in declared:
            listed = " ".join(classes)[:200]
            raise text.make_format_error(
                path, f"the label {row.label[:40]!r} is not declared: @classLabel lists {listed}", row.line
            )
    labels, names = text.parse_class_labels(tokens, classes)
    return {"labels": labels, "class_names": names}


def write(data: Sequences, path: Path) -> None:
    """A .ts file; values are written so that float64 reads back exactly."""
    text.refuse_unsupported(data, ".ts", UNSUPPORTED[".ts"], ".npz")
    write_lines(path, _format_lines(data, path.stem))


def _format_lines(data: Sequences, name: str) -> Iterator[str]:
    labels, declaration = _format_labels(data)
    yield f"@problemName {name if name.isprintable() else 'unnamed'}"
    yield f"@timeStamps {_format_bool(data.times is not None)}"
    yield f"@missing {_format_bool(data.has_missing)}"
    yield f"@univariate {_format_bool(data.frame == (1,))}"
    yield f"@dimensions {data.frame[0]}"
    yield f"@equalLength {_format_bool(data.has_equal_lengths)}"
    if data.has_equal_lengths:
        yield f"@seriesLength {data.shape[1]}"
    yield declaration
    yield "@data"
    clock = None if data.times is None else text.format_times(data.times)
    for item, (sequence, begin) in enumerate(zip(data, data.offsets.tolist(), strict=False)):
        channels = [_format_cells(channel) for channel in sequence.astype(np.float64).T]
        if clock is not None:
            times = clock[begin : begin + len(sequence)]
            channels = [[f"({t},{v})" for t, v in zip(times, cells, strict=True)] for cells in channels]
        row = ":".join(map(",".join, channels))
        yield row if labels is None else f"{row}:{labels[item]}"


def _format_bool(fact: bool) -> str:
    return "true" if fact else "false"


def _format_cells(channel: NDArray[np.float64]) -> list[str]:
    return ["?" if cell == "nan" else cell for cell in map(repr, channel.tolist())]


def _format_labels(data: Sequences) -> tuple[list[str] | None, str]:
    if data.labels is None:
        return None, "@classLabel false"
    if data.labels.dtype.kind == "f":
        return list(map(repr, data.labels.astype(np.float64).tolist())), "@targetLabel true"
    tokens, classes = text.format_labels(data, ".ts", forbidden=" :()")
    return tokens, f"@classLabel true {' '.join(classes)}"
