"""Files from patterns, lists and folders, and a unique name for each."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .formats.special_files import refuse_special_file

PATTERN_MARKS = "*?["  # what makes a path a pattern
_SURROGATES = re.compile("[\ud800-\udfff]")


def expand_user(path: str | os.PathLike[str]) -> Path:
    """A path with ~ expanded; the path of an unknown user stays unchanged.

    >>> expand_user("~nosuchuser/a.csv").name
    'a.csv'
    """
    return Path(os.path.expanduser(path))


def readable_name(name: str) -> str:
    r"""A name as text: bytes that are not UTF-8, which Python keeps as unprintable surrogates, are escaped.

    >>> readable_name(os.fsdecode(b"caf\xe9"))
    'caf\\xe9'
    """
    return _SURROGATES.sub(lambda half: f"\\x{ord(half[0]) & 0xFF:02x}", name)


def is_in_memory(source: Any) -> bool:
    """Whether a source is tables and arrays, and not the paths of files: judged by the first.

    >>> is_in_memory([("anna", [1.0, 2.0])]), is_in_memory(["a.csv"])
    (True, False)
    """
    if isinstance(source, Mapping):
        return True
    if not isinstance(source, list | tuple) or not source:
        return False
    first = source[0]
    if isinstance(first, tuple | list):
        return len(first) == 2 and isinstance(first[0], str) and not isinstance(first[1], str | os.PathLike)
    return hasattr(first, "columns") or hasattr(first, "__array__")


def is_pattern(path: Path) -> bool:
    """Whether a path stands for many; one that exists is itself, whatever characters it has.

    >>> is_pattern(Path("clips/*.mp4")), is_pattern(Path("clips/a.mp4"))
    (True, False)
    """
    return any(sign in str(path) for sign in PATTERN_MARKS) and not path.exists()


def match_pattern(pattern: Path) -> list[Path]:
    """The files that a pattern matches, in the order of their names; `**` stands for any folders.

    A folder that links lead to more than once, or back to, is gone through once.
    """
    matches = sorted({Path(one) for one in _expand_pattern(str(pattern))})
    files = [path for path in matches if not path.is_dir()]  # a broken link too: reading it raises the error
    if not files:
        folders = f", but {len(matches)} folders: add /* to mean what is in them" if matches else ""
        raise FileNotFoundError(f"no file matches {str(pattern)!r}{folders or f': the current folder is {Path.cwd()}'}")
    return files


def _expand_pattern(pattern: str) -> Iterator[str]:
    parts = Path(pattern).parts
    if "**" not in parts:
        yield from glob.glob(pattern)
        return
    at = parts.index("**")
    for base in glob.glob(str(Path(*parts[:at]))) if at else ["."]:
        for folder in _walk_folders(base):
            yield from _expand_pattern(str(Path(glob.escape(folder), *(parts[at + 1 :] or ["*"]))))


def _walk_folders(base: str) -> Iterator[str]:
    """A folder and all within, hidden ones aside; each once, whatever links there are."""
    visited, waiting = set(), [base]
    while waiting:
        folder = waiting.pop(0)
        try:
            status = os.stat(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except PermissionError:
            raise  # a folder that is silently skipped would go unnoticed
        except OSError:  # no folder, or a link to nowhere
            continue
        if (status.st_dev, status.st_ino) in visited:
            continue
        visited.add((status.st_dev, status.st_ino))
        yield folder
        waiting += [entry.path for entry in entries if not entry.name.startswith(".") and _is_folder(entry)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def source_folder(source: Any) -> Path | None:
    """The folder that a path or a pattern asks for; None for a list, whose files may lie anywhere.

    >>> source_folder("logs/*/walk_*.csv").as_posix(), source_folder("logs/walk.csv").as_posix()
    ('logs', 'logs')
    """
    if not isinstance(source, str | os.PathLike):
        return None
    path = expand_user(source)
    if not is_pattern(path):
        return path if path.is_dir() else path.parent
    while is_pattern(path):
        path = path.parent
    return path


def list_files(source: Iterable[Any]) -> list[Path]:
    """The files of a list of paths and patterns, in its order."""
    files: list[Path] = []
    for position, one in enumerate(source):
        if not isinstance(one, str | os.PathLike) or not isinstance(os.fspath(one), str):
            raise TypeError(f"source[{position}]={one!r:.80}: expected the path of a file")
        path = expand_user(one)
        files += match_pattern(path) if is_pattern(path) else [path]
        if not is_pattern(path):
            refuse_special_file(path)
        if not is_pattern(path) and not path.is_file():
            what = "is a folder" if path.is_dir() else "does not exist"
            raise FileNotFoundError(f"source[{position}]: {path} {what}: expected the path of a file")
    if not files:
        raise ValueError("source is an empty list: expected at least one path")
    twice = [path for path, count in Counter(map(os.path.abspath, files)).items() if count > 1]
    if twice:
        raise ValueError(f"source has {twice[0]} twice: expected every file once")
    return files


def files_in_folder(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """The files of a folder that have one of the suffixes, in the order of their names; hidden ones are skipped.

    Broken links, pipes and devices are included: reading them raises the error.
    """
    entries = sorted((one for one in folder.iterdir() if not one.name.startswith(".")), key=lambda one: one.name)
    return [entry for entry in entries if entry.suffix.lower() in suffixes and not entry.is_dir()]


def unique_names(files: list[Path]) -> list[str]:
    """A name for every file, no two the same: its stem, with as many folders before it as tell it from others.

    >>> unique_names([Path("anna/walk.mp4"), Path("bob/walk.mp4"), Path("bob/run.mp4")])
    ['anna/walk', 'bob/walk', 'run']
    >>> unique_names([Path("walk.mp4"), Path("walk.avi")])
    ['walk.mp4', 'walk.avi']
    """
    files = [Path(readable_name(str(path))) for path in files]
    stems = [path.with_suffix("") for path in files]
    alike = Counter(stems)
    parts = [(path if alike[stem] > 1 else stem).parts for path, stem in zip(files, stems, strict=True)]
    names, deep = [row[-1] for row in parts], 1
    while deep < max(map(len, parts)) and len({*names}) < len(names):
        deep, counts = deep + 1, Counter(names)
        names = ["/".join(row[-deep:]) if counts[name] > 1 else name for row, name in zip(parts, names, strict=True)]
    return names
