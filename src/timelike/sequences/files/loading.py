"""A name, a path, a pattern or a list of paths → Sequences, wherever the files are."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, overload

from .. import formats
from ..arguments import one_of, too_long
from ..container import Sequences
from ..formats import har
from . import catalogue, sources

OnError = Literal["raise", "skip"]
Size = int | tuple[int, int] | None
Source = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_EXPECTED = "expected the name of a data set, the path of a file or folder, a pattern, or a list of paths"


@overload
def load(
    source: Source,
    *,
    split: Literal["train", "test"],
    size: Size = None,
    grey: bool = False,
    every: int = 1,
    on_error: OnError = "raise",
) -> Sequences: ...
@overload
def load(
    source: Source,
    *,
    split: None = None,
    size: Size = None,
    grey: bool = False,
    every: int = 1,
    on_error: OnError = "raise",
) -> Any: ...
def load(
    source: Source,
    *,
    split: Literal["train", "test"] | None = None,
    size: Size = None,
    grey: bool = False,
    every: int = 1,
    on_error: OnError = "raise",
) -> Any:
    """A data set by its name, or files by their path: `Sequences`, or (train, test) where there are both.

    A name is looked for in the folder `$TIMELIKE_DATA` (two levels deep), the cache, and the data folders inside
    installed aeon and sktime packages, whose code is not imported; then it is downloaded from the UCR/UEA archive into
    the cache. A path is a file, whose suffix says the format (`timelike.sequences.formats.FORMATS` has them all), or a
    folder with `<Name>_TRAIN` and `<Name>_TEST` files or the official UCI HAR files.

    Videos are one sequence each: `"clips/*.mp4"` (`**` is any folders), a folder of them, a list of paths or one file
    become frames (channel, height, width) between 0 and 1, with times in seconds, and with the names of the files as
    ids. They need the extra `video`.

    Parameters
    ----------
    source : str, path or list of paths
        A name, a file, a folder, a pattern or a list.
    split : {"train", "test"}, optional
        One of the two parts, where there are two.
    size : int or (height, width), optional
        Of videos: frames in this size, by the mean over areas where they shrink; one number makes squares of them,
        whatever their shape was.
    grey : bool
        Of videos: one channel in place of red, green and blue.
    every : int
        Of videos: only every n-th frame.
    on_error : {"raise", "skip"}
        Whether a video that cannot be decoded is an error, or left out with a warning that says why.

    >>> import pathlib, tempfile, timelike as tl
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "both.npz"
    >>> _ = tl.Sequences([[1.0, 2.0]]).save(path, test=tl.Sequences([[3.0]]))
    >>> train, test = tl.load(path)
    >>> tl.load(path, split="test")[0]
    array([[3.]])
    """
    if split not in (None, "train", "test"):
        raise ValueError(f'split={split!r}: expected "train", "test" or None for all there is')
    one_of(on_error, "on_error", ("raise", "skip"))
    asked = {"size": size, "grey": grey, "every": every}
    found = _found(source)
    if isinstance(found, list):
        parts = {"all": _recordings(found, asked, on_error)}
    else:
        _refuse_asked(asked, found)
        parts = _from_path(found) if isinstance(found, Path) else catalogue.from_name(found)
    return _chosen(parts, split, source)


def _found(source: Source) -> list[Path] | Path | str:
    """What is meant: recordings of a file each, another file or folder, or a name."""
    given = os.fspath(source) if isinstance(source, os.PathLike) else source
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return _one_or_many(sources.listed(given))
    if not isinstance(given, str):
        raise TypeError(f"source={given!r:.80}: {_EXPECTED}")
    if given == "" or too_long(given):
        what = f"{given[:40]!r}…, {len(given)} characters" if given else "''"
        raise ValueError(f"source={what}: {_EXPECTED}")
    if isinstance(source, str) and not _is_path(given):
        return given
    path = Path(given).expanduser()
    if sources.is_pattern(path):
        return _one_or_many(sources.matching(path))
    if path.is_file() and _is_recording(path):
        return [path]
    return (_recordings_in(path) if path.is_dir() else []) or path


def _one_or_many(files: list[Path]) -> list[Path] | Path:
    """A single file that is no recording is itself, however it was found."""
    return files[0] if len(files) == 1 and not _is_recording(files[0]) else files


def _chosen(parts: dict[str, Sequences], split: str | None, source: Source) -> Any:
    if split is None:
        return (parts["train"], parts["test"]) if len(parts) > 1 else next(iter(parts.values()))
    if split not in parts:
        has = "no official split" if "all" in parts else f"only a {next(iter(parts))} part"
        raise ValueError(
            f'split="{split}" is asked of {source!r:.80}, which has {has}: leave split out, and divide it with '
            "Sequences.split(test=...) if you need two parts"
        )
    return parts[split]


def _is_path(given: str) -> bool:
    separators = {"/", os.sep, os.altsep or os.sep}
    suffix = Path(given).suffix.lower()
    many = "*" in given or any(s in given for s in separators)
    return many or suffix in formats.SUFFIXES or Path(given).expanduser().exists()


# --- recordings --------------------------------------------------------------------------------------------------


def _recordings(files: list[Path], asked: Mapping[str, Any], on_error: str) -> Sequences:
    """Files of one recording each, as one collection."""
    from ..formats.video import Videos
    from . import recordings

    for file in files:
        if not _is_recording(file):
            known = ", ".join(suffix for suffix, format_ in formats.FORMATS.items() if format_.recording)
            raise ValueError(
                f"{file} is one of {len(files)} files, and patterns and lists of several are for videos ({known}): "
                "load it by itself"
            )
    return recordings.read(files, Videos(**asked), on_error)


def _recordings_in(folder: Path) -> list[Path]:
    """The recordings in a folder, unless it holds a data set."""
    if har.folder(folder) is not None or catalogue.data_sets(folder):
        return []
    return sources.in_folder(folder, [suffix for suffix, known in formats.FORMATS.items() if known.recording])


def _is_recording(path: Path) -> bool:
    known = formats.FORMATS.get(path.suffix.lower())
    return known is not None and known.recording


def _refuse_asked(asked: Mapping[str, Any], found: Path | str) -> None:
    usual = {"size": None, "grey": False, "every": 1}
    for name, value in asked.items():
        if value is not usual[name] and value != usual[name]:
            raise ValueError(f"{name}={value!r} is for videos, and {str(found)!r:.80} is none: leave {name} out")


# --- paths -------------------------------------------------------------------------------------------------------


def _from_path(path: Path) -> dict[str, Sequences]:
    if path.is_file():
        part = catalogue.PART.fullmatch(path.stem)
        return catalogue.read({part[2].lower(): path} if part else {"all": path})
    if not path.is_dir():
        near = difflib.get_close_matches(path.name, _listing(path.parent), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise FileNotFoundError(f"there is no file or folder {path}{hint}")
    official = har.folder(path)
    return har.read(official) if official is not None else catalogue.read(catalogue.in_folder(path))


def _listing(folder: Path) -> list[str]:
    """What could be loaded from a folder."""
    if not folder.is_dir():
        return []
    return [entry.name for entry in folder.iterdir() if entry.suffix.lower() in formats.SUFFIXES or entry.is_dir()]
