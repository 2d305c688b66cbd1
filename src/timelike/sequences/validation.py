"""Conversion of input to validated `Sequences`: single sequences, collections, and the X and y of estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import format_value
from ..core.validation import arrays
from ..core.validation.arrays import count_axes
from ..core.validation.conversion import is_sparse
from ..core.validation.labels import validate_labels
from .container import Sequences

_SINGLE_START = arrays.read_only_view(np.zeros(1, np.int64))


def validate_estimator_input(X: Any) -> Any:
    """The input X of an estimator, read as scikit-learn reads it: also tables with one sequence per row."""
    if is_sparse(X):
        raise TypeError("X is a sparse matrix: expected Sequences or an array; a dense one is X.toarray()")
    if hasattr(X, "__array__") and not hasattr(X, "detach"):  # tensors, on any device, are converted later
        if not isinstance(X, np.ma.MaskedArray):  # masked entries are missing
            X = np.asarray(X)
        if X.ndim < 2 and X.dtype != object:
            raise ValueError(
                f"X has shape {X.shape}: expected 2D array (item, time) or more axes. Reshape your data using "
                "X.reshape(1, -1) if it is a single sequence"
            )
        if X.dtype.kind == "c":
            raise ValueError("X is complex. Complex data not supported: give real and imaginary part as channels")
    return X


def set_n_features_in(estimator: Any, sequences: Sequences) -> None:
    """Set `n_features_in_`, as scikit-learn does, if all sequences have the same length."""
    if sequences.has_equal_lengths:
        estimator.n_features_in_ = int(np.prod(sequences.shape[1:]))
    elif hasattr(estimator, "n_features_in_"):  # from an earlier fit
        del estimator.n_features_in_


def validate_targets(estimator: Any, sequences: Sequences, y: Any, what: str) -> NDArray[Any]:
    """The targets: y, or the labels that the sequences carry."""
    from sklearn.utils.validation import column_or_1d

    if y is None and sequences.labels is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None and X carries no labels: "
            f"give the {what} of every sequence"
        )
    labels = sequences.labels if y is None else column_or_1d(validate_labels(y, "y", what), warn=True)
    targets: NDArray[Any] = np.asarray(labels)
    if len(targets) != len(sequences):
        raise ValueError(
            f"y has shape {targets.shape} for {len(sequences)} sequences: expected one {what} each "
            "(inconsistent numbers of samples)"
        )
    return targets


def as_single_sequence(value: Any, name: str) -> Sequences:
    """A single sequence, (time,) or (time, *frame), validated, as a collection of one."""
    if isinstance(value, Sequences):
        if len(value) != 1:
            raise ValueError(f"{name} holds {len(value)} sequences: expected one; take it with {name}[i]")
        return value
    values = arrays.validate_sequence(value, name)
    sequences = _from_checked(values, np.array([len(values)]), _SINGLE_START)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        sequences._base_missing.append(
            False
        )  # one pass for both checks, since small sequences are compared by the million
        return sequences
    step = arrays.find_first_step(values, np.isinf)
    if step is not None:
        raise ValueError(f"{name} is infinite at time step {step}: expected finite values; nan means missing")
    return sequences


def as_sequences(value: Any, name: str) -> Sequences:
    """`Sequences` unchanged, other input validated and converted; errors name the argument `name`."""
    if isinstance(value, Sequences):
        return value
    values, lengths = arrays.pack_sequences(value, "ntc", name)
    sequences = _from_checked(values, lengths)
    arrays.refuse_inf(values, sequences._starts, name)
    return sequences


def validate_sequences(X: Any) -> Sequences:
    """The input X of an estimator as `Sequences`, also from the types that scikit-learn passes."""
    words = X.tolist() if isinstance(X, np.ndarray) and X.dtype.kind == "U" and X.ndim == 1 else X
    if isinstance(words, list) and len(words) and all(isinstance(one, str) for one in words):
        raise TypeError(
            f"X holds text, {format_value(words)}: expected sequences of numbers. These look like labels: are they "
            "swapped? The sequences X come first, then the labels y"
        )
    return X if isinstance(X, Sequences) else as_sequences(validate_estimator_input(X), "X")


def _from_checked(
    values: NDArray[Any], lengths: NDArray[np.int64], starts: NDArray[np.int64] | None = None
) -> Sequences:
    """`Sequences` of validated arrays, without metadata."""
    sequences = Sequences.__new__(Sequences)
    sequences._set_values(values, lengths, starts)
    sequences._labels = sequences._groups = sequences._ids = sequences._clock = sequences._class_names = (
        sequences.channel_names
    ) = None
    sequences._in_order = True
    return sequences


def as_one_or_many(value: Any, frame: tuple[int, ...], name: str) -> tuple[Sequences, bool]:
    """The sequences, and whether the input was a single one, which the number of axes tells if the frame is known.

    With one channel, a list of plain sequences is several; (time, 1) is one.

    >>> as_one_or_many([0.0, 1.0, 2.0], (1,), "x")[1], as_one_or_many([[0.0, 1.0], [2.0]], (1,), "x")[1]
    (True, False)
    """
    if isinstance(value, Sequences):
        return value, False
    if isinstance(value, list | tuple) and not value:
        raise ValueError(f"{name} is empty: expected at least one sequence")
    axes = count_axes(value)
    plain = frame == (1,) and axes == 2 and not all(np.size(step) == 1 for step in value)
    if axes > 1 + len(frame) or plain:
        return as_sequences(value, name), False
    return as_single_sequence(value, name), True
