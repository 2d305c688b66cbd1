"""`load`: data sets by name, and files by path, pattern or list, as `Sequences`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, overload

from ...core.parameters import check_choice, is_path_too_long
from ...core.validation.layouts import check_layout
from ..container import Sequences
from . import catalogue, formats, paths
from .class_folders import ClassFolders, find_class_folders, label_by_folder, note_ignored_folders
from .formats import har
from .formats.special_files import refuse_special_file, special_file_kind

OnError = Literal["raise", "skip"]
Size = int | tuple[int, int] | None
Source = str | os.PathLike[str] | Iterable[Any] | Mapping[str, Any]
Role = str | float | Callable[[Path], Any] | None

# of the files that are recordings in a folder, without being asked for by a pattern
_RECORDING_SUFFIXES = [
    suffix for suffix, one in formats.FORMATS.items() if one.is_recording or (one.has_columns and not one.is_opt_in)
]
_EXPECTED = "expected the name of a data set, the path of a file or folder, a pattern, or a list of paths"


@overload
def load(
    source: Source,
    *,
    split: Literal["train", "test"],
    layout: str | None = None,
    time: str | int | None = None,
    values: str | int | Iterable[str | int] | None = None,
    label: Role = None,
    group: Role = None,
    size: Size = None,
    grayscale: bool = False,
    every: int = 1,
    on_error: OnError = "raise",
) -> Sequences: ...
@overload
def load(
    source: Source,
    *,
    split: None = None,
    layout: str | None = None,
    time: str | int | None = None,
    values: str | int | Iterable[str | int] | None = None,
    label: Role = None,
    group: Role = None,
    size: Size = None,
    grayscale: bool = False,
    every: int = 1,
    on_error: OnError = "raise",
) -> Any: ...
def load(
    source: Source,
    *,
    split: Literal["train", "test"] | None = None,
    layout: str | None = None,
    time: str | int | None = None,
    values: str | int | Iterable[str | int] | None = None,
    label: Role = None,
    group: Role = None,
    size: Size = None,
    grayscale: bool = False,
    every: int = 1,
    on_error: OnError = "raise",
) -> Any:
    r"""Load a data set by name, or files by path: `Sequences`, or (train, test) if there are both.

    A name is looked up in the folder `$TIMELIKE_DATA` (two levels deep), the cache, and the data folders of installed
    aeon and sktime packages, without importing their code. If it is not found, it is downloaded from the UCR/UEA
    archive into the cache. A path is a file, whose suffix determines the format (all are in
    `timelike.sequences.io.formats.FORMATS`), or a folder with `<Name>_TRAIN` and `<Name>_TEST` files or the official
    UCI HAR files.

    To load your own recordings, one per file, pass a folder, a pattern (`"logs/*.csv"`; `**` matches any folders) or a
    list of .csv, .tsv, .npy, .npz, .parquet, .wav, .mat or .jsonl files. The file names become ids. Of a folder with a
    folder of files for every class, the names of these become labels, unless `label` is given. The time column is found
    by its name (time, timestamp, date, t, …) or because it holds dates; text columns are not channels; `X.source`
    records how the columns were interpreted. A column `id` separates several recordings in one file. A list of tables,
    or of pairs (name, array), works too. Videos become frames (channel, height, width) between 0 and 1, and need the
    extra `video`.

    Parameters
    ----------
    source : str, path, list of paths or of tables
        A name, a file, a folder, a pattern or a list.
    split : {"train", "test"}, optional
        Return one of the two parts, if there are two.
    layout : {"tc", "ct", "ntc", "nct", "nc", "nchw"}, optional
        For arrays (.npy, .npz, .mat): one recording is (time, channel) by default, or (channel, time) with `"ct"`;
        several sequences in one file are as in `Sequences`. An array of up to two axes is one recording; an array with
        more axes (.npy) holds several.
    time : str or int, optional
        The time column, by name or position: numbers, ISO dates (time zones become UTC), or a count since 1970.
    values : str, int or list of them, optional
        The columns that are channels, in order; by default all numeric columns without another role.
    label, group : str, number or callable, optional
        A column that is constant in each file; a regular expression with a group ( ), matched against the file names,
        then their folders below the one that was asked for; a function of the path; or a number for all.
    size : int or (height, width), optional
        For videos: the frame size. Frames are reduced by averaging over areas. One number makes square frames.
    grayscale : bool
        For videos: one channel instead of red, green and blue.
    every : int
        For videos: keep only every n-th frame.
    on_error : {"raise", "skip"}
        Raise an error that names all unreadable recordings, or skip them with a warning that gives the reasons. Pipes
        and devices in a folder are always skipped.

    >>> import pathlib, tempfile, timelike as tl
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("anna_walk", "anna_run", "bob_walk"):
    ...     _ = (folder / f"{name}.csv").write_text("t,ax,ay\n0.0,1,2\n0.1,3,4\n")
    >>> X = tl.load(folder, label=r"_(\w+)", group=r"(\w+?)_")
    >>> X
    Sequences(3 sequences, length 2, 2 channels, float64, 2 classes, 2 groups, times, from 3 files)
    >>> X.ids.tolist(), X.labels.tolist(), X.source.notes
    (['anna_run', 'anna_walk', 'bob_walk'], ['run', 'walk', 'walk'], ("time: the column 't', by its name",))
    """
    if split not in (None, "train", "test"):
        raise ValueError(f'split={split!r}: expected "train", "test" or None for all there is')
    check_choice(on_error, "on_error", ("raise", "skip"))
    videos = {"size": size, "grayscale": grayscale, "every": every}
    columns = {"layout": layout, "time": time, "values": values, "label": label, "group": group}
    if hasattr(source, "columns") or hasattr(source, "__array__"):
        raise TypeError(
            f"source is a {type(source).__name__}, not a list of them: one recording is [source], and several below "
            "each other are Sequences.from_frame(source, id=..., time=...), or Sequences(source) of an array"
        )
    if paths.is_in_memory(source):
        from .dataframes import read_dataframes

        _refuse_options({**videos, "layout": layout}, "a list of tables")
        return _choose_split(
            {"all": read_dataframes(source, time=time, values=values, label=label, group=group)}, split, source
        )
    resolved = _resolve_source(source, any(value is not None for value in columns.values()))
    if isinstance(resolved, list):
        parts = {"all": _read_recordings(resolved, videos, columns, on_error, root=paths.source_folder(source))}
    elif isinstance(resolved, str):
        _refuse_options(videos | columns, resolved)
        parts = catalogue.load_by_name(resolved)
    elif (by_class := _find_class_folders(resolved)).files:
        data = _read_recordings(by_class.files, videos, columns, on_error, folders_are_classes=True, root=resolved)
        parts = {"all": note_ignored_folders(data, by_class)}
    else:
        _refuse_options(videos | columns, resolved)
        parts = _read_path(resolved, by_class.obstacle)
    return _choose_split(parts, split, source)


def list_source_files(source: Any, *, has_options: bool = False) -> list[Path]:
    """The files, or the folder of a data set, that `load` would read; none for a data set by its name.

    `has_options` is whether options for columns are given, which tell recordings from a data set in one folder.
    """
    resolved = _resolve_source(source, has_options)
    if isinstance(resolved, Path):
        return _find_class_folders(resolved).files or [resolved]
    return resolved if isinstance(resolved, list) else []


def _resolve_source(source: Any, has_options: bool) -> list[Path] | Path | str:
    """The meaning of `source`: a list of recordings, another file or folder, or a name."""
    location = os.fspath(source) if isinstance(source, os.PathLike) else source
    if isinstance(location, Iterable) and not isinstance(location, str | bytes):
        return _as_file_or_list(paths.list_files(location), has_options)
    if not isinstance(location, str):
        raise TypeError(f"source={location!r:.80}: {_EXPECTED}")
    if location == "" or is_path_too_long(location):
        what = f"{location[:40]!r}…, {len(location)} characters" if location else "''"
        raise ValueError(f"source={what}: {_EXPECTED}")
    if isinstance(source, str) and not _is_path(location):
        return location
    path = paths.expand_user(location)
    refuse_special_file(path)
    if paths.is_pattern(path):
        return _as_file_or_list(paths.match_pattern(path), has_options)
    if path.is_file():
        return _as_file_or_list([path], has_options)
    files = _list_recordings(path, has_options) if path.is_dir() else []
    if files:
        _refuse_two_readings(path, files)
    return files or path


def _refuse_two_readings(folder: Path, files: list[Path]) -> None:
    """Raise an error if a folder holds recordings, and folders that could be a class each."""
    in_folders = _find_class_folders(folder).files
    if not in_folders:
        return
    classes = list(dict.fromkeys(paths.readable_name(file.parent.name) for file in in_folders))
    suffix, own_suffix = in_folders[0].suffix, files[0].suffix
    more = f" and {len(classes) - 2} more" if len(classes) > 2 else ""
    as_classes = f"load({str(folder / '*' / '*') + suffix!r}) with label='([^/]+)/' reads the folders as classes"
    if _is_recording(in_folders[0]):  # videos take no label
        as_classes = "moved elsewhere, the files leave the folders to be read as classes"
    raise ValueError(
        f"the folder {folder} holds recordings ({paths.readable_name(files[0].name)}), and the folders {classes[0]}, "
        f"{classes[1]}{more}, which could be a class each: {as_classes}, and load({str(folder / '*') + own_suffix!r}) "
        "reads the files beside them"
    )


def _as_file_or_list(files: list[Path], has_options: bool) -> list[Path] | Path:
    """A single file as itself, unless it is a recording or options of recordings are given."""
    if len(files) == 1 or all(special_file_kind(file) for file in files):
        refuse_special_file(files[0])
    if len(files) > 1 or _is_recording(files[0]):
        return files
    file_format = formats.FORMATS.get(files[0].suffix.lower())
    as_one = (
        file_format is not None
        and file_format.has_columns
        and (has_options or (file_format.is_shared and not formats.has_sequences(files[0])))
    )
    return files if as_one else files[0]


def _choose_split(parts: dict[str, Sequences], split: str | None, source: Source) -> Any:
    if split is None:
        return (parts["train"], parts["test"]) if len(parts) > 1 else next(iter(parts.values()))
    if split not in parts:
        has = "no official split" if "all" in parts else f"only a {next(iter(parts))} part"
        raise ValueError(
            f'split="{split}" is given for {source!r:.80}, which has {has}: leave split out, and divide it with '
            "Sequences.split(test=...) if you need two parts"
        )
    return parts[split]


def _is_path(text: str) -> bool:
    separators = {"/", os.sep, os.altsep or os.sep}
    suffix = Path(text).suffix.lower()
    many = "*" in text or any(s in text for s in separators)
    return many or suffix in formats.SUFFIXES or paths.expand_user(text).exists()


# --- recordings --------------------------------------------------------------------------------------------------


def _find_class_folders(path: Path) -> ClassFolders:
    """The files of a folder with a folder for every class; none if it is something else."""
    if not path.is_dir() or har.find_folder(path) is not None or catalogue.find_datasets(path):
        return ClassFolders([])
    return find_class_folders(path, _RECORDING_SUFFIXES)


def _read_recordings(
    files: list[Path],
    videos: Mapping[str, Any],
    columns: dict[str, Any],
    on_error: str,
    *,
    folders_are_classes: bool = False,
    root: Path | None = None,
) -> Sequences:
    """Files of one recording each, as one collection; pipes and devices are always skipped."""
    left_out: dict[Path, Exception] = {}
    for file in files:
        try:
            refuse_special_file(file)
        except formats.FormatError as error:
            left_out[file] = error
    if len(left_out) == len(files):
        raise next(iter(left_out.values()))
    files = [file for file in files if file not in left_out]
    filmed = [file for file in files if _is_recording(file)]
    for file in files:
        if not _is_recording(file) and not _has_columns(file):
            data_set_suffixes = [
                suffix for suffix, format_ in formats.FORMATS.items() if format_.has_columns or format_.is_recording
            ]
            raise ValueError(
                f"{file} is one of {len(files)} files, and patterns and lists of several are for recordings of a file "
                f"each ({', '.join(data_set_suffixes)}): load it by itself"
            )
    if filmed and len(filmed) < len(files):
        other = next(file for file in files if not _is_recording(file))
        raise ValueError(f"{filmed[0]} is a video and {other} is none: load them apart")
    if filmed:
        from . import recordings
        from .formats.video import VideoReader

        _refuse_options(columns, files[0])
        clips = recordings.read_recordings(files, VideoReader(**videos), on_error, left_out)
        return label_by_folder(clips) if folders_are_classes else clips
    from . import combine
    from .column_spec import ColumnSpec

    _refuse_options(videos, files[0])
    layout = columns.pop("layout")
    spec = ColumnSpec.from_options(**columns, folders_are_classes=folders_are_classes, root=root)
    return combine.read_files(files, spec, _check_file_layout(layout, files), on_error, left_out)


def _check_file_layout(layout: Any, files: list[Path]) -> str | None:
    """The layout, where it is one of those that files can have."""
    if layout is None:
        return None
    arrays = [suffix for suffix in (".npy", ".npz", ".mat") if any(file.suffix.lower() == suffix for file in files)]
    if not arrays:
        raise ValueError(
            f"layout={layout!r:.40} is for arrays (.npy, .npz, .mat), and {files[0]} is none: leave it out"
        )
    if layout in ("tc", "ct"):
        return str(layout)
    check_layout(layout)
    if len(files) > 1:
        raise ValueError(
            f'layout="{layout}" is of several sequences in one file, and these are {len(files)} files of one recording '
            'each: expected "tc" (time, channel) or "ct" (channel, time)'
        )
    return str(layout)


def _list_recordings(folder: Path, has_options: bool) -> list[Path]:
    """The recordings in a folder, unless it holds a data set."""
    if har.find_folder(folder) is not None:
        return []
    files = paths.files_in_folder(folder, _RECORDING_SUFFIXES)
    data_sets = catalogue.find_datasets(folder)
    if data_sets and not has_options:
        parts = {path for parts in data_sets.values() for path in parts.values()}
        whole = any(len(parts) > 1 for parts in data_sets.values())
        if whole or parts >= {file for file in files if not _is_recording(file) and special_file_kind(file) is None}:
            return []  # one that is called walk_test among others is a recording
    return files


def _has_columns(path: Path) -> bool:
    file_format = formats.FORMATS.get(path.suffix.lower())
    return file_format is not None and file_format.has_columns


def _is_recording(path: Path) -> bool:
    file_format = formats.FORMATS.get(path.suffix.lower())
    return file_format is not None and file_format.is_recording


def _refuse_options(options: Mapping[str, Any], source: Path | str) -> None:
    usual = {"size": None, "grayscale": False, "every": 1}
    for name, value in options.items():
        if name in usual and value is not usual[name] and value != usual[name]:
            raise ValueError(f"{name}={value!r} is for videos, and {str(source)!r:.80} is none: leave {name} out")
        if name not in usual and value is not None:
            raise ValueError(
                f"{name}={value!r:.40} is for recordings in columns or arrays, and {str(source)!r:.80} is none: leave "
                f"{name} out"
            )


# --- paths -------------------------------------------------------------------------------------------------------


def _read_path(path: Path, obstacle: str) -> dict[str, Sequences]:
    if path.is_file():
        part = catalogue.PART_NAME.fullmatch(path.stem)
        return catalogue.read_dataset({part[2].lower(): path} if part else {"all": path})
    if not path.is_dir():
        near = difflib.get_close_matches(path.name, _list_loadable(path.parent), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        if path.parts[:1] and path.parts[0].startswith("~"):
            hint = f": there is no user {path.parts[0][1:]!r}; write the folder out, or ~/ for your own"
        raise FileNotFoundError(f"there is no file or folder {path}{hint}")
    official = har.find_folder(path)
    if official is not None:
        return har.read(official)
    return catalogue.read_dataset(catalogue.find_dataset(path, obstacle))


def _list_loadable(folder: Path) -> list[str]:
    """The loadable content of a folder."""
    if not folder.is_dir():
        return []
    return [entry.name for entry in folder.iterdir() if entry.suffix.lower() in formats.SUFFIXES or entry.is_dir()]
