"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist: make it first, or save elsewhere")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)  # mkstemp makes files for the owner only; a saved file is an ordinary one
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, lines: Iterator[str]) -> None:
    """UTF-8 text, one entry per line."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)
