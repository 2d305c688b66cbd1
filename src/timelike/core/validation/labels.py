"""Validation of labels: all numbers or all text, as one array."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..parameters import format_value
from .arrays import as_c_contiguous
from .conversion import from_torch


def validate_labels(values: Any, name: str, what: str) -> NDArray[Any]:
    """Labels as an array of numbers or of text; NumPy alone would turn a NaN among strings into the string 'nan'.

    >>> validate_labels(["up", "down"], "y", "class")
    array(['up', 'down'], dtype='<U4')
    """
    if hasattr(values, "detach"):
        values = from_torch(values, name)
    if isinstance(values, str | bytes) or not (hasattr(values, "__array__") or isinstance(values, Sequence)):
        kind = type(values).__name__
        raise TypeError(f"{name} is a {kind}: expected a list or an array with the {what} of every sequence")
    if np.ma.is_masked(values):
        raise ValueError(f"{name} is masked at some sequence: expected the {what} of every one; drop those without")
    try:
        labels = np.asarray(values)
    except ValueError:  # lists of different lengths, which are reported below
        labels = np.array(values, dtype=object)
    listed = isinstance(values, Sequence)  # NumPy may have converted its entries to text or floats
    if labels.dtype.kind not in "biufU" or (labels.dtype.kind in "Uf" and listed):
        entries = np.array(values, dtype=object)
        labels = _validate_entries(entries.ravel().tolist(), name, what).reshape(entries.shape)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        bad = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(f"{name}[{bad}] is {labels.flat[bad]} (NaN or infinity): expected finite numbers")
    return as_c_contiguous(labels)


def _validate_entries(entries: list[Any], name: str, what: str) -> NDArray[Any]:
    missing = next((i for i, entry in enumerate(entries) if _is_missing(entry)), None)
    if missing is not None:
        raise ValueError(
            f"{name}[{missing}] is {entries[missing]} (NaN or missing): expected the {what} of every sequence"
        )
    return as_homogeneous_array(entries, name)


def _is_missing(entry: Any) -> bool:
    """Whether an entry is None, NaN, or a missing value of pandas."""
    return entry is None or type(entry).__name__ in ("NAType", "NaTType") or (isinstance(entry, float) and isnan(entry))


def as_homogeneous_array(entries: Sequence[Any], name: str) -> NDArray[Any]:
    """Entries as an array of numbers or of text: NumPy would make 1 and "1" one class, and models store no dates."""
    if all(isinstance(entry, str) for entry in entries):
        return np.array(entries, dtype=str)
    for i, entry in enumerate(entries):
        if not isinstance(entry, str | int | float | np.integer | np.floating | np.bool_):
            raise TypeError(
                f"{name}[{i}] is {entry!r:.60} ({type(entry).__name__}): expected all numbers or all strings; write "
                "them as text"
            )
    odd = next((i for i, entry in enumerate(entries) if isinstance(entry, str) != isinstance(entries[0], str)), None)
    if odd is not None:
        raise TypeError(
            f"{name} mixes numbers and text, {name}[{odd}] is {format_value(entries[odd])} but {name}[0] is "
            f"{format_value(entries[0])}: expected all numbers or all strings; write the numbers as text"
        )
    return as_exact_numbers(entries, name)


def as_exact_numbers(entries: Sequence[Any], name: str) -> NDArray[Any]:
    """Numbers as an array that holds each exactly; NumPy alone turns 2**63 and 5 into floats, 2**70 into an object.

    >>> as_exact_numbers([2**63 + 1, 5], "labels").tolist() == [2**63 + 1, 5]
    True
    """
    array = np.array(entries)
    if array.dtype.kind not in "fO" or not all(isinstance(entry, int | np.integer) for entry in entries):
        return array
    large = next((i for i, entry in enumerate(entries) if not -(2**63) <= entry < 2**63), None)
    if large is None:
        return array
    if min(entries) < 0 or max(entries) >= 2**64:
        raise ValueError(
            f"{name}[{large}] is {format_value(int(entries[large]))}, which 64 bits do not hold together with the "
            "others: expected whole numbers from -2**63 to 2**63 - 1; write them as text"
        )
    return np.array(entries, np.uint64)
