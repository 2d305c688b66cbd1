"""Folders with a subfolder of recordings for every class: their files, or the reason why they are none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..container import Sequences
from . import catalogue, paths
from .file_labels import FOLDER_NOTE, folder_names

_PART_NAMES = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}


class ClassFolders(NamedTuple):
    """The files of folders that are one class each; if there are none, why: what stands in the way."""

    files: list[Path]
    obstacle: str = ""
    ignored: tuple[str, ...] = ()
    """Names of folders without recordings."""


def find_class_folders(folder: Path, suffixes: Collection[str]) -> ClassFolders:
    """The recordings in the subfolders of a folder if these can only be classes.

    There must be two subfolders or more, the files directly in them, and none called train or test: those are parts.
    """
    subfolders = _list_subfolders(folder)
    files_by_class = {one.name: paths.files_in_folder(one, suffixes) for one in subfolders}
    deeper = [one for sub in subfolders for one in _list_subfolders(sub) if paths.files_in_folder(one, suffixes)]
    classes = [name for name, files in files_by_class.items() if files]
    parts = [one.name for one in subfolders if one.name.lower() in _PART_NAMES]
    data_sets = [one.name for one in subfolders if catalogue.find_datasets(one)]
    obstacle = ""
    if not classes and not deeper:
        return ClassFolders([])
    if data_sets:
        obstacle = f"the folder {data_sets[0]} holds a data set"
    elif parts:
        obstacle = f"a folder {parts[0]} is a part of a data set, and no class"
    elif deeper:
        obstacle = f"files lie deeper, in {deeper[0].relative_to(folder).as_posix()}"
    elif len(classes) == 1:
        obstacle = f"only {classes[0]} has recordings"
    if obstacle:
        return ClassFolders([], obstacle)
    ignored = tuple(name for name, files in files_by_class.items() if not files)
    return ClassFolders([file for name in classes for file in files_by_class[name]], ignored=ignored)


def label_by_folder(clips: Sequences) -> Sequences:
    """Recordings of a file each with their folders as classes."""
    assert clips.source is not None
    labelled = clips.replace(labels=folder_names([Path(file) for file in clips.source.files]))
    labelled._source = replace(clips.source, notes=(*clips.source.notes, FOLDER_NOTE))
    return labelled


def note_ignored_folders(data: Sequences, folders: ClassFolders) -> Sequences:
    """The same data, whose source notes the folders without recordings."""
    if folders.ignored and data.source is not None:
        note = f"folders without recordings: {', '.join(map(paths.readable_name, folders.ignored))}"
        data._source = replace(data.source, notes=(*data.source.notes, note))
    return data


def _list_subfolders(folder: Path) -> list[Path]:
    entries = [one for one in folder.iterdir() if not one.name.startswith(".") and one.is_dir()]
    return sorted(entries, key=lambda one: one.name)
