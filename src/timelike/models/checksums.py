"""Fingerprints of data and checksums of files, by which a checkpoint or a model is known again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Fingerprint(str):
    """Letters that stand for data, and that no message need show."""

    __slots__ = ()


def fingerprint(*arrays: NDArray[Any]) -> Fingerprint:
    """Sixteen letters that are others as soon as one number, its place, a shape or a dtype is another.

    >>> fingerprint(np.arange(3)) == fingerprint(np.array([0, 1, 2]))
    True
    >>> fingerprint(np.arange(3)) == fingerprint(np.array([0, 2, 1]))
    False
    """
    found = hashlib.blake2b(digest_size=8)
    for array in arrays:
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return Fingerprint(found.hexdigest())


def checksum(file: Path) -> str:
    """The SHA-256 of a file: a disk that changed one bit of a weight would go unnoticed without it."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def json_checksum(words: Any) -> str:
    """The SHA-256 of words, however they are laid out in a file.

    >>> json_checksum({"a": 1, "b": 2}) == json_checksum({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(words, sort_keys=True).encode()).hexdigest()
