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
    """The rates of accepted unknown items and rejected known items at each novelty threshold.

    Parameters
    ----------
    known, unknown : array (item,)
        Novelty scores of items of known classes and of other items; higher means more novel.

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
    """The area under the ROC curve: the probability that an unknown item is more novel than a known one, ties half.

    The area is the same whichever of the two is the positive class. Parameters are those of `novelty_errors`.

    Examples
    --------
    >>> round(novelty_auroc([0.1, 0.2, 0.3], [0.25, 0.9]), 4)
    0.8333
    """
    return novelty_errors(known, unknown).area


def unknown_accept_rate(known: Any, unknown: Any, *, share: float = 0.95) -> float:
    """The rate of accepted unknown items at the threshold that accepts the fraction `share` of known items: FPR@95.

    *Known* is positive: a true positive is an accepted known item, a false positive an accepted unknown one (Liang, Li
    and Srikant, "Enhancing the reliability of out-of-distribution image detection", 2018). The threshold is the
    smallest that accepts at least this fraction of the known items; items at the threshold are accepted.
    Parameters are those of `novelty_errors`.

    Examples
    --------
    >>> unknown_accept_rate([0.1, 0.2, 0.3], [0.25, 0.9])
    0.5
    """
    errors = novelty_errors(known, unknown)
    share = check_float(share, "share", 0.0, 1.0)
    enough = 1 - errors.false_rejects >= share - 1e-12  # rounding must not make 19 of 20 less than 95 %
    return float(errors.false_accepts[np.flatnonzero(enough)[0]])


@dataclass(frozen=True)
class OpenSetCurve:
    """The rates of known items accepted *and* classified correctly, and of accepted unknown items, by threshold."""

    thresholds: Floats
    recognized: Floats
    false_accepts: Floats

    @property
    def area(self) -> float:
        """The area under the curve (OSCR), at most the accuracy on known items."""
        return float(np.trapezoid(self.recognized, self.false_accepts))

    def recognition_rate(self, false_accept: float) -> float:
        """The highest rate of recognized known items with at most this rate of accepted unknown items."""
        allowed = self.false_accepts <= check_float(false_accept, "false_accept", 0.0, 1.0)
        return float(self.recognized[allowed][-1])

    def plot(self, *, name: str = "", others: Mapping[str, OpenSetCurve] | None = None) -> Figure:
        """Plot the curve; `others` maps names to further curves."""
        curves = {name: self, **(others or {})}
        return drawing.plot_open_set(
            {key: (one.false_accepts, one.recognized, one.area) for key, one in curves.items()}
        )


def open_set_curve(known: Any, correct: Any, unknown: Any) -> OpenSetCurve:
    """The open-set classification rate (Dhamija, Günther and Boult, "Reducing network agnostophobia", 2018).

        recognized(t) = fraction of known items with novelty ≤ t that are classified correctly
        false_accepts(t) = fraction of unknown items with novelty ≤ t

    The curve is linear between thresholds, so ties need no convention.

    Parameters
    ----------
    known, unknown : array (item,)
        As for `novelty_errors`.
    correct : bool array (item,)
        Whether each known item is classified correctly, regardless of rejection: the result of `is_correct`.

    Examples
    --------
    >>> curve = open_set_curve([0.1, 0.2, 0.3, 0.4], [True, True, False, True], [0.35, 0.9])
    >>> curve.area, curve.recognition_rate(false_accept=0.0)
    (0.625, 0.5)
    """
    known, unknown = _validate_novelty(known, "known"), _validate_novelty(unknown, "unknown")
    correct = validate_array(correct, "correct").astype(bool)
    if correct.shape != known.shape:
        raise ValueError(
            f"correct has shape {correct.shape} and known {known.shape}: expected one value for each known item"
        )
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
