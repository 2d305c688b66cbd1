"""Searching among candidates that something faster has found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


def checked_candidates(among: Any, n_asked: int, n_known: int, k: int) -> Ids:
    """Positions (query, candidate) in the collection, from these or from what another search has found."""
    given = np.asarray(getattr(among, "ids", among))
    if given.ndim != 2 or given.shape[0] != n_asked or given.shape[1] < 1 or given.dtype.kind not in "iu":
        raise ValueError(
            f"among has shape {given.shape} of {given.dtype}: expected (query, candidate), whole numbers that are "
            f"positions in X, for each of the {n_asked} queries"
        )
    wrong = np.argwhere((given < 0) | (given >= n_known))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ValueError(f"among[{row}, {column}] is {given[row, column]}: expected positions 0 to {n_known - 1} in X")
    twice = np.flatnonzero((np.diff(np.sort(given, axis=1), axis=1) == 0).any(axis=1))
    if len(twice):
        raise ValueError(f"among[{twice[0]}] names a position twice: expected each candidate of a query once")
    if k > given.shape[1]:
        raise ValueError(f"k={k}: among has only {given.shape[1]} candidates for a query")
    return given.astype(np.int64)


def nearest_among(chosen: Ids, distances: NDArray[Any], k: int) -> tuple[Ids, NDArray[Any]]:
    """The k nearest of the candidates and their distances, both (query, k); equal distances in the order of X.

    >>> nearest_among(np.array([[7, 2, 5]]), np.array([[1.0, 1.0, 0.5]]), 2)
    (array([[5, 2]]), array([[0.5, 1. ]]))
    """
    order = np.lexsort((chosen, distances), axis=1)[:, :k]
    return np.take_along_axis(chosen, order, axis=1), np.take_along_axis(distances, order, axis=1)
