"""Atomic writes of files and folders, checksums, and the removal of temporary files that a killed process left."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

PART_SUFFIX = ".part"  # of the temporary name under which a file or folder is written
_PART_NAME = re.compile(r"\..*\.([0-9a-f]{8})-(\d{1,10})\.\w+" + re.escape(PART_SUFFIX), re.DOTALL)
_NAME_LETTERS = 40  # letters of the final name in the temporary one, which stays below the limit of file systems
_own_parts: set[str] = set()  # temporary names that this process is writing now


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary file next to `path` that replaces it if the block succeeds and is removed if it fails.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_write(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    path = Path(os.path.realpath(path))  # a link is kept, and its target replaced
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist: make it first, or save elsewhere")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: expected the name of a file")
    refuse_special_target(path)
    with _temporary_path(path) as temporary:
        temporary.touch(0o600, exist_ok=False)
        yield temporary
        temporary.chmod(_file_mode(path))
        temporary.replace(path)


def refuse_special_target(path: Path) -> None:
    """Raise an error if `path` is a pipe, a device or a socket, which writing a file would destroy."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileExistsError(
            f"{path} is a pipe, a device or a socket, which a file would replace: give the name of a file, and hand "
            "that on"
        )


def make_folder(folder: Path, *, parents: bool = False) -> None:
    """Make a folder, and with `parents` the missing folders above it.

    Without `parents` the folder above must exist, so that a mistyped path does not become a tree of folders. Nothing is
    ever made directly below the root of the file system.

    >>> import tempfile
    >>> make_folder(Path(tempfile.mkdtemp()) / "runs")
    >>> make_folder(Path("/nosuchfolder"))
    Traceback (most recent call last):
    FileNotFoundError: the folder /nosuchfolder does not exist: make it first, or give another
    """
    refuse_missing_parent(folder, parents=parents)
    folder.mkdir(parents=parents, exist_ok=True)


def refuse_missing_parent(folder: Path, *, parents: bool = False) -> None:
    """Raise the error with which `make_folder` would refuse to make a folder, without making one."""
    lacking = [one for one in (folder, *folder.parents) if not one.exists()]  # the outermost last
    at_root = bool(lacking) and folder.is_absolute() and lacking[-1].parent == Path(folder.anchor)
    if at_root or (len(lacking) > 1 and not parents):
        needed = lacking[-1] if at_root else lacking[1]
        raise FileNotFoundError(f"the folder {needed} does not exist: make it first, or give another")


def _file_mode(path: Path) -> int:
    """The permissions of the file at `path`, or those of a new file; the temporary file is private to its owner."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    return 0o666 & ~_umask()


def write_lines(path: Path, lines: Iterator[str]) -> None:
    """Write UTF-8 text, one entry per line."""
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` if the block succeeds and is removed if it fails.

    Its files are flushed to the disk before it is renamed, so that a power cut leaves no partial folder. An existing
    folder of that name is replaced; for a moment it exists under a hidden name.
    """
    with temporary_folder(folder) as temporary:
        yield temporary
        _set_default_permissions(temporary)
        for file in temporary.iterdir():
            _fsync(file)
        _fsync(temporary)
        _replace_folder(temporary, folder)
        _fsync(folder.parent)


@contextmanager
def temporary_folder(beside: Path) -> Iterator[Path]:
    """A temporary folder next to `beside`, removed when the block ends if it still exists."""
    with _temporary_path(beside) as temporary:
        temporary.mkdir(0o700)
        yield temporary


def _replace_folder(temporary: Path, folder: Path) -> None:
    aside = backup_path(folder)
    if not folder.exists():
        temporary.rename(folder)
        shutil.rmtree(aside, ignore_errors=True)  # left by a save that was killed between its two renames
        return
    shutil.rmtree(aside, ignore_errors=True)
    folder.rename(aside)  # Python has no system call that exchanges two folders
    try:
        temporary.rename(folder)
    except BaseException:
        aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def backup_path(folder: Path) -> Path:
    """The hidden name that the old folder has while the new one is renamed."""
    return folder.parent / f".{folder.name}.previous"


def remove_unfinished(parent: Path) -> None:
    """Remove all temporary files and folders of a folder with a single writer, unless that process is alive."""
    for folder in (*parent.glob(f".*{PART_SUFFIX}"), *parent.glob(".*.previous")):
        if not _is_writer_alive(folder.name):
            _remove(folder)


def remove_orphans(parent: Path) -> None:
    """Remove the temporary files of processes that are dead.

    Machine and process are part of the temporary name. Files of another machine or container are kept, as it is unknown
    whether their process is alive.
    """
    with suppress(OSError):  # the folder may be writable but not listable
        with os.scandir(parent) as entries:
            left = [entry.name for entry in entries if entry.name.endswith(PART_SUFFIX) and _is_orphan(entry.name)]
        for name in left:
            _remove(parent / name)


@contextmanager
def _temporary_path(path: Path) -> Iterator[Path]:
    """A temporary name next to `path`, with machine and process in it; whatever has that name at the end is removed."""
    remove_orphans(path.parent)
    name = f".{path.name[:_NAME_LETTERS]}.{_machine_id()}-{os.getpid()}.{secrets.token_hex(8)}{PART_SUFFIX}"
    temporary = path.parent / name
    _own_parts.add(name)  # before the file exists: another thread may be removing orphans
    try:
        yield temporary
    finally:
        _remove(temporary)
        _own_parts.discard(name)


def _remove(temporary: Path) -> None:
    if temporary.is_dir() and not temporary.is_symlink():
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _is_orphan(name: str) -> bool:
    """Whether the process that wrote it is known to be dead."""
    writer = _PART_NAME.fullmatch(name)
    return writer is not None and writer[1] == _machine_id() and not _is_writer_alive(name)


def _is_writer_alive(name: str) -> bool:
    """Whether a process of this machine with the writer's number is alive."""
    writer = _PART_NAME.fullmatch(name)
    if writer is None or writer[1] != _machine_id():
        return False
    if int(writer[2]) == os.getpid():  # in a container every run may have the same process number
        return name in _own_parts
    if os.name == "nt":
        return True  # signal 0 would be Ctrl-C there: assume that it is alive
    try:
        os.kill(int(writer[2]), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True  # it is alive and belongs to another user
    return True


@cache
def _machine_id() -> str:
    """A short identifier of the process-number space: this machine, or the container on it."""
    try:
        numbers = str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        numbers = ""
    return hashlib.blake2b(f"{platform.node()} {numbers}".encode(), digest_size=4).hexdigest()


def _set_default_permissions(folder: Path) -> None:
    """Give the folder the permissions of a new folder; while it is written it is private to its owner."""
    folder.chmod(0o777 & ~_umask())


def _umask() -> int:
    """The umask of the process, which can be read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _fsync(path: Path) -> None:
    """Flush a file or folder to the disk; Windows cannot open folders, and orders renames itself."""
    with suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def nonfinite_to_none(tree: Any) -> Any:
    """Nested dicts and lists with NaN and infinity replaced by None, as JSON has neither."""
    if isinstance(tree, dict):
        return {key: nonfinite_to_none(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [nonfinite_to_none(value) for value in tree]
    return None if isinstance(tree, float) and not math.isfinite(tree) else tree


def file_checksum(file: Path) -> str:
    """The SHA-256 of a file: a disk that changed one bit of a weight would go unnoticed without it."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def json_checksum(tree: Any) -> str:
    """The SHA-256 of a JSON value, however it is laid out in a file.

    >>> json_checksum({"a": 1, "b": 2}) == json_checksum({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()
