"""`timelike describe`: what is in a file."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ..sequences import Sequences, load
from .refusal import spoken


def describe(source: Annotated[str, typer.Argument(help="A file, a folder, or the name of a data set.")]) -> None:
    """Say what a file or data set holds."""
    with spoken():
        loaded = load(source)
    parts = {"all": loaded} if isinstance(loaded, Sequences) else {"train": loaded[0], "test": loaded[1]}
    console = Console()
    for name, part in parts.items():
        console.print(f"[bold]{name}[/]: {part!r}", highlight=False)
        if part.missing:
            console.print(f"  {int(np.isnan(part.values).sum())} values are missing")
        if part.labels is not None and part.labels.dtype.kind != "f":
            table = Table("class", "sequences")
            for label, count in zip(*np.unique(part.labels, return_counts=True), strict=True):
                table.add_row(str(label), str(count))
            console.print(table)
