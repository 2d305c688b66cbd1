"""`Euclidean`: the distance step by step, without any warping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sequences import Sequences
from .alignment import Alignment
from .base import Aligner
from .distance_matrix import ProgressCallback
from .dtw import DTW
from .gallery import Matches

_DIAGONAL = DTW(window=0, root=True)


@dataclass(frozen=True, kw_only=True, repr=False)
class Euclidean(Aligner):
    """The Euclidean distance, step by step: √Σ ‖x_i − y_i‖². The sequences need equal lengths.

    >>> import timelike as tl
    >>> tl.Euclidean().distance([0.0, 0.0], [3.0, 4.0])
    5.0
    """

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        _refuse_unequal_lengths(x, x if y is None else y)
        _DIAGONAL._fill_matrix(x, y, out, threads, report)

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        _refuse_unequal_lengths(x, y)
        return _DIAGONAL._align(x, y)

    def _search_nearest(
        self, queries: Sequences, references: Sequences, k: int, threads: int, report: ProgressCallback
    ) -> Matches | None:
        _refuse_unequal_lengths(queries, references)
        return _DIAGONAL._search_nearest(queries, references, k, threads, report)


def _refuse_unequal_lengths(x: Sequences, y: Sequences) -> None:
    lengths = np.unique(np.concatenate([x.lengths, y.lengths]))
    if len(lengths) > 1:
        raise ValueError(
            f"Euclidean compares step by step but lengths {lengths[0]} and {lengths[-1]} differ: resample(length=...) "
            "first, or use an elastic distance such as DTW"
        )
