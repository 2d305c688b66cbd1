"""MATLAB's .mat files up to version 7, one recording per file; read only.

Variables with one row or one column are columns, matrices are channels (time, channel), and text and single numbers can
be labels. Sparse matrices, cells and structures are skipped and listed in `X.source`; complex numbers raise an error.
Version 7.3 is HDF5 and not supported: save the file with `save(name, '-v7')`.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import text
from .npz import columns_from_arrays
from .raw_columns import RawColumns
from .text import refuse_large_claim

if TYPE_CHECKING:
    from ...container import Sequences

# The layout is that of MathWorks' "MAT-File Format". SciPy's compiled reader trusts the declared sizes and reads past
# the end of its buffer if a byte is damaged, so every size is checked here against the data.

UNSUPPORTED: dict[str, tuple[text.UnsupportedFeature, ...]] = {".mat": ("labels", "groups", "channel_names")}

_HDF5 = b"\x89HDF"
_HEAD = 128  # bytes before the first element
_PEEK = 1024  # inflated bytes in which the class, the shape and the name of a variable are
_MATRIX, _COMPRESSED = 14, 15
_STORED_DTYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_NUMBERS = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}  # by class
_CHAR, _SPARSE, _OPAQUE = 4, 5, 17
_OTHERS = {1: "a cell", 2: "a structure", 3: "an object", _SPARSE: "sparse", 16: "a function", _OPAQUE: "an object"}
_IS_COMPLEX, _IS_LOGICAL = 0x0800, 0x0200
_MOST_AXES = 32  # NumPy has as many at least
_V4_DTYPES = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}  # how version 4 stores numbers
_V4_KINDS = ("numbers", "text", "sparse")


_Order = Literal["<", ">"]
_ORDERS: dict[bytes, _Order] = {b"IM": "<", b"MI": ">"}


class _MatVariable(NamedTuple):
    """A variable of the file; if it is neither numeric nor text, it has the name of its kind instead of an array."""

    name: str
    array: NDArray[Any] | None
    kind: str = ""


def read(path: Path) -> dict[str, Sequences]:
    """One recording."""
    from ..combine import read_single_file

    return {"all": read_single_file(path)}


def read_columns(path: Path, layout: str | None = None) -> RawColumns:
    """The variables that are numbers or text."""
    text.refuse_empty_file(path)
    with path.open("rb") as file:
        public = [one for one in _read_variables(file, path) if one.name and not one.name.startswith("__")]
    variables = [
        one if one.array is None or one.array.size else _MatVariable(one.name, None, "empty") for one in public
    ]
    plain = {one.name: _squeeze(one.array) for one in variables if one.array is not None}
    others = [f"{one.name!r} ({one.kind})" for one in variables if one.array is None]
    if not plain:
        raise text.make_format_error(path, f"has no numbers but {', '.join(others)[:200] or 'nothing'}: expected some")
    notes = (f"left out, as no array of numbers: {', '.join(others)[:200]}",) if others else ()
    return columns_from_arrays(path, plain, layout, notes)


def _squeeze(array: NDArray[Any]) -> NDArray[Any]:
    """MATLAB has no vectors and no scalars, only matrices of one row or column."""
    if array.dtype.kind == "U":
        return np.asarray(array.reshape(()) if array.size == 1 else array.reshape(-1))
    if array.size == 1:
        return np.asarray(array.reshape(()))
    return np.asarray(array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array)


def _read_variables(file: IO[bytes], path: Path) -> Iterator[_MatVariable]:
    head = file.read(_HEAD)
    if _HDF5 in head[:8] or head.startswith(b"MATLAB 7.3"):
        raise text.make_format_error(
            path, "is a .mat of version 7.3 (HDF5): save it with save(name, '-v7'), or read it with h5py"
        )
    if 0 in head[:4]:  # the first number of version 4, where the others have letters
        yield from _MatV4File(file, path).read_variables()
        return
    order = _ORDERS.get(head[126:128])
    if order is None or head[125 if order == "<" else 124] != 1:
        raise text.make_format_error(
            path, "is not a .mat file of version 4 to 7: get it again, or save it with save(name, '-v7')"
        )
    yield from _MatV5File(file, path, order).read_variables()


def _damage_error(path: Path, why: str) -> text.FormatError:
    return text.make_format_error(path, f"is not a whole .mat file ({why}): get it again")


# --- versions 5 to 7 ----------------------------------------------------------------------------------------------


class _MatElement(NamedTuple):
    """One element inside a variable: its type, its bytes, and the start of the next one."""

    kind: int
    content: memoryview
    end: int


class _MatHeader(NamedTuple):
    """The header of a variable, and the start of its numbers."""

    number: int  # of its class
    flags: int
    axes: tuple[int, ...]
    name: str
    begin: int


class _MatV5File:
    """A file of elements: a tag with the type and the size, then that many bytes."""

    def __init__(self, file: IO[bytes], path: Path, order: _Order) -> None:
        self._file, self._path, self._order = file, path, order
        self._size = os.fstat(file.fileno()).st_size
        self._claimed = 0  # bytes of the arrays so far

    def read_variables(self) -> Iterator[_MatVariable]:
        """The variables at the top, in order."""
        at = _HEAD
        while at < self._size:
            self._file.seek(at)
            kind, size = self._read_words(self._file.read(8))
            at += 8 + size
            if at > self._size:
                raise _damage_error(self._path, f"it ends within a variable, {at - self._size} bytes too early")
            if kind == _COMPRESSED:
                yield self._inflate(self._file.read(size))
            elif kind == _MATRIX:
                yield self._parse_variable(memoryview(self._file.read(size)))
            else:
                raise _damage_error(self._path, f"an element of kind {kind} where a variable should begin")

    def _read_words(self, content: bytes | memoryview) -> tuple[int, int]:
        if len(content) < 8:
            raise _damage_error(self._path, "it ends within a tag")
        first, second = np.frombuffer(content, f"{self._order}u4", 2).tolist()
        return first, second

    def _inflate(self, packed: bytes) -> _MatVariable:
        """A compressed variable; what cannot be a channel is not unpacked, and nothing is beyond what it claims."""
        try:
            peeked = zlib.decompressobj().decompress(packed, _PEEK)
            kind, size = self._read_words(peeked)
            if kind != _MATRIX:
                raise _damage_error(self._path, f"a compressed element of kind {kind}")
            shape = self._parse_header(memoryview(peeked)[8:])
            if shape.number in _OTHERS:
                return _MatVariable(shape.name, None, _OTHERS[shape.number])
            refuse_large_claim(self._path, self._claimed + size)
            unpacker = zlib.decompressobj()
            content = unpacker.decompress(packed, 8 + size)
            more = unpacker.decompress(unpacker.unconsumed_tail, 1)  # to the checksum at the end
        except zlib.error as error:
            raise _damage_error(self._path, str(error)) from None
        if len(content) != 8 + size or more or not unpacker.eof:
            raise _damage_error(self._path, "a compressed variable has not the size that it says")
        return self._parse_variable(memoryview(content)[8:])

    def _parse_variable(self, content: memoryview) -> _MatVariable:
        shape = self._parse_header(content)
        if shape.number in _OTHERS:
            return _MatVariable(shape.name, None, _OTHERS[shape.number])
        part = self._parse_element(content, shape.begin)
        if shape.number == _CHAR:
            return _MatVariable(shape.name, self._parse_text(part, shape))
        dtype = np.dtype(bool if shape.flags & _IS_LOGICAL else _NUMBERS[shape.number])
        numbers = self._parse_numbers(part, shape, dtype)
        if shape.flags & _IS_COMPLEX:
            imaginary = self._parse_numbers(self._parse_element(content, part.end), shape, dtype)
            numbers = numbers + 1j * imaginary
        return _MatVariable(shape.name, numbers)

    def _parse_element(self, content: memoryview, at: int) -> _MatElement:
        """The element at a place within a variable; a small one has its bytes within its tag."""
        first, size = self._read_words(content[at : at + 8])
        begin, kind, step = at + 8, first, (size + 7) // 8 * 8
        if first >> 16:
            size, kind, begin, step = first >> 16, first & 0xFFFF, at + 4, 4
            if size > 4:
                raise _damage_error(self._path, f"a small element of {size} bytes")
        if begin + size > len(content):
            raise _damage_error(self._path, f"an element of {size} bytes where {len(content) - begin} are left")
        return _MatElement(kind, content[begin : begin + size], begin + step)

    def _parse_header(self, content: memoryview) -> _MatHeader:
        flags = self._parse_element(content, 0)
        if len(flags.content) != 8:
            raise _damage_error(self._path, "a variable that does not say what it is")
        word, _ = self._read_words(flags.content)
        number, end, axes = word & 0xFF, flags.end, (0,)
        if number not in _NUMBERS and number not in _OTHERS and number != _CHAR:
            raise _damage_error(self._path, f"a variable of class {number}")
        if number != _OPAQUE:  # which has no shape
            sizes = self._parse_element(content, end)
            if sizes.kind != 5 or len(sizes.content) % 4:
                raise _damage_error(self._path, "a variable without a shape")
            axes, end = tuple(np.frombuffer(sizes.content, f"{self._order}i4").tolist()), sizes.end
        if min(axes, default=-1) < 0 or len(axes) > _MOST_AXES:
            raise _damage_error(self._path, f"a variable of shape {axes[:5]}")
        name = self._parse_element(content, end)
        return _MatHeader(number, word, axes, bytes(name.content).decode("latin-1").rstrip("\0"), name.end)

    def _parse_numbers(self, part: _MatElement, shape: _MatHeader, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Numbers in the dtype of their class: MATLAB stores them in a smaller one if possible."""
        if part.kind not in _STORED_DTYPES:
            raise _damage_error(self._path, f"{shape.name!r} has numbers of kind {part.kind}")
        stored = np.dtype(_STORED_DTYPES[part.kind]).newbyteorder(self._order)
        count = math.prod(shape.axes)
        if len(part.content) != count * stored.itemsize:
            there = f"{len(part.content)} bytes for shape {shape.axes}, {stored.name}"
            raise _damage_error(self._path, f"{shape.name!r} has {there}")
        self._claimed += count * dtype.itemsize
        refuse_large_claim(self._path, self._claimed)
        with np.errstate(invalid="ignore"):  # a damaged file may have NaN in a variable of integers
            numbers = np.frombuffer(part.content, stored).astype(dtype)
        return numbers.reshape(shape.axes, order="F")

    def _parse_text(self, part: _MatElement, shape: _MatHeader) -> NDArray[Any]:
        if part.kind not in _TEXT:
            raise _damage_error(self._path, f"{shape.name!r} has letters of kind {part.kind}")
        codec = _TEXT[part.kind]
        codec += {"<": "-le", ">": "-be"}[self._order] if codec in ("utf-16", "utf-32") else ""
        try:
            text = bytes(part.content).decode(codec)
        except UnicodeDecodeError:
            raise _damage_error(self._path, f"{shape.name!r} is no {codec} text") from None
        return _split_text_rows(text, shape.axes, shape.name, self._path)


def _split_text_rows(letters: str, axes: tuple[int, ...], name: str, path: Path) -> NDArray[Any]:
    """Letters in the order of columns as one text for each row."""
    if math.prod(axes) == 0 and not letters:
        return np.array([""])
    if len(axes) == 2 and axes[0] == 1:  # a letter may count twice in its length
        return np.array([letters.rstrip("\0")])
    if len(letters) != math.prod(axes):
        raise _damage_error(path, f"{name!r} has {len(letters)} letters for shape {axes}")
    table = np.array(list(letters)).reshape(axes, order="F").reshape(-1, axes[-1])
    return np.array(["".join(row) for row in table.tolist()])


# --- version 4 ----------------------------------------------------------------------------------------------------


class _MatV4File:
    """Version 4: five numbers, a name, and the numbers of a matrix, one variable after the other."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path = file, path
        self._size = os.fstat(file.fileno()).st_size
        self._claimed = 0

    def read_variables(self) -> Iterator[_MatVariable]:
        at = 0
        while at < self._size:
            self._file.seek(at)
            head = self._file.read(20)
            if len(head) < 20:
                raise _damage_error(self._path, "it ends within the head of a variable")
            order: _Order = "<" if int.from_bytes(head[:4], "little") < 5000 else ">"
            kind, rows, columns, is_complex, letters = np.frombuffer(head, f"{order}i4").tolist()
            if min(rows, columns) < 0 or not 0 < letters <= self._size or is_complex not in (0, 1):
                raise _damage_error(self._path, f"a matrix of {rows} × {columns} with a name of {letters} letters")
            stored, meaning = self._parse_dtype(kind, order)
            count = rows * columns * (1 + is_complex)
            at += 20 + letters + count * stored.itemsize
            if at > self._size:
                raise _damage_error(self._path, f"it ends within a variable, {at - self._size} bytes too early")
            name = self._file.read(letters).decode("latin-1").rstrip("\0")
            if meaning == "sparse":
                yield _MatVariable(name, None, meaning)
                continue
            self._claimed += count * 8
            refuse_large_claim(self._path, self._claimed)
            numbers = np.frombuffer(self._file.read(count * stored.itemsize), stored).astype(stored.newbyteorder("="))
            if is_complex:
                numbers = numbers[: rows * columns] + 1j * numbers[rows * columns :]
            yield _MatVariable(name, self._to_array(numbers, (rows, columns), meaning, name))

    def _parse_dtype(self, kind: int, order: _Order) -> tuple[np.dtype[Any], str]:
        machine, rest = divmod(kind, 1000)
        zero, rest = divmod(rest, 100)
        number, meaning = divmod(rest, 10)
        if machine != {"<": 0, ">": 1}[order] or zero or number not in _V4_DTYPES or meaning >= len(_V4_KINDS):
            raise _damage_error(self._path, f"a variable of kind {kind}")
        return np.dtype(_V4_DTYPES[number]).newbyteorder(order), _V4_KINDS[meaning]

    def _to_array(self, numbers: NDArray[Any], axes: tuple[int, int], meaning: str, name: str) -> NDArray[Any]:
        if meaning != "text":
            return numbers.reshape(axes, order="F")
        if numbers.dtype.kind == "c" or not ((numbers >= 0) & (numbers < 256)).all():
            raise _damage_error(self._path, f"{name!r} is no text")
        return _split_text_rows(bytes(numbers.astype(np.uint8)).decode("latin-1"), axes, name, self._path)
