"""Pipes, devices and sockets: what has a name as files have, and is neither read nor replaced as one."""

from __future__ import annotations

import stat
from pathlib import Path

from .text import make_format_error

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
WAY_OUT = "write what it gives into a file first (cat name > recording.csv), and load that"


def special_file_kind(path: Path) -> str | None:
    """What it is where it is no regular file, such as "a pipe"; None for files, folders, and what is not there.

    Reading it would wait for a writer that may never come, or never end.

    >>> special_file_kind(Path("/dev/null"))
    'a device'
    """
    try:
        return _KINDS.get(stat.S_IFMT(path.stat().st_mode))
    except (OSError, ValueError):  # opening it raises the error
        return None


def refuse_special_file(path: Path) -> None:
    """Raise an error for what is no regular file."""
    kind = special_file_kind(path)
    if kind is not None:
        raise make_format_error(path, f"is {kind}, not a file: {WAY_OUT}")
