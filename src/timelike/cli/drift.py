"""`timelike drift`: whether two collections differ, how much, and in which sequences and channels."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .errors import exit_on_error

if TYPE_CHECKING:
    from ..sequences import Sequences


def drift(
    old: Annotated[str, typer.Argument(help="What is as it should be: a file, a folder, or the name of a data set.")],
    new: Annotated[str, typer.Argument(help="What is compared with it.")],
    permutations: Annotated[int, typer.Option(help="Permutations of the test.")] = 1000,
    out: Annotated[Path | None, typer.Option(help="Also write a report, one HTML file, there.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say it in JSON.")] = False,
    groups: Annotated[
        bool, typer.Option(help="Whether groups that the files carry are exchanged whole, or single sequences.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Of the permutations.")] = 0,
) -> None:
    """Whether NEW is like OLD, and if not, which sequences and channels differ; the exit code is 0 either way."""
    from .. import distributions
    from ..report import Page
    from ..sequences import load

    with exit_on_error():
        samples, units = (_join_parts(load(old)), _join_parts(load(new))), None if groups else False
        result = distributions.TwoSample(n_permutations=permutations, random_state=seed).test(*samples, groups=units)
        differences = distributions.differences(*samples, groups=units, random_state=seed)
        if out is not None:
            page = Page(f"{old} and {new}", lead=f"{result.verdict.capitalize()}.")
            page.add("Do they differ?", result)
            page.add("What differs", differences)
            written = page.save(out)
    if as_json:
        typer.echo(json.dumps(_to_json(result, differences), ensure_ascii=False))
        return
    typer.echo(f"{result}\n{differences}")
    if out is not None:
        typer.echo(f"report: {written}")


def _join_parts(loaded: Sequences | tuple[Sequences, Sequences]) -> Sequences:
    """All of it, where a source has a training and a test part."""
    from ..sequences import Sequences, concat

    return loaded if isinstance(loaded, Sequences) else concat(loaded)


def _to_json(result: Any, found: Any) -> dict[str, Any]:
    from ..core.files import nonfinite_to_none

    summary = {name: getattr(result, name) for name in ("p_value", "statistic", "verdict", "kernel", "sizes", "unit")}
    fields = summary | {"n_permutations": result.n_permutations, "notes": result.notes, "differences": asdict(found)}
    return {name: nonfinite_to_none(value) for name, value in fields.items()}
