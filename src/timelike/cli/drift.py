"""`timelike drift`: whether two collections differ, how much, and in which sequences and channels."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from .options.data import DataOptions, select_channels, with_data_options
from .output import AsJson, emit, json_fields
from .targets import check_file_target

DIFFERENT = 3
"""The exit code with `--exit-code` if the collections differ: 1 and 2 are those of errors."""
_LEVEL = 0.05


@json_fields(
    differs="true or false: whether p_value is at most 0.05",
    p_value="number: the probability of such a difference by chance",
    statistic="number: the largest MMD² over its deviation by chance",
    verdict="text: the answer in words",
    kernel="text: the kernel with its options",
    sizes="list of numbers: of the two collections, in units",
    unit="text: what is exchanged, items or groups",
    n_permutations="number: of the test",
    notes="list of texts: what to know about the answer",
    differences="object: which sequences and channels differ",
)
@with_data_options
def drift(
    old: Annotated[str, typer.Argument(metavar="OLD", help="What is as it should be, read as DATA is.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What is compared with it.")],
    permutations: Annotated[int, typer.Option(help="Permutations of the test.", min=1)] = 1000,
    out: Annotated[Path | None, typer.Option(help="Also write a report, one HTML file, there.")] = None,
    groups: Annotated[
        bool, typer.Option(help="Whether groups that the files carry are exchanged whole, or single sequences.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Of the permutations.", min=0)] = 0,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help=f"Exit with {DIFFERENT} if they differ (p at most {_LEVEL}).")
    ] = False,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Whether NEW is like OLD, and if not, which sequences and channels differ.

    The exit code is 0 either way; with --exit-code it is 3 if they differ.

    Examples:
      timelike drift motions.npz motions.npz --permutations 99
    """
    from .. import distributions
    from ..report import Page

    if exit_code and 1 / (permutations + 1) > _LEVEL:  # the smallest p-value
        raise typer.BadParameter(
            f"p is at least 1/{permutations + 1} with {permutations} permutations, and --exit-code needs p of {_LEVEL} "
            f"or less: give {math.ceil(1 / _LEVEL) - 1} or more",
            param_hint="'--permutations'",
        )
    check_file_target(out, "--out")
    known = data.load(old)
    samples, units = (known, select_channels(data.load(new), known.channel_names, new)), None if groups else False
    result = distributions.TwoSample(n_permutations=permutations, random_state=seed).test(*samples, groups=units)
    differences = distributions.differences(*samples, groups=units, random_state=seed)
    text = f"{result}\n{differences}"
    if out is not None:
        page = Page(f"{old} and {new}", lead=f"{result.verdict.capitalize()}.")
        page.add("Do they differ?", result)
        page.add("What differs", differences)
        text += f"\nreport: {page.save(out)}"
    emit("drift", _to_fields(result, differences), text, as_json)
    if exit_code and result.p_value <= _LEVEL:
        raise typer.Exit(DIFFERENT)


def _to_fields(result: Any, found: Any) -> dict[str, Any]:
    names = ("p_value", "statistic", "verdict", "kernel", "sizes", "unit", "n_permutations", "notes")
    fields = {name: getattr(result, name) for name in names}
    return {"differs": bool(result.p_value <= _LEVEL)} | fields | {"differences": asdict(found)}
