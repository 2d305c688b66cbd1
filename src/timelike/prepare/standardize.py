"""Standardize: every channel to mean 0 and deviation 1, by the training part."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import store_parameters
from ..models import options, schema
from ..sequences import Sequences
from ..sequences.transforms import Statistics
from .base import Preparation

Per = Literal["collection", "sequence"]


class Standardize(Preparation):
    """Every channel to mean 0 and standard deviation 1: (x − mean) / std; a constant channel becomes 0.

    `fit` takes mean and deviation from the training part, `transform` applies them to anything, so that in
    cross-validation nothing of a fold that is held out is known beforehand. With `per="sequence"` every sequence is
    scaled by itself (z-normalisation): then level and scale are no sign of a class, and nothing is learned.

    Parameters
    ----------
    per : {"collection", "sequence"}
        Scale all sequences alike, or each by itself.

    Examples
    --------
    >>> import timelike as tl
    >>> scale = tl.prepare.Standardize().fit([[0.0, 2.0]])
    >>> scale.transform([[3.0]])[0]
    array([[2.]])
    >>> scale.inverse_transform([[2.0]])[0]
    array([[3.]])
    """

    per = options.choice(*get_args(Per))

    mean_: NDArray[np.float64] | None = schema.nullable(schema.array("*frame"))
    """Of every channel of the training part, (*frame); None with `per="sequence"`."""
    std_: NDArray[np.float64] | None = schema.nullable(schema.array("*frame", least=0))

    def __init__(self, *, per: Per = "collection") -> None:
        store_parameters(self, locals())

    def _fit(self, sequences: Sequences) -> None:
        alike = self.per == "collection"
        self.mean_, self.std_ = sequences.statistics() if alike else (None, None)

    def _transform(self, sequences: Sequences) -> Sequences:
        if self.mean_ is None or self.std_ is None:
            return sequences.standardize(per="sequence")
        return sequences.standardize(Statistics(self.mean_, self.std_))

    def inverse_transform(self, X: Any) -> Sequences:
        """Back to the scale of the training part: x · std + mean."""
        sequences = self._validate_predict_input(X)
        if self.mean_ is None or self.std_ is None:
            raise ValueError(
                'per="sequence" forgets the level and scale of each sequence: there is no way back; use '
                'per="collection"'
            )
        unit = np.where(self.std_ > 0, self.std_, 1)
        return sequences.standardize(Statistics(-self.mean_ / unit, 1 / unit))
