"""The output of a command: tables of text, or JSON in one versioned form, whose fields are documented here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from .. import __version__

SCHEMA = 1
"""The version of the JSON; it grows when a field is renamed or removed, not when one is added."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

FIELDS: dict[str, dict[str, str]] = {}
"""The fields of `result` and their meaning, by command; see `json_fields`."""

_Command = Callable[..., None]


def json_fields(**meanings: str) -> Callable[[_Command], _Command]:
    """Document the fields of a command's `result`, each as "type: meaning"."""

    def document(command: _Command) -> _Command:
        FIELDS[command.__name__] = meanings
        return command

    return document


def emit(command: str, result: Mapping[str, Any], text: str, as_json: bool) -> None:
    """Print the result, as JSON or as text."""
    typer.echo(to_json(command, result) if as_json else text)


def to_json(command: str, result: Mapping[str, Any]) -> str:
    """The documented JSON, on one line."""
    from ..core.files import nonfinite_to_none

    plain = nonfinite_to_none(_to_plain(result))
    content = {"timelike": __version__, "schema": SCHEMA, "command": command, "result": plain}
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def format_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Columns of text, those of numbers to the right.

    >>> print(format_table(("id", "cost"), [("a", 1.0), ("b", 12.5)]))
    id  cost
    a      1
    b   12.5
    """
    cells = [list(row) for row in rows]
    is_number = [all(isinstance(row[i], int | float) for row in cells) for i in range(len(columns))]
    lines = [list(columns), *([format_cell(cell) for cell in row] for row in cells)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, is_number, strict=True)
        ).rstrip()
        for line in lines
    )


def format_cell(value: Any) -> str:
    """A number with four digits, nothing for None, otherwise the text.

    >>> format_cell(0.123456), format_cell(None), format_cell(12345)
    ('0.1235', '', '12345')
    """
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _to_plain(tree: Any) -> Any:
    """Nested values as JSON has them: lists for arrays, Python's numbers for NumPy's."""
    if isinstance(tree, Mapping):
        return {str(key): _to_plain(value) for key, value in tree.items()}
    if hasattr(tree, "tolist"):
        return _to_plain(tree.tolist())
    if isinstance(tree, list | tuple):
        return [_to_plain(value) for value in tree]
    return tree if tree is None or isinstance(tree, bool | int | float | str) else str(tree)
