"""Labels and groups of recordings: from their columns, from the names of their files, or one for all."""

from __future__ import annotations

import difflib
import os
import re
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .column_spec import MAX_LISTED, Role
from .columns import ParsedFile
from .formats.text import is_all_numbers, parse_integers
from .paths import readable_name

_LEADING_ZERO = re.compile(r"[+-]?0\d")  # by a zero
_REGEX_MARKS = re.compile(r"[\\^$*+?|\[\]{}]")  # of regular expressions
_MAX_LISTED = 3  # files that an error names
FOLDER_NOTE = "label: the folder of each file"


def resolve_role(
    pieces: list[ParsedFile], source: Role, role: str, notes: list[str], root: Path | None = None
) -> list[Any] | NDArray[Any] | None:
    """One entry for every recording, or None if none has one; a pattern sees only what is below the folder `root`."""
    within: list[list[Any] | None] = [piece.label if role == "label" else piece.group for piece in pieces]
    if callable(source) or (source is not None and not isinstance(source, str)):
        file_entries = [_call_role(source, piece.path, role) if callable(source) else source for piece in pieces]
        return _to_python([entry for entry, piece in zip(file_entries, pieces, strict=True) for _ in piece.lengths])
    if all(entries is not None for entries in within):
        _refuse_mixed_kinds(pieces, within, role)
        entries = [entry for own in within for entry in own or ()]
        return _parse_tokens(entries) if all(isinstance(entry, str) for entry in entries) else _to_python(entries)
    if any(entries is not None for entries in within):
        raise _partial_column_error(pieces, within, source or role, role)
    if source is None:
        return None
    tokens = _match_names(pieces, source, role, root)
    return _parse_tokens([entry for entry, piece in zip(tokens, pieces, strict=True) for _ in piece.lengths])


def folder_names(files: list[Path]) -> NDArray[Any]:
    """The name of the folder of every file, as labels: whole numbers if all are, otherwise text.

    >>> folder_names([Path("logs/walk/1.csv"), Path("logs/run/1.csv")])
    array(['walk', 'run'], dtype='<U4')
    >>> folder_names([Path("speed/1/a.csv"), Path("speed/2.5/a.csv")])  # a folder for each: classes, no measurements
    array(['1', '2.5'], dtype='<U3')
    """
    names = [readable_name(Path(os.path.abspath(file)).parent.name) for file in files]
    whole = parse_integers(dict.fromkeys(names))
    return np.array(names if whole is None else [whole[name] for name in names])


def _call_role(function: Any, path: Path, role: str) -> Any:
    try:
        entry = function(path)
    except Exception as error:
        error.add_note(f"{role}= was asked about {path}")
        raise
    if not isinstance(entry, str | int | float | np.number | np.bool_) or (isinstance(entry, float) and isnan(entry)):
        raise TypeError(f"{role}= gave {entry!r:.60} for {path}: expected a string or a number")
    return entry


def _parse_tokens(tokens: list[str]) -> NDArray[Any]:
    """Numbers if all tokens are numbers; 01 is a name."""
    distinct = dict.fromkeys(tokens)
    whole = parse_integers(distinct)
    if whole is not None:
        return np.array([whole[token] for token in tokens], np.int64)
    numeric = is_all_numbers(distinct) and not any(_LEADING_ZERO.match(token) for token in distinct)
    return np.array(tokens, dtype=np.float64 if numeric else str)


def _to_python(entries: list[Any]) -> list[Any]:
    return [entry.item() if isinstance(entry, np.generic) else entry for entry in entries]


def _partial_column_error(pieces: list[ParsedFile], within: list[Any], name: Any, role: str) -> ValueError:
    lacking = [piece.path.name for piece, entries in zip(pieces, within, strict=True) if entries is None]
    more = f" and {len(lacking) - _MAX_LISTED} others" if len(lacking) > _MAX_LISTED else ""
    return ValueError(
        f"{role}: the column {name!r} is in {len(pieces) - len(lacking)} of {len(pieces)} files, and not in "
        f"{', '.join(lacking[:_MAX_LISTED])}{more}: expected it in all; or give {role}= as a function of the path"
    )


def _refuse_mixed_kinds(pieces: list[ParsedFile], within: list[list[Any] | None], role: str) -> None:
    """Raise an error if the column is text in some files and numbers in others."""
    kinds: dict[bool, str] = {}
    for piece, entries in zip(pieces, within, strict=True):
        for entry in entries or ():
            kinds.setdefault(isinstance(entry, str), piece.path.name)
    if len(kinds) > 1:
        raise ValueError(
            f"{role}s are text in {kinds[True]} and numbers in {kinds[False]}: expected one kind; write them alike, or "
            f"give {role}= as a function of the path"
        )


def _match_names(pieces: list[ParsedFile], expression: str, role: str, root: Path | None) -> list[str]:
    """The matches of a regular expression; raises an error for a word that is neither that nor a column."""
    try:
        pattern = re.compile(expression)
    except re.error as error:
        pattern = None
        if "(" in expression:
            raise ValueError(
                f"{role}={expression!r} is neither a column nor a valid regular expression ({error})"
            ) from None
    if pattern is not None and pattern.groups:
        return _match_paths([piece.path for piece in pieces], pattern, role, root)
    if _REGEX_MARKS.search(expression):
        raise ValueError(
            f"{role}={expression!r} is not a column, and as a regular expression it has no group: put ( ) around the "
            f"{role}; if it is a constant, give {role}=lambda path: {expression!r}"
        )
    columns = list(dict.fromkeys(column for piece in pieces for column in piece.columns))
    near = difflib.get_close_matches(expression, columns, n=1)
    hint = (
        f"; did you mean {near[0]!r}?"
        if near
        else f": they have {', '.join(map(repr, columns[:MAX_LISTED])) or 'none'}."
    )
    raise ValueError(
        f"{role}={expression!r} is not a column of any file{hint} For part of a file name use a regular expression "
        f'with a group ( ), such as {role}=r"([a-z]+)_"; a constant for all is {role}=lambda path: {expression!r}'
    )


def _match_paths(paths: list[Path], pattern: re.Pattern[str], role: str, root: Path | None) -> list[str]:
    """The match of the first group in the file names, in the nearest matching folder, or in the paths below `root`.

    /home/runner/sit/3.csv is of the class sit, not run; a name that lacks what others have is an error. Folders that
    nobody asked for do not count: in /tmp/newcomer, (w[a-z]*) would find "wcomer". Without a root it is the common
    folder of all files.
    """
    folder, below = _relative_paths(paths, root)
    has_slash = "/" in pattern.pattern
    matches = [None if has_slash else pattern.search(path.name) for path in below]
    for depth in range(min(len(path.parts) for path in below) - 1):
        if any(matches) or has_slash:
            break
        above = [pattern.search(path.parts[-2 - depth]) for path in below]
        matches = above if all(above) else matches
    if not any(matches):
        matches = [pattern.search(path.as_posix()) for path in below]
        if not all(matches):  # a pattern may begin with the slash before the first folder
            matches = [pattern.search(f"/{path.as_posix()}") for path in below]
    parts = [next((part for part in match.groups() if part), None) if match else None for match in matches]
    lacking = [path.name for path, part in zip(paths, parts, strict=True) if part is None]
    if lacking:
        more = f" and {len(lacking) - _MAX_LISTED} others" if len(lacking) > _MAX_LISTED else ""
        raise ValueError(
            f"{role}={pattern.pattern!r} finds nothing in {', '.join(lacking[:_MAX_LISTED])}{more}: expected a group ( "
            f") that is in the name of every file, or in its folders below {folder}"
        )
    return [part for part in parts if part is not None]


def _relative_paths(paths: list[Path], root: Path | None) -> tuple[Path, list[Path]]:
    """The folder `root`, or the common folder of all files where they are elsewhere, and the paths from there."""
    full = [Path(os.path.abspath(path)) for path in paths]
    folder = None if root is None else Path(os.path.abspath(root))
    if folder is None or not all(path.is_relative_to(folder) for path in full):
        folder = Path(os.path.commonpath([path.parent for path in full]))
    return folder, [path.relative_to(folder) for path in full]
