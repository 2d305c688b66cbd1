"""Selection of the window of a metric by leave-one-out classification."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..core.threads import check_n_jobs
from ..core.validation.labels import validate_labels
from ..sequences import Sequences, as_sequences
from .band import check_band, is_feasible, refuse_infeasible
from .distance_matrix import ProgressCallback, allocate_matrix, pair_dtype, refuse_nonfinite, report_progress

if TYPE_CHECKING:
    from .dtw import DTW

    Chosen = TypeVar("Chosen", bound=DTW)

Ids = NDArray[np.int64]


def select_window(
    metric: Chosen, X: Any, y: Any, windows: Iterable[Any] | None, n_jobs: int | None, progress: bool | None
) -> Chosen:
    """The metric with the first of the windows under which most sequences have a nearest other of their class."""
    sequences = as_sequences(X, "X")
    labels = _validate_labels(sequences, y)
    metric._validate_sides(sequences, None, ("X", "X"))
    tried = [replace(metric, window=window) for window in _candidate_windows(metric, sequences, windows)]
    if not tried:
        raise ValueError(f"windows={windows!r} is empty: expected at least one window to try")
    nearest = _nearest_by_metric(
        tried, sequences, check_n_jobs(n_jobs), report_progress(progress, f"{type(metric).__name__} windows")
    )
    scores = (labels[nearest] == labels).sum(axis=1)
    return tried[int(scores.argmax())]


def _validate_labels(sequences: Sequences, y: Any) -> NDArray[Any]:
    labels = sequences.labels if y is None else validate_labels(y, "y", "class")
    if labels is None:
        raise ValueError("y is None and X carries no labels: give the class of every sequence")
    if len(labels) != len(sequences) or len(sequences) < 2:
        raise ValueError(
            f"y has {len(labels)} labels for {len(sequences)} sequences: expected one each, and two or more"
        )
    return np.asarray(labels)


def _candidate_windows(metric: DTW, sequences: Sequences, windows: Iterable[Any] | None) -> list[Any]:
    """The windows given, all of which must have a path between all lengths; or those of `default_shares` that do."""
    if windows is None:
        offered = default_slopes() if metric.band == "itakura" else default_shares(int(sequences.lengths.max()))
        lengths = sequences.lengths
        return [window for window in offered if is_feasible(check_band(window, metric.band), lengths, lengths)]
    offered = list(windows)
    for window in offered:
        refuse_infeasible(check_band(window, metric.band), sequences.lengths, sequences.lengths)
    return offered


def default_shares(longest: int) -> list[float]:
    """Shares of the longest sequence that are a cell apart, at most 101 of them, in few digits.

    >>> default_shares(3)
    [0.0, 0.3334, 0.6667, 1.0]
    >>> default_shares(180)[57]
    0.57
    """
    if longest >= 100:
        return [percent / 100 for percent in range(101)]
    return [math.ceil(10_000 * cells / longest) / 10_000 for cells in range(longest + 1)]  # rounded up: whole cells


def default_slopes() -> list[float]:
    """The largest slopes of parallelograms to try.

    >>> default_slopes()[:3], default_slopes()[-1]
    ([1.0, 1.1, 1.2], 3.0)
    """
    return [tenths / 10 for tenths in range(10, 31)]


def _nearest_by_metric(
    tried: list[Any], sequences: Sequences, threads: int, bar: AbstractContextManager[ProgressCallback]
) -> Ids:
    """The nearest other of every sequence under every metric, (metric, item); of equal ones the first."""
    nearest = np.empty((len(tried), len(sequences)), np.int64)
    with bar as report:
        done = 0
        for chain in _nested_chains(tried):
            report_chain = _report_part(report, done, done + len(chain), len(tried))
            nearest[chain] = _nearest_in_chain([tried[k] for k in chain], sequences, threads, report_chain)
            done += len(chain)
    return nearest


def _nested_chains(tried: list[Any]) -> list[list[int]]:
    """Positions of metrics whose bands lie one inside the next, the narrowest first."""
    kinds: dict[tuple[bool, bool], list[int]] = {}
    for k, metric in enumerate(tried):
        kinds.setdefault((metric._warping_band.cells is None, metric._warping_band.share is None), []).append(k)
    return [sorted(chain, key=lambda k: tried[k].window or 0) for chain in kinds.values()]


def _nearest_in_chain(
    chain: list[Any], sequences: Sequences, threads: int, report: Callable[[float], None] | None
) -> Ids:
    nearest = (
        _nearest_by_kernel(chain, sequences, threads, report) if _is_monotone_in_band(chain[-1], sequences) else None
    )
    if nearest is not None:
        return nearest
    rows = []
    for done, metric in enumerate(chain):
        distances = metric.pairwise(sequences, n_jobs=threads, progress=False)
        np.fill_diagonal(distances, np.inf)
        rows.append(distances.argmin(axis=1))
        if report is not None:
            report((done + 1) / len(chain))
    return np.stack(rows)


def _is_monotone_in_band(metric: DTW, sequences: Sequences) -> bool:
    """Whether the cost in a wide band is a lower bound for a narrower one; not for a mean over the path."""
    return (
        metric.normalize != "steps"
        and not metric._is_per_channel(sequences)
        and not metric._has_missing(sequences, sequences)
    )


def _nearest_by_kernel(
    chain: list[Any], sequences: Sequences, threads: int, report: Callable[[float], None] | None
) -> Ids | None:
    widest = chain[-1]
    compared = widest._preprocess_sequences(sequences)
    totals = allocate_matrix((len(sequences),) * 2, pair_dtype(compared, compared))
    program, steps, _ = widest._kernel_arguments(compared, compared, totals.dtype)
    how: dict[str, Any] = {"threads": threads}
    native.pairwise(program, steps, steps, symmetric=True, out=totals, report=_report_within(report, 0.0, 0.5), **how)
    refuse_nonfinite(totals, ("X", "X"))
    ends = {"rooted": widest.root, "averaged": widest.normalize == "length"}
    bands = [metric._warping_band for metric in chain]
    return native.nearest_by_window(
        program, steps, bands, totals, report=_report_within(report, 0.5, 1.0), **ends, **how
    )


def _report_part(report: ProgressCallback, begin: int, end: int, total: int) -> Callable[[float], None] | None:
    """Reports a fraction of one part of the work as one of all of it."""
    return None if report is None else lambda share: report(int(1000 * (begin + share * (end - begin))), 1000 * total)


def _report_within(report: Callable[[float], None] | None, begin: float, end: float) -> ProgressCallback:
    return None if report is None else lambda done, total: report(begin + (end - begin) * done / total)
