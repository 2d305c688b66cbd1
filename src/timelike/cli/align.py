"""`timelike align`: how two sequences line up in time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .options.data import DataOptions, select_channels, with_data_options
from .options.settings import Settings, apply_settings, split_settings
from .output import AsJson, emit, format_cell, json_fields
from .targets import check_picture_target, save_figure


@json_fields(
    method="text: the aligner with its options",
    cost="number: of the alignment",
    lengths="list of numbers: the steps of A and of B",
    path="list of pairs or null: the matched steps, where the method has a path",
    plot="text or null: the picture that was written",
)
@with_data_options
def align(
    a: Annotated[str, typer.Argument(metavar="A", help="A file, read as DATA is; see --item.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    method: Annotated[str, typer.Option(help="dtw, gdtw, softdtw, opw, or another aligner by its name.")] = "dtw",
    settings: Settings = None,
    item: Annotated[
        str, typer.Option(metavar="I[,J]", help="Which sequence of A and of B, by position: one number, or two.")
    ] = "0",
    plot: Annotated[Path | None, typer.Option(help="Draw it: .png, .svg or .pdf.")] = None,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Align two sequences.

    Examples:
      timelike align motions.npz motions.npz --item 0,1 --method dtw --set window=0.1 --plot warp.png
    """
    from ..align.metric_names import resolve_metric

    positions = _parse_items(item)
    options = split_settings(settings)
    check_picture_target(plot, "--plot")
    aligner = apply_settings(resolve_metric(method), options)
    x, y = (_take(data.load(source), i, source) for source, i in zip((a, b), positions, strict=True))
    y = select_channels(y, x.channel_names, b)
    found = aligner.align(x, y)
    if plot is not None:
        save_figure(found.plot(), plot)
    path = None if found.path is None else found.path.tolist()
    lengths = [int(x.lengths[0]), int(y.lengths[0])]
    fields = {
        "method": repr(aligner),
        "cost": float(found.cost),
        "lengths": lengths,
        "path": path,
        "plot": None if plot is None else str(plot),
    }
    text = f"cost {format_cell(float(found.cost))} by {aligner!r}, {lengths[0]} and {lengths[1]} steps"
    text += "" if path is None else f", path of {len(path)}"
    emit("align", fields, text if plot is None else f"{text}\nwrote {plot}", as_json)


def _parse_items(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) > 2 or not all(part.strip().isdigit() for part in parts):
        raise typer.BadParameter(f"{text!r}: expected a position from 0, or two, such as 0,4", param_hint="'--item'")
    return int(parts[0]), int(parts[-1])


def _take(X: Any, position: int, source: str) -> Any:
    from ..core.parameters import format_count

    if position >= len(X):
        raise ValueError(f"--item {position}: {source} has {format_count(len(X), 'sequence')}, counted from 0")
    return X[position : position + 1]
