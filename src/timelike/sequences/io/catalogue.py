"""Data sets in a folder, and the search for data sets by name."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..container import Sequences
from . import archive, formats
from .formats.special_files import special_file_kind
from .paths import expand_user

PART_NAME = re.compile(r"(.+)_(TRAIN|TEST)", re.IGNORECASE)
_DATASET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)
_MAX_DEPTH = 6  # folders down to which an error looks for files that can be read

DatasetFiles = dict[str, Path]  # "train" and "test", or "all"


def list_datasets() -> list[str]:
    """The names that `load` finds without a network.

    >>> isinstance(list_datasets(), list)
    True
    """
    return sorted({name for _, root in _search_roots() for name in _find_named_datasets(root)}, key=str.lower)


# --- folders -----------------------------------------------------------------------------------------------------


def find_dataset(path: Path, obstacle: str = "") -> DatasetFiles:
    """The data set in a folder: the one of the folder's own name, or the only one there.

    `obstacle` says why its subfolders are not read as a class each, for the error.
    """
    datasets = find_datasets(path)
    if path.name in datasets:
        return datasets[path.name]
    hint = "" if datasets else _nested_files_hint(path, obstacle)
    if hint:
        raise FileNotFoundError(f"the folder {path} holds no data set and no recordings, but {hint}")
    if len(datasets) != 1:
        what = f"several data sets ({', '.join(datasets)})" if datasets else "no <Name>_TRAIN and <Name>_TEST files"
        suffixes = ", ".join(suffix for suffix, one in formats.FORMATS.items() if not one.is_recording)
        raise FileNotFoundError(
            f"the folder {path} holds {what}, and no recordings: give the path of one file, a pattern, or a folder "
            f"with one data set ({suffixes}, or the official UCI HAR folder), with recordings, also in a folder for "
            "every class, or with videos"
        )
    return next(iter(datasets.values()))


def _nested_files_hint(folder: Path, obstacle: str) -> str:
    """A hint if readable files are in subfolders, or have a suffix that must be requested by a pattern."""
    for pattern in ("/".join("*" * depth) for depth in range(1, _MAX_DEPTH + 1)):
        suffixes = (one.suffix.lower() for one in sorted(folder.glob(pattern)) if not one.name.startswith("."))
        known_suffix = next((one for one in suffixes if one in formats.SUFFIXES), None)
        if known_suffix is not None and pattern == "*":
            return f"{known_suffix} files: load({str(folder / '*') + known_suffix!r}) reads them"
        if known_suffix is not None:
            no_classes = f", which are not read as a class each because {obstacle}" if obstacle else ""
            reading = f"load({str(folder / '**/*') + known_suffix!r}) reads them, with label= for their classes"
            return f"{known_suffix} files in folders{no_classes}: {reading}"
    return ""


def find_datasets(folder: Path) -> dict[str, DatasetFiles]:
    """The data sets in a folder by name: those with a training or a test file there."""
    files = sorted(entry for entry in folder.iterdir() if special_file_kind(entry) is None)
    return {name: files for name, files in _group_parts(files).items() if "all" not in files}


def _group_parts(files: list[Path], suffixes: Iterable[str] = formats.SUFFIXES) -> dict[str, DatasetFiles]:
    """Data sets among the files of one folder by name; of several formats the first that has both parts."""
    best: dict[str, DatasetFiles] = {}
    for suffix in suffixes:
        if formats.FORMATS[suffix].is_recording:
            continue  # clips called one_train and one_test are clips
        datasets: dict[str, DatasetFiles] = {}
        for file in files:
            part = PART_NAME.fullmatch(file.stem)
            if file.suffix.lower() == suffix and part:
                datasets.setdefault(part[1], {})[part[2].lower()] = file
            elif (
                file.suffix.lower() == suffix and formats.FORMATS[suffix].is_standalone and formats.has_sequences(file)
            ):
                datasets[file.stem] = {"all": file}
        for name, parts in datasets.items():
            if len(parts) > len(best.get(name, {})):
                best[name] = parts
    return best


def read_dataset(files: DatasetFiles) -> dict[str, Sequences]:
    """The parts of a data set."""
    if "all" in files:
        return formats.read(files["all"])
    parts: dict[str, Sequences] = {}
    for part in ("train", "test"):
        if part in files:
            read = formats.read(files[part])
            parts[part] = read[part] if part in read else next(iter(read.values()))
    return _unify_classes(parts)


def _unify_classes(parts: dict[str, Sequences]) -> dict[str, Sequences]:
    """Files that do not declare their classes may each know only some: both parts get all."""
    names = dict.fromkeys(name for part in parts.values() for name in part.class_names or ())
    return {
        key: part.replace(class_names=names) if part.class_names not in (None, tuple(names)) else part
        for key, part in parts.items()
    }


# --- names -------------------------------------------------------------------------------------------------------


def _search_roots() -> Iterator[tuple[str, Path]]:
    """The folders in which names are looked up, in order, each with its description."""
    chosen = os.environ.get("TIMELIKE_DATA")
    if chosen:
        folder = expand_user(chosen)
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


def _find_named_datasets(root: Path, depth: int = 2) -> dict[str, DatasetFiles]:
    """Data sets by name, at most two folders deep; the shallower wins."""
    try:
        entries = sorted(entry for entry in root.iterdir() if not entry.name.startswith("."))
    except OSError:
        return {}
    datasets: dict[str, DatasetFiles] = {}
    if depth:
        for folder in filter(Path.is_dir, entries):
            datasets = _find_named_datasets(folder, depth - 1) | datasets
    named = [suffix for suffix, file_format in formats.FORMATS.items() if file_format.is_found_by_name]
    return datasets | _group_parts([entry for entry in entries if entry.is_file()], named)


def load_by_name(name: str) -> dict[str, Sequences]:
    """The parts of the data set of a name, downloaded if it is nowhere here."""
    if not _DATASET_NAME.fullmatch(name):
        raise ValueError(f"source={name!r} is neither a path that exists nor a name of letters, digits, - and _")
    searched, known_names = [], set()
    for place, root in _search_roots():
        catalogue = _find_named_datasets(root)
        if name in catalogue:
            return read_dataset(catalogue[name])
        known_names |= set(catalogue)
        searched.append(f"{place} ({root}{'' if root.is_dir() else ', which does not exist'})")
    _refuse_other_files(name)
    try:
        return read_dataset(find_dataset(archive.fetch_dataset(name)))
    except archive.DownloadError as error:
        raise FileNotFoundError(_not_found_message(name, searched, known_names, str(error))) from None


def _refuse_other_files(name: str) -> None:
    """Report what is in a local file of that name, instead of downloading another."""
    files = [f"{name}{suffix}" for suffix, file_format in formats.FORMATS.items() if file_format.is_shared]
    for place, root in _search_roots():
        for pattern in (folders + file for file in files for folders in ("", "*/", "*/*/")):
            for file in root.glob(pattern):
                if special_file_kind(file) is not None:
                    continue
                try:
                    formats.read(file)
                except formats.FormatError as error:
                    raise formats.FormatError(f"{place} has {file}, but it does not hold sequences: {error}") from None


def _not_found_message(name: str, searched: list[str], names: set[str], reason: str) -> str:
    """The mistake that is likelier first: a mistyped path; then where a data set would come from."""
    folder = archive.cache_folder() / name
    return (
        f"there is no file or folder {name}, and no data set of that name{_near_names_hint(name, names)}\n"
        f"Data sets are in {'; '.join(searched)}; {reason}: download it on a computer with a network and unpack it "
        f"into {folder}, or set TIMELIKE_DATA to a folder that holds {name}_TRAIN.ts or {name}.npz"
    )


def _near_names_hint(name: str, names: set[str]) -> str:
    """Files and folders here, and data sets, of similar names."""
    try:
        here = [entry.name for entry in Path().iterdir() if entry.is_dir() or entry.suffix.lower() in formats.SUFFIXES]
    except OSError:
        here = []
    near: list[str] = []
    for known in (here, sorted(names)):
        by_lower = {entry.lower(): entry for entry in known if not entry.startswith(".")}
        matches = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.6)
        near += [by_lower[match] for match in matches if by_lower[match] not in near]
    return f"; did you mean {' or '.join(map(repr, near[:3]))}?" if near else ""
