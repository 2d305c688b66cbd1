"""Classification scored: which answers are right, and their share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sequences.doors import read_labels


def correct(truth: Any, answer: Any) -> NDArray[np.bool_]:
    """Whether each answer is the class it should be.

    Parameters
    ----------
    truth, answer : array (item,)
        Numbers or text, the same in both.

    Examples
    --------
    >>> correct(["a", "b", "b"], ["a", "a", "b"])
    array([ True, False,  True])
    """
    known, given = (read_labels(side, name, "class") for side, name in ((truth, "truth"), (answer, "answer")))
    if known.ndim != 1 or known.shape != given.shape or not len(known):
        raise ValueError(
            f"truth has shape {known.shape} and answer {given.shape}: expected (item,) in both, as many, and not none"
        )
    if (known.dtype.kind == "U") != (given.dtype.kind == "U"):  # as text, 0 would be right where "0" is
        raise TypeError(
            f"truth and answer mix numbers and text, {known.tolist()[0]!r} and {given.tolist()[0]!r}: expected the "
            "same kind in both"
        )
    return np.asarray(known == given)


def accuracy(truth: Any, answer: Any) -> float:
    """The share of answers that are right.

    Parameters are those of `correct`.

    Examples
    --------
    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    return float(correct(truth, answer).mean())
