"""Detection of pipes, devices and sockets, which are neither read nor replaced."""

from __future__ import annotations

import stat
from pathlib import Path

from .text import make_format_error

_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}
WAY_OUT = "write what it gives into a file first (cat name > recording.csv), and load that"


def special_file_kind(path: Path) -> str | None:
    """The kind of a special file, such as "a pipe"; None for regular files, folders and missing paths.

    Reading a special file might wait for a writer forever, or never end.

    >>> special_file_kind(Path("/dev/null"))
    'a device'
    """
    try:
        return _KINDS.get(stat.S_IFMT(path.stat().st_mode))
    except (OSError, ValueError):  # opening it raises the error
        return None


def refuse_special_file(path: Path) -> None:
    """Raise an error if the path is not a regular file."""
    kind = special_file_kind(path)
    if kind is not None:
        raise make_format_error(path, f"is {kind}, not a file: {WAY_OUT}")
