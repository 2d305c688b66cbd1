"""The validation split: random sequences, whole groups, or the same fraction of every class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sequences import Sequences

_MIN_SEQUENCES = 20  # fewer are all used for training
_MIN_MEMBERS = 4  # members a class must have before some are held out


def split_validation(
    sequences: Sequences, share: float | None, rng: np.random.Generator
) -> tuple[Sequences, Sequences] | None:
    """Training sequences and the fraction `share` held out for validation; None if there are too few to hold any out.

    >>> learned, held_out = split_validation(Sequences(np.zeros((20, 3))), 0.1, np.random.default_rng(0))
    >>> len(learned), len(held_out)
    (18, 2)
    """
    if not share or len(sequences) < _MIN_SEQUENCES:
        return None
    order = rng.permutation(len(sequences))
    count = min(max(1, round(share * len(sequences))), len(sequences) - 1)
    return sequences[np.sort(order[count:])], sequences[np.sort(order[:count])]


def sample_class_validation(
    groups: NDArray[Any] | None, classes: NDArray[np.int64], share: float, rng: np.random.Generator, min_kept: int = 2
) -> NDArray[np.int64]:
    """Positions of about the fraction `share`: whole groups, unless that would take too much of a class.

    Every class keeps `min_kept` members for training, or all if it has fewer.

    >>> sample_class_validation(None, np.repeat([0, 1], 5), 0.2, np.random.default_rng(0)).shape
    (2,)
    """
    if share == 0:
        return np.empty(0, np.int64)
    if groups is not None and len(np.unique(groups)) > 1:
        positions = _choose_groups(np.unique(groups, return_inverse=True)[1], classes, share, rng)
        left = np.bincount(np.delete(classes, positions), minlength=int(classes.max()) + 1)
        if (left >= np.minimum(np.bincount(classes), min_kept)).all():
            return positions
    return _stratified_positions(classes, share, rng, min_kept)


def _choose_groups(
    groups: NDArray[np.int64], classes: NDArray[np.int64], share: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Positions of whole groups, stratified by class if every class is in several groups."""
    in_several = all(len(np.unique(groups[classes == kind])) > 1 for kind in np.unique(classes))
    places = Sequences(np.zeros((len(groups), 1)), groups=groups, ids=np.arange(len(groups)))
    held_out = places.split(share, stratify=classes if in_several else False, random_state=rng)[1]
    return np.asarray(held_out.ids, np.int64)


def _stratified_positions(
    classes: NDArray[np.int64], share: float, rng: np.random.Generator, min_kept: int
) -> NDArray[np.int64]:
    """Positions of the same fraction of every class with enough members; at least `min_kept` of each stay."""
    positions = [np.empty(0, np.int64)]
    for members in (np.flatnonzero(classes == kind) for kind in np.unique(classes)):
        if len(members) >= max(_MIN_MEMBERS, min_kept + 1):
            size = min(max(1, round(share * len(members))), len(members) - min_kept)
            positions.append(rng.permutation(members)[:size])
    return np.sort(np.concatenate(positions))
