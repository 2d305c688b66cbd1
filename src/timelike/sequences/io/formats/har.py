"""The official folder of the UCI HAR data: one text file per inertial signal, one line per window.

Read only, by the path of the folder. All windows have the same length; labels are the activities, groups the subjects.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...container import Sequences
from . import text

_REQUIRED_FILES = ["activity_labels.txt"]
_REQUIRED_FILES += [f"{part}/{kind}_{part}.txt" for part in ("train", "test") for kind in ("y", "subject")]


def find_folder(path: Path) -> Path | None:
    """The folder that holds train/ and test/: `path` itself, or `UCI HAR Dataset` inside it; None if there is none."""
    for candidate in (path, path / "UCI HAR Dataset"):
        if all((candidate / part / "Inertial Signals").is_dir() for part in ("train", "test")):
            return candidate
    return None


def read(path: Path) -> dict[str, Sequences]:
    """Train and test of the folder: groups are the subjects, labels the activities, channels the signals."""
    for file in _REQUIRED_FILES:
        if not (path / file).is_file():
            raise FileNotFoundError(f"the UCI HAR folder {path} has no {file}: unpack all of the archive into it again")
    names = _read_activities(path / "activity_labels.txt")
    return {part: _read_part(path / part, part, names) for part in ("train", "test")}


def _read_activities(path: Path) -> dict[str, str]:
    """Names by their number in the label files, in the order of the file."""
    names = {}
    for number, line in enumerate(text.read_lines(path), 1):
        cells = line.split()
        if cells and len(cells) != 2:
            raise text.make_format_error(path, f"{line[:40]!r}: expected a number and the name of an activity", number)
        if cells:
            names[cells[0]] = cells[1]
    return names


def _read_part(path: Path, part: str, names: dict[str, str]) -> Sequences:
    files = sorted(file for file in (path / "Inertial Signals").glob(f"*_{part}.txt") if file.is_file())
    if not files:
        raise text.make_format_error(path / "Inertial Signals", f"holds no *_{part}.txt: expected one file per signal")
    labels = _read_column(path / f"y_{part}.txt")
    for number, label in enumerate(labels, 1):
        if label not in names:
            raise text.make_format_error(
                path / f"y_{part}.txt", f"{label[:40]!r} is not a number in activity_labels.txt", number
            )
    subjects = text.parse_integers(dict.fromkeys(column := _read_column(path / f"subject_{part}.txt")))
    if subjects is None or len(column) != len(labels):
        raise text.make_format_error(
            path / f"subject_{part}.txt", f"expected {len(labels)} subject numbers, one per line"
        )
    signals = [_read_signal(file, len(labels)) for file in files]
    for file, signal in zip(files, signals, strict=True):
        if signal.shape != signals[0].shape:
            raise text.make_format_error(
                file, f"windows of {signal.shape[1]} steps, {files[0].name} has {signals[0].shape[1]}"
            )
    return Sequences(
        np.stack(signals, axis=2),
        labels=[names[label] for label in labels],
        class_names=names.values(),
        groups=[subjects[subject] for subject in column],
        channel_names=[file.stem.removesuffix(f"_{part}") for file in files],
    )


def _read_column(path: Path) -> list[str]:
    return [line.strip() for line in text.read_lines(path)]


def _read_signal(path: Path, n_windows: int) -> NDArray[np.float64]:
    """(window, time) of one signal."""
    rows = [text.parse_numbers(line.split(), path, number) for number, line in enumerate(text.read_lines(path), 1)]
    if len(rows) != n_windows:
        raise text.make_format_error(
            path, f"{len(rows)} windows for {n_windows} labels: is the file cut short?", len(rows)
        )
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]) or len(row) == 0:
            raise text.make_format_error(path, f"{len(row)} values but line 1 has {len(rows[0])}", number)
    return np.stack(rows)
