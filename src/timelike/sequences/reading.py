"""What an estimator is given, as sequences: also what scikit-learn hands around."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from . import Sequences, as_sequences, check


def read(X: Any) -> Sequences:
    """Sequences, or what they can be made from: lists, arrays, tables with one sequence in each row."""
    if isinstance(X, Sequences):
        return X
    if issparse(X):
        raise TypeError("X is a sparse matrix: expected Sequences or an array; a dense one is X.toarray()")
    if hasattr(X, "__array__") and not hasattr(X, "detach"):  # a tensor finds its own way, from any device
        if not isinstance(X, np.ma.MaskedArray):  # whose masked entries are missing, not what lies below the mask
            X = np.asarray(X)
        if X.ndim < 2 and X.dtype != object:
            raise ValueError(
                f"X has shape {X.shape}: expected 2D array (item, time) or more axes. Reshape your data using "
                "X.reshape(1, -1) if it is a single sequence"
            )
        if X.dtype.kind == "c":
            raise ValueError("X is complex. Complex data not supported: give real and imaginary part as channels")
    return as_sequences(X, "X")


def keep_size(estimator: Any, sequences: Sequences) -> None:
    """Note how many numbers a sequence has, if all have as many, as scikit-learn does."""
    if sequences.equal_length:
        estimator.n_features_in_ = int(np.prod(sequences.shape[1:]))
    elif hasattr(estimator, "n_features_in_"):  # from an earlier fit
        del estimator.n_features_in_


def read_targets(estimator: Any, sequences: Sequences, y: Any, what: str) -> NDArray[Any]:
    """What is known about each sequence: y, or the labels that the sequences carry."""
    from sklearn.utils.validation import column_or_1d

    if y is None and sequences.labels is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None and X carries no labels: "
            f"give the {what} of every sequence"
        )
    given = sequences.labels if y is None else column_or_1d(read_labels(y, "y", what), warn=True)
    targets: NDArray[Any] = np.asarray(given)
    if len(targets) != len(sequences):
        raise ValueError(
            f"y has shape {targets.shape} for {len(sequences)} sequences: expected one {what} each "
            "(inconsistent numbers of samples)"
        )
    return targets


def read_labels(values: Any, name: str, what: str) -> NDArray[Any]:
    """All numbers or all text, as they were given: NumPy alone would make the word 'nan' of a NaN among words.

    >>> read_labels(["up", "down"], "y", "class")
    array(['up', 'down'], dtype='<U4')
    """
    if hasattr(values, "detach"):
        values = check.from_torch(values, name)
    if isinstance(values, str | bytes) or not (hasattr(values, "__array__") or isinstance(values, Sequence)):
        kind = type(values).__name__
        raise TypeError(f"{name} is a {kind}: expected a list or an array with the {what} of every sequence")
    if np.ma.is_masked(values):
        raise ValueError(f"{name} is masked at some sequence: expected the {what} of every one; drop those without")
    try:
        labels = np.asarray(values)
    except ValueError:  # lists of different lengths, of which the first is named below
        labels = np.array(values, dtype=object)
    if labels.dtype.kind not in "biufU" or (labels.dtype.kind == "U" and isinstance(values, Sequence)):
        entries = np.array(values, dtype=object)
        labels = _of_one_kind(entries.ravel().tolist(), name, what).reshape(entries.shape)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        bad = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(f"{name}[{bad}] is {labels.flat[bad]} (NaN or infinity): expected finite numbers")
    return labels


def _of_one_kind(entries: list[Any], name: str, what: str) -> NDArray[Any]:
    missing = next((i for i, entry in enumerate(entries) if _is_missing(entry)), None)
    if missing is not None:
        raise ValueError(
            f"{name}[{missing}] is {entries[missing]} (NaN or missing): expected the {what} of every sequence"
        )
    return check.of_one_kind(entries, name)


def _is_missing(entry: Any) -> bool:
    """None, NaN, or what pandas has for it."""
    return entry is None or type(entry).__name__ in ("NAType", "NaTType") or (isinstance(entry, float) and isnan(entry))
