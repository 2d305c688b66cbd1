"""MATLAB's .mat files up to version 7, a recording each; they are only read.

Variables of one row or one column are columns, matrices are channels (time, channel), and text and single numbers can
be labels. Sparse matrices, cells and structures are left out, and `X.source` says so; complex numbers are refused.
Version 7.3 is HDF5 and not read: save it with `save(name, '-v7')`.
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
from .arrays import of_arrays
from .limits import refuse_claim
from .sheets import Sheet

if TYPE_CHECKING:
    from ..container import Sequences

# The layout is that of MathWorks' "MAT-File Format". SciPy's reader of it is compiled, believes what a file says of its
# sizes, and reads behind the end of its memory where a byte is changed: every size here is held against what is there.

LACKS: dict[str, tuple[text.Lack, ...]] = {".mat": ("labels", "groups", "channel_names")}

_HDF5 = b"\x89HDF"
_HEAD = 128  # bytes before the first element
_PEEK = 1024  # inflated bytes in which the class, the shape and the name of a variable are
_MATRIX, _COMPRESSED = 14, 15
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_NUMBERS = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}  # by class
_CHAR, _SPARSE, _OPAQUE = 4, 5, 17
_OTHERS = {1: "a cell", 2: "a structure", 3: "an object", _SPARSE: "sparse", 16: "a function", _OPAQUE: "an object"}
_IS_COMPLEX, _IS_LOGICAL = 0x0800, 0x0200
_MOST_AXES = 32  # NumPy has as many at least
_OLD = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}  # how version 4 stores numbers
_OLD_KINDS = ("numbers", "text", "sparse")


_Order = Literal["<", ">"]
_ORDERS: dict[bytes, _Order] = {b"IM": "<", b"MI": ">"}


class _Variable(NamedTuple):
    """A variable of the file; one that is neither numbers nor text has no array, but a word for what it is."""

    name: str
    array: NDArray[Any] | None
    kind: str = ""


def read(path: Path) -> dict[str, Sequences]:
    """One recording."""
    from ..files.gathering import alone

    return {"all": alone(path)}


def sheet(path: Path, layout: str | None = None) -> Sheet:
    """The variables that are numbers or text."""
    text.refuse_empty(path)
    with path.open("rb") as file:
        found = [one for one in _variables(file, path) if one.name and not one.name.startswith("__")]
    variables = [one if one.array is None or one.array.size else _Variable(one.name, None, "empty") for one in found]
    plain = {one.name: _flat(one.array) for one in variables if one.array is not None}
    others = [f"{one.name!r} ({one.kind})" for one in variables if one.array is None]
    if not plain:
        raise text.wrong(path, f"has no numbers but {', '.join(others)[:200] or 'nothing'}: expected some")
    notes = (f"left out, as no array of numbers: {', '.join(others)[:200]}",) if others else ()
    return of_arrays(path, plain, layout, notes)


def _flat(array: NDArray[Any]) -> NDArray[Any]:
    """MATLAB has no vectors and no scalars, only matrices of one row or column."""
    if array.dtype.kind == "U":
        return np.asarray(array.reshape(()) if array.size == 1 else array.reshape(-1))
    if array.size == 1:
        return np.asarray(array.reshape(()))
    return np.asarray(array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array)


def _variables(file: IO[bytes], path: Path) -> Iterator[_Variable]:
    head = file.read(_HEAD)
    if _HDF5 in head[:8] or head.startswith(b"MATLAB 7.3"):
        raise text.wrong(path, "is a .mat of version 7.3 (HDF5): save it with save(name, '-v7'), or read it with h5py")
    if 0 in head[:4]:  # the first number of version 4, where the others have letters
        yield from _Old(file, path).variables()
        return
    order = _ORDERS.get(head[126:128])
    if order is None or head[125 if order == "<" else 124] != 1:
        raise text.wrong(path, "is not a .mat file of version 4 to 7: get it again, or save it with save(name, '-v7')")
    yield from _Elements(file, path, order).variables()


def _damaged(path: Path, why: str) -> text.FormatError:
    return text.wrong(path, f"is not a whole .mat file ({why}): get it again")


# --- versions 5 to 7 ----------------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """One element inside a variable: what is stored, its bytes, and where the next one begins."""

    kind: int
    content: memoryview
    end: int


class _Shape(NamedTuple):
    """What a variable says of itself before its numbers, and where these begin."""

    number: int  # of its class
    flags: int
    axes: tuple[int, ...]
    name: str
    begin: int


class _Elements:
    """A file of elements: a tag that says the kind and the size, then as many bytes."""

    def __init__(self, file: IO[bytes], path: Path, order: _Order) -> None:
        self._file, self._path, self._order = file, path, order
        self._size = os.fstat(file.fileno()).st_size
        self._claimed = 0  # bytes of the arrays so far

    def variables(self) -> Iterator[_Variable]:
        """The variables at the top, in order."""
        at = _HEAD
        while at < self._size:
            self._file.seek(at)
            kind, size = self._words(self._file.read(8))
            at += 8 + size
            if at > self._size:
                raise _damaged(self._path, f"it ends within a variable, {at - self._size} bytes too early")
            if kind == _COMPRESSED:
                yield self._inflated(self._file.read(size))
            elif kind == _MATRIX:
                yield self._variable(memoryview(self._file.read(size)))
            else:
                raise _damaged(self._path, f"an element of kind {kind} where a variable should begin")

    def _words(self, content: bytes | memoryview) -> tuple[int, int]:
        if len(content) < 8:
            raise _damaged(self._path, "it ends within a tag")
        first, second = np.frombuffer(content, f"{self._order}u4", 2).tolist()
        return first, second

    def _inflated(self, packed: bytes) -> _Variable:
        """A compressed variable; what cannot be a channel is not unpacked, and nothing is beyond what it claims."""
        try:
            peeked = zlib.decompressobj().decompress(packed, _PEEK)
            kind, size = self._words(peeked)
            if kind != _MATRIX:
                raise _damaged(self._path, f"a compressed element of kind {kind}")
            shape = self._shape(memoryview(peeked)[8:])
            if shape.number in _OTHERS:
                return _Variable(shape.name, None, _OTHERS[shape.number])
            refuse_claim(self._path, self._claimed + size)
            unpacker = zlib.decompressobj()
            content = unpacker.decompress(packed, 8 + size)
            more = unpacker.decompress(unpacker.unconsumed_tail, 1)  # to the checksum at the end
        except zlib.error as error:
            raise _damaged(self._path, str(error)) from None
        if len(content) != 8 + size or more or not unpacker.eof:
            raise _damaged(self._path, "a compressed variable has not the size that it says")
        return self._variable(memoryview(content)[8:])

    def _variable(self, content: memoryview) -> _Variable:
        shape = self._shape(content)
        if shape.number in _OTHERS:
            return _Variable(shape.name, None, _OTHERS[shape.number])
        part = self._part(content, shape.begin)
        if shape.number == _CHAR:
            return _Variable(shape.name, self._letters(part, shape))
        dtype = np.dtype(bool if shape.flags & _IS_LOGICAL else _NUMBERS[shape.number])
        numbers = self._numbers(part, shape, dtype)
        if shape.flags & _IS_COMPLEX:
            imaginary = self._numbers(self._part(content, part.end), shape, dtype)
            numbers = numbers + 1j * imaginary
        return _Variable(shape.name, numbers)

    def _part(self, content: memoryview, at: int) -> _Part:
        """The element at a place within a variable; a small one has its bytes within its tag."""
        first, size = self._words(content[at : at + 8])
        begin, kind, step = at + 8, first, (size + 7) // 8 * 8
        if first >> 16:
            size, kind, begin, step = first >> 16, first & 0xFFFF, at + 4, 4
            if size > 4:
                raise _damaged(self._path, f"a small element of {size} bytes")
        if begin + size > len(content):
            raise _damaged(self._path, f"an element of {size} bytes where {len(content) - begin} are left")
        return _Part(kind, content[begin : begin + size], begin + step)

    def _shape(self, content: memoryview) -> _Shape:
        flags = self._part(content, 0)
        if len(flags.content) != 8:
            raise _damaged(self._path, "a variable that does not say what it is")
        word, _ = self._words(flags.content)
        number, end, axes = word & 0xFF, flags.end, (0,)
        if number not in _NUMBERS and number not in _OTHERS and number != _CHAR:
            raise _damaged(self._path, f"a variable of class {number}")
        if number != _OPAQUE:  # which has no shape
            sizes = self._part(content, end)
            if sizes.kind != 5 or len(sizes.content) % 4:
                raise _damaged(self._path, "a variable without a shape")
            axes, end = tuple(np.frombuffer(sizes.content, f"{self._order}i4").tolist()), sizes.end
        if min(axes, default=-1) < 0 or len(axes) > _MOST_AXES:
            raise _damaged(self._path, f"a variable of shape {axes[:5]}")
        name = self._part(content, end)
        return _Shape(number, word, axes, bytes(name.content).decode("latin-1").rstrip("\0"), name.end)

    def _numbers(self, part: _Part, shape: _Shape, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Numbers in the dtype of their class: MATLAB stores them in a smaller one where it can."""
        if part.kind not in _STORED:
            raise _damaged(self._path, f"{shape.name!r} has numbers of kind {part.kind}")
        stored = np.dtype(_STORED[part.kind]).newbyteorder(self._order)
        count = math.prod(shape.axes)
        if len(part.content) != count * stored.itemsize:
            there = f"{len(part.content)} bytes for shape {shape.axes}, {stored.name}"
            raise _damaged(self._path, f"{shape.name!r} has {there}")
        self._claimed += count * dtype.itemsize
        refuse_claim(self._path, self._claimed)
        with np.errstate(invalid="ignore"):  # a damaged file may have NaN in a variable of whole numbers
            found = np.frombuffer(part.content, stored).astype(dtype)
        return found.reshape(shape.axes, order="F")

    def _letters(self, part: _Part, shape: _Shape) -> NDArray[Any]:
        if part.kind not in _TEXT:
            raise _damaged(self._path, f"{shape.name!r} has letters of kind {part.kind}")
        codec = _TEXT[part.kind]
        codec += {"<": "-le", ">": "-be"}[self._order] if codec in ("utf-16", "utf-32") else ""
        try:
            found = bytes(part.content).decode(codec)
        except UnicodeDecodeError:
            raise _damaged(self._path, f"{shape.name!r} is no {codec} text") from None
        return _rows_of(found, shape.axes, shape.name, self._path)


def _rows_of(letters: str, axes: tuple[int, ...], name: str, path: Path) -> NDArray[Any]:
    """Letters in the order of columns as one text for each row."""
    if math.prod(axes) == 0 and not letters:
        return np.array([""])
    if len(axes) == 2 and axes[0] == 1:  # a letter may count twice in its length
        return np.array([letters.rstrip("\0")])
    if len(letters) != math.prod(axes):
        raise _damaged(path, f"{name!r} has {len(letters)} letters for shape {axes}")
    table = np.array(list(letters)).reshape(axes, order="F").reshape(-1, axes[-1])
    return np.array(["".join(row) for row in table.tolist()])


# --- version 4 ----------------------------------------------------------------------------------------------------


class _Old:
    """Version 4: five numbers, a name, and the numbers of a matrix, one variable after the other."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path = file, path
        self._size = os.fstat(file.fileno()).st_size
        self._claimed = 0

    def variables(self) -> Iterator[_Variable]:
        at = 0
        while at < self._size:
            self._file.seek(at)
            head = self._file.read(20)
            if len(head) < 20:
                raise _damaged(self._path, "it ends within the head of a variable")
            order: _Order = "<" if int.from_bytes(head[:4], "little") < 5000 else ">"
            kind, rows, columns, is_complex, letters = np.frombuffer(head, f"{order}i4").tolist()
            if min(rows, columns) < 0 or not 0 < letters <= self._size or is_complex not in (0, 1):
                raise _damaged(self._path, f"a matrix of {rows} × {columns} with a name of {letters} letters")
            stored, meaning = self._stored(kind, order)
            count = rows * columns * (1 + is_complex)
            at += 20 + letters + count * stored.itemsize
            if at > self._size:
                raise _damaged(self._path, f"it ends within a variable, {at - self._size} bytes too early")
            name = self._file.read(letters).decode("latin-1").rstrip("\0")
            if meaning == "sparse":
                yield _Variable(name, None, meaning)
                continue
            self._claimed += count * 8
            refuse_claim(self._path, self._claimed)
            numbers = np.frombuffer(self._file.read(count * stored.itemsize), stored).astype(stored.newbyteorder("="))
            if is_complex:
                numbers = numbers[: rows * columns] + 1j * numbers[rows * columns :]
            yield _Variable(name, self._array(numbers, (rows, columns), meaning, name))

    def _stored(self, kind: int, order: _Order) -> tuple[np.dtype[Any], str]:
        machine, rest = divmod(kind, 1000)
        zero, rest = divmod(rest, 100)
        number, meaning = divmod(rest, 10)
        if machine != {"<": 0, ">": 1}[order] or zero or number not in _OLD or meaning >= len(_OLD_KINDS):
            raise _damaged(self._path, f"a variable of kind {kind}")
        return np.dtype(_OLD[number]).newbyteorder(order), _OLD_KINDS[meaning]

    def _array(self, numbers: NDArray[Any], axes: tuple[int, int], meaning: str, name: str) -> NDArray[Any]:
        if meaning != "text":
            return numbers.reshape(axes, order="F")
        if numbers.dtype.kind == "c" or not ((numbers >= 0) & (numbers < 256)).all():
            raise _damaged(self._path, f"{name!r} is no text")
        return _rows_of(bytes(numbers.astype(np.uint8)).decode("latin-1"), axes, name, self._path)
