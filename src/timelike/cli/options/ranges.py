"""Ranges of numbers that typer's `min` and `max` cannot express."""

from __future__ import annotations

import typer


def check_open_unit(value: float | None) -> float | None:
    """A number between 0 and 1, both excluded; a callback of options, so that anything else is wrong usage."""
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} is not between 0 and 1, both excluded")
    return value


def check_positive(value: float | None) -> float | None:
    """A finite number above 0; a callback of options."""
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(f"{value:g} is not a finite number above 0")
    return value
