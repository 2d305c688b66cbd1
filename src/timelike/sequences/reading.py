"""What an estimator is given, as sequences: also what scikit-learn hands around."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from . import Sequences, as_sequences


def read(X: Any) -> Sequences:
    """Sequences, or what they can be made from: lists, arrays, tables with one sequence in each row."""
    if isinstance(X, Sequences):
        return X
    if issparse(X):
        raise TypeError("X is a sparse matrix: expected Sequences or an array; a dense one is X.toarray()")
    if hasattr(X, "__array__") and not hasattr(X, "detach"):  # a tensor finds its own way, from any device
        X = np.asarray(X)
        if X.ndim < 2 and X.dtype != object:
            raise ValueError(
                f"X has shape {X.shape}: expected 2D array (item, time) or more axes. Reshape your data using "
                "X.reshape(1, -1) if it is a single sequence"
            )
        if X.dtype.kind == "c":
            raise ValueError("X is complex. Complex data not supported: give real and imaginary part as channels")
    return as_sequences(X, "X")
