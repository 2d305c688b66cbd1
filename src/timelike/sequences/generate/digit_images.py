"""Images of handwritten digits, from scikit-learn, an MNIST file or the caller."""

from __future__ import annotations

import gzip
import struct
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import memory
from ..image_resize import resize_image
from ..io.formats import npz, text

_TEST_SHARE = 0.2
_IDX_BYTES = 0x08
_IDX_FILES = {"train": "train", "test": "t10k"}


def load_digit_images(source: Any, split: str) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Images (image, height, width), their labels, and the value that stands for white."""
    if source is None:
        return *_take_split(*_load_sklearn_digits(), split), 16.0
    if isinstance(source, str | Path):
        path = Path(source).absolute()
        images, labels = _load_file(path, split, _file_stamp(path))
    else:
        images, labels = _take_split(*_validate_pair(source), split)
    _refuse_mismatch(images, labels)
    return images, labels, 255.0 if images.dtype.kind in "iu" else 1.0


# Cached, because training that draws new videos for every batch needs the same images thousands of times.


@lru_cache(maxsize=1)
def _load_sklearn_digits() -> tuple[NDArray[Any], NDArray[Any]]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.images, digits.target


@lru_cache(maxsize=2)  # a training and a test part
def _load_file(path: Path, split: str, stamp: object) -> tuple[NDArray[Any], NDArray[Any]]:
    return _load_idx_folder(path, split) if path.is_dir() else _load_npz(path, split)


def _file_stamp(path: Path) -> object:
    """A key that changes when a file, or a file in a folder, changes."""
    files = sorted(path.glob("*-ubyte*")) if path.is_dir() else [path]
    there = [(file.name, file.stat()) for file in files if file.is_file()]
    return tuple((name, status.st_ino, status.st_mtime_ns, status.st_size) for name, status in there)


def _refuse_mismatch(images: NDArray[Any], labels: NDArray[Any]) -> None:
    if images.ndim != 3 or labels.shape != images.shape[:1] or not images.size:
        raise ValueError(
            f"digits has images {images.shape} and labels {labels.shape}: expected (image, height, width) and (image,)"
        )


def _take_split(images: NDArray[Any], labels: NDArray[Any], split: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The last fifth is for testing: neighbouring images may be by the same hand."""
    border = len(images) - round(_TEST_SHARE * len(images))
    rows = slice(0, border) if split == "train" else slice(border, None)
    return images[rows], labels[rows]


def _validate_pair(source: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    if not isinstance(source, tuple) or len(source) != 2:
        raise TypeError(f"digits is a {type(source).__name__}: expected None, a path, or a pair (images, labels)")
    images, labels = np.asarray(source[0]), np.asarray(source[1])
    _refuse_mismatch(images, labels)  # before they are cut into parts, which would hide it
    return images, labels


def _load_npz(path: Path, split: str) -> tuple[NDArray[Any], NDArray[Any]]:
    if not path.is_file():
        raise FileNotFoundError(f"digits={str(path)!r} is not there: expected a .npz file or a folder of idx files")
    names = (f"X_{split}", f"y_{split}")
    try:
        members, _ = npz.read_members(path, names)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ValueError(f"{path.name} cannot be read as .npz: {error}") from None
    images, labels = (members.get(name) for name in names)
    if images is None or labels is None:
        raise ValueError(f"{path.name} has no {' and '.join(names)}: expected X_train, y_train, X_test and y_test")
    return images, labels


def _load_idx_folder(folder: Path, split: str) -> tuple[NDArray[Any], NDArray[Any]]:
    stem = _IDX_FILES[split]
    return _read_idx(folder, f"{stem}-images-idx3-ubyte"), _read_idx(folder, f"{stem}-labels-idx1-ubyte")


def _read_idx(folder: Path, name: str) -> NDArray[Any]:
    """LeCun's format: 0 0 type n_axes, the sizes as big-endian 32-bit integers, the bytes."""
    path = next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"digits folder {folder.name!r} has no {name} (or {name}.gz)")
    try:
        data = _decompress(path) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} cannot be unpacked: {error}") from None
    if len(data) < 4 or data[:3] != bytes([0, 0, _IDX_BYTES]):
        raise ValueError(f"{path.name} begins with {data[:4]!r}: expected an idx file of unsigned bytes")
    header = 4 + 4 * data[3]
    shape = struct.unpack(f">{data[3]}I", data[4:header]) if len(data) >= header else ()
    if len(data) - header != int(np.prod(shape, dtype=object)) or not shape:
        raise ValueError(f"{path.name} has {len(data)} bytes: expected {header} and the product of {shape}")
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)


def _decompress(path: Path) -> bytes:
    """A byte more than allowed at most: nothing in a .gz file that can be relied on tells how long it is."""
    with gzip.open(path) as file:
        data = file.read(memory.max_file_bytes(path) + 1)
    text.refuse_large_claim(path, len(data))
    return data


def resize_digits(images: NDArray[Any], size: int) -> NDArray[np.float64]:
    """Images (…, size, size), interpolated where they shrink too: every seed keeps the digits that it always gave."""
    *many, height, width = images.shape
    as_channels = np.asarray(images, np.float64).reshape(-1, height, width).transpose(1, 2, 0)  # all in one product
    return resize_image(as_channels, (size, size), average=False).transpose(2, 0, 1).reshape(*many, size, size)
