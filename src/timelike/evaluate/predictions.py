"""Validation of predictions: one class or finite number for each test sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.validation.arrays import validate_array


def validate_predictions(answer: Any, ids: NDArray[Any], *, is_regression: bool) -> NDArray[Any]:
    """What `predict` gave for the sequences called `ids`, as (item,); an error that names what is wrong with it.

    A column (item, 1), which many regressors give, is the same. Any other shape is an error, since NumPy would
    broadcast it against the truth.

    >>> validate_predictions([[1.0], [2.0]], np.array(["a", "b"]), is_regression=True)
    array([1., 2.])
    """
    given = validate_array(answer, "predict()") if is_regression else _to_label_array(answer)
    n = len(ids)
    if given.shape not in ((n,), (n, 1)):
        what = "number" if is_regression else "class"
        raise ValueError(f"predict() gave shape {given.shape} for {n} sequences: expected ({n},), one {what} each")
    return _check_finite(given.reshape(n).astype(np.float64), ids) if is_regression else given.reshape(n)


def _to_label_array(answer: Any) -> NDArray[Any]:
    """Classes as they came; an array of objects keeps numbers and text apart."""
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu().numpy()
    return np.asarray(answer)


def _check_finite(numbers: NDArray[np.float64], ids: NDArray[Any]) -> NDArray[np.float64]:
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        more = f", and {bad.size - 1} more are not finite" if bad.size > 1 else ""
        raise ValueError(f"predict() gave {numbers[bad[0]]} for sequence {ids[bad[0]]}{more}: expected finite numbers")
    return numbers
