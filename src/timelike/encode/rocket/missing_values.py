"""Missing values filled in with the last one that is known of their channel, which needs no future."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences


def forward_fill(sequences: Sequences, default: NDArray[Any]) -> Sequences:
    """Every missing value is the last known of its channel, or that of the frame `default` before the first.

    >>> import timelike as tl
    >>> forward_fill(tl.Sequences([[np.nan, 1.0, np.nan], [np.nan, 5.0]]), np.array([2.0])).values.ravel()
    array([2., 1., 1., 2., 5.])
    """
    if not sequences.has_missing:
        return sequences
    values = sequences.values
    starts = (sequences.lengths.cumsum() - sequences.lengths).repeat(sequences.lengths)
    along = [-1] + [1] * (values.ndim - 1)
    steps = np.arange(len(values)).reshape(along)
    last = np.maximum.accumulate(np.where(np.isnan(values), -1, steps), axis=0)
    known = np.take_along_axis(values, np.maximum(last, 0), axis=0)
    return sequences._with_values(np.where(last >= starts.reshape(along), known, default).astype(values.dtype))
