"""Scores of novelty detection among known classes: AUROC, FPR@95, open-set curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_float
from ..core.validation.arrays import validate_array
from ..plotting import classification as drawing
from .verification import VerificationErrors, verification_errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


def novelty_errors(known: Any, unknown: Any) -> VerificationErrors:
    """The shares of unknown items accepted and known items rejected, for every threshold of the novelty.

    Parameters
    ----------
    known, unknown : array (item,)
        The novelty of items of known classes, and of other items; higher means more novel.

    Examples
    --------
    >>> errors = novelty_errors([0.1, 0.2, 0.3], [0.25, 0.9])
    >>> round(errors.equal_error_rate, 4), errors.threshold(false_accept=0.0)
    (0.3333, 0.2)
    """
    known, unknown = _validate_novelty(known, "known"), _validate_novelty(unknown, "unknown")
    is_known = np.arange(len(known) + len(unknown)) < len(known)
    return verification_errors(np.concatenate([known, unknown]), is_known)


def novelty_auroc(known: Any, unknown: Any) -> float:
    """The area under the ROC curve: the probability that an unknown item has more novelty than a known one, ties half.

    It does not matter which of the two is the positive class. Parameters are those of `novelty_errors`.

    Examples
    --------
    >>> round(novelty_auroc([0.1, 0.2, 0.3], [0.25, 0.9]), 4)
    0.8333
    """
    return novelty_errors(known, unknown).area


def unknown_accept_rate(known: Any, unknown: Any, *, share: float = 0.95) -> float:
    """The share of unknown items accepted when a given share of the known ones is: FPR@95.

    *Known* is positive: a true positive is a known item that is accepted, a false positive an unknown one (Liang, Li
    and Srikant, "Enhancing the reliability of out-of-distribution image detection", 2018). The threshold is the
    smallest at which at least that share of known items is accepted; items at the threshold are accepted.
    Parameters are those of `novelty_errors`.

    Examples
    --------
    >>> unknown_accept_rate([0.1, 0.2, 0.3], [0.25, 0.9])
    0.5
    """
    errors = novelty_errors(known, unknown)
    share = check_float(share, "share", 0.0, 1.0)
    enough = 1 - errors.false_rejects >= share - 1e-12  # so that rounding does not make 19 of 20 less than 95 %
    return float(errors.false_accepts[np.flatnonzero(enough)[0]])


@dataclass(frozen=True)
class OpenSetCurve:
    """The shares of known items accepted *and* classified correctly, and of unknown ones accepted, by threshold."""

    thresholds: Floats
    recognized: Floats
    false_accepts: Floats

    @property
    def area(self) -> float:
        """The area under the curve (OSCR): at most the accuracy among known items."""
        return float(np.trapezoid(self.recognized, self.false_accepts))

    def recognition_rate(self, false_accept: float) -> float:
        """The share of known items recognized when at most this share of unknown ones is accepted."""
        allowed = self.false_accepts <= check_float(false_accept, "false_accept", 0.0, 1.0)
        return float(self.recognized[allowed][-1])

    def plot(self, *, name: str = "", others: Mapping[str, OpenSetCurve] | None = None) -> Figure:
        """The curve; `others` has more of them, each with its name."""
        curves = {name: self, **(others or {})}
        return drawing.plot_open_set(
            {key: (one.false_accepts, one.recognized, one.area) for key, one in curves.items()}
        )


def open_set_curve(known: Any, correct: Any, unknown: Any) -> OpenSetCurve:
    """The open-set classification rate (Dhamija, Günther and Boult, "Reducing network agnostophobia", 2018).

        recognized(t) = share of known items with novelty ≤ t that are classified correctly
        false_accepts(t) = share of unknown items with novelty ≤ t

    Between two thresholds the curve is a straight line, so ties need no convention.

    Parameters
    ----------
    known, unknown : array (item,)
        As for `novelty_errors`.
    correct : bool array (item,)
        Whether the answer for each known item is right, apart from rejection: the result of `is_correct`.

    Examples
    --------
    >>> curve = open_set_curve([0.1, 0.2, 0.3, 0.4], [True, True, False, True], [0.35, 0.9])
    >>> curve.area, curve.recognition_rate(false_accept=0.0)
    (0.625, 0.5)
    """
    known, unknown = _validate_novelty(known, "known"), _validate_novelty(unknown, "unknown")
    correct = validate_array(correct, "correct").astype(bool)
    if correct.shape != known.shape:
        raise ValueError(f"correct has shape {correct.shape} and known {known.shape}: expected one for each known item")
    thresholds = np.unique(np.concatenate([known, unknown]))
    recognized, accepted = (
        np.append(0.0, np.searchsorted(np.sort(kind), thresholds, side="right") / n)
        for kind, n in ((known[correct], len(known)), (unknown, len(unknown)))
    )
    return OpenSetCurve(np.append(-np.inf, thresholds), recognized, accepted)


def _validate_novelty(values: Any, name: str) -> Floats:
    array = validate_array(values, name).astype(np.float64)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{name} has shape {array.shape}: expected (item,), the novelty of one item or more")
    if np.isnan(array).any():
        raise ValueError(f"{name}[{int(np.flatnonzero(np.isnan(array))[0])}] is nan: expected numbers; inf is allowed")
    return array
