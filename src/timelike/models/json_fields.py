"""Writing of results as JSON without NaN and infinity, and reading with checks that name the invalid entry."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.files import write_lines

Parser = Callable[[Any, str], Any]


def read_json(source: str | Path) -> Any:
    """The JSON value of a text, or of the file that it names."""
    try:
        if isinstance(source, str) and source.lstrip().startswith("{"):
            return json.loads(source)
        return json.loads(Path(source).read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"source is not valid JSON: {error}") from None


def write_json(tree: Any, path: str | Path | None = None, *, nan: str | None = "nan") -> str:
    """The text of a result, also written to a file if one is named; arrays are lists, and infinity is a word.

    >>> write_json({"scores": np.array([0.5, np.inf, np.nan])}, nan=None)
    '{"scores": [0.5, "inf", null]}'
    """
    text = json.dumps(_to_json_value(tree, nan), ensure_ascii=False, allow_nan=False)
    if path is not None:
        write_lines(Path(path), iter([text]))
    return text


def _to_json_value(tree: Any, nan: str | None) -> Any:
    """Nested dicts and lists without arrays, NaN and infinity, which JSON does not support."""
    if isinstance(tree, np.ndarray):
        tree = tree.tolist()
    if isinstance(tree, dict):
        return {name: _to_json_value(value, nan) for name, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_to_json_value(value, nan) for value in tree]
    if isinstance(tree, float) and not math.isfinite(tree):
        return nan if math.isnan(tree) else str(tree)
    return tree


def read_fields(json_object: Any, where: str, **checks: Parser) -> dict[str, Any]:
    """The checked entries of a JSON object; the error names the invalid entry.

    >>> read_fields({"n": 3}, "source", n=parse_number)
    {'n': 3.0}
    """
    if not isinstance(json_object, dict):
        raise ValueError(f"{where} is {json_object!r:.60}: expected an object with {', '.join(checks)}")
    odd = [name for name in checks if name not in json_object] + [name for name in json_object if name not in checks]
    if odd:
        word = "lacks" if odd[0] in checks else "has an unknown"
        raise ValueError(f"{where} {word} {odd[0]!r:.60}: expected {', '.join(checks)}; was the file edited?")
    return {name: check(json_object[name], f"{where}.{name}") for name, check in checks.items()}


def parse_number(value: Any, where: str) -> float:
    """A number; nan and infinity are written as words."""
    if isinstance(value, bool) or not (isinstance(value, int | float) or value in ("nan", "inf", "-inf")):
        raise ValueError(f"{where} is {value!r:.60}: expected a number")
    try:
        return float(value)
    except OverflowError:  # JSON has integers of any length
        raise ValueError(f"{where} is {value!r:.60}: expected a number that a float can hold") from None


def parse_finite(value: Any, where: str) -> float:
    """A number that is neither nan nor infinite."""
    if not math.isfinite(parse_number(value, where)):
        raise ValueError(f"{where} is {value!r:.60}: expected a finite number")
    return float(value)


def parse_nonnegative(value: Any, where: str) -> float:
    """A finite number of at least 0."""
    if parse_finite(value, where) < 0:
        raise ValueError(f"{where} is {value!r:.60}: expected at least 0")
    return float(value)


def parse_text(value: Any, where: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError(f"{where} is {value!r:.60}: expected a text")
    return value


def parse_bool(value: Any, where: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{where} is {value!r:.60}: expected true or false")
    return value


def choice_parser(words: Any) -> Parser:
    """One of some words."""

    def check(value: Any, where: str) -> str:
        if value not in list(words):
            raise ValueError(f"{where} is {value!r:.60}: expected one of {', '.join(map(repr, words))}")
        return str(value)

    return check


def nullable_parser(check: Parser) -> Parser:
    """A value that passes the check, or null."""
    return lambda value, where: None if value is None else check(value, where)


def list_parser(check: Parser) -> Parser:
    """A list of values that pass the check, as a tuple."""

    def parse(value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError(f"{where} is {value!r:.60}: expected a list")
        return tuple(check(one, f"{where}[{i}]") for i, one in enumerate(value))

    return parse


def parse_any(value: Any, where: str) -> Any:
    """Whatever it is."""
    return value


def parse_integer(value: Any, where: str) -> int:
    """An integer of at least 0 that 64 bits can hold."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError(f"{where} is {value!r:.60}: expected an integer of at least 0")
    return value


def array_parser(*shape: int | None) -> Parser:
    """Nested lists of numbers as an array of a shape, None for any size; NaN and infinity are numbers.

    >>> array_parser(None, 2)([[1, 2.5]], "values")
    array([[1. , 2.5]])
    """

    def parse(value: Any, where: str) -> NDArray[np.float64]:
        try:
            array = np.array(value)
        except (ValueError, OverflowError, RecursionError):  # lists of several lengths
            array = np.array(None)
        alike = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
        if array.dtype.kind not in "if" or not alike:
            words = ", ".join("any" if size is None else str(size) for size in shape)
            raise ValueError(f"{where} is {value!r:.60}: expected numbers of shape ({words})")
        return array.astype(np.float64)

    return parse


def score_array_parser(*shape: int) -> Parser:
    """The same for a shape without None; null stands for NaN, and infinity is a string."""

    def parse_score(value: Any, where: str) -> float:
        return math.nan if value is None else parse_number(value, where)

    def parse_nested(value: Any, where: str, shape: tuple[int, ...]) -> Any:
        if not shape:
            return parse_score(value, where)
        if not isinstance(value, list) or len(value) != shape[0]:
            raise ValueError(f"{where} is {value!r:.60}: expected a list of {shape[0]}")
        return [parse_nested(one, f"{where}[{i}]", shape[1:]) for i, one in enumerate(value)]

    return lambda value, where: np.array(parse_nested(value, where, shape), np.float64).reshape(shape)


def dict_parser(check: Parser, names: Any = None) -> Parser:
    """An object of values that pass the check; if names are given, exactly with these names."""

    def parse(value: Any, where: str) -> dict[str, Any]:
        if names is not None:
            return read_fields(value, where, **dict.fromkeys(names, check))
        if not isinstance(value, dict):
            raise ValueError(f"{where} is {value!r:.60}: expected an object")
        return {name: check(one, f"{where}.{name:.60}") for name, one in value.items()}

    return parse
