"""Files ↔ Sequences, one module per family of formats; the suffix of the file says which."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .text import FormatError, wrong

if TYPE_CHECKING:
    from ..container import Sequences

__all__ = ["LONGEST", "SUFFIXES", "FormatError", "read", "write"]

_FAMILY = {".ts": "ts", ".tsv": "ucr", ".txt": "ucr", ".arff": "arff", ".npz": "arrays", ".npy": "arrays"}
_FAMILY |= {".csv": "long", ".parquet": "long"}
SUFFIXES = tuple(_FAMILY)
LONGEST = 255  # bytes in the name of a file


def read(path: Path) -> dict[str, Sequences]:
    """The parts of a file: `{"all": …}`, or `"train"` and `"test"` where the file itself tells them apart.

    >>> import tempfile, timelike as tl
    >>> path = tl.Sequences([[1.0, 2.0]], labels=[3]).save(Path(tempfile.mkdtemp()) / "a.ts")
    >>> read(path)
    {'all': Sequences(1 sequence, length 2, 1 channel, float64, 1 class)}
    """
    reader: Callable[[Path], dict[str, Sequences]] = _family(path).read
    try:
        return reader(path)
    except FormatError:
        raise
    except (ValueError, TypeError, OverflowError, MemoryError, EOFError, zlib.error, struct.error) as error:
        # the container's own checks, and what NumPy, zipfile and pyarrow raise on damaged files
        raise wrong(path, f"cannot be read: {error}") from error


def write(data: Sequences, path: Path, *, test: Sequences | None = None) -> Path:
    """Write a file, whole or not at all; what the format has no place for is an error, never dropped.

    >>> import tempfile, timelike as tl
    >>> write(tl.Sequences([[1.0, 2.0]]), Path(tempfile.mkdtemp()) / "a.npy").name
    'a.npy'
    """
    if test is not None and path.suffix.lower() != ".npz":
        raise ValueError(f"test goes with .npz, which marks the two parts: save {path.suffix} files one by one")
    if test is not None and not hasattr(test, "buffers"):
        raise TypeError(f"test is a {type(test).__name__}: expected Sequences")
    writer: Callable[..., None] = _family(path).write
    if len(os.fsencode(path.name)) > LONGEST:
        raise ValueError(
            f"the name {path.name[:40]}… has {len(os.fsencode(path.name))} bytes: expected at most {LONGEST}"
        )
    if test is None:
        writer(data, path)
    else:
        writer(data, path, test=test)
    return path


def _family(path: Path) -> Any:
    suffix = path.suffix.lower()
    if suffix not in _FAMILY:
        raise ValueError(f"{path.name!r} has the suffix {suffix!r}: expected one of {', '.join(SUFFIXES)}")
    return import_module(f".{_FAMILY[suffix]}", __name__)
