"""Checks of an HDF5 file before the HDF5 library reads it: its length, and heaps that would cause an endless loop.

Numbers in brackets are sections of the "HDF5 File Format Specification", version 3.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from . import text
from .video_truncation import refuse_short_file

SIGNATURE = b"\x89HDF\r\n\x1a\n"

_SUPERBLOCK = 64  # bytes that hold the declared length of a file
_HEAP = b"GCOL\x01\x00\x00\x00"  # of a global heap collection (III.E)
_HEAD = 16  # bytes of the head of a collection, and of an object in it, however wide lengths are
_AT_ONCE = 1 << 24  # bytes that are searched for heaps at a time


class Superblock(NamedTuple):
    """The declared length of a file, and the number of bytes of a length in it."""

    size: int
    width: int


def refuse_damaged(path: Path) -> None:
    """Raise an error for a file that is cut short, or that the HDF5 library would read forever.

    The library goes from object to object of a global heap by their lengths, also by a length of 0: of 1 500 files with
    one damaged byte, it never came back from one.
    """
    with path.open("rb") as file:
        superblock = read_superblock(file.read(_SUPERBLOCK))
        if superblock is None:
            raise text.make_format_error(path, "begins as an HDF5 file and is none: get it again")
        refuse_short_file(path, superblock.size)
        for place in _heaps(file):
            if not _has_an_end(file, place, superblock):
                raise text.make_format_error(path, f"has a damaged heap at byte {place}: get it again")


def read_superblock(head: bytes) -> Superblock | None:
    """The superblock at the beginning of a file; None if it is damaged.

    The address of the end is the third of four numbers, which begin behind the flags (II.A); the width of lengths
    stands behind that of addresses.
    """
    begin, width = {0: (24, 13), 1: (28, 13), 2: (12, 9), 3: (12, 9)}.get(head[8] if len(head) > 8 else -1, (0, 0))
    sizes = tuple(head[width : width + 2]) if width else ()
    if len(sizes) < 2 or any(size not in (2, 4, 8) for size in sizes) or len(head) < begin + 3 * sizes[0]:
        return None
    return Superblock(int.from_bytes(head[begin + 2 * sizes[0] : begin + 3 * sizes[0]], "little"), sizes[1])


def _heaps(file: BinaryIO) -> Iterator[int]:
    """The starts of all global heap collections, found by search, because the tables of the file are not trusted."""
    begin, rest = 0, b""
    while True:
        file.seek(begin + len(rest))
        block = rest + file.read(_AT_ONCE)
        place = block.find(_HEAP)
        while place >= 0:
            yield begin + place
            place = block.find(_HEAP, place + 1)
        if len(block) - len(rest) < _AT_ONCE:
            return
        begin, rest = begin + len(block) - len(_HEAP) + 1, block[len(block) - len(_HEAP) + 1 :]


def _has_an_end(file: BinaryIO, place: int, superblock: Superblock) -> bool:
    """Whether one comes to the end of a collection by the lengths of its objects; 0 is the number of free space."""
    file.seek(place)
    head = file.read(_HEAD)
    size = int.from_bytes(head[8 : 8 + superblock.width], "little")
    if size < _HEAD or place + size > superblock.size:
        return True  # these bytes match the start of a heap by chance, or the library rejects this heap
    file.seek(place)
    heap, at = file.read(size), _HEAD
    while at + _HEAD <= len(heap):
        number = int.from_bytes(heap[at : at + 2], "little")
        length = int.from_bytes(heap[at + 8 : at + 8 + superblock.width], "little")
        # what follows begins at a multiple of 8; free space counts its own head
        at += length if number == 0 else _HEAD + -(-length // 8) * 8
        if at > len(heap) or (number == 0 and length < _HEAD):
            return False
    return True
