"""Windows that overlap: items that share time steps are not exchangeable, whatever a test says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences

_MIN_OVERLAP = 8  # steps that an overlap has at least where memory does not tell, all of them different
_MIN_CHANGES = 4  # different steps at the beginning of an item, and different changes from step to step
_MAX_CANDIDATES = 200  # places where windows may overlap that are looked at closely

Ints = NDArray[np.int64]


class SharedSteps(NamedTuple):
    """Two items of the pooled sample, and how many steps they share: 0 if they are the same."""

    first: int
    second: int
    steps: int


def refuse_overlap(samples: Sequence[Sequences], names: list[str], unit_of: Ints, source: str) -> None:
    """An error for items of different units that share time steps; `source` says what would be given whole."""
    found = _find_shared_memory(samples, unit_of) or _find_shared_values(samples, unit_of)
    if found is None:
        return
    ends = np.cumsum([len(sample) for sample in samples])
    first, second = (_item_name(item, ends, names) for item in found[:2])
    if found.steps == 0:
        raise ValueError(
            f"{first} and {second} are one and the same item: an item can be in one sample once; give other items"
        )
    raise ValueError(
        f"{first} and {second} share {found.steps} time steps: overlapping windows of one stream are not exchangeable, "
        "and p-values would be far too small. Cut windows that do not overlap (step >= size), and give "
        f"{source} of windows so that whole recordings, or blocks longer than the memory of the signal, change sides"
    )


def copy_notes(X: Sequences, Y: Sequences) -> list[str]:
    """What has to be said where items of Y are equal to items of X: perhaps they are the same recordings."""
    found = _count_equal(X, Y)
    said = f"{found} of {len(Y)} items of Y are equal to items of X: if they are copies, leave them out of one sample"
    return [said] if found else []


def repeat_notes(before: Sequences, batch: Sequences) -> tuple[str, ...]:
    """What has to be said where all items of a batch were met before: perhaps it was delivered twice."""
    found = _count_equal(before, batch) == len(batch) > 1
    return ("all its items are equal to items met before: was it delivered twice?",) if found else ()


def missing_value_notes(X: Sequences, Y: Sequences, names: tuple[str, str] = ("X", "Y")) -> list[str]:
    """What has to be said where values are missing: a change in what is missing is a difference too."""
    counts, empty = (
        [sum(bool(some(np.isnan(one))) for one in sample) if sample.has_missing else 0 for sample in (X, Y)]
        for some in (np.any, np.all)
    )
    if not any(counts):
        return []
    of_x, of_y = (
        f"{count} of {len(sample)}{' items' if sample is X else ''} of {name}"
        + (f" ({without} of them hold nothing else)" if without else "")
        for count, without, sample, name in zip(counts, empty, (X, Y), names, strict=True)
    )
    return [f"values are missing in {of_x} and {of_y}"]


def _count_equal(X: Sequences, Y: Sequences) -> int:
    """How many items of Y are equal to one of X; 0 where items of X are equal to each other, as those of few values."""
    known = {x.tobytes() for x in X}
    return sum(y.tobytes() in known for y in Y) if X.dtype == Y.dtype and len(known) == len(X) else 0


def _find_shared_memory(samples: Sequence[Sequences], unit_of: Ints) -> SharedSteps | None:
    """Two items of one buffer that overlap."""
    buffers = [sample.buffers() for sample in samples]
    owner = np.concatenate([np.full(len(starts), _buffer_address(base)) for base, starts, _ in buffers])
    width = np.concatenate([np.full(len(starts), base.strides[0]) for base, starts, _ in buffers])
    starts = owner + np.concatenate([starts for _, starts, _ in buffers]) * width
    ends = starts + np.concatenate([lengths for _, _, lengths in buffers]) * width
    reach, holder = -1, -1
    for item in np.argsort(starts, kind="stable").tolist():
        if holder >= 0 and starts[item] < reach and unit_of[item] != unit_of[holder]:
            same = starts[item] == starts[holder] and ends[item] == reach
            shared = 0 if same else int((min(reach, ends[item]) - starts[item]) // width[item])
            return SharedSteps(min(holder, item), max(holder, item), shared)
        if ends[item] > reach:
            reach, holder = int(ends[item]), item
    return None


def _find_shared_values(samples: Sequence[Sequences], unit_of: Ints) -> SharedSteps | None:
    """Two items of which the one begins, step by step, in the middle of the other: copies of overlapping windows."""
    steps = [_time_steps(sample) for sample in samples]
    values = np.concatenate([one for one, _ in steps])
    lengths = np.concatenate([each for _, each in steps])
    starts = np.cumsum(lengths) - lengths
    codes = _hash_steps(values)
    for place, holder, guest in _candidate_overlaps(codes, starts, lengths)[:_MAX_CANDIDATES]:
        shared = min(int(starts[holder] + lengths[holder]) - place, int(lengths[guest]))
        ours, theirs = slice(place, place + shared), slice(int(starts[guest]), int(starts[guest]) + shared)
        apart = unit_of[guest] != unit_of[holder] and shared >= _MIN_OVERLAP
        if apart and np.array_equal(codes[ours], codes[theirs]) and _is_irregular(codes[ours], values[ours]):
            return SharedSteps(min(holder, guest), max(holder, guest), shared)
    return None


def _candidate_overlaps(codes: NDArray[np.uint64], starts: Ints, lengths: Ints) -> list[tuple[int, int, int]]:
    """Where an item goes on as another begins: step, item, and the item that begins so."""
    begins = np.flatnonzero(lengths >= _MIN_OVERLAP)
    first = np.sort(codes[starts[begins, None] + np.arange(_MIN_OVERLAP)], axis=1)
    begins = begins[(np.diff(first, axis=1) > 0).sum(axis=1) >= _MIN_CHANGES]  # a sensor at rest begins as any other
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
    periodic = np.isin(holder, holder[runs[places] == runs[starts[holder]]])  # it repeats itself, and so may others
    return list(zip(places[~periodic].tolist(), holder[~periodic].tolist(), guest[~periodic].tolist(), strict=True))


def _is_irregular(codes: NDArray[np.uint64], values: NDArray[np.float64]) -> bool:
    """Whether steps go up and down as those of a signal do: counters and ramps are alike without an overlap."""
    return len(np.unique(codes)) >= _MIN_OVERLAP and len(np.unique(np.diff(values, axis=0), axis=0)) >= _MIN_CHANGES


def _time_steps(sample: Sequences) -> tuple[NDArray[np.float64], Ints]:
    """All time steps (step, channel), and how many each item has; a vector is a series of numbers."""
    flat = sample.values.reshape(len(sample.values), -1).astype(np.float64, copy=False)
    if sample.shape[1] == 1:
        return flat.reshape(-1, 1), np.full(len(sample), flat.shape[1])
    return flat, sample.lengths


def _hash_steps(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """A number for every step: equal where all of it is, missing values too, and hardly ever otherwise."""
    words = np.ascontiguousarray(values + 0.0).view(np.uint64)  # + 0.0: −0 and 0 are one value, and two words
    odd = np.random.default_rng(0).integers(2**63, size=words.shape[1], dtype=np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):
        each = ((words ^ (words >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
    return np.asarray(each ^ (each >> np.uint64(31)))


def _hash_runs(codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The same for the run of steps that begins at each."""
    found, factor = np.zeros(len(codes), np.uint64), np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        for step in range(_MIN_OVERLAP):
            found[: len(codes) - step] = found[: len(codes) - step] * factor + codes[step:]
    return found


def _buffer_address(base: NDArray[np.generic]) -> int:
    return int(base.__array_interface__["data"][0])


def _item_name(item: int, ends: Ints, names: list[str]) -> str:
    sample = int(np.searchsorted(ends, item, side="right"))
    return f"{names[sample]}[{item - (ends[sample - 1] if sample else 0)}]"
