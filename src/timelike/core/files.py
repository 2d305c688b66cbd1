"""Files and folders that appear whole or not at all; what a killed writer left is removed by the next one."""

from __future__ import annotations

import hashlib
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

PART_SUFFIX = ".part"  # how the name of something ends that is being written, or was when its writer died
_PART_NAME = re.compile(r"\..*\.([0-9a-f]{8})-(\d{1,10})\.\w+" + re.escape(PART_SUFFIX), re.DOTALL)
_NAME_LETTERS = 40  # letters of a name that its unfinished twin has: with all else they fit into what systems take
_own_parts: set[str] = set()  # what this process is writing now


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary file next to `path` that takes its place when the block ends well and vanishes when it does not.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_write(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    path = Path(os.path.realpath(path))  # a link stays, what it points to is replaced
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
    """An error where a pipe, a device or a socket has the name: a file that took its place would destroy it."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileExistsError(
            f"{path} is a pipe, a device or a socket, which a file would replace: give the name of a file, and hand "
            "that on"
        )


def make_folder(folder: Path, *, parents: bool = False) -> None:
    """Make a folder that does not exist yet in one that does, or with `parents` those it lies in too.

    A path that is mistyped should not become a tree of folders. By an absolute path none is made at the root of the
    file system in any case: whoever wants one there makes it by hand.

    >>> import tempfile
    >>> make_folder(Path(tempfile.mkdtemp()) / "runs")
    >>> make_folder(Path("/nosuchfolder"))
    Traceback (most recent call last):
    FileNotFoundError: the folder /nosuchfolder does not exist: make it first, or give another
    """
    lacking = [one for one in (folder, *folder.parents) if not one.exists()]  # the outermost last
    at_root = bool(lacking) and folder.is_absolute() and lacking[-1].parent == Path(folder.anchor)
    if at_root or (len(lacking) > 1 and not parents):
        needed = lacking[-1] if at_root else lacking[1]
        raise FileNotFoundError(f"the folder {needed} does not exist: make it first, or give another")
    folder.mkdir(parents=parents, exist_ok=True)


def _file_mode(path: Path) -> int:
    """Who may read and write: as before, or as for any new file (while it is written it is the owner's only)."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    return 0o666 & ~_umask()


def write_lines(path: Path, lines: Iterator[str]) -> None:
    """UTF-8 text, one entry per line."""
    with atomic_write(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` when the block ends well and vanishes when it does not.

    What is in it is on the disk before the name is, so that a power cut leaves no half of it. A folder of that name is
    replaced: for a moment there are both, the old one under a hidden name.
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
    """A temporary folder next to `beside` that vanishes when the block ends, if it is still there."""
    with _temporary_path(beside) as temporary:
        temporary.mkdir(0o700)
        yield temporary


def _replace_folder(temporary: Path, folder: Path) -> None:
    aside = backup_path(folder)
    if not folder.exists():
        temporary.rename(folder)
        shutil.rmtree(aside, ignore_errors=True)  # a save was cut off between its two renames
        return
    shutil.rmtree(aside, ignore_errors=True)
    folder.rename(aside)  # no system call that Python has can exchange two folders
    try:
        temporary.rename(folder)
    except BaseException:
        aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def backup_path(folder: Path) -> Path:
    """Where the old folder is for the moment in which the new one takes its place."""
    return folder.parent / f".{folder.name}.previous"


def remove_unfinished(parent: Path) -> None:
    """Remove everything unfinished from a folder that has one writer, unless that one lives."""
    for folder in (*parent.glob(f".*{PART_SUFFIX}"), *parent.glob(".*.previous")):
        if not _is_writer_alive(folder.name):
            _remove(folder)


def remove_orphans(parent: Path) -> None:
    """Remove what writers left in a folder that are dead: killed, or gone with the power.

    The name says who writes. Of another machine, or another container, it is not known who lives: theirs stays.
    """
    with suppress(OSError):  # whoever may write a file here need not be allowed to list the others
        with os.scandir(parent) as entries:
            left = [entry.name for entry in entries if entry.name.endswith(PART_SUFFIX) and _is_orphan(entry.name)]
        for name in left:
            _remove(parent / name)


@contextmanager
def _temporary_path(path: Path) -> Iterator[Path]:
    """A name next to `path` for what is being written, which says by whom; what has it at the end is removed."""
    remove_orphans(path.parent)
    name = f".{path.name[:_NAME_LETTERS]}.{_machine_id()}-{os.getpid()}.{secrets.token_hex(8)}{PART_SUFFIX}"
    temporary = path.parent / name
    _own_parts.add(name)  # before it is there: another thread may be sweeping
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
    """Whether the writer is known to be dead."""
    writer = _PART_NAME.fullmatch(name)
    return writer is not None and writer[1] == _machine_id() and not _is_writer_alive(name)


def _is_writer_alive(name: str) -> bool:
    """Whether the writer is a process of this machine that lives, or has lent its number to one."""
    writer = _PART_NAME.fullmatch(name)
    if writer is None or writer[1] != _machine_id():
        return False
    if int(writer[2]) == os.getpid():  # in a container every run may have the same number
        return name in _own_parts
    if os.name == "nt":
        return True  # where signal 0 is Ctrl-C, nobody is asked
    try:
        os.kill(int(writer[2]), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True  # it lives, and is somebody else's
    return True


@cache
def _machine_id() -> str:
    """Letters for what numbers processes: this machine, or the container on it."""
    try:
        numbers = str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        numbers = ""
    return hashlib.blake2b(f"{platform.node()} {numbers}".encode(), digest_size=4).hexdigest()


def _set_default_permissions(folder: Path) -> None:
    """Who may read: as for any new folder (while it is written it is the owner's only)."""
    folder.chmod(0o777 & ~_umask())


def _umask() -> int:
    """What the system takes from the rights of new files; it is only told when it is set."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _fsync(path: Path) -> None:
    """Have the disk hold it; where the system cannot open folders (Windows), it orders renames itself."""
    with suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def nonfinite_to_none(tree: Any) -> Any:
    """JSON has no word for infinity, which the bounds of an effect are where one unit is all there is."""
    if isinstance(tree, dict):
        return {key: nonfinite_to_none(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [nonfinite_to_none(value) for value in tree]
    return None if isinstance(tree, float) and not math.isfinite(tree) else tree
