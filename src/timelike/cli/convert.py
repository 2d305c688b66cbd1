"""`timelike convert`: from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options.data import DataOptions, Source, with_data_options
from .output import AsJson, emit, json_fields
from .targets import check_sequences_target, with_parent


@json_fields(files="list of texts: the files that were written")
@with_data_options
def convert(
    source: Source,
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="Where to write; the suffix says the format.")],
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Write sequences in another format; the suffix of the target says which.

    Data with a training and a test part become one .npz, or two files with _TRAIN and _TEST in their names.

    Examples:
      timelike convert BasicMotions motions.npz
    """
    from ..sequences.io.formats import FORMATS

    check_sequences_target(target, "TARGET")
    parts, file_format = data.load_parts(source), FORMATS.get(target.suffix.lower())
    with_parent(target)
    if len(parts) == 1:
        written = [next(iter(parts.values())).save(target)]
    elif file_format is not None and file_format.has_split:
        written = [parts["train"].save(target, test=parts["test"])]
    else:
        written = [part.save(_with_part(target, name)) for name, part in parts.items()]
    emit("convert", {"files": list(map(str, written))}, "\n".join(f"wrote {path}" for path in written), as_json)


def _with_part(target: Path, part: str) -> Path:
    return target.with_name(f"{target.stem}_{part.upper()}{target.suffix}")
