"""Checks of option values (numbers, flags, choices, folders), and their formatting in error messages.

Every `check_*` returns the value in its plain Python type, or raises an error that names the option.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import files

MAX_NAME_BYTES = 255  # of a file or a folder
_MAX_PATH_LENGTH = 4000  # characters of a path
INT64_MAX = 2**63 - 1
_FLOAT_MAX = sys.float_info.max


def check_int(value: Any, name: str, least: float = -math.inf, most: float = INT64_MAX) -> int:
    """An integer from `least` to `most`, by default the largest that an array or a compiled routine can hold."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}={format_value(value)}: expected an integer")
    if value < least:
        raise ValueError(f"{name}={_format_number(value)}: expected at least {least}")
    if value > most:
        raise ValueError(f"{name}={_format_number(value)}: expected at most {most}")
    return int(value)


def check_float(
    value: Any, name: str, least: float = -math.inf, most: float = math.inf, *, above: float = -math.inf
) -> float:
    """A finite number between `least` and `most`, and greater than `above`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name}={format_value(value)}: expected a number")
    if isinstance(value, np.floating):
        value = float(value)  # a comparison in single precision would overflow
    if not (max(least, -_FLOAT_MAX) <= value <= min(most, _FLOAT_MAX) and value > above):
        bounds = [
            f"{word} {bound}"
            for word, bound in (("at least", least), ("greater than", above), ("at most", most))
            if math.isfinite(bound)
        ]
        raise ValueError(f"{name}={_format_number(value)}: expected a finite number {' and '.join(bounds)}".rstrip())
    return float(value)


def check_range(value: Any, name: str, least: float = -math.inf, *, above: float = -math.inf) -> tuple[float, float]:
    """A range `(low, high)`; a single number means `(number, number)`."""
    low, high = value if isinstance(value, tuple | list) and len(value) == 2 else (value, value)
    low, high = (check_float(bound, name, least, above=above) for bound in (low, high))
    if low > high:
        raise ValueError(f"{name}={value}: expected (low, high) with low at most high")
    return low, high


def check_bool(value: Any, name: str) -> bool:
    """True or False; anything else, such as the string "no", raises an error."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={format_value(value)}: expected True or False")
    return bool(value)


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """One of the strings in `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={format_value(value)}: expected one of {', '.join(map(repr, choices))}")
    return str(value)


def check_length(value: Any, name: str) -> int | str:
    """A number of time steps, or "mean" for the mean length of the sequences.

    >>> check_length(30, "length"), check_length("mean", "length")
    (30, 'mean')
    """
    if not isinstance(value, str):
        return check_int(value, name, 1)
    if value != "mean":
        raise ValueError(f'{name}={format_value(value)}: expected a number of steps, or "mean" for the mean length')
    return value


def check_folder(value: Any, name: str) -> Path:
    """The path of a folder; an empty string, which would be the current one, raises an error."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name}={format_value(value)}: expected the path of a folder")
    path = os.fspath(value)
    if not path:
        raise ValueError(f"{name}={format_value(value)}: expected the path of a folder; the current one is '.'")
    if not isinstance(path, str):
        raise TypeError(f"{name}={value!r:.60}: expected the path of a folder as text")
    if "\0" in path or is_path_too_long(path):
        raise ValueError(f"{name}={path[:40]!r}…, {len(path)} characters: expected the path of a folder")
    return Path(path)


def is_path_too_long(path: str) -> bool:
    """Whether a path, or a name in it, is longer than operating systems accept.

    >>> is_path_too_long("x" * 256), is_path_too_long("x/" * 256)
    (True, False)
    """
    parts = path.replace(os.sep, "/").split("/")
    return len(path) > _MAX_PATH_LENGTH or max(len(os.fsencode(part)) for part in parts) > MAX_NAME_BYTES


def make_folder_for_option(path: Path, name: str) -> None:
    """Create the folder of the option `name`; its parent must exist."""
    try:
        files.make_folder(path)
    except OSError as error:
        if error.errno is None:  # raised by make_folder: the folder above is missing
            raise FileNotFoundError(f"{name}={str(path)!r}: {error}") from None
        raise OSError(
            f"{name}={str(path)!r}: no folder can be made there ({error.strerror}); give one in a place that can be "
            "written to"
        ) from None


def format_value(value: Any, most: int = 60) -> str:
    """A value as error messages show it: its repr, cut in the middle if it is long.

    >>> format_value("walk"), format_value("x" * 100, 12)
    ("'walk'", "'xxxx…xxxxx'")
    """
    if isinstance(value, str) and len(value) > 4 * most:
        value = value[: 2 * most] + value[-2 * most :]  # the repr of a megabyte is slow
    text = repr(value)
    return text if len(text) <= most else f"{text[: most // 2 - 1]}…{text[-(most // 2) :]}"


def _format_number(value: Any) -> str:
    """A number as error messages show it: Python refuses to print integers of thousands of digits.

    >>> _format_number(0.5), _format_number(10**9), _format_number(10**9999)
    ('0.5', '1000000000', 'an integer of 33216 bits')
    """
    large = isinstance(value, int) and value.bit_length() > 256
    return f"an integer of {value.bit_length()} bits" if large else f"{value}"


def format_count(count: int, word: str) -> str:
    """A number with its noun, in the plural unless it is 1.

    >>> format_count(1, "step"), format_count(0, "step"), format_count(12, "time step")
    ('1 step', '0 steps', '12 time steps')
    """
    return f"{count} {word}" + ("" if count == 1 else "s")


def store_parameters(owner: object, arguments: Mapping[str, Any]) -> None:
    """Store the arguments of a constructor, its `locals()`, as attributes, as scikit-learn requires.

    >>> class Point:
    ...     def __init__(self, *, x=0, y=1):
    ...         store_parameters(self, locals())
    >>> vars(Point(x=5))
    {'x': 5, 'y': 1}
    """
    for name, value in arguments.items():
        if name not in ("self", "__class__"):
            setattr(owner, name, value)
