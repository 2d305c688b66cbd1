"""Unknowns among known classes, scored: AUROC, unknowns accepted at a share of known ones (FPR@95), open-set curve."""

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
    """Unknown items accepted and known ones rejected, when items up to a novelty are accepted as known.

    Parameters
    ----------
    known, unknown : array (item,)
        How strange each item is found, more for stranger: of items of known classes, and of others.

    Examples
    --------
    >>> found = novelty_errors([0.1, 0.2, 0.3], [0.25, 0.9])
    >>> round(found.equal_error_rate, 4), found.threshold(false_accept=0.0)
    (0.3333, 0.2)
    """
    own, others = _validate_novelty(known, "known"), _validate_novelty(unknown, "unknown")
    kind = np.arange(len(own) + len(others)) < len(own)
    return verification_errors(np.concatenate([own, others]), kind)


def novelty_auroc(known: Any, unknown: Any) -> float:
    """The area under the ROC curve: how probably an unknown item is found stranger than a known one, ties half.

    It does not matter which of the two is called positive. Parameters are those of `novelty_errors`.

    Examples
    --------
    >>> round(novelty_auroc([0.1, 0.2, 0.3], [0.25, 0.9]), 4)
    0.8333
    """
    return novelty_errors(known, unknown).area


def unknown_accept_rate(known: Any, unknown: Any, *, share: float = 0.95) -> float:
    """The share of unknown items that are accepted where so large a share of the known ones is: FPR@95.

    *Known* is positive: a true positive is a known item that is accepted, a false positive an unknown one (Liang, Li
    and Srikant, "Enhancing the reliability of out-of-distribution image detection", 2018). The threshold is the
    smallest at which at least the share of known items is accepted; items as strange as it are accepted, all of them.
    Parameters are those of `novelty_errors`.

    Examples
    --------
    >>> unknown_accept_rate([0.1, 0.2, 0.3], [0.25, 0.9])
    0.5
    """
    found = novelty_errors(known, unknown)
    wanted = check_float(share, "share", 0.0, 1.0)
    enough = 1 - found.false_rejects >= wanted - 1e-12  # 19 of 20 are 95 %, whatever the rounding
    return float(found.false_accepts[np.flatnonzero(enough)[0]])


@dataclass(frozen=True)
class OpenSetCurve:
    """Known items that are accepted *and* named rightly, and unknown ones that are accepted, at every threshold."""

    thresholds: Floats
    recognized: Floats
    false_accepts: Floats

    @property
    def area(self) -> float:
        """The area under the curve (OSCR): at most the accuracy among known items, when no unknown one interferes."""
        return float(np.trapezoid(self.recognized, self.false_accepts))

    def recognition_rate(self, false_accept: float) -> float:
        """The share of known items that is recognized when no more than this share of unknown ones may be accepted."""
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

        recognized(t) = share of known items with novelty ≤ t that are named rightly
        false_accepts(t) = share of unknown items with novelty ≤ t

    Between two thresholds the curve is a straight line, so items that are equally strange need no convention.

    Parameters
    ----------
    known, unknown : array (item,)
        As for `novelty_errors`.
    correct : bool array (item,)
        Whether the answer for each known item is right, rejection aside: what `correct` gives.

    Examples
    --------
    >>> found = open_set_curve([0.1, 0.2, 0.3, 0.4], [True, True, False, True], [0.35, 0.9])
    >>> found.area, found.recognition_rate(false_accept=0.0)
    (0.625, 0.5)
    """
    own, others = _validate_novelty(known, "known"), _validate_novelty(unknown, "unknown")
    right = validate_array(correct, "correct").astype(bool)
    if right.shape != own.shape:
        raise ValueError(f"correct has shape {right.shape} and known {own.shape}: expected one for each known item")
    thresholds = np.unique(np.concatenate([own, others]))
    named, accepted = (
        np.append(0.0, np.searchsorted(np.sort(kind), thresholds, side="right") / n)
        for kind, n in ((own[right], len(own)), (others, len(others)))
    )
    return OpenSetCurve(np.append(-np.inf, thresholds), named, accepted)


def _validate_novelty(values: Any, name: str) -> Floats:
    given = validate_array(values, name).astype(np.float64)
    if given.ndim != 1 or not len(given):
        raise ValueError(f"{name} has shape {given.shape}: expected (item,), the novelty of one item or more")
    if np.isnan(given).any():
        raise ValueError(f"{name}[{int(np.flatnonzero(np.isnan(given))[0])}] is nan: expected numbers; inf is allowed")
    return given
