"""`Verification`: error rates of verification with intervals over subjects, and their curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.random import RandomState
from ..plotting import html
from ..score import Interval, VerificationErrors, resampled_errors, verification_errors
from ..score.calibration import Floats
from ..score.intervals import share_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# at which the band of a curve is computed
FALSE_ACCEPT_RATES = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 100)])


@dataclass(frozen=True)
class Verification:
    """Errors of pairs: the equal error rate, the minimum cost (minDCF), and the errors at the calibrated threshold.

    Intervals are bootstrapped over subjects and nowhere narrower than `score.wilson_interval` of as many subjects; with
    few subjects they are rough, since pairs are not independent. Without a calibrated threshold, `false_accept` and
    `false_reject` are None.
    """

    equal_error_rate: Interval
    minimum_cost: Interval
    false_accept: Interval | None
    false_reject: Interval | None
    errors: VerificationErrors
    """False accepts and rejects at every distance, which is the score with the opposite sign."""
    band: tuple[Floats, Floats, Floats]
    """Rates of false accepts, and the lower and upper rates of false rejects at each."""
    n_impostors: int
    n_genuine: int
    n_subjects: int

    def __str__(self) -> str:
        parts = [f"{name} {interval:.3f}" for name, interval in self._rates()]
        pair_counts = f"{self.n_genuine} pairs of one and {self.n_impostors} of two of {self.n_subjects} subjects"
        return f"{', '.join(parts)}; {pair_counts}"

    def _rates(self) -> list[tuple[str, Interval]]:
        """The rates that are known, by name."""
        rates = {
            "equal error rate": self.equal_error_rate,
            "least cost": self.minimum_cost,
            "false accepts": self.false_accept,
            "false rejects": self.false_reject,
        }
        return [(name, interval) for name, interval in rates.items() if interval is not None]

    def plot(self, kind: Literal["det", "roc"] = "det", *, name: str = "") -> Figure:
        """The DET curve on probit axes, or the ROC curve, with its band."""
        return self.errors.plot(kind, name=name, band=self.band)

    def _repr_html_(self) -> str:
        rows = [(name, f"{interval:.3f}") for name, interval in self._rates()]
        counts = f"{self.n_genuine} genuine pairs, {self.n_impostors} impostors, {self.n_subjects} subjects"
        caption = (
            "False rejects over false accepts at every threshold, with the 95 % band; the dot is where both are equal."
        )
        return html.join_html(html.fact_table(counts, rows), html.figure_html(self.plot(), caption))


def evaluate_pairs(
    scores: Floats,
    same: NDArray[np.bool_],
    subjects: NDArray[Any],
    threshold: float | None,
    *,
    prior: float,
    confidence: float,
    n_resamples: int,
    random_state: RandomState,
) -> Verification:
    """The `Verification` of pairs, from their scores, whether they are genuine, and their subjects (pair, 2)."""

    def compute_rates(errors: VerificationErrors) -> Floats:
        rates = (np.nan, np.nan) if threshold is None else errors.error_rates(-threshold)
        return np.concatenate(
            [
                [errors.equal_error_rate, errors.minimum_cost(prior), *rates],
                errors.false_reject_rates(FALSE_ACCEPT_RATES),
            ]
        )

    errors_by_threshold = verification_errors(-scores, same)
    values = compute_rates(errors_by_threshold)
    draws = resampled_errors(-scores, same, subjects, compute_rates, n_resamples=n_resamples, random_state=random_state)
    columns, n_subjects = draws.reshape(-1, len(values)).T, len(np.unique(subjects))
    # all rates lie between 0 and 1; without a threshold there is no rate
    bounds = [
        Interval(np.nan, np.nan, np.nan)
        if np.isnan(value)
        else share_interval(float(value), column, n_subjects, confidence)
        for value, column in zip(values, columns, strict=True)
    ]
    equal, cost, accept, reject = bounds[:4]
    return Verification(
        equal_error_rate=equal,
        minimum_cost=cost,
        false_accept=None if threshold is None else accept,
        false_reject=None if threshold is None else reject,
        errors=errors_by_threshold,
        band=(
            FALSE_ACCEPT_RATES,
            np.array([interval.low for interval in bounds[4:]]),
            np.array([interval.high for interval in bounds[4:]]),
        ),
        n_impostors=int((~same).sum()),
        n_genuine=int(same.sum()),
        n_subjects=n_subjects,
    )
