"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNFINISHED = ".part"  # how the name of a folder ends that is still being written, or was when its writer died


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
    mask = os.umask(0)
    os.umask(mask)
    folder.chmod(0o777 & ~mask)


def _flush(path: Path) -> None:
    """Have the disk hold it; where the system cannot open folders (Windows), it orders renames itself."""
    with suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
