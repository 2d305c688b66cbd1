"""A name, a path, a pattern or a list of paths → Sequences, wherever the files are."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, overload

from . import archive, formats, sources
from .arguments import one_of, too_long
from .container import Sequences
from .formats import har

_PART = re.compile(r"(.+)_(TRAIN|TEST)", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)

Files = dict[str, Path]  # "train" and "test", or "all"


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
        parts = _from_path(found) if isinstance(found, Path) else _from_name(found)
    return _chosen(parts, split, source)


def _found(source: Source) -> list[Path] | Path | str:
    """What is meant: recordings of a file each, another file or folder, or a name."""
    given = os.fspath(source) if isinstance(source, os.PathLike) else source
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return sources.listed(given)
    if not isinstance(given, str):
        raise TypeError(f"source={given!r:.80}: {_EXPECTED}")
    if given == "" or too_long(given):
        what = f"{given[:40]!r}…, {len(given)} characters" if given else "''"
        raise ValueError(f"source={what}: {_EXPECTED}")
    if isinstance(source, str) and not _is_path(given):
        return given
    path = Path(given).expanduser()
    if sources.is_pattern(path):
        return sources.matching(path)
    if path.is_file() and _is_recording(path):
        return [path]
    return (_recordings_in(path) if path.is_dir() else []) or path


def available() -> list[str]:
    """The names that `load` finds without a network.

    >>> isinstance(available(), list)
    True
    """
    return sorted({name for _, root in _roots() for name in _catalogue(root)}, key=str.lower)


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
    from . import recordings
    from .formats.video import Videos

    for file in files:
        if not _is_recording(file):
            known = ", ".join(suffix for suffix, format_ in formats.FORMATS.items() if format_.recording)
            raise ValueError(
                f"{file} is one of {len(files)} files, and many files at once are videos ({known}): load it by itself"
            )
    return recordings.read(files, Videos(**asked), on_error)


def _recordings_in(folder: Path) -> list[Path]:
    """The recordings in a folder, unless it holds a data set."""
    if har.folder(folder) is not None or _data_sets(folder):
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
        part = _PART.fullmatch(path.stem)
        return _read({part[2].lower(): path} if part else {"all": path})
    if not path.is_dir():
        near = difflib.get_close_matches(path.name, _listing(path.parent), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise FileNotFoundError(f"there is no file or folder {path}{hint}")
    official = har.folder(path)
    return har.read(official) if official is not None else _read(_in_folder(path))


def _listing(folder: Path) -> list[str]:
    """What could be loaded from a folder."""
    if not folder.is_dir():
        return []
    return [entry.name for entry in folder.iterdir() if entry.suffix.lower() in formats.SUFFIXES or entry.is_dir()]


def _in_folder(path: Path) -> Files:
    """The data set in a folder: the one of the folder's own name, or the only one there."""
    found = _data_sets(path)
    if path.name in found:
        return found[path.name]
    if len(found) != 1:
        what = f"several data sets ({', '.join(found)})" if found else "no <Name>_TRAIN and <Name>_TEST files"
        raise FileNotFoundError(
            f"the folder {path} holds {what}: give the path of one file, or of a folder with one data set "
            f"({', '.join(s for s, known in formats.FORMATS.items() if not known.recording)}, or the official UCI HAR "
            "folder) or with videos"
        )
    return next(iter(found.values()))


def _data_sets(folder: Path) -> dict[str, Files]:
    return {name: files for name, files in _pairs(sorted(folder.iterdir())).items() if "all" not in files}


def _pairs(files: list[Path], suffixes: Iterable[str] = formats.SUFFIXES) -> dict[str, Files]:
    """Data sets among the files of one folder by name; of several formats the first that has both parts."""
    best: dict[str, Files] = {}
    for suffix in suffixes:
        if formats.FORMATS[suffix].recording:
            continue  # clips called one_train and one_test are clips
        found: dict[str, Files] = {}
        for file in files:
            part = _PART.fullmatch(file.stem)
            if file.suffix.lower() == suffix and part:
                found.setdefault(part[1], {})[part[2].lower()] = file
            elif file.suffix.lower() == suffix and formats.FORMATS[suffix].whole and formats.holds(file):
                found[file.stem] = {"all": file}
        for name, parts in found.items():
            if len(parts) > len(best.get(name, {})):
                best[name] = parts
    return best


def _read(files: Files) -> dict[str, Sequences]:
    if "all" in files:
        return formats.read(files["all"])
    parts: dict[str, Sequences] = {}
    for part in ("train", "test"):
        if part in files:
            read = formats.read(files[part])
            parts[part] = read[part] if part in read else next(iter(read.values()))
    return _same_classes(parts)


def _same_classes(parts: dict[str, Sequences]) -> dict[str, Sequences]:
    """Files that do not declare their classes may each know only some: both parts get all."""
    names = dict.fromkeys(name for part in parts.values() for name in part.class_names or ())
    return {
        key: part.replace(class_names=names) if part.class_names not in (None, tuple(names)) else part
        for key, part in parts.items()
    }


# --- names -------------------------------------------------------------------------------------------------------


def _roots() -> Iterator[tuple[str, Path]]:
    """Where names are looked for, in order, with what to call the place."""
    chosen = os.environ.get("TIMELIKE_DATA")
    if chosen:
        folder = Path(chosen).expanduser()
        if not folder.is_dir():
            raise FileNotFoundError(f"TIMELIKE_DATA={chosen!r} is not a folder: make it, or unset the variable")
        yield "$TIMELIKE_DATA", folder
    yield "the cache", archive.cache_folder()
    for package in ("aeon", "sktime"):
        try:
            spec = importlib.util.find_spec(package)  # a top-level name: found without being imported
        except (ImportError, ValueError):
            continue
        for place in (spec and spec.submodule_search_locations) or ():
            yield f"the installed {package}", Path(place) / "datasets" / "data"


def _catalogue(root: Path, depth: int = 2) -> dict[str, Files]:
    """Data sets by name, at most two folders deep; the shallower wins."""
    try:
        entries = sorted(entry for entry in root.iterdir() if not entry.name.startswith("."))
    except OSError:
        return {}
    found: dict[str, Files] = {}
    if depth:
        for folder in filter(Path.is_dir, entries):
            found = _catalogue(folder, depth - 1) | found
    named = [suffix for suffix, known in formats.FORMATS.items() if known.named]
    return found | _pairs([entry for entry in entries if entry.is_file()], named)


def _from_name(name: str) -> dict[str, Sequences]:
    if not _NAME.fullmatch(name):
        raise ValueError(f"source={name!r} is neither a path that exists nor a name of letters, digits, - and _")
    searched, known = [], set()
    for place, root in _roots():
        catalogue = _catalogue(root)
        if name in catalogue:
            return _read(catalogue[name])
        known |= set(catalogue)
        searched.append(f"{place} ({root}{'' if root.is_dir() else ', which does not exist'})")
    _refuse_others(name)
    try:
        return _read(_in_folder(archive.fetch(name)))
    except archive.DownloadError as error:
        raise FileNotFoundError(_advice(name, searched, known, str(error))) from None


def _refuse_others(name: str) -> None:
    """Nobody who has a file of that name meant to download another: say what is in it instead."""
    files = [f"{name}{suffix}" for suffix, known in formats.FORMATS.items() if known.shared]
    for place, root in _roots():
        for pattern in (folders + file for file in files for folders in ("", "*/", "*/*/")):
            for file in root.glob(pattern):
                try:
                    formats.read(file)
                except formats.FormatError as error:
                    raise formats.FormatError(f"{place} has {file}, but it does not hold sequences: {error}") from None


def _advice(name: str, searched: list[str], known: set[str], reason: str) -> str:
    lower = {entry.lower(): entry for entry in known}
    near = [lower[match] for match in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]
    return (
        f"no data set {name!r}"
        + (f"; did you mean {' or '.join(map(repr, near))}?" if near else ".")
        + f"\nLooked in: {'; '.join(searched)}."
        + f"\nDownload: {reason}."
        + f"\nBy hand: download {archive.address(name)} on a computer with a network and unpack it into "
        + f"{archive.cache_folder() / name}, or set TIMELIKE_DATA to a folder that holds {name}_TRAIN.ts or {name}.npz."
    )
