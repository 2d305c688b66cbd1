"""`timelike convert`: from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .errors import exit_on_error


def convert(
    source: Annotated[str, typer.Argument(help="A file, a folder, or the name of a data set.")],
    target: Annotated[Path, typer.Argument(help="Where to write; the suffix says the format.")],
) -> None:
    """Write sequences in another format; the suffix of the target says which.

    A source with a training and a test part becomes one .npz, or two files with _TRAIN and _TEST in their names.
    """
    from ..sequences import Sequences, load
    from ..sequences.io.formats import FORMATS

    with exit_on_error():
        loaded, file_format = load(source), FORMATS.get(target.suffix.lower())
        if isinstance(loaded, Sequences):
            written = [loaded.save(target)]
        elif file_format is not None and file_format.has_split:
            written = [loaded[0].save(target, test=loaded[1])]
        else:
            names = [target.with_name(f"{target.stem}_{part}{target.suffix}") for part in ("TRAIN", "TEST")]
            written = [part.save(name) for part, name in zip(loaded, names, strict=True)]
    for path in written:
        typer.echo(f"wrote {path}")
