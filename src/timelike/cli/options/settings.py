"""`--set name=value`: options of a method, with the library's own checks."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated, Any

import typer

Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="An option of the method; may be given several times."),
]


def split_settings(settings: list[str] | None) -> dict[str, str]:
    """Names and the text of their values; anything but NAME=VALUE is wrong usage."""
    pairs = {}
    for setting in settings or []:
        name, sign, value = setting.partition("=")
        if not sign or not name.isidentifier():
            raise typer.BadParameter(f"{setting!r}: expected NAME=VALUE", param_hint="'--set'")
        pairs[name] = value
    return pairs


def parse_value(text: str) -> Any:
    """A number, true, false, none, a list in JSON, or the text itself.

    >>> [parse_value(text) for text in ("3", "1e-3", "None", "true", "[1, 2]", "sakoe")]
    [3, 0.001, None, True, [1, 2], 'sakoe']
    """
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for parse in (json.loads, float):
        try:
            return parse(text)
        except ValueError:
            continue
    return text


def apply_settings(model: Any, settings: dict[str, str]) -> Any:
    """The model with options set; of a frozen value, such as `DTW()`, a changed copy."""
    values = {name: parse_value(text) for name, text in settings.items()}
    if hasattr(model, "set_params"):
        return model.set_params(**values)
    known = [one.name for one in dataclasses.fields(model) if one.init and not one.name.startswith("_")]
    unknown = values.keys() - set(known)
    if unknown:
        raise ValueError(f"{type(model).__name__} has no option {min(unknown)!r}: expected one of {', '.join(known)}")
    return dataclasses.replace(model, **values)
