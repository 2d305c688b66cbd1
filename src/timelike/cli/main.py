"""The `timelike` command. Command modules import nothing heavy at the top, so that `--help` is fast."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated

import typer

from .. import __version__
from .align import align
from .classify import classify
from .cluster import cluster
from .compare import compare
from .convert import convert
from .demo import demo
from .describe import describe
from .drift import drift
from .embed import embed
from .errors import CommandGroup
from .evaluate import evaluate
from .forecast import forecast
from .learn import learn
from .match import match
from .report import report
from .search import search
from .verify import verify

COMMANDS = (
    demo,
    describe,
    convert,
    learn,
    compare,
    evaluate,
    classify,
    embed,
    search,
    verify,
    align,
    cluster,
    match,
    forecast,
    drift,
    report,
)
_SETTINGS = {"help_option_names": ["-h", "--help"]}

# without rich, whose import takes as long as everything else
app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=_SETTINGS,
)


def _format_help(command: Callable[..., None]) -> str:
    """The docstring of a command, with its examples line by line."""
    return inspect.cleandoc(command.__doc__ or "").replace("\nExamples:\n", "\n\b\nExamples:\n")


for command in COMMANDS:
    app.command(help=_format_help(command), context_settings=_SETTINGS)(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"timelike {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Which sequences are alike, how they line up in time, and what comes next.

    Exit codes: 0 good, 1 failure, 2 wrong usage, 3 with drift --exit-code if the data differ, 130 interrupted by
    Ctrl-C, 141 when the reader of the output has closed it.
    """
