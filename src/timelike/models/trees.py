"""Conversion of nested states to JSON and named arrays, and back, without pickle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

_ARRAY, _TUPLE, _ITEMS, _FLOAT, _TEXT = "__tensor__", "__tuple__", "__items__", "__float__", "__array__"
_SMALL_BYTES = 1 << 26  # bytes of text, below which it does not matter how much longer one string is than the others
Arrays = dict[str, Any]
Describer = Callable[[Any, str], Any]
Builder = Callable[[dict[str, Any]], Any]


def flatten(tree: Any, name: str, describe: Describer | None = None, into: Arrays | None = None) -> tuple[Any, Arrays]:
    """A JSON value and the arrays it refers to (NumPy or torch), each named by its path from `name`.

    `describe` may encode certain objects itself: it returns a dict for those, None for others. Arrays are added to
    `into`, if given.

    >>> flatten({"step": 3, "mean": np.zeros(2)}, "adam")
    ({'step': 3, 'mean': {'__tensor__': 'adam.mean'}}, {'adam.mean': array([0., 0.])})
    """
    arrays: Arrays = {} if into is None else into
    return _flatten(tree, name, arrays, describe or _describe_nothing), arrays


def unflatten(skeleton: Any, arrays: Arrays, build: Builder | None = None) -> Any:
    """The inverse of `flatten`; `build` receives every dict first, and may return an object for it.

    >>> unflatten(*flatten({1: (2.0, None), "far": math.inf}, "x"))
    {1: (2.0, None), 'far': inf}
    """
    if isinstance(skeleton, list):
        return [unflatten(entry, arrays, build) for entry in skeleton]
    if not isinstance(skeleton, dict):
        return skeleton
    if build is not None and (built := build(skeleton)) is not None:
        return built
    if _ARRAY in skeleton:
        return arrays[skeleton[_ARRAY]]
    if _TUPLE in skeleton:
        return tuple(unflatten(entry, arrays, build) for entry in skeleton[_TUPLE])
    if _ITEMS in skeleton:
        return {key: unflatten(value, arrays, build) for key, value in skeleton[_ITEMS]}
    if _FLOAT in skeleton:
        return float(skeleton[_FLOAT])
    if _TEXT in skeleton:
        return text_array(skeleton[_TEXT], skeleton["dtype"])
    return {key: unflatten(value, arrays, build) for key, value in skeleton.items()}


def text_array(entries: Any, dtype: str) -> np.ndarray[Any, Any]:
    """An array of text from words that were written out, refused where it would be far larger than they are."""
    kind = np.dtype(dtype)
    if kind.kind != "U":
        raise ValueError(f"an array of dtype {dtype!r} is not among what save() writes")
    letters = _string_lengths(entries)
    if kind.itemsize * len(letters) > max(_SMALL_BYTES, 100 * sum(letters)):
        raise ValueError(f"an array of {len(letters)} strings of dtype {dtype!r} is larger than what save() writes")
    return np.array(entries, kind)


def _string_lengths(entries: Any) -> list[int]:
    """How long every string in nested lists is."""
    if isinstance(entries, str):
        return [len(entries)]
    if not isinstance(entries, list):
        raise ValueError(f"{entries!r:.40} stands among strings")
    return [length for entry in entries for length in _string_lengths(entry)]


def _describe_nothing(tree: Any, name: str) -> None:
    """Nothing is known in a special way."""


def _flatten(tree: Any, name: str, arrays: Arrays, describe: Describer) -> Any:
    if (words := describe(tree, name)) is not None:
        return words
    if isinstance(tree, np.ndarray) and tree.dtype.kind == "U":  # safetensors has no text
        return {_TEXT: tree.tolist(), "dtype": tree.dtype.str}
    if hasattr(tree, "detach") or (isinstance(tree, np.ndarray) and tree.dtype.kind in "biuf" and tree.itemsize <= 8):
        called = _unused_name(name, arrays)
        arrays[called] = tree
        return {_ARRAY: called}
    if isinstance(tree, np.generic):
        tree = tree.item()
    if isinstance(tree, float) and not math.isfinite(tree):
        return {_FLOAT: str(tree)}  # JSON has no word for it
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    if isinstance(tree, list | tuple):
        entries = [_flatten(entry, f"{name}.{i}", arrays, describe) for i, entry in enumerate(tree)]
        return entries if isinstance(tree, list) else {_TUPLE: entries}
    if isinstance(tree, dict) and all(isinstance(key, str | int) for key in tree):
        items = {key: _flatten(value, f"{name}.{key}", arrays, describe) for key, value in tree.items()}
        plain = all(isinstance(key, str) and not key.startswith("__") for key in items) and "method" not in items
        return items if plain else {_ITEMS: [[key, value] for key, value in items.items()]}
    raise TypeError(
        f"{name} is a {type(tree).__name__}, which no file can hold: expected numbers, strings, None, arrays, "
        "and lists, tuples or dicts of these"
    )


def _unused_name(name: str, arrays: Arrays) -> str:
    """A key may hold a dot, so two paths may read the same."""
    called = name
    while called in arrays:
        called += "'"
    return called


def strip_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin with `prefix.`, without it."""
    start = f"{prefix}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def add_prefix(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays with `prefix.` before their names."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}
