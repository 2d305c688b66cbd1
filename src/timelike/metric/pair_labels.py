"""Pairs of positions in a collection, and whether the two are alike: what `fit_pairs` is given, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import format_value
from ..core.validation.conversion import from_torch


def validate_pair_labels(pairs: Any, same: Any, count: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Positions (pair, 2) in a collection of so many, and for each pair whether it is alike."""
    try:
        given, alike = (
            from_torch(side, name) if hasattr(side, "detach") else np.asarray(side)
            for side, name in ((pairs, "pairs"), (same, "same"))
        )
    except ValueError as error:
        raise ValueError(f"pairs and same are no (pair, 2) positions in X and a True or False each: {error}") from None
    if given.size == 0:
        raise ValueError("pairs is empty: expected (pair, 2), two positions in X for each of some pairs")
    if given.ndim != 2 or given.shape[1] != 2:
        raise ValueError(f"pairs has shape {given.shape}: expected (pair, 2), two positions in X each")
    if given.dtype.kind not in "iu":
        raise TypeError(f"pairs has dtype {given.dtype}: expected whole numbers, two positions in X each")
    if given.min() < 0 or given.max() >= count:
        at = int(np.flatnonzero((given < 0).any(1) | (given >= count).any(1))[0])
        raise ValueError(f"pairs[{at}] is {given[at].tolist()}: expected positions 0 to {count - 1} in X")
    if alike.shape != (len(given),):
        raise ValueError(f"same has shape {alike.shape}: expected True or False for each of the {len(given)} pairs")
    odd = np.flatnonzero(~np.isin(alike, (0, 1)))
    if len(odd):
        raise ValueError(
            f"same[{odd[0]}] is {format_value(alike.tolist()[odd[0]])}: expected True (or 1) or False (or 0)"
        )
    if alike.all() or not alike.any():
        raise ValueError("same is the same for all pairs: expected some that are alike and some that are not")
    return given.astype(np.int64), alike.astype(bool)
