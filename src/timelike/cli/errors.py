"""Errors of the library as one line for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn an error of the library into its message and exit code 1; others are defects and keep their traceback."""
    try:
        yield
    except (ValueError, TypeError, LookupError, OSError) as error:
        typer.secho(f"timelike: {error}", fg="red", err=True)
        raise typer.Exit(1) from None
