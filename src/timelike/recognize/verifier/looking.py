"""Calibration of streams: when they look, and scores of trials at every look."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from .calibration import Gathered
from .identity_rank import Bound, warn_few
from .thresholds import Boundaries, boundaries

_FIRST, _REACHED = 0.125, 0.1  # of the median length; share of the sequences that still go on at the last look


def looks_for(lengths: NDArray[np.int64], n_looks: int) -> NDArray[np.int64]:
    """After how many samples a stream looks, the gaps growing by a factor.

    >>> looks_for(np.array([80, 100, 120]), 4)
    array([ 12,  26,  54, 115])
    """
    first, last = max(1.0, _FIRST * float(np.median(lengths))), float(np.quantile(lengths, 1 - _REACHED)) - 1
    looks = np.unique(np.geomspace(first, max(first, last), n_looks).astype(np.int64))
    return np.asarray(looks[looks < lengths.max()])


def stream_boundaries(
    one: Gathered, sequences: Sequences, n_looks: int, rates: tuple[float, float]
) -> dict[int, Boundaries]:
    """By the number of examples: examples are whole sequences, and others are looked at from their beginnings."""
    looks = looks_for(sequences.lengths, n_looks)
    probes = [one.scorer.known(Sequences([x[:look] for x in sequences])) for look in looks.tolist()]
    compared = [(known, one.compared(known)) for known in (*probes, one.known)]
    over = np.vstack([sequences.lengths <= looks[:, None], np.zeros(len(sequences), bool)])
    found, promised = {}, dict[int, Bound]()
    for size, some in one.sizes(ordered=True):
        counted = some.impostor | some.genuine
        scores = np.stack([one.tried(some, *each) for each in compared])
        scores = np.where(over[:, None, :], np.nan, scores)[:, counted]
        bounds, promised[size] = boundaries(looks, scores, one.claims(some), rates)
        if promised[size].knows_less(promised[1], rates[0]):  # too few have so many sequences
            break
        found[size] = bounds
    warn_few(promised[1], rates[0], len(one.classes), "identities")
    return found
