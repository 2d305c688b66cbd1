"""NumPy files: .npz for a whole collection, and .npy for a plain array.

The arrays of an .npz: `values` (total_time, *frame), `offsets` (n + 1), and where known `labels` (n; positions in
`class_names` if there are such), `split` (n; 0 train, 1 test), `groups` (n), `ids` (n), `times` (total_time),
`class_names`, `channel_names`. `train.save(path, test=test)` writes two parts. Nothing is ever unpickled. An .npy
stores only values of equal lengths: (item, time, *frame). An .npy with fewer axes is a single recording, (time,) or
(time, channel), and so are the named arrays of an .npz without `offsets`. A large .npy is memory-mapped.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....core.files import atomic_write
from ....core.validation.layouts import check_layout
from ...concatenation import concatenate
from ...container import Sequences
from . import text
from .raw_columns import Cells, RawColumns
from .text import refuse_large_claim

MAP_BYTES = 1 << 26  # bytes from which an .npy is mapped: below, reading is as fast, and nothing hangs on the file
_SINGLE_LAYOUTS = {"tc": "(time, channel)", "ct": "(channel, time)"}  # layouts of one recording
_MAX_HEADER = 1 << 16  # bytes that the head of an array may have; NumPy reads no head of more than 10 000
_METADATA: tuple[text.UnsupportedFeature, ...] = ("labels", "groups", "ids", "times", "channel_names", "class_names")
_ARRAYS = ("values", "offsets", "split", *_METADATA)
UNSUPPORTED: dict[str, tuple[text.UnsupportedFeature, ...]] = {".npz": (), ".npy": (*_METADATA, "unequal lengths")}


def read(path: Path) -> dict[str, Sequences]:
    """The sequences of an .npz or .npy file."""
    return _read_npy(path) if path.suffix.lower() == ".npy" else _read_npz(path)


def has_sequences(path: Path) -> bool:
    """Whether an .npz holds sequences: other arrays are kept in such files too."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {"values.npy", "offsets.npy"} <= set(archive.namelist())
    except Exception:  # zipfile raises what not: NotImplementedError, UnicodeDecodeError, struct.error
        return True  # damaged: loading it by name should raise an error


def read_columns(path: Path, layout: str | None = None) -> RawColumns | Sequences:
    """One recording, or `Sequences` if the file holds several."""
    if path.suffix.lower() == ".npy":
        return _load_npy(path, layout)
    if layout is None and has_sequences(path):
        return next(iter(_read_npz(path).values()))
    _, names = read_members(path, ())
    arrays, _ = read_members(path, [name.removesuffix(".npy") for name in names if name.endswith(".npy")])
    if not arrays:
        raise text.make_format_error(path, "has no arrays: expected some")
    return columns_from_arrays(path, arrays, layout)


def columns_from_arrays(
    path: Path, arrays: dict[str, NDArray[Any]], layout: str | None, notes: tuple[str, ...] = ()
) -> RawColumns:
    """Arrays by name as the columns of one recording: (time,), (time, *frame), and single values."""
    if layout is not None:
        refuse_collection_layout(path, layout)
    columns = {
        name: array.swapaxes(0, 1) if layout == "ct" and array.ndim > 1 else array for name, array in arrays.items()
    }
    return RawColumns(path, dict(columns), notes=notes)


def refuse_collection_layout(path: Path, layout: str) -> None:
    """Raise an error for a layout that is not of one recording."""
    if layout not in _SINGLE_LAYOUTS:
        check_layout(layout)
        words = " or ".join(f'layout="{word}" {meaning}' for word, meaning in _SINGLE_LAYOUTS.items())
        raise text.make_format_error(
            path, f'layout="{layout}" is of several sequences in one array: expected {words} here'
        )


def _read_npy(path: Path) -> dict[str, Sequences]:
    content = _load_npy(path, None)
    if isinstance(content, Sequences):
        return {"all": content}
    from ..combine import read_single_file

    return {"all": read_single_file(path)}


def _load_npy(path: Path, layout: str | None) -> RawColumns | Sequences:
    block = _open_npy(path)
    if block.dtype.names is not None and block.ndim == 1:
        return RawColumns(path, {name: np.ascontiguousarray(block[name]) for name in block.dtype.names})
    if layout is not None and layout not in _SINGLE_LAYOUTS:
        return Sequences(block, layout=check_layout(layout))
    if layout is None and block.ndim > 2:
        return Sequences(block)
    if block.ndim == 0 or block.size == 0 or (layout == "ct" and block.ndim < 2):
        raise text.make_format_error(
            path, f"holds an array of shape {block.shape}: expected (time,) or (time, channel)"
        )
    if layout == "ct":
        return RawColumns(path, {"0": block.swapaxes(0, 1)}, has_names=False)
    columns: dict[str, Cells] = {"0": block[:, None] if block.ndim == 1 else block}
    return RawColumns(path, columns, has_names=False, notes=() if layout else _layout_notes(block))


def _layout_notes(block: NDArray[Any]) -> tuple[str, ...]:
    if block.ndim == 1:
        return ()
    return ('an array of two axes is one recording (time, channel); layout="ct" and layout="ntc" read it otherwise',)


def _open_npy(path: Path) -> NDArray[Any]:
    """The array of an .npy, memory-mapped if it is large: checked page by page, never fully in memory."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = _read_header(file, size, path, "the array")
        if size < MAP_BYTES:
            file.seek(0)
            return _read_array(file, header, path, "the array")
    order: Any = "F" if header.columns_first else "C"
    return np.memmap(path, header.dtype, "r", header.begin, header.shape, order)


def _read_npz(path: Path) -> dict[str, Sequences]:
    arrays, names = read_members(path, _ARRAYS)
    _refuse_other_arrays(names, path)
    metadata = {name: arrays[name] for name in _METADATA if name in arrays}
    for name in ("channel_names", "class_names"):
        if name in metadata and (metadata[name].ndim != 1 or metadata[name].dtype.kind != "U"):
            raise text.make_format_error(path, f"{name} has dtype {metadata[name].dtype}: expected a row of strings")
    if "times" in metadata and metadata["times"].shape != arrays["values"].shape[:1]:
        raise text.make_format_error(
            path, f"times has shape {metadata['times'].shape}: expected one time per step of values"
        )
    whole = Sequences.from_packed(arrays["values"], arrays["offsets"], **metadata)
    if "split" not in arrays:
        return {"all": whole}
    split = arrays["split"]
    if split.shape != (len(whole),):
        raise text.make_format_error(
            path, f"split has shape {split.shape} for {len(whole)} sequences: expected one entry for each"
        )
    strange = np.flatnonzero(~np.isin(split, (0, 1)))
    if strange.size:
        raise text.make_format_error(
            path, f"split[{strange[0]}] is {split[strange[0]]}: expected 0 (train) or 1 (test)"
        )
    return {name: whole[split == code] for code, name in enumerate(("train", "test")) if (split == code).any()}


def read_members(path: Path, wanted: Collection[str]) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Those arrays of an .npz that are wanted and there, and the names of all that is in it."""
    arrays = {}
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            array_names = {info: _array_name(info) for info in archive.infolist() if _array_name(info) in wanted}
            headers = {}
            for info, name in array_names.items():
                with archive.open(info) as file:
                    headers[info] = _read_header(file, info.file_size, path, name)
            refuse_large_claim(path, sum(header.n_bytes for header in headers.values()))  # before anything is unpacked
            for info, name in array_names.items():
                with archive.open(info) as file:
                    arrays[name] = _read_array(file, headers[info], path, name)
    except (text.FormatError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:  # zipfile and zlib raise many kinds of errors on damaged files
        raise text.make_format_error(path, f"is not a whole .npz file ({str(error)[:200]}): get it again") from None
    return arrays, names


def _array_name(info: zipfile.ZipInfo) -> str:
    return info.filename.removesuffix(".npy")


def _refuse_other_arrays(members: list[str], path: Path) -> None:
    names = [member.removesuffix(".npy") for member in members]
    absent = [name for name in ("values", "offsets") if name not in names]
    if absent:
        raise text.make_format_error(
            path,
            f"has no array {absent[0]!r} but {', '.join(map(repr, names))[:200] or 'nothing'}: expected sequences "
            "(values and offsets); open other arrays with numpy.load and pass them to Sequences(...)",
        )


class _NpyHeader(NamedTuple):
    """The header of an array in the .npy format, and the start of its numbers."""

    shape: tuple[int, ...]
    columns_first: bool
    dtype: np.dtype[Any]
    begin: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize  # Python's integers do not overflow


def _read_header(file: IO[bytes], size: int, path: Path, name: str) -> _NpyHeader:
    """The head of an array, which must agree with the bytes that there are."""
    head = io.BytesIO(file.read(_MAX_HEADER))  # the length of a head is a claim too
    try:
        npy: Any = np.lib.format  # untyped in NumPy's own stubs
        read = npy.read_array_header_1_0 if npy.read_magic(head) == (1, 0) else npy.read_array_header_2_0
        shape, columns_first, dtype = read(head)
    except (
        Exception
    ) as error:  # NumPy parses the header as Python text: a damaged header raises the errors of the tokenizer
        raise text.make_format_error(path, f"{name} is not in NumPy's format: {str(error)[:200]}") from None
    header = _NpyHeader(shape, columns_first, dtype, head.tell())
    if dtype.hasobject:
        raise text.make_format_error(
            path, f"{name} holds pickled objects: nothing is ever unpickled; save it as numbers or strings"
        )
    if header.begin + header.n_bytes != size:
        there = f"{size - header.begin} bytes for shape {header.shape}, {header.dtype}"
        raise text.make_format_error(path, f"{name} has {there}: is the file cut short?")
    return header


def _read_array(file: IO[bytes], header: _NpyHeader, path: Path, name: str) -> NDArray[Any]:
    content = file.read()  # to the end, so that the checksum of the zip file is compared
    if len(content) != header.begin + header.n_bytes:
        there = max(0, len(content) - header.begin)
        raise text.make_format_error(
            path, f"{name} ends after {there} of {header.n_bytes} bytes: is the file cut short?"
        )
    flat = np.require(np.frombuffer(content, header.dtype, offset=header.begin), requirements="A")
    return flat.reshape(header.shape, order="F" if header.columns_first else "C")


def write(data: Sequences, path: Path, *, test: Sequences | None = None) -> None:
    """An .npz with all that is known, or an .npy with the values alone."""
    if len(data) == 0 or (test is not None and len(test) == 0):
        raise ValueError(f"there are no sequences to write to {path.name}: expected at least one")
    if path.suffix.lower() == ".npy":
        _write_npy(data, path)
    else:
        _write_npz(data, path, test)


def _write_npy(data: Sequences, path: Path) -> None:
    if not data.has_equal_lengths:
        raise ValueError("sequences of unequal lengths cannot be stored in .npy: use .npz, or resample(length=...)")
    for name in _METADATA:
        if getattr(data, name) is not None:
            raise ValueError(f"{name} cannot be stored in .npy: use .npz, or drop them with replace({name}=None)")
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.save(file, data.values.reshape(data.shape), allow_pickle=False)


def _write_npz(data: Sequences, path: Path, test: Sequences | None) -> None:
    whole = data if test is None else concatenate([data, test], ["the training part", "test"])
    arrays = {"values": whole.values, "offsets": whole.offsets}
    for name in ("labels", "groups", "ids", "times"):
        entries = getattr(whole, name)
        if entries is not None:
            arrays[name] = entries
    for name in ("channel_names", "class_names"):
        names = getattr(whole, name)
        if names is not None:
            if any(entry.endswith("\0") for entry in names):
                raise ValueError(f"{name} holds a name that ends with a zero character: rename it")
            arrays[name] = np.array(names, dtype=str)
    if whole.class_names is not None:
        arrays["labels"] = whole.codes.astype(np.int32)
    if test is not None:
        arrays["split"] = np.repeat(np.array([0, 1], np.uint8), [len(data), len(test)])
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
