"""Decision bounds of streams, which limit the share of impostors ever accepted and of genuine claims rejected early."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..models import schema
from ..score.conformal_thresholds import Floats, Ids, ThresholdBound, impostor_bound, max_exceedances, unit_bound


class StreamBoundaries(NamedTuple):
    """Numbers of samples at which a stream looks, and the scores from which it accepts and up to which it rejects.

    The last entry of `upper` is for the end, however long the sequence is.
    """

    looks: NDArray[np.int64]
    upper: Floats
    lower: Floats


def _check_ends(found: StreamBoundaries, name: str, scope: schema.CheckScope) -> None:
    looks, bounds = len(found.looks), len(found.upper)
    if bounds != looks + 1:
        raise ValueError(f"{name}.upper has {bounds} entries: expected {looks + 1}, one for each look and for the end")


BOUNDARIES_SCHEMA = schema.record(
    StreamBoundaries,
    looks=schema.array("look", dtype="int64", least=1),
    upper=schema.array("one more", finite=False),
    lower=schema.array("look", finite=False),
    check=_check_ends,
)
"""The schema of a verifier's `boundaries_`."""


class Claims(NamedTuple):
    """Trials (trial,): the claimed identity, that of the claimant, and the kind of the trial."""

    first: Ids
    second: Ids
    impostor: NDArray[np.bool_]
    genuine: NDArray[np.bool_]


def compute_boundaries(
    looks: NDArray[np.int64], scores: Floats, claims: Claims, rates: tuple[float, float]
) -> tuple[StreamBoundaries, ThresholdBound]:
    """From the scores of trials at every look and at the end, (look + 1, trial); nan if a sequence ended before.

    An impostor of two new identities ever comes up to `upper`, the end included, with a probability of at most the
    first of the `rates`, and a genuine claim of a new identity ever down to `lower` before the end with at most the
    second; with too few identities to show that, nobody is rejected early. Also returns the bound for impostors.
    """
    impostor, genuine = claims.impostor, claims.genuine
    seen = (~np.isnan(scores[:-1, impostor])).any(axis=1)
    looks, scores = looks[seen], scores[np.append(seen, True)]
    early, lower = scores[:-1, genuine], np.full(len(looks), -np.inf)
    told, owners = np.flatnonzero((~np.isnan(early)).any(axis=1)), claims.first[genuine]
    if len(told) and max_exceedances(len(np.unique(owners)), rates[1]) >= 0:
        peaks = _PeakScores(-early[told])
        lower[told] = -peaks.bounds(unit_bound(peaks.highest, owners, rates[1]).threshold)
    peaks = _PeakScores(scores[:, impostor])
    found = impostor_bound(peaks.highest, claims.first[impostor], claims.second[impostor], rates[0])
    return StreamBoundaries(looks, peaks.bounds(found.threshold), lower), found


class _PeakScores:
    """The highest score of every trial (look, trial) over all looks, on one scale: mean 0 and deviation 1 at each."""

    def __init__(self, scores: Floats) -> None:
        self._scores, self._is_present = scores, ~np.isnan(scores)
        self._mean = np.mean(scores, axis=1, where=self._is_present, keepdims=True)
        spread = np.std(scores, axis=1, where=self._is_present, keepdims=True)
        self._deviation = np.where(spread > 0, spread, 1.0)
        # a sequence that has ended reaches no bound
        self._scaled = np.where(self._is_present, (scores - self._mean) / self._deviation, -np.inf)
        self.highest: Floats = self._scaled.max(axis=0)

    def bounds(self, peak: float) -> Floats:
        """A bound for each look, such that trials whose highest score is below the peak stay below it."""
        if not np.abs(peak) < np.finfo(np.float64).max:  # most ended before the first look
            return np.full(len(self._scores), np.inf)
        below = np.where(self._is_present & (self._scaled < peak), self._scores, -np.inf).max(axis=1)
        exact = (self._mean + peak * self._deviation)[:, 0]
        return np.asarray(np.maximum(exact, np.nextafter(below, np.inf)))  # guards against rounding
