"""Windows: every stretch of a size, each an item of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.parameters import store_parameters
from ..models import options
from ..sequences import Sequences
from .base import Preparation


class Windows(Preparation):
    """All stretches of `size` steps, every `step` steps: `Sequences.windows` as a step of a pipeline.

    More items come out than went in, and scikit-learn hands `y` on as it was. So this belongs before a step that needs
    no `y`: a clustering, an encoder that learns without labels. Windows carry the label and the group of their sequence
    (its number, where there are no groups), so `fit(X)` without `y` teaches a classifier too, which then answers for
    every window. With a `y` that does not fit, `fit_transform` is an error. For one answer for each sequence, and in
    cross-validation of labels, give the classifier to `timelike.neighbors.WindowedClassifier`.

    A sequence shorter than `size` gives no window.

    Parameters
    ----------
    size : int
        Time steps of a window.
    step : int
        Time steps from one window to the next.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.prepare.Windows(2, step=2).fit_transform([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0]]).groups
    array([0, 0, 1])
    """

    size = options.integer(1)
    step = options.integer(1)

    def __init__(self, size: int, *, step: int = 1) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {"size": 1, "step": 1000}  # one for each sequence, as many items as there were

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Sequences:
        """The windows of X; an error where y is given and there is not one window for each sequence."""
        made: Sequences = super().fit_transform(X, y, **fit_params)
        if y is not None:
            self._refuse_unequal_targets(self._validate_predict_input(X).lengths, len(made))
        return made

    def _refuse_unequal_targets(self, lengths: Any, n_windows: int) -> None:
        each = np.maximum(0, (lengths - self.size) // self.step + 1)
        if (each != 1).any():
            raise ValueError(
                f"y has one entry for each of {len(lengths)} sequences, and there are {n_windows} windows of "
                f"size={self.size}: leave y out (windows carry the labels of their sequences), or use "
                f"neighbors.WindowedClassifier(classifier, size={self.size}), which answers once for each sequence"
            )

    def _transform(self, sequences: Sequences) -> Sequences:
        return sequences.windows(self.size, self.step)
