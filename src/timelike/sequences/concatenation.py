"""`concat`: several collections as one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.validation import arrays
from .container import PER_ITEM_FIELDS, Sequences


def concat(parts: Iterable[Sequences]) -> Sequences:
    """All sequences of several collections, in order; metadata that only some of them have raise an error.

    >>> import timelike as tl
    >>> a = tl.Sequences([[1.0, 2.0]])
    >>> tl.concat([a, a]).lengths
    array([2, 2])
    """
    single = isinstance(parts, memoryview) or getattr(parts, "ndim", 1) == 0
    several: list[Any] = [parts] if single else list(parts)
    if not several:
        raise ValueError("parts is empty: expected at least one Sequences to concatenate")
    return concatenate(several, [f"parts[{i}]" for i in range(len(several))])


def concatenate(several: list[Sequences], part_names: list[str]) -> Sequences:
    """As `concat`, with other names for the parts in error messages."""
    first = several[0]
    for part, name in zip(several, part_names, strict=True):
        if not isinstance(part, Sequences):
            raise TypeError(f"{name} is a {type(part).__name__}: expected Sequences")
        if part.frame != first.frame or part.channel_names != first.channel_names:
            raise ValueError(
                f"{name} has frames {part.frame} named {part.channel_names}, {part_names[0]} {first.frame} named "
                f"{first.channel_names}: expected the same channels"
            )
    whole = Sequences.__new__(Sequences)
    values = arrays.make_read_only(np.concatenate([part.values for part in several]))
    whole._set_values(values, np.concatenate([part.lengths for part in several]))
    metadata = {
        name: _concatenate_entries([getattr(part, name) for part in several], name, part_names)
        for name in PER_ITEM_FIELDS
    }
    whole._set_metadata(**metadata, times=None, channel_names=first.channel_names)
    clock = _concatenate_entries([part.times for part in several], "times", part_names)
    whole._clock = None if clock is None else arrays.make_read_only(clock)
    whole._in_order = all(part._in_order for part in several)
    if whole._labels is not None and whole._labels.dtype.kind == "U":
        names = [name for part in several for name in part.class_names or ()]
        whole._class_names = tuple(dict.fromkeys(names))
    return whole


def _concatenate_entries(entries: list[NDArray[Any] | None], name: str, called: list[str]) -> NDArray[Any] | None:
    present = [entry for entry in entries if entry is not None]
    if not present:
        return None
    if len(present) < len(entries):
        missing = next(i for i, entry in enumerate(entries) if entry is None)
        raise ValueError(f"{called[missing]} has no {name} but others have: drop them with replace({name}=None)")
    if (
        len({entry.dtype.kind in "U" for entry in present}) > 1
        or len({entry.dtype.kind == "M" for entry in present}) > 1
    ):
        raise ValueError(f"{name} are of different kinds ({', '.join(sorted({str(e.dtype) for e in present}))})")
    return np.asarray(np.concatenate(present))
