"""`timelike describe`: a summary of a file or data set, and its quality issues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .errors import exit_on_error


def describe(
    source: Annotated[str, typer.Argument(help="A file, a folder, or the name of a data set.")],
    out: Annotated[Path | None, typer.Option(help="Also write a report, one HTML file, there.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say it in JSON.")] = False,
) -> None:
    """Summarize a file or data set, and report its quality issues."""
    from ..report import Page
    from ..sequences import Sequences, load

    with exit_on_error():
        loaded = load(source)
        parts = {"all": loaded} if isinstance(loaded, Sequences) else {"train": loaded[0], "test": loaded[1]}
        descriptions = {name: part.describe() for name, part in parts.items()}
        if out is not None:
            page = Page(source, lead="What is in it.")
            for name, one in descriptions.items():
                page.add(name, parts[name], one)
            page.save(out)
    if as_json:
        typer.echo(json.dumps({name: json.loads(one.json()) for name, one in descriptions.items()}, ensure_ascii=False))
        return
    for name, one in descriptions.items():
        typer.echo(f"{name}: {parts[name]!r}\n\n{one}\n")
    if out is not None:
        typer.echo(f"{out} is written")
