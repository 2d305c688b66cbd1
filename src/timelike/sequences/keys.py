"""What `s[key]` and labels may be."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import check


def one_position(key: Any) -> int:
    """An array or tensor without axes that holds an integer."""
    if "bool" in str(getattr(key, "dtype", "")) or not hasattr(key, "__index__"):
        raise IndexError(
            f"sequences are indexed by a position, a slice, a mask or a list of positions, not {key!r:.80}"
        )
    try:
        return int(operator.index(key))
    except TypeError:
        raise IndexError(f"position {key!r:.80}: expected an integer") from None


def positions(key: Any, n_items: int) -> NDArray[np.int64]:
    index = check.from_torch(key, "positions") if hasattr(key, "detach") else np.asarray(key)
    if index.ndim != 1:
        raise IndexError(
            f"sequences are indexed by a position, a slice, a mask or a list of positions, not {key!r:.80}"
        )
    if index.dtype == bool:
        if len(index) != n_items:
            raise IndexError(f"the mask has {len(index)} entries for {n_items} sequences")
        return np.flatnonzero(index)
    if index.size == 0:
        return np.zeros(0, np.int64)
    if index.dtype.kind not in "iu":
        raise IndexError(f"positions have dtype {index.dtype}: expected integers or a mask")
    outside = index[(index < -n_items) | (index >= n_items)]
    if outside.size:
        raise IndexError(f"position {outside[0]} is out of range for {n_items} sequences")
    return index.astype(np.int64)


def vocabulary(
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
        return check.frozen(np.array(names, dtype=str)[labels]), names
    found = np.unique(labels).tolist()
    if names is None:
        return labels, tuple(found)
    strangers = sorted(set(found) - set(names))
    if strangers:
        raise ValueError(f"labels hold {strangers[0]!r}, which is not among class_names {names}")
    return labels, names
