"""Labels, groups and ids of sequences, and the names of their classes and channels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import format_value
from ..core.validation.arrays import as_c_contiguous, make_read_only, read_only_view
from ..core.validation.conversion import from_torch
from ..core.validation.labels import as_homogeneous_array


def validate_per_item(value: Any, name: str, n_items: int) -> NDArray[Any] | None:
    """One entry per sequence: numbers or strings, copied and made read-only."""
    if value is None:
        return None
    if hasattr(value, "detach"):
        value = from_torch(value, name)
    if np.ma.is_masked(value):
        raise ValueError(f"{name} is masked at some sequence: expected an entry for every one; drop those without")
    entries = value if isinstance(value, list | tuple) else None
    array = np.array(value)
    if array.ndim != 1 or len(array) != n_items:
        raise ValueError(f"{name} has shape {array.shape} for {n_items} sequences: expected one entry per sequence")
    if array.dtype.kind in "OT" or (array.dtype.kind in "Uf" and entries is not None):
        # NumPy turns [1, "1"] into strings and [2**63, 5] into floats, so the list itself is checked
        array = as_homogeneous_array(array.tolist() if entries is None else entries, name)
    if array.dtype.kind not in "biufU":
        raise TypeError(f"{name} has dtype {array.dtype}: expected numbers or strings")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name}[{bad}] is {array[bad]}: expected finite numbers; drop the sequences without one")
    return make_read_only(as_c_contiguous(array))


def validate_names(value: Any, name: str, expected: int | None = None) -> tuple[str, ...] | None:
    """A tuple of distinct names."""
    if value is None:
        return None
    if isinstance(value, str):
        raise TypeError(f"{name} is the string {format_value(value)}: expected a list of names")
    if isinstance(value, bytes | memoryview):
        raise TypeError(f"{name} is a {type(value).__name__}: expected a list of names")
    result = tuple(str(entry) for entry in value)
    if expected is not None and len(result) != expected:
        raise ValueError(f"{name} has {len(result)} names for {expected} channels")
    if len(set(result)) != len(result):
        twice = next(entry for entry in result if result.count(entry) > 1)
        raise ValueError(f"{name} holds {format_value(twice)} twice: expected distinct names")
    return result


def resolve_classes(
    labels: NDArray[Any] | None, names: tuple[str, ...] | None
) -> tuple[NDArray[Any] | None, tuple[str, ...] | None]:
    """String labels and the classes they come from; integer codes are replaced by the names they stand for."""
    if labels is None:
        if names is not None:
            raise ValueError("class_names is given without labels: give labels (names, or positions in class_names)")
        return None, None
    if labels.dtype.kind != "U":
        if names is None:
            return labels, None
        if labels.dtype.kind not in "iu" or labels.min(initial=0) < 0 or labels.max(initial=0) >= len(names):
            raise ValueError(
                f"labels run from {labels.min()} to {labels.max()} for {len(names)} class_names: "
                f"expected integers 0 to {len(names) - 1}, or the names themselves"
            )
        return read_only_view(np.array(names, dtype=str)[labels]), names
    present = np.unique(labels).tolist()
    if names is None:
        return labels, tuple(present)
    strangers = sorted(set(present) - set(names))
    if strangers:
        raise ValueError(
            f"labels hold {format_value(strangers[0])}, which is not among class_names {format_value(names)}"
        )
    return labels, names


def encode_labels(labels: NDArray[Any], names: tuple[str, ...] | None) -> NDArray[np.int64]:
    """Labels as integers: positions in the class names, or ranks if there are no names."""
    if names is None:
        return make_read_only(np.unique(labels, return_inverse=True)[1].astype(np.int64))
    order = np.argsort(names)
    return make_read_only(order[np.searchsorted(np.array(names)[order], labels)].astype(np.int64))
