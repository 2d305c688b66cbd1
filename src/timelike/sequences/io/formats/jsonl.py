"""JSON lines, one recording per file: .jsonl, .ndjson and .json. Read-only format.

A line is a time step: an object whose keys are the columns (`{"t": 0.1, "ax": 1.5}`), or a row of numbers. An absent
key and null are missing values. A .json may also be one list of such objects, or one object of lists.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import text
from .raw_columns import Cells, RawColumns

if TYPE_CHECKING:
    from ...container import Sequences

UNSUPPORTED: dict[str, tuple[text.UnsupportedFeature, ...]] = dict.fromkeys(
    (".jsonl", ".ndjson", ".json"), ("labels", "groups", "channel_names")
)


def read(path: Path) -> dict[str, Sequences]:
    """One recording."""
    from ..combine import read_single_file

    return {"all": read_single_file(path)}


def read_columns(path: Path, layout: str | None = None) -> RawColumns:
    """A column for every key."""
    text.refuse_empty_file(path)
    lines = text.read_lines(path)
    places = [number for number, line in enumerate(lines, 1) if line and not line.isspace()]
    whole = _parse_whole(lines) if path.suffix.lower() == ".json" else None
    if isinstance(whole, dict):
        if len({len(entry) for entry in whole.values()}) != 1 or not whole:
            sizes = ", ".join(f"{name!r} ({len(entry)})" for name, entry in whole.items())
            raise text.make_format_error(path, f"its lists have different lengths, {sizes[:200]}: expected one")
        return RawColumns(path, {str(name): _to_cells(entry, path, str(name)) for name, entry in whole.items()})
    steps = whole if isinstance(whole, list) else [_parse_line(lines[at - 1], path, at) for at in places]
    if not steps:
        raise text.make_format_error(path, "has no time steps: expected one in every line")
    located = steps is not whole
    if not any(steps):
        raise text.make_format_error(
            path, "has no columns: expected an object with keys in every line, or a row of numbers"
        )
    if all(isinstance(step, dict) for step in steps):
        names = list(dict.fromkeys(str(key) for step in steps for key in step))
        columns = {name: _to_cells([step.get(name) for step in steps], path, name) for name in names}
        return RawColumns(path, columns, line_number=lambda row: places[row] if located else None)
    width = len(steps[0]) if isinstance(steps[0], list) else -1
    odd = next((i for i, step in enumerate(steps) if not isinstance(step, list) or len(step) != width), None)
    if odd is not None:
        raise text.make_format_error(
            path,
            f"{str(steps[odd])[:40]!r} is not like the first: expected an object in every line, or as many numbers",
            places[odd] if located else None,
        )
    columns = {str(i): _to_cells([step[i] for step in steps], path, str(i)) for i in range(width)}
    return RawColumns(path, columns, has_names=False, line_number=lambda row: places[row] if located else None)


def _parse_whole(lines: list[str]) -> Any:
    """The value of a .json file; None if it consists of lines."""
    try:
        content = json.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return None
    if isinstance(content, dict):
        return content if all(isinstance(entry, list) for entry in content.values()) else None
    return content if isinstance(content, list) and content and isinstance(content[0], dict | list) else None


def _parse_line(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise text.make_format_error(
            path, f"is not JSON ({str(error)[:80]}): expected an object in every line", number
        ) from None


def _to_cells(entries: list[Any], path: Path, name: str) -> Cells:
    """Numbers as numbers, text as text; what is neither is named."""
    present = [entry for entry in entries if entry is not None]
    if all(isinstance(entry, str) for entry in present):
        return ["" if entry is None else entry for entry in entries]
    for entry in present:
        if not isinstance(entry, int | float):
            what = f"{str(entry)[:40]!r} ({type(entry).__name__})"
            raise text.make_format_error(
                path, f"{name!r} holds {what} beside numbers: expected numbers, or text throughout"
            )
    return _to_array(entries, len(present) == len(entries))


def _to_array(entries: list[Any], complete: bool) -> NDArray[Any]:
    if complete and all(type(entry) is int and abs(entry) < 2**63 for entry in entries):
        return np.array(entries, np.int64)
    return np.array([np.nan if entry is None else float(entry) for entry in entries], np.float64)
