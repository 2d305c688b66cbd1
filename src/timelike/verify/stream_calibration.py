"""Calibration of streams: the looks, and the bounds from scores of trials at every look."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..score.conformal_thresholds import ThresholdBound, warn_few_pairs
from ..sequences import Sequences
from .calibration import TrialCollection
from .stream_boundaries import StreamBoundaries, compute_boundaries

_FIRST_LOOK_SHARE = 0.125  # of the median length
_LAST_LOOK_SHARE = 0.1  # of the sequences are longer than the last look


def choose_looks(lengths: NDArray[np.int64], n_looks: int) -> NDArray[np.int64]:
    """Numbers of samples at which a stream looks, in a geometric progression.

    `Prototypes` has a rule of its own, with equal gaps (`prototypes.stream.choose_looks`).

    >>> choose_looks(np.array([80, 100, 120]), 4)
    array([ 12,  26,  54, 115])
    """
    first, last = (
        max(1.0, _FIRST_LOOK_SHARE * float(np.median(lengths))),
        float(np.quantile(lengths, 1 - _LAST_LOOK_SHARE)) - 1,
    )
    looks = np.unique(np.geomspace(first, max(first, last), n_looks).astype(np.int64))
    return np.asarray(looks[looks < lengths.max()])


def calibrate_boundaries(
    one: TrialCollection, sequences: Sequences, n_looks: int, rates: tuple[float, float]
) -> dict[int, StreamBoundaries]:
    """Boundaries by number of examples: templates are whole sequences, probes are prefixes."""
    looks = choose_looks(sequences.lengths, n_looks)
    probes = [one.scorer.precompute(Sequences([x[:look] for x in sequences])) for look in looks.tolist()]
    compared = [(known, one.score_single(known)) for known in (*probes, one.known)]
    over = np.vstack([sequences.lengths <= looks[:, None], np.zeros(len(sequences), bool)])
    found, promised = {}, dict[int, ThresholdBound]()
    for size, some in one.trials_by_size(ordered=True):
        counted = some.impostor | some.genuine
        scores = np.stack([one.score_templates(some, *each) for each in compared])
        scores = np.where(over[:, None, :], np.nan, scores)[:, counted]
        bounds, promised[size] = compute_boundaries(looks, scores, one.make_claims(some), rates)
        if promised[size].is_weaker_than(promised[1], rates[0]):  # too few have so many sequences
            break
        found[size] = bounds
    warn_few_pairs(promised[1], rates[0], len(one.classes), "identities")
    return found
