"""Distances of vectors behind kernels, exact where points coincide, and the median that widths are taken from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import native
from ...align.distance_matrix import allocate_matrix, refuse_nonfinite, report_progress
from ...core.threads import check_n_jobs

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]

MAX_WIDTH_ITEMS = 1000  # items whose distances a median is taken of, drawn where there are more
_NEAR_RATIO = 1e-2  # of ‖x‖² + ‖y‖²: nearer pairs would lose more than two digits in ‖x‖² + ‖y‖² − 2⟨x, y⟩
_ONE_FRAME = native.Program()  # of two frames: the squared distance of the frames


def squared_distances(x: Floats, y: Floats | None) -> Floats:
    """‖x_i − y_j‖² of vectors (item, feature), taken of the differences.

    By the native engine, which computes each pair by itself: no entry depends on the other items in the batch.
    """
    first = _pack_vectors(x)
    second = first if y is None else _pack_vectors(y)
    found = allocate_matrix((len(x), len(second.lengths)), np.dtype(np.float64))
    with report_progress(None, "distances") as report:
        native.pairwise(
            _ONE_FRAME,
            first,
            second,
            symmetric=y is None,
            threads=check_n_jobs(None),
            out=found,
            report=report,
        )
    if found.size and not np.isfinite(found.max()):
        if not all(np.isfinite(side.values).all() for side in (first, second)):
            raise ValueError("vectors hold nan or infinity: expected finite numbers")
        refuse_nonfinite(found, ("X", "X" if y is None else "Y"))
    if found.size and not found.any() and not ((x == x[0]).all() and (y is None or (y == x[0]).all())):
        raise ValueError("items differ by less than 1e-154, whose square is 0: give them in another unit")
    return found


def _pack_vectors(vectors: Floats) -> native.PackedSequences:
    """Vectors (item, feature) as sequences of one frame each, as native distances take them."""
    values = np.ascontiguousarray(vectors, np.float64)
    return native.PackedSequences(values, np.arange(len(values), dtype=np.int64), np.ones(len(values), np.int64))


def squared_distances_tensor(x: Tensor, y: Tensor) -> Tensor:
    """The same with gradients: one product of matrices, and of the differences where points nearly coincide."""
    center = x.detach().mean(dim=0)
    here, there = x - center, y - center
    lengths = here.square().sum(1)[:, None] + there.square().sum(1)
    found = lengths - 2 * here @ there.T
    if not found.detach().isfinite().all():
        raise ValueError("items are too far apart for float64: give them in another unit")
    near = found.detach() < _NEAR_RATIO * lengths.detach()
    if not near.any():
        return found
    rows, columns = near.nonzero(as_tuple=True)
    exact = (x[rows] - y[columns]).square().sum(1)  # not of the centred ones, which were rounded
    return found.masked_fill(near, 0.0).index_put((rows, columns), exact)


def safe_sqrt(squared: Any) -> Any:
    """√ of an array or a tensor; the derivative at 0 is 0, the middle of those around it, and not infinite."""
    if isinstance(squared, np.ndarray):
        return np.sqrt(squared)
    positive = squared > 0
    return squared.where(positive, 1.0).sqrt().where(positive, 0.0)


def sample_width_items(n_items: int, rng: np.random.Generator | None) -> NDArray[np.int64] | slice:
    """The items whose distances a width is taken of: all, or as many as `MAX_WIDTH_ITEMS`, drawn."""
    if n_items <= MAX_WIDTH_ITEMS:
        return slice(None)
    drawn = np.random.default_rng(0) if rng is None else rng
    return np.sort(drawn.permutation(n_items)[:MAX_WIDTH_ITEMS])


def median_distance(distances: Floats) -> float:
    """The median of the distances between different items (item, item); their mean where it is 0, and 1 if that is 0.

    >>> median_distance(np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]]))
    3.0
    """
    between = distances[np.triu_indices(len(distances), 1)]
    if not between.size:
        return 1.0
    found = float(np.median(between))
    if found <= 0:  # half of the items, or more, are copies of each other
        found = float(between.mean())
    return found if found > 0 else 1.0
