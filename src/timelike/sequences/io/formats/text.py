"""Lines, numbers and labels of text formats, and `FormatError`, which names the malformed line."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ....core.memory import LIMIT_VARIABLE, max_file_bytes
from ...timestamps import parse_datetimes

if TYPE_CHECKING:
    from ...container import Sequences


_INTEGER = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)
_WHOLE = re.compile(r"-?\d+\.0*|-?\d(\.\d*)?[eE][+-]?\d{1,3}", re.ASCII)
# possessive (*+, ++): a million digits that do not form a number must not take a million squared steps
_REAL = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?", re.ASCII)

UnsupportedFeature = Literal[  # what a format may have no place for, so that writing it raises an error
    "unequal lengths",
    "channels",  # more than one
    "frames",  # images, grids
    "missing ends",  # a last step that is missing, where the format takes it for padding
    "times",
    "labels",  # of any kind
    "unlabelled",  # sequences without labels
    "targets",  # labels that are real numbers
    "class_names",  # labels that are strings
    "other classes",  # class_names other than the sorted labels
    "groups",
    "ids",
    "channel_names",
    # these two do not raise an error but are read as something else
    "dtypes",  # numbers are written as text and read as float64; only what is not exact in it raises an error
    "no ids",  # sequences without ids are numbered
]
_ATTRIBUTES = ("times", "labels", "groups", "ids", "channel_names")


class FormatError(ValueError):
    """A malformed file; the message names the file, the line, the content and the expected content."""


def make_format_error(path: Path, problem: str, line: int | None = None) -> FormatError:
    """The error for `path`, ready to be raised."""
    return FormatError(f"{path.name}{'' if line is None else f', line {line}'}: {problem}")


_CONTENT_ERRNOS = (None, errno.EINVAL)  # raised by a library without asking the system, or for a place in no file


@contextmanager
def wrap_errors(path: Path) -> Iterator[None]:
    """Whatever goes wrong inside because of the file's content is a `FormatError` that names the file.

    Libraries raise anything on damaged files, RuntimeError and AttributeError among it, so there is no list of what is
    caught but one of what is not: a package that is missing, and a file that cannot be opened.
    """
    try:
        yield
    except (FormatError, ImportError):
        raise
    except Exception as error:
        by_system = type(error) is not OSError or error.errno not in _CONTENT_ERRNOS
        if isinstance(error, OSError) and not isinstance(error, ValueError) and by_system:
            raise
        raise make_format_error(path, f"cannot be read: {str(error)[:400] or type(error).__name__}") from error


def read_lines(path: Path) -> list[str]:
    """All lines of a UTF-8 file without their ends; a last line that is empty is none."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise make_format_error(path, _encoding_hint(content, error.start), line) from None
    if "\0" in text:
        at = text.index("\0")
        raise make_format_error(path, _encoding_hint(content, at, "holds binary data"), text.count("\n", 0, at) + 1)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


_CONTROLS = re.compile(rb"[\0-\x08\x0e-\x1f]")  # which text of any encoding of bytes has not
_MAGIC = (
    ((b"\xff\xfe\0\0", b"\0\0\xfe\xff"), "is UTF-32 text", "UTF-32"),
    ((b"\xff\xfe", b"\xfe\xff"), 'is UTF-16 text, as Excel\'s "Unicode Text"', "UTF-16"),
    ((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"), "is compressed", ""),
)


def _encoding_hint(content: bytes, at: int, otherwise: str = "is not UTF-8 text") -> str:
    """The probable content of a file that is not UTF-8, and how to convert it."""
    for begins, what, encoding in _MAGIC:
        if content.startswith(begins):
            return f"{what}: {_conversion_hint(encoding) if encoding else 'unpack it first'}"
    head = content[:1000]
    if min(head[::2].count(0), head[1::2].count(0)) * 4 < max(head[::2].count(0), head[1::2].count(0)) > len(head) // 4:
        return f"is UTF-16 text without a mark: {_conversion_hint('UTF-16LE' if head[1::2].count(0) else 'UTF-16BE')}"
    if _CONTROLS.search(content):
        return f"{otherwise}: expected text; save it as UTF-8"
    letter = content[at : at + 1].decode("cp1252", "replace")  # Latin-1, and letters where that has none
    return f"is not UTF-8 text but perhaps Windows-1252, with {letter!r}: {_conversion_hint('WINDOWS-1252')}"


def _conversion_hint(encoding: str) -> str:
    return f"save it as UTF-8, or convert it: iconv -f {encoding} -t UTF-8"


def refuse_empty_file(path: Path) -> None:
    """Raise an error for a file of no bytes, which no format has."""
    if path.stat().st_size == 0:
        raise make_format_error(path, "is empty: expected a recording; get it again")


def parse_numbers(cells: list[str], path: Path, line: int) -> NDArray[np.float64]:
    """Cells as float64; `?` and NaN are missing, anything that is not a finite number is an error."""
    joined = ",".join(cells)
    if not joined.isascii() or "_" in joined:  # float() takes 1_000 and Arabic digits, the formats do not
        raise _number_error(cells, path, line)
    if "?" in joined:
        cells = ["nan" if cell.strip() == "?" else cell for cell in cells]
    try:
        array = np.array(cells, dtype=np.float64)
    except (ValueError, OverflowError):
        raise _number_error(cells, path, line) from None
    if not np.isfinite(array).all() and np.isinf(array).any():
        where = int(np.flatnonzero(np.isinf(array))[0])
        raise make_format_error(
            path, f"value {where + 1} is {cells[where].strip()!r}: expected a finite number or ?", line
        )
    return array


def _number_error(cells: list[str], path: Path, line: int) -> FormatError:
    for position, cell in enumerate(cells):
        bare = cell.strip()
        if bare == "":
            return make_format_error(
                path, f"value {position + 1} is empty: expected a number; missing values are ? or NaN", line
            )
        if bare != "?" and bare.lower().lstrip("+-") != "nan" and not _REAL.fullmatch(bare):
            shown = bare if len(bare) < 40 else bare[:37] + "..."
            return make_format_error(
                path, f"value {position + 1} is {shown!r}: expected a number; missing values are ? or NaN", line
            )
    return make_format_error(path, "holds something that is not a number", line)


def parse_times(cells: list[str], path: Path, line: int) -> NDArray[Any]:
    """Timestamps: all numbers, or all datetimes like 2007-01-01 00:00:00; Z or an offset (+01:00) gives UTC."""
    cells = [cell.strip() for cell in cells]
    if all(map(_REAL.fullmatch, cells)):
        numbers = parse_numbers(cells, path, line)
        if np.abs(numbers).max(initial=0) > 2**53 and any(cell.isdecimal() and int(cell) > 2**53 for cell in cells):
            raise make_format_error(
                path, "a time is an integer beyond 2**53, which is not exact: write it as a datetime", line
            )
        return numbers
    dated = parse_datetimes(cells)
    if dated is not None:
        return dated
    raise make_format_error(
        path, f"the times {', '.join(cells[:2])[:60]!r} … are neither numbers nor datetimes (2007-01-31 23:59:59)", line
    )


def format_times(times: NDArray[Any]) -> list[str]:
    """Timestamps as text that reads back exactly."""
    if times.dtype.kind == "M":
        return [stamp.replace("T", " ") for stamp in np.datetime_as_string(times).tolist()]
    return list(map(repr, times.tolist()))


def parse_integers(tokens: Iterable[str]) -> dict[str, int] | None:
    """The integers of the tokens, if all are integers (1, -2, 1.0, 1.0000000e+00), else None; 01 is a name."""
    integers = {}
    for token in tokens:
        if _WHOLE.fullmatch(token) and float(token).is_integer() and abs(float(token)) < 2**53:
            integers[token] = int(float(token))
        elif _INTEGER.fullmatch(token) and -(2**63) <= int(token) < 2**63:
            integers[token] = int(token)
        else:
            return None
    return integers


def is_all_numbers(tokens: Iterable[str]) -> bool:
    """Whether all tokens are finite numbers."""
    return all(_REAL.fullmatch(token) and np.isfinite(float(token)) for token in tokens)


def parse_class_labels(
    tokens: list[str], declared: Sequence[str] | None
) -> tuple[NDArray[Any], list[str] | None]:  # labels, class names
    """Labels that are all integers become integers, otherwise they are names, spelt as in the file.

    One rule for all formats, so that the same data set has the same labels whichever file it comes from.
    """
    meaning = parse_integers(dict.fromkeys([*(declared or ()), *tokens]))
    if meaning is not None:
        return np.array([meaning[token] for token in tokens], np.int64), None
    return np.array(tokens, dtype=str), None if declared is None else list(declared)


def refuse_unsupported(data: Sequences, what: str, lacks: Sequence[UnsupportedFeature], instead: str) -> None:
    """Raise if the data has something that the format lacks: frames, an attribute, integers beyond float64."""
    if len(data) == 0:
        raise ValueError(f"there are no sequences to write to {what}: expected at least one")
    if "frames" in lacks and len(data.frame) > 1:
        raise ValueError(f"frames of shape {data.frame} cannot be stored in {what}: use .npz")
    for name in lacks:
        if name in _ATTRIBUTES and getattr(data, name) is not None:
            raise ValueError(
                f"{name} cannot be stored in {what}: use {instead}, or drop them with replace({name}=None)"
            )
    if "dtypes" in lacks and data.dtype.kind in "iu" and max(int(data.values.max()), -int(data.values.min())) > 2**53:
        raise ValueError(f"integers beyond 2**53 are not exact in {what}, which is read as float64: use .npz")


def trim_padding(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(time, channel) without the steps at the end that are missing in all channels: the archive's padding."""
    present = np.flatnonzero(~np.isnan(values).all(axis=1))
    return values[: present[-1] + 1] if present.size else values[:0]


def refuse_missing_ends(data: Sequences, what: str) -> None:
    """Raise if a sequence ends with steps that are missing throughout: they would read back as padding."""
    if data.dtype.kind == "f":
        ends = np.isnan(data.values[data.offsets[1:] - 1]).all(axis=1)
        if ends.any():
            raise ValueError(
                f"sequence {int(np.flatnonzero(ends)[0])} ends with a missing value, which {what} takes for padding: "
                "use .ts or .npz, or fill it with interpolate()"
            )


def format_labels(data: Sequences, what: str, forbidden: str = "") -> tuple[list[str], list[str]]:
    """Class labels as written and the list of classes; raises an error if they would read back differently."""
    assert data.labels is not None
    if data.labels.dtype.kind == "b":
        raise ValueError(f"labels are booleans, which {what} does not know: use replace(labels=labels.astype(int))")
    if data.class_names is None:
        classes = np.unique(data.labels)
        if data.labels.dtype.kind == "u" and classes[-1] > 2**63 - 1:
            raise ValueError(f"the label {classes[-1]} is beyond 2**63 - 1, too large for {what}: use .npz")
        return [str(label) for label in data.labels.tolist()], [str(label) for label in classes.tolist()]
    if parse_integers(data.class_names) is not None:
        raise ValueError(
            f"the labels {data.class_names[:3]} are strings that {what} would read back as integers: use .npz, or make "
            "them integers with replace(labels=labels.astype(int))"
        )
    for name in data.class_names:
        refuse_unwritable_name(name, what, forbidden)
    return [str(label) for label in data.labels.tolist()], list(data.class_names)


def refuse_unwritable_name(name: str, what: str, forbidden: str) -> None:
    """Raise for a name that the format would split, strip or misread."""
    bad = [c for c in name if c in forbidden or not c.isprintable()]
    if bad or name == "" or name != name.strip():
        why = f"holds {bad[0]!r}" if bad else "is empty" if name == "" else "begins or ends with a space"
        raise ValueError(f"the name {name!r} {why}, which {what} cannot store: rename it, or use .npz")


def refuse_large_claim(path: Path, claimed: int, what: str = "of numbers") -> None:
    """Raise an error if the numbers of a file, or intermediate results, would take more memory than allowed."""
    size, limit = path.stat().st_size, max_file_bytes(path)
    if claimed > limit:
        raise make_format_error(
            path,
            f"claims {claimed / 1e6:.1f} MB {what} in {size / 1e6:.1f} MB, and the limit is {limit / 1e6:.1f} MB: "
            f"if you trust the file, raise it with the environment variable {LIMIT_VARIABLE}",
        )
