"""File formats, one module per family; the suffix of the file selects it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....core.parameters import MAX_NAME_BYTES
from .special_files import refuse_special_file
from .text import FormatError, wrap_errors

if TYPE_CHECKING:
    from ...container import Sequences
    from .raw_columns import RawColumns

__all__ = [
    "FORMATS",
    "SUFFIXES",
    "Format",
    "FormatError",
    "has_sequences",
    "read",
    "read_columns",
    "wrap_errors",
    "write",
]


@dataclass(frozen=True)
class Format:
    """A row of the table of formats: everything needed before the module of the format is imported.

    - `module`: its name in this folder. In it are `read(path)`, which gives `{"all": sequences}`, or `"train"` and
      `"test"`; `write(data, path)`, which writes the whole file or raises a `ValueError`; and `UNSUPPORTED`, which says
      of every suffix what there is no place for (the words are those of `text.UnsupportedFeature`) and `write` refuses.
    - `is_found_by_name`: `load(name)` looks for such files.
    - `is_standalone`: a file `<name>` alone is a data set; otherwise only `<name>_TRAIN` and `<name>_TEST` are.
    - `is_shared`: such files may hold other things; `has_sequences(path)` of the module tells.
    - `has_split`: a file can hold a training and a test part; `write` of the module takes `test=`.
    - `is_writable`: the module has `write`; otherwise such files are only read.
    - `is_recording`: a file is one sequence, and a folder, a pattern or a list of them is a collection.
    - `has_columns`: a file may be one recording in columns; `read_columns(path, layout)` of the module gives them.
    - `is_opt_in`: such files are read when a pattern, a list or a name asks for them, and ignored in a folder.
    """

    module: str
    _: KW_ONLY
    is_found_by_name: bool = True
    is_standalone: bool = True
    is_shared: bool = False
    has_split: bool = False
    is_writable: bool = True
    is_recording: bool = False
    has_columns: bool = False
    is_opt_in: bool = False

    def load_module(self) -> Any:
        """The module itself, imported when it is first needed."""
        return import_module(f".{self.module}", __name__)


FORMATS = {  # a data set that lies in several formats is read from the first of these that has both parts
    ".ts": Format("ts"),
    ".tsv": Format("ucr", is_standalone=False, has_columns=True),
    ".txt": Format("ucr", is_standalone=False, has_columns=True, is_opt_in=True),  # alone it may be anything
    ".arff": Format("arff"),
    ".npz": Format("npz", is_shared=True, has_split=True, has_columns=True),
    ".npy": Format("npz", is_found_by_name=False, is_standalone=False, has_columns=True),
    ".csv": Format(
        "csv_parquet", is_found_by_name=False, is_standalone=False, has_columns=True
    ),  # many a .csv is not a long table
    ".parquet": Format("csv_parquet", has_columns=True),
    ".nc": Format("netcdf", is_found_by_name=False, is_standalone=False, is_writable=False),
    ".wav": Format("wav", is_found_by_name=False, is_standalone=False, is_writable=False, has_columns=True),
    ".mat": Format("matlab", is_found_by_name=False, is_standalone=False, is_writable=False, has_columns=True),
    ".jsonl": Format("jsonl", is_found_by_name=False, is_standalone=False, is_writable=False, has_columns=True),
    ".ndjson": Format("jsonl", is_found_by_name=False, is_standalone=False, is_writable=False, has_columns=True),
    ".json": Format(
        "jsonl", is_found_by_name=False, is_standalone=False, is_writable=False, has_columns=True, is_opt_in=True
    ),
}
FORMATS |= dict.fromkeys(
    (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".gif", ".mpg", ".mpeg", ".wmv", ".flv", ".ogv"),
    Format("video", is_found_by_name=False, is_standalone=False, is_writable=False, is_recording=True),
)
SUFFIXES = FORMATS.keys()  # a view: it has what the table has


def read(path: Path) -> dict[str, Sequences]:
    """The parts of a file: `{"all": …}`, or `"train"` and `"test"` if the file separates them.

    >>> import tempfile, timelike as tl
    >>> path = tl.Sequences([[1.0, 2.0]], labels=[3]).save(Path(tempfile.mkdtemp()) / "a.ts")
    >>> read(path)
    {'all': Sequences(1 sequence, length 2, 1 channel, float64, 1 class)}
    """
    reader: Callable[[Path], dict[str, Sequences]] = _find_format(path, SUFFIXES).load_module().read
    refuse_special_file(path)
    with wrap_errors(path):
        return reader(path)


def read_columns(path: Path, layout: str | None = None) -> RawColumns | Sequences:
    """The columns of a file that may be one recording, or `Sequences` if it holds several."""
    reader: Callable[..., RawColumns | Sequences] = _find_format(path, SUFFIXES).load_module().read_columns
    refuse_special_file(path)
    with wrap_errors(path):
        return reader(path, layout)


def has_sequences(path: Path) -> bool:
    """Whether a file holds sequences; only files of a shared format are opened for that.

    >>> has_sequences(Path("GunPoint_TRAIN.ts"))
    True
    """
    file_format = _find_format(path, SUFFIXES)
    return not file_format.is_shared or bool(file_format.load_module().has_sequences(path))


def write(data: Sequences, path: Path, *, test: Sequences | None = None) -> Path:
    """Write a file atomically; data that the format cannot store raise an error.

    >>> import tempfile, timelike as tl
    >>> write(tl.Sequences([[1.0, 2.0]]), Path(tempfile.mkdtemp()) / "a.npy").name
    'a.npy'
    """
    both = [suffix for suffix, file_format in FORMATS.items() if file_format.has_split]
    if test is not None and path.suffix.lower() not in both:
        raise ValueError(
            f"test goes with {' or '.join(both)}, which marks the two parts: save {path.suffix} files one by one"
        )
    if test is not None and not hasattr(test, "buffers"):
        raise TypeError(f"test is a {type(test).__name__}: expected Sequences")
    writable = [suffix for suffix, file_format in FORMATS.items() if file_format.is_writable]
    writer: Callable[..., None] = _find_format(path, writable).load_module().write
    if len(os.fsencode(path.name)) > MAX_NAME_BYTES:
        raise ValueError(
            f"the name {path.name[:40]}… has {len(os.fsencode(path.name))} bytes: expected at most {MAX_NAME_BYTES}"
        )
    if test is None:
        writer(data, path)
    else:
        writer(data, path, test=test)
    return path


def _find_format(path: Path, suffixes: Collection[str]) -> Format:
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise ValueError(f"{path.name!r} has the suffix {suffix!r}: expected one of {', '.join(suffixes)}")
    return FORMATS[suffix]
