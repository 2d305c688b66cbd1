"""The two samples of a test: validation, groups, items that share time steps, and subsampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...sequences.metadata import validate_per_item
from ..kernels import base as kernel_base
from ..validation import Domain, Sample, validate_pair
from .permutations import ExchangeableUnits, exchangeable_units, refuse_unexchangeable

_MIN_OVERLAP = 8  # smallest overlap that is detected by values, in steps, all of them different
_MIN_CHANGES = 4  # different steps at the beginning of an item, and different changes from step to step
_MAX_CANDIDATES = 200  # possible overlaps that are checked

Ints = NDArray[np.int64]


def validate_samples(X: Any, Y: Any, domain: Domain | None, groups: Any) -> tuple[Sample, Sample, ExchangeableUnits]:
    """Validate the samples of a test: two items of each, no overlap, and more than one allocation."""
    X, Y = validate_pair(X, Y, domain, min_items=2)
    units = exchangeable_units(len(X), len(Y), validate_groups(groups, X, Y))
    refuse_overlap((X, Y), ["X", "Y"], units.unit_of, "groups=(…, …)")
    refuse_unexchangeable(units)
    return X, Y, units


def validate_groups(
    groups: Any, X: Sample, Y: Sample, names: tuple[str, str] = ("X", "Y")
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The groups of both samples: those given, those of the samples, or none."""
    if groups is False:
        return None
    if groups is None:
        return _own_groups(X, Y, names)
    if not isinstance(groups, tuple | list) or len(groups) != 2:
        raise ValueError(
            f"groups={groups!r:.60}: expected (groups of {names[0]}, groups of {names[1]}), None for their "
            "own groups, or False for none"
        )
    first, second = (
        validate_per_item(labels, f"groups[{i}]", len(sample))
        for i, (labels, sample) in enumerate(zip(groups, (X, Y), strict=True))
    )
    if first is None or second is None:
        raise ValueError("groups has None for one sample: expected the groups of both, or groups=False")
    return _check_same_kind(first, second, ("groups[0]", "groups[1]"))


def _own_groups(X: Sample, Y: Sample, names: tuple[str, str]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    first, second = (None if isinstance(sample, np.ndarray) else sample.groups for sample in (X, Y))
    if first is None and second is None:
        return None
    if first is None or second is None:
        has, lacks = names if second is None else names[::-1]
        raise ValueError(
            f"{has} has groups and {lacks} none: give groups=(groups of {names[0]}, groups of {names[1]}), or "
            "groups=False if single sequences are exchangeable"
        )
    return _check_same_kind(first, second, (f"the groups of {names[0]}", f"the groups of {names[1]}"))


def _check_same_kind(
    first: NDArray[Any], second: NDArray[Any], names: tuple[str, str]
) -> tuple[NDArray[Any], NDArray[Any]]:
    if (first.dtype.kind == "U") != (second.dtype.kind == "U"):
        raise TypeError(f"{names[0]} are {first.dtype} and {names[1]} {second.dtype}: expected all numbers or all text")
    return first, second


# --- items that share time steps --------------------------------------------------------------------------------------


class SharedSteps(NamedTuple):
    """Two items of the pooled sample, and the number of shared steps: 0 if they are the same item."""

    first: int
    second: int
    steps: int


def refuse_overlap(samples: Sequence[Sample], names: list[str], unit_of: Ints, source: str) -> None:
    """Raise an error for items of different units that share time steps; `source` is the argument in the remedy."""
    overlap = _find_shared_memory(samples, unit_of) or _find_shared_values(samples, unit_of)
    if overlap is None:
        return
    ends = np.cumsum([len(sample) for sample in samples])
    first, second = (_item_name(item, ends, names) for item in overlap[:2])
    if overlap.steps == 0:
        raise ValueError(
            f"{first} and {second} are one and the same item: an item can be in one sample once; give other items"
        )
    raise ValueError(
        f"{first} and {second} share {overlap.steps} time steps: overlapping windows of one stream are not "
        "exchangeable, and p-values would be far too small. Cut windows that do not overlap (step >= size), and give "
        f"{source} of windows so that whole recordings, or blocks longer than the memory of the signal, change sides"
    )


def copy_notes(X: Sample, Y: Sample) -> list[str]:
    """A note if items of Y are equal to items of X: they may be the same recordings."""
    count = _count_equal(X, Y)
    note = f"{count} of {len(Y)} items of Y are equal to items of X: if they are copies, leave them out of one sample"
    return [note] if count else []


def repeat_notes(before: Sample, batch: Sample) -> tuple[str, ...]:
    """A note if all items of a batch are equal to earlier items: it may have been delivered twice."""
    is_repeated = _count_equal(before, batch) == len(batch) > 1
    return ("all its items are equal to earlier items: was it delivered twice?",) if is_repeated else ()


def missing_value_notes(X: Sample, Y: Sample, names: tuple[str, str] = ("X", "Y")) -> list[str]:
    """A note if values are missing: a change in missing values is a difference too."""
    counts, empty = (
        [sum(bool(some(np.isnan(item))) for item in sample) if _has_missing(sample) else 0 for sample in (X, Y)]
        for some in (np.any, np.all)
    )
    if not any(counts):
        return []
    of_x, of_y = (
        f"{count} of {len(sample)}{' items' if sample is X else ''} of {name}"
        + (f" ({without} of them are entirely missing)" if without else "")
        for count, without, sample, name in zip(counts, empty, (X, Y), names, strict=True)
    )
    return [f"values are missing in {of_x} and {of_y}"]


def _has_missing(sample: Sample) -> bool:
    return bool(np.isnan(sample).any()) if isinstance(sample, np.ndarray) else sample.has_missing


def _count_equal(X: Sample, Y: Sample) -> int:
    """The number of items of Y equal to one of X; 0 if items of X repeat, as those with few distinct values do."""
    x_bytes = {x.tobytes() for x in X}
    return sum(y.tobytes() in x_bytes for y in Y) if X.dtype == Y.dtype and len(x_bytes) == len(X) else 0


def _find_shared_memory(samples: Sequence[Sample], unit_of: Ints) -> SharedSteps | None:
    """Two items that overlap in one buffer."""
    buffers = [_buffers(sample) for sample in samples]
    owner = np.concatenate([np.full(len(starts), _buffer_address(base)) for base, starts, _ in buffers])
    width = np.concatenate([np.full(len(starts), base.strides[0]) for base, starts, _ in buffers])
    starts = owner + np.concatenate([starts for _, starts, _ in buffers]) * width
    ends = starts + np.concatenate([lengths for _, _, lengths in buffers]) * width
    reach, holder = -1, -1
    for item in np.argsort(starts, kind="stable").tolist():
        if holder >= 0 and starts[item] < reach and unit_of[item] != unit_of[holder]:
            same = starts[item] == starts[holder] and ends[item] == reach
            n_shared = 0 if same else int((min(reach, ends[item]) - starts[item]) // width[item])
            return SharedSteps(min(holder, item), max(holder, item), n_shared)
        if ends[item] > reach:
            reach, holder = int(ends[item]), item
    return None


def _find_shared_values(samples: Sequence[Sample], unit_of: Ints) -> SharedSteps | None:
    """Two items of which one begins with steps from the middle of the other: copies of overlapping windows."""
    steps = [_time_steps(sample) for sample in samples]
    values = np.concatenate([one for one, _ in steps])
    lengths = np.concatenate([each for _, each in steps])
    starts = np.cumsum(lengths) - lengths
    codes = _hash_steps(values)
    for place, holder, guest in _candidate_overlaps(codes, starts, lengths)[:_MAX_CANDIDATES]:
        n_shared = min(int(starts[holder] + lengths[holder]) - place, int(lengths[guest]))
        ours, theirs = slice(place, place + n_shared), slice(int(starts[guest]), int(starts[guest]) + n_shared)
        apart = unit_of[guest] != unit_of[holder] and n_shared >= _MIN_OVERLAP
        if apart and np.array_equal(codes[ours], codes[theirs]) and _is_irregular(codes[ours], values[ours]):
            return SharedSteps(min(holder, guest), max(holder, guest), n_shared)
    return None


def _candidate_overlaps(codes: NDArray[np.uint64], starts: Ints, lengths: Ints) -> list[tuple[int, int, int]]:
    """Places where an item continues as another begins: step, item, and the other item."""
    begins = np.flatnonzero(lengths >= _MIN_OVERLAP)
    first = np.sort(codes[starts[begins, None] + np.arange(_MIN_OVERLAP)], axis=1)
    begins = begins[(np.diff(first, axis=1) > 0).sum(axis=1) >= _MIN_CHANGES]  # an idle sensor begins like any other
    if not len(begins):
        return []
    runs = _hash_runs(codes)
    heads = runs[starts[begins]]
    order = np.argsort(heads, kind="stable")
    met = np.minimum(np.searchsorted(heads[order], runs), len(order) - 1)
    places = np.flatnonzero(heads[order][met] == runs)
    holder = np.searchsorted(starts, places, side="right") - 1
    inside = places > starts[holder]
    places, holder, guest = places[inside], holder[inside], begins[order[met[places[inside]]]]
    periodic = np.isin(holder, holder[runs[places] == runs[starts[holder]]])  # a periodic item matches others by chance
    return list(zip(places[~periodic].tolist(), holder[~periodic].tolist(), guest[~periodic].tolist(), strict=True))


def _is_irregular(codes: NDArray[np.uint64], values: NDArray[np.float64]) -> bool:
    """Whether steps vary irregularly, as in a signal: counters and ramps are equal without an overlap."""
    return len(np.unique(codes)) >= _MIN_OVERLAP and len(np.unique(np.diff(values, axis=0), axis=0)) >= _MIN_CHANGES


def _time_steps(sample: Sample) -> tuple[NDArray[np.float64], Ints]:
    """All time steps (step, channel), and the number of each item; a vector is a series of numbers."""
    values = sample if isinstance(sample, np.ndarray) else sample.values
    flat = values.reshape(len(values), -1).astype(np.float64, copy=False)
    if isinstance(sample, np.ndarray) or sample.shape[1] == 1:
        return flat.reshape(-1, 1), np.full(len(sample), flat.shape[1])
    return flat, sample.lengths


def _hash_steps(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """A hash of every step: equal for equal steps, missing values included, and hardly ever otherwise."""
    words = np.ascontiguousarray(values + 0.0).view(np.uint64)  # + 0.0: −0 and 0 are equal but differ in bits
    odd = np.random.default_rng(0).integers(2**63, size=words.shape[1], dtype=np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        each = ((words ^ (words >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
    return np.asarray(each ^ (each >> np.uint64(31)))


def _hash_runs(codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The same for the run of steps that begins at each."""
    runs, factor = np.zeros(len(codes), np.uint64), np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        for step in range(_MIN_OVERLAP):
            runs[: len(codes) - step] = runs[: len(codes) - step] * factor + codes[step:]
    return runs


def _buffers(sample: Sample) -> tuple[NDArray[Any], Ints, Ints]:
    """The buffer of a sample, and the first row and number of rows of every item in it."""
    if isinstance(sample, np.ndarray):
        return sample, np.arange(len(sample)), np.ones(len(sample), np.int64)
    return sample.buffers()


def _buffer_address(base: NDArray[np.generic]) -> int:
    return int(base.__array_interface__["data"][0])


def _item_name(item: int, ends: Ints, names: list[str]) -> str:
    sample = int(np.searchsorted(ends, item, side="right"))
    return f"{names[sample]}[{item - (ends[sample - 1] if sample else 0)}]"


# --- large samples ----------------------------------------------------------------------------------------------------


class SubsampledPair(NamedTuple):
    """Two samples small enough for a matrix of all pairs, and the original positions of the items of Y."""

    X: Sample
    Y: Sample
    units: ExchangeableUnits
    y_positions: NDArray[np.int64]


def subsample_pair(X: Sample, Y: Sample, units: ExchangeableUnits, rng: np.random.Generator) -> SubsampledPair:
    """Random groups of large samples, from the larger sample first, with both parts of a group."""
    most = math.isqrt(kernel_base.MAX_MATRIX_ENTRIES)
    if len(X) + len(Y) <= most:
        return SubsampledPair(X, Y, units, np.arange(len(Y)))
    group, n = units.group_of, len(X)
    limits = [max(most // 2, most - len(Y)), max(most // 2, most - len(X))]
    is_selected = np.zeros(len(group), bool)
    for side, limit in zip((slice(0, n), slice(n, None)), limits, strict=True):
        names = rng.permutation(np.unique(group[side]))
        ends = np.cumsum(np.bincount(group[side], minlength=group.max() + 1)[names])
        is_selected[side] = np.isin(group[side], names[: max(2, int(np.searchsorted(ends, limit, side="right")))])
    if len(units.pairs):  # a part without its counterpart could not be swapped
        is_selected &= np.isin(
            group, np.intersect1d(group[:n][is_selected[:n]], group[n:][is_selected[n:]])
        ) | ~np.isin(group, np.intersect1d(group[:n], group[n:]))
    of_x, of_y = np.flatnonzero(is_selected[:n]), np.flatnonzero(is_selected[n:])
    return SubsampledPair(
        X[of_x], Y[of_y], exchangeable_units(len(of_x), len(of_y), (group[:n][of_x], group[n:][of_y])), of_y
    )
