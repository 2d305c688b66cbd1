"""`timelike describe`: a summary of a file or data set, and its quality issues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .options.data import DataOptions, Source, with_data_options
from .output import AsJson, emit, json_fields
from .targets import check_file_target


@json_fields(
    train="object: the description of the training part, where there is one; see docs/sequences.md",
    test="object: that of the test part, where there is one",
    all="object: that of everything, where there are no such parts",
)
@with_data_options
def describe(
    source: Source,
    out: Annotated[Path | None, typer.Option(help="Also write a report, one HTML file, there.")] = None,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Summarize data, and report their quality issues.

    Examples:
      timelike describe BasicMotions
      timelike describe 'logs/*.csv' --label '_([a-z]+)' --out logs.html
    """
    from ..report import Page

    check_file_target(out, "--out")
    parts = data.load_parts(source)
    descriptions = {name: part.describe() for name, part in parts.items()}
    texts = [f"{name}: {parts[name]!r}\n\n{one}\n" for name, one in descriptions.items()]
    if out is not None:
        page = Page(source, lead="What is in it.")
        for name, one in descriptions.items():
            page.add(name, parts[name], one)
        page.save(out)
        texts.append(f"{out} is written")
    emit("describe", {name: json.loads(one.json()) for name, one in descriptions.items()}, "\n".join(texts), as_json)
