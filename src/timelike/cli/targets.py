"""Files and folders that a command writes: checked before its work starts, so that no hours of it are lost."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")


def check_file_target(path: Path | None, option: str, suffixes: Collection[str] = ()) -> None:
    """Raise an error unless a file can be written there; None, an option that was not given, is fine."""
    if path is None:
        return
    from ..core.files import refuse_special_target

    if suffixes and path.suffix.lower() not in suffixes:
        *others, last = suffixes
        expected = f"{', '.join(others)} or {last}" if others else last
        raise typer.BadParameter(f"{path}: expected a name that ends in {expected}", param_hint=f"'{option}'")
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder: expected the name of a file", param_hint=f"'{option}'")
    refuse_special_target(path)
    _check_parent(path)


def check_picture_target(path: Path | None, option: str) -> None:
    """Raise an error unless `save_figure` can write there."""
    check_file_target(path, option, PICTURE_SUFFIXES)


def check_sequences_target(path: Path | None, option: str) -> None:
    """Raise an error unless sequences can be saved there."""
    from ..sequences.io.formats import FORMATS

    check_file_target(path, option, [suffix for suffix, one in FORMATS.items() if one.is_writable])


def check_model_target(path: Path | None) -> None:
    """Raise an error unless a model can be saved there; its parent folder may be missing."""
    if path is None:
        return
    from ..models.serialization import refuse_to_replace

    _check_parent(path)
    if path.parent.is_dir():
        refuse_to_replace(path)


def with_parent(path: Path) -> Path:
    """The path, whose parent folder is made if it is missing."""
    from ..core.files import make_folder

    make_folder(path.parent)
    return path


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure as .png, .svg or .pdf; either the whole file appears or nothing does."""
    from ..core.files import atomic_write

    if path.suffix.lower() not in PICTURE_SUFFIXES:
        raise ValueError(f"{path}: a figure is written as {', '.join(PICTURE_SUFFIXES)}, by the suffix of its name")
    with atomic_write(with_parent(path)) as temporary:
        figure.savefig(temporary, format=path.suffix.lower().removeprefix("."))
    return path


def _check_parent(path: Path) -> None:
    from ..core.files import refuse_missing_parent

    refuse_missing_parent(path.parent)
    parent = path.parent if path.parent.exists() else path.parent.parent
    if not parent.is_dir():
        raise NotADirectoryError(f"{parent} is a file, so there can be no {path}: give another")
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"the folder {parent} may not be written to: give another")
