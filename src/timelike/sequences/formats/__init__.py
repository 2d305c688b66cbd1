"""Files ↔ Sequences, one module per family of formats; the suffix of the file says which."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import LONGEST
from .special import refuse_special
from .text import FormatError, said_of

if TYPE_CHECKING:
    from ..container import Sequences
    from .sheets import Sheet

__all__ = ["FORMATS", "SUFFIXES", "Format", "FormatError", "holds", "read", "said_of", "sheet", "write"]


@dataclass(frozen=True)
class Format:
    """One line of the table: what has to be known of a format before its module is imported.

    - `module`: its name in this folder. In it are `read(path)`, which gives `{"all": sequences}`, or `"train"` and
      `"test"`; `write(data, path)`, which writes the whole file or raises a `ValueError`; and `LACKS`, which says of
      every suffix what there is no place for (the words are those of `text.Lack`) and `write` refuses.
    - `named`: `load(name)` looks for such files.
    - `whole`: a file `<name>` alone is a data set; otherwise only `<name>_TRAIN` and `<name>_TEST` are.
    - `shared`: others keep other things in such files; `holds(path)` of the module says whether it is sequences.
    - `parts`: a file can hold a training and a test part; `write` of the module takes `test=`.
    - `writes`: the module has `write`; otherwise such files are only read.
    - `recording`: a file is one sequence, and a folder, a pattern or a list of them is a collection.
    - `sheets`: a file may be one recording in columns; `sheet(path, layout)` of the module gives them.
    - `asked`: in a folder such files are left alone; only who asks for them by a pattern, a list or by name gets them.
    """

    module: str
    _: KW_ONLY
    named: bool = True
    whole: bool = True
    shared: bool = False
    parts: bool = False
    writes: bool = True
    recording: bool = False
    sheets: bool = False
    asked: bool = False

    def functions(self) -> Any:
        """The module itself, imported when it is first needed."""
        return import_module(f".{self.module}", __name__)


FORMATS = {  # a data set that lies in several formats is read from the first of these that has both parts
    ".ts": Format("ts"),
    ".tsv": Format("ucr", whole=False, sheets=True),
    ".txt": Format("ucr", whole=False, sheets=True, asked=True),  # alone it may be anything
    ".arff": Format("arff"),
    ".npz": Format("arrays", shared=True, parts=True, sheets=True),
    ".npy": Format("arrays", named=False, whole=False, sheets=True),
    ".csv": Format("long", named=False, whole=False, sheets=True),  # many a .csv is not a long table
    ".parquet": Format("long", sheets=True),
    ".nc": Format("netcdf", named=False, whole=False, writes=False),
    ".wav": Format("wav", named=False, whole=False, writes=False, sheets=True),
    ".mat": Format("matlab", named=False, whole=False, writes=False, sheets=True),
    ".jsonl": Format("jsonl", named=False, whole=False, writes=False, sheets=True),
    ".ndjson": Format("jsonl", named=False, whole=False, writes=False, sheets=True),
    ".json": Format("jsonl", named=False, whole=False, writes=False, sheets=True, asked=True),
}
FORMATS |= dict.fromkeys(
    (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".gif", ".mpg", ".mpeg", ".wmv", ".flv", ".ogv"),
    Format("video", named=False, whole=False, writes=False, recording=True),
)
SUFFIXES = FORMATS.keys()  # a view: it has what the table has


def read(path: Path) -> dict[str, Sequences]:
    """The parts of a file: `{"all": …}`, or `"train"` and `"test"` where the file itself tells them apart.

    >>> import tempfile, timelike as tl
    >>> path = tl.Sequences([[1.0, 2.0]], labels=[3]).save(Path(tempfile.mkdtemp()) / "a.ts")
    >>> read(path)
    {'all': Sequences(1 sequence, length 2, 1 channel, float64, 1 class)}
    """
    reader: Callable[[Path], dict[str, Sequences]] = _format(path, SUFFIXES).functions().read
    refuse_special(path)
    with said_of(path):
        return reader(path)


def sheet(path: Path, layout: str | None = None) -> Sheet | Sequences:
    """The columns of a file that may be one recording; sequences where it is several that are told apart."""
    reader: Callable[..., Sheet | Sequences] = _format(path, SUFFIXES).functions().sheet
    refuse_special(path)
    with said_of(path):
        return reader(path, layout)


def holds(path: Path) -> bool:
    """Whether a file has sequences in it; only where others use the format too does that take a look.

    >>> holds(Path("GunPoint_TRAIN.ts"))
    True
    """
    known = _format(path, SUFFIXES)
    return not known.shared or bool(known.functions().holds(path))


def write(data: Sequences, path: Path, *, test: Sequences | None = None) -> Path:
    """Write a file, whole or not at all; what the format has no place for is an error, never dropped.

    >>> import tempfile, timelike as tl
    >>> write(tl.Sequences([[1.0, 2.0]]), Path(tempfile.mkdtemp()) / "a.npy").name
    'a.npy'
    """
    both = [suffix for suffix, known in FORMATS.items() if known.parts]
    if test is not None and path.suffix.lower() not in both:
        raise ValueError(
            f"test goes with {' or '.join(both)}, which marks the two parts: save {path.suffix} files one by one"
        )
    if test is not None and not hasattr(test, "buffers"):
        raise TypeError(f"test is a {type(test).__name__}: expected Sequences")
    writable = [suffix for suffix, known in FORMATS.items() if known.writes]
    writer: Callable[..., None] = _format(path, writable).functions().write
    if len(os.fsencode(path.name)) > LONGEST:
        raise ValueError(
            f"the name {path.name[:40]}… has {len(os.fsencode(path.name))} bytes: expected at most {LONGEST}"
        )
    if test is None:
        writer(data, path)
    else:
        writer(data, path, test=test)
    return path


def _format(path: Path, suffixes: Collection[str]) -> Format:
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise ValueError(f"{path.name!r} has the suffix {suffix!r}: expected one of {', '.join(suffixes)}")
    return FORMATS[suffix]
