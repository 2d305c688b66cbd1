"""The fastest way of every other library to do the works of the elastic distances."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.speed.timing import Job
from numpy.typing import NDArray

PEERS = ("aeon", "tslearn", "dtaidistance", "tsdistances")


@dataclass
class Settings:
    threads: int
    quick: bool
    data: Path | None


def squares(matrix: Any) -> NDArray[Any]:
    """Of a library that takes roots, so that the answers can be compared."""
    return np.asarray(matrix) ** 2


def available(jobs: dict[str, Job]) -> dict[str, Job]:
    return {name: job for name, job in jobs.items() if find_spec(name.split()[0]) is not None}


def dtw_matrix(x: NDArray[Any], s: Settings, window: float | None = None) -> dict[str, Job]:
    """All pairs of equal lengths, x (item, time) or (item, time, channel)."""

    def aeon() -> Any:
        from aeon.distances import dtw_pairwise_distance

        return dtw_pairwise_distance(flipped, window=window, n_jobs=s.threads)

    def tslearn() -> Any:
        from tslearn.metrics import cdist_dtw

        limit = {} if radius is None else {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": radius}
        return squares(cdist_dtw(x, n_jobs=s.threads, **limit))

    def dtaidistance() -> Any:
        from dtaidistance import dtw, dtw_ndim

        limit = {} if radius is None else {"window": radius + 1}
        module = dtw if x.ndim == 2 else dtw_ndim
        return squares(module.distance_matrix_fast(wide, parallel=s.threads > 1, **limit))

    def tsdistances() -> Any:
        import tsdistances as tsd

        return tsd.dtw_distance(wide, band=1.0 if radius is None else radius / x.shape[1], par=s.threads > 1)

    radius = None if window is None else int(window * x.shape[1] + 1e-9)
    wide = x.astype(np.float64)
    flipped = wide if x.ndim == 2 else np.ascontiguousarray(wide.transpose(0, 2, 1))
    jobs: dict[str, Job] = {"aeon": aeon, "tslearn": tslearn, "dtaidistance": dtaidistance}
    if x.ndim == 2:
        jobs["tsdistances"] = tsdistances
    return available(jobs)


def ragged_matrix(sequences: list[NDArray[Any]], s: Settings) -> dict[str, Job]:
    def aeon() -> Any:
        from aeon.distances import dtw_pairwise_distance

        return dtw_pairwise_distance(flipped, n_jobs=s.threads)

    def tslearn() -> Any:
        from tslearn.metrics import cdist_dtw

        return squares(cdist_dtw(sequences, n_jobs=s.threads))

    def dtaidistance() -> Any:
        from dtaidistance import dtw_ndim

        return squares(dtw_ndim.distance_matrix_fast(sequences, parallel=s.threads > 1))

    flipped = [np.ascontiguousarray(sequence.T) for sequence in sequences]
    return available({"aeon": aeon, "tslearn": tslearn, "dtaidistance": dtaidistance})


def edit_matrix(name: str, x: NDArray[np.float64], s: Settings) -> dict[str, Job]:
    """MSM, TWE or ERP of all pairs, x (item, time)."""

    def aeon() -> Any:
        import aeon.distances

        return getattr(aeon.distances, f"{name.lower()}_pairwise_distance")(x, n_jobs=s.threads)

    def tsdistances() -> Any:
        import tsdistances as tsd

        gap = {"gap_penalty": 0.0} if name == "ERP" else {}
        return getattr(tsd, f"{name.lower()}_distance")(x, par=s.threads > 1, **gap)

    return available({"aeon": aeon, "tsdistances": tsdistances})


def dtw_search(train: NDArray[np.float64], test: NDArray[np.float64], s: Settings, window: float) -> dict[str, Job]:
    """The nearest of `train` for every row of `test`: ids."""
    radius = int(window * train.shape[1] + 1e-9)

    def aeon() -> Any:
        from aeon.distances import dtw_pairwise_distance

        return dtw_pairwise_distance(test, train, window=window, n_jobs=s.threads).argmin(axis=1)

    def tslearn() -> Any:
        from tslearn.metrics import cdist_dtw

        limit = {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": radius}
        return cdist_dtw(test, train, n_jobs=s.threads, **limit).argmin(axis=1)

    def matrix() -> Any:
        from dtaidistance import dtw

        block = ((0, len(test)), (len(test), len(test) + len(train)))
        found = dtw.distance_matrix_fast(
            np.concatenate([test, train]), block=block, window=radius + 1, parallel=s.threads > 1
        )
        return np.asarray(found)[: len(test), len(test) :].argmin(axis=1)

    def pruned() -> Any:
        from dtaidistance.subsequence.subsequencesearch import subsequence_search

        options = {"window": radius + 1, "use_c": True}
        found = [subsequence_search(query, rows, dists_options=dict(options)) for query in test]
        return np.array([search.kbest_matches_fast(k=1)[0].idx for search in found])

    def tsdistances() -> Any:
        import tsdistances as tsd

        return tsd.dtw_distance(test, train, band=radius / train.shape[1], par=s.threads > 1).argmin(axis=1)

    rows = list(train)
    jobs = {"aeon": aeon, "tslearn": tslearn, "dtaidistance matrix": matrix, "tsdistances": tsdistances}
    if s.threads == 1:  # its search has no threads of its own
        jobs["dtaidistance search"] = pruned
    return available(jobs)


def dtw_pair(x: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, Job]:
    """One distance, as each gives it: two of the four take the root."""

    def aeon() -> Any:
        from aeon.distances import dtw_distance

        return dtw_distance(x, y)

    def tslearn() -> Any:
        from tslearn.metrics import dtw

        return dtw(x, y)

    def dtaidistance() -> Any:
        from dtaidistance import dtw

        return dtw.distance_fast(x, y)

    def tsdistances() -> Any:
        import tsdistances as tsd

        return tsd.dtw_distance(x, y, par=False)

    return available({"aeon": aeon, "tslearn": tslearn, "dtaidistance": dtaidistance, "tsdistances": tsdistances})
