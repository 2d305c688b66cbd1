"""Errors of the library as one line for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn a refusal of the library into its message and exit code 1; anything else is a defect and keeps its trace."""
    try:
        yield
    except (ValueError, TypeError, LookupError, OSError) as error:
        typer.secho(f"timelike: {error}", fg="red", err=True)
        raise typer.Exit(1) from None
