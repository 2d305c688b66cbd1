"""`is_classifier` and `is_regressor`: whether a model predicts classes or numbers."""

from __future__ import annotations

from typing import Any


def is_classifier(model: Any) -> bool:
    """Whether a model predicts classes.

    >>> import timelike as tl
    >>> is_classifier(tl.Neighbors()), is_classifier(tl.NeighborsRegressor()), is_classifier(tl.DTW())
    (True, False, False)
    """
    from sklearn import base

    return hasattr(model, "predict") and base.is_classifier(model)


def is_regressor(model: Any) -> bool:
    """Whether a model predicts numbers.

    >>> import timelike as tl
    >>> is_regressor(tl.NeighborsRegressor()), is_regressor(tl.Neighbors()), is_regressor(tl.DTW())
    (True, False, False)
    """
    from sklearn import base

    return hasattr(model, "predict") and base.is_regressor(model)
