"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNFINISHED = ".part"  # how the name of something ends that is being written, or was when its writer died


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file next to `path` that takes its place when the block ends well and vanishes when it does not.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    path = Path(os.path.realpath(path))  # a link stays, what it points to is replaced
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist: make it first, or save elsewhere")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: expected the name of a file")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=UNFINISHED)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(_mode(path))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """Who may read and write: as before, or as for any new file (mkstemp makes files for the owner only)."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    return 0o666 & ~_mask()


def write_text(path: Path, lines: Iterator[str]) -> None:
    """UTF-8 text, one entry per line."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` when the block ends well and vanishes when it does not.

    What is in it is on the disk before the name is, so that a power cut leaves no half of it. A folder of that name is
    replaced: for a moment there are both, the old one under a hidden name.
    """
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name[:80]}.", suffix=UNFINISHED))
    try:
        yield temporary
        _open_to_others(temporary)
        for file in temporary.iterdir():
            _flush(file)
        _flush(temporary)
        _take_place(temporary, folder)
        _flush(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _take_place(temporary: Path, folder: Path) -> None:
    if not folder.exists():
        temporary.rename(folder)
        return
    aside = previous(folder)
    shutil.rmtree(aside, ignore_errors=True)
    folder.rename(aside)  # no system call that Python has can exchange two folders
    try:
        temporary.rename(folder)
    except BaseException:
        aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def previous(folder: Path) -> Path:
    """Where the old folder is for the moment in which the new one takes its place."""
    return folder.parent / f".{folder.name}.previous"


def clear_unfinished(parent: Path) -> None:
    """Remove what a writer left that was killed."""
    for folder in (*parent.glob(f".*{UNFINISHED}"), *parent.glob(".*.previous")):
        shutil.rmtree(folder, ignore_errors=True)


def _open_to_others(folder: Path) -> None:
    """Who may read: as for any new folder (mkdtemp makes them for the owner only)."""
    folder.chmod(0o777 & ~_mask())


def _mask() -> int:
    """What the system takes from the rights of new files; it is only told when it is set."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _flush(path: Path) -> None:
    """Have the disk hold it; where the system cannot open folders (Windows), it orders renames itself."""
    with suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
