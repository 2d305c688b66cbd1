"""The `timelike` command."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .convert import convert
from .demo import demo
from .describe import describe
from .drift import drift

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(demo)
app.command()(describe)
app.command()(convert)
app.command()(drift)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"timelike {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Which sequences are alike, how they line up in time, and what comes next."""
