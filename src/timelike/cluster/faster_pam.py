"""k medoids on a distance matrix: initial medoids, and swaps that improve them (FasterPAM)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

MedoidInit = Literal["k-medoids++", "random", "build"]


class MedoidResult(NamedTuple):
    """Positions of the medoids, the summed distance to the nearest medoid, and the number of passes."""

    medoids: NDArray[np.int64]
    inertia: float
    n_iter: int


def init_medoids(distances: NDArray[Any], k: int, init: Any, rng: np.random.RandomState) -> NDArray[np.int64]:
    """The positions of k different initial medoids."""
    n_items = len(distances)
    if isinstance(init, str):
        if init == "random":
            return np.asarray(rng.choice(n_items, k, replace=False))
        return (
            _build_medoids(distances, k)
            if init == "build"
            else sample_plusplus_centers(lambda i: distances[:, i], n_items, k, rng)
        )
    chosen = np.asarray(init)
    if chosen.shape != (k,) or chosen.dtype.kind not in "iu" or len(np.unique(chosen)) < k:
        raise ValueError(f"init={init!r:.80}: expected {k} different positions, one for each medoid")
    if chosen.min() < 0 or chosen.max() >= n_items:
        raise ValueError(f"init={init!r:.80}: expected positions from 0 to {n_items - 1}")
    return chosen.astype(np.int64)


def sample_plusplus_centers(
    distances_from: Callable[[int], NDArray[Any]], n_items: int, k: int, rng: np.random.RandomState
) -> NDArray[np.int64]:
    """k different positions, each drawn with probability proportional to its distance from those drawn before.

    This is k-means++ (Arthur and Vassilvitskii, 2007): DTW distances are already sums of squares.
    """
    chosen = [int(rng.randint(n_items))]
    nearest = distances_from(chosen[0]).astype(np.float64)
    while len(chosen) < k:
        chance = nearest.copy()
        chance[chosen] = 0
        if (chance < 0).any():
            raise ValueError(
                f"the metric gave the distance {chance.min():g}, and centres are drawn in proportion to distances: use "
                "init='random', or SoftDTW(divergence=True)"
            )
        if not chance.any():  # only copies are left: draw any of them
            chance[:] = 1
            chance[chosen] = 0
        chosen.append(int(rng.choice(n_items, p=chance / chance.sum())))
        nearest = np.minimum(nearest, distances_from(chosen[-1]))
    return np.array(chosen)


def _build_medoids(distances: NDArray[Any], k: int) -> NDArray[np.int64]:
    """BUILD of PAM: the best single medoid, then repeatedly the item that lowers the sum most."""
    chosen = [int(distances.sum(axis=0).argmin())]
    while len(chosen) < k:
        nearest = distances[:, chosen].min(axis=1)
        gain = np.maximum(nearest[:, None] - distances, 0).sum(axis=0)
        gain[chosen] = -1
        chosen.append(int(gain.argmax()))
    return np.array(chosen)


def swap_medoids(distances: NDArray[Any], medoids: NDArray[np.int64], max_iter: int) -> MedoidResult:
    """Swap a medoid with another item whenever that lowers the sum, until a full pass finds no improvement.

    The change from swapping medoid i with item j is, for all i at once (FastPAM1; Schubert and Rousseeuw, 2021),
    Σ_o min(d_oj − d_on, 0) + Σ_{o nearest to i} (d_os − d_on + min(max(d_oj, d_on) − d_os, 0)), with n the nearest
    medoid of o and s the second nearest.
    """
    distances = distances.astype(np.float64, copy=False)
    n_items, medoids, n_iter = len(distances), medoids.copy(), 0
    if len(medoids) == 1:
        sums = distances.sum(axis=0)
        return MedoidResult(np.array([sums.argmin()]), float(sums.min()), 1)
    if len(medoids) == n_items:
        return MedoidResult(np.arange(n_items), float(np.diag(distances).sum()), 1)
    nearest, near, second = _two_nearest(distances, medoids)
    idle, slack = 0, 1e-12 * float(near.sum())  # ignore gains within rounding, which could cycle forever
    for n_iter in range(1, max_iter + 1):
        for item in range(n_items):
            idle += 1
            if idle > n_items:
                return MedoidResult(medoids, float(near.sum()), n_iter)
            if item in medoids:
                continue
            here = distances[:, item]
            change = np.bincount(
                nearest, second - near + np.minimum(np.maximum(here, near) - second, 0), minlength=len(medoids)
            )
            worst = int(change.argmin())
            if change[worst] + np.minimum(here - near, 0).sum() < -slack:
                medoids[worst] = item
                nearest, near, second = _two_nearest(distances, medoids)
                idle = 0
    return MedoidResult(medoids, float(near.sum()), n_iter)


def _two_nearest(
    distances: NDArray[np.float64], medoids: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    to_medoids = distances[:, medoids]
    nearest = to_medoids.argmin(axis=1)
    two = np.partition(to_medoids, 1, axis=1)
    return nearest, two[:, 0], two[:, 1]
