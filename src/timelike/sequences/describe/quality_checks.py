"""Quality checks of recordings: timestamps, rates, dead and clipped channels, copies, rare classes, short sequences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import format_count
from ..timestamps import same_sequence_mask

if TYPE_CHECKING:
    from ..clean.durations import TypicalSteps
    from ..container import Sequences

_MAX_LISTED = 5  # sequences that a sentence names
_RATE_TOLERANCE = 0.1  # share by which a rate may differ from the usual one
_SHORT_SHARE = 0.1  # of the median length
_RUN_LENGTH = 3  # equal extremes in a row
_MIN_DISTINCT = 10  # values that a channel must have to be a measurement and not a switch
_CHUNK = 1 << 22  # values that are hashed at once


@dataclass(frozen=True, eq=False)
class QualityIssue:
    """A `message` about the sequences at the positions `items`; `kind` identifies the check."""

    kind: str
    message: str
    items: NDArray[np.int64]


@dataclass(frozen=True)
class Extremes:
    """The smallest and largest value of every channel in every sequence, (item, channel), and how many there are."""

    low: NDArray[Any]
    high: NDArray[Any]
    count: NDArray[np.int64]


def extremes(self: Sequences) -> Extremes:
    """Over time and over the places of a frame; NaN where a sequence has no value of a channel."""
    values = self.values.reshape(len(self.values), self.frame[0], int(np.prod(self.frame[1:])))
    starts = self.offsets[:-1]
    low = np.fmin.reduceat(np.fmin.reduce(values, axis=2), starts, axis=0)
    high = np.fmax.reduceat(np.fmax.reduce(values, axis=2), starts, axis=0)
    if not self.has_missing:
        size = self.lengths[:, None] * values.shape[2]
        return Extremes(low, high, np.broadcast_to(size, low.shape))
    return Extremes(low, high, np.add.reduceat((~np.isnan(values)).sum(axis=2), starts, axis=0))


def find_quality_issues(self: Sequences, usual: TypicalSteps, ends: Extremes) -> tuple[QualityIssue, ...]:
    """All issues; those that must be fixed come before those that may be intended."""
    issues = [
        *_check_timestamps(self),
        *_check_rates(self, usual),
        *_check_dead_channels(self, ends),
        *_check_clipping(self),
        *_check_copies(self),
        *_check_rare_and_short(self),
    ]
    return tuple(issues)


def _check_timestamps(self: Sequences) -> Iterator[QualityIssue]:
    if self.times is None or self._in_order:
        return
    rows = np.flatnonzero(same_sequence_mask(self.lengths))
    item = np.repeat(np.arange(len(self)), self.lengths)[rows]
    for kind, hit in (
        ("unsorted timestamps", self.times[rows + 1] < self.times[rows]),
        ("repeated timestamps", self.times[rows + 1] == self.times[rows]),
    ):
        items = np.unique(item[hit])
        if len(items):
            where = "run backwards" if kind == "unsorted timestamps" else "repeat"
            steps = format_count(int(hit.sum()), "step")
            words = f"timestamps {where} at {steps}{_describe_items(self, items)}: merge_duplicates() mends them"
            yield QualityIssue(kind, words, items)


def _check_rates(self: Sequences, usual: TypicalSteps) -> Iterator[QualityIssue]:
    """Sequences whose usual step is not that of most."""
    if self.times is None or np.isnan(usual.step).all():
        return
    middle = float(np.nanmedian(usual.step))
    with np.errstate(invalid="ignore"):
        items = np.flatnonzero(np.abs(usual.step / middle - 1) > _RATE_TOLERANCE)
    if len(items):
        low, high = 1 / usual.step[items].max(), 1 / usual.step[items].min()
        rates = f"{low:.4g}" if np.isclose(low, high) else f"{low:.4g} to {high:.4g}"
        words = f"{rates} samples per {time_unit(self)} where {1 / middle:.4g} are usual{_describe_items(self, items)}"
        yield QualityIssue("different rate", words, items)


def _check_dead_channels(self: Sequences, ends: Extremes) -> Iterator[QualityIssue]:
    for channel in range(self.frame[0]):
        name = channel_name(self, channel)
        empty = np.flatnonzero(ends.count[:, channel] == 0)
        if len(empty):
            yield QualityIssue("missing channel", f"{name} has no value at all{_describe_items(self, empty)}", empty)
        flat = (ends.low[:, channel] == ends.high[:, channel]) & (ends.count[:, channel] > 1) & (self.lengths > 1)
        items = np.flatnonzero(flat)
        if len(items):
            yield QualityIssue("constant channel", f"{name} never changes{_describe_items(self, items)}", items)


def _check_clipping(self: Sequences) -> Iterator[QualityIssue]:
    """Channels that stay at their largest or smallest value for several steps, as a sensor does at its limit.

    Zero as the smallest is a limit by nature (rain, counts, speed), and a channel of few values a switch.
    """
    if len(self.frame) > 1 or self.dtype.kind == "b":
        return
    same = same_sequence_mask(self.lengths)
    for channel in range(self.frame[0]):
        values = self.values[:, channel]
        low, high = np.fmin.reduce(values), np.fmax.reduce(values)
        for limit, which in ((low, "smallest"), (high, "largest")):
            if not low < high or (which == "smallest" and limit == 0):
                continue
            pairs = (values[1:] == limit) & (values[:-1] == limit) & same
            runs = np.flatnonzero(pairs[1:] & pairs[:-1])  # three in a row
            if (
                len(runs)
                and len(np.unique(values[~np.isnan(values)] if self.dtype.kind == "f" else values)) > _MIN_DISTINCT
            ):
                items = np.unique(np.searchsorted(self.offsets, runs, side="right") - 1)
                name = channel_name(self, channel)
                words = f"{name} stays at its {which} value {limit:.6g} for {_RUN_LENGTH} steps or more"
                words += _describe_items(self, items)
                yield QualityIssue("clipped", words, items)


def _check_copies(self: Sequences) -> Iterator[QualityIssue]:
    """Sequences of several steps with the same values."""
    groups = find_copies(self)
    if not groups:
        return
    items = np.sort(np.concatenate(groups))
    listed = [" = ".join(item_name(self, i) for i in group[:_MAX_LISTED].tolist()) for group in groups[:_MAX_LISTED]]
    more = ", …" if len(groups) > _MAX_LISTED else ""
    labels = self.labels
    torn = labels is not None and any(len(np.unique(labels[group])) > 1 for group in groups)
    words = f"{format_count(len(items), 'sequence')} hold the values of another: {', '.join(listed)}{more}"
    yield QualityIssue("duplicate sequence", words + ("; some with another label" if torn else ""), items)


def find_copies(self: Sequences) -> list[NDArray[np.int64]]:
    """Groups of sequences of two steps or more that are equal, value by value.

    >>> import timelike as tl
    >>> find_copies(tl.Sequences([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    [array([0, 2])]
    """
    keys = np.stack([_hash_sequences(self), self.lengths.astype(np.uint64)], axis=1)
    _, inverse, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.ravel()
    order = np.argsort(inverse, kind="stable")
    groups = []
    for part in np.split(order, np.cumsum(counts)[:-1]) if (counts > 1).any() else []:
        if len(part) > 1 and self.lengths[part[0]] > 1:
            groups += _group_equal(self, part)
    return sorted(groups, key=lambda group: int(group[0]))


def _group_equal(self: Sequences, candidates: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The groups of equal sequences among those of one hash."""
    kinds: list[list[int]] = []
    for i in candidates.tolist():
        for kind in kinds:
            if np.array_equal(self[i], self[kind[0]], equal_nan=self.dtype.kind == "f"):
                kind.append(i)
                break
        else:
            kinds.append([i])
    return [np.array(kind) for kind in kinds if len(kind) > 1]


def _hash_sequences(self: Sequences) -> NDArray[np.uint64]:
    """A number for the values of every sequence, (item,), with no loop over them."""
    width = int(np.prod(self.frame))
    odd = np.random.default_rng(0).integers(1 << 63, size=width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashes = np.empty(len(self), np.uint64)
    chunk = np.cumsum(self.lengths) * width // _CHUNK
    for part in np.split(np.arange(len(self)), np.flatnonzero(np.diff(chunk)) + 1):
        begin, end = int(self.offsets[part[0]]), int(self.offsets[part[-1] + 1])
        values = self.values[begin:end].reshape(end - begin, width).astype(np.float64) + 0.0  # one zero, not two
        values[np.isnan(values)] = np.nan  # one of the many
        bits = values.view(np.uint64)
        rows = ((bits ^ (bits >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
        starts = self.offsets[part] - begin
        place = np.arange(end - begin) - np.repeat(starts, self.lengths[part])
        turned = (rows ^ (rows >> np.uint64(32))) * (
            place.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
        )
        hashes[part] = np.add.reduceat(turned, starts)
    return hashes


def _check_rare_and_short(self: Sequences) -> Iterator[QualityIssue]:
    """Classes of one sequence, and sequences far shorter than the others."""
    if self.labels is not None and self.labels.dtype.kind != "f":
        kinds, first, counts = np.unique(self.labels, return_index=True, return_counts=True)
        single = np.flatnonzero(counts == 1)
        if len(single) and len(kinds) > 1:
            names = ", ".join(map(str, kinds[single][:_MAX_LISTED])) + (", …" if len(single) > _MAX_LISTED else "")
            yield QualityIssue("single-member class", f"only one sequence of the class {names}", np.sort(first[single]))
    items = np.flatnonzero(self.lengths < _SHORT_SHARE * np.median(self.lengths))
    if len(items):
        words = f"{int(self.lengths[items].max())} steps or fewer where {np.median(self.lengths):.6g} are usual"
        yield QualityIssue("short sequence", words + _describe_items(self, items), items)


def _describe_items(self: Sequences, items: NDArray[np.int64]) -> str:
    """The sequences as text."""
    if len(items) == len(self) > 1:
        return " in every sequence"
    names = ", ".join(item_name(self, i) for i in items[:_MAX_LISTED].tolist()) + (
        ", …" if len(items) > _MAX_LISTED else ""
    )
    return f" in {names}" if len(items) == 1 else f" in {len(items)} sequences ({names})"


def item_name(self: Sequences, item: int) -> str:
    """The id of a sequence, or its position."""
    return f"sequence {item}" if self.ids is None else str(self.ids[item])


def channel_name(self: Sequences, channel: int) -> str:
    """The name of a channel, or its position."""
    return f"channel {channel}" if self.channel_names is None else self.channel_names[channel]


def time_unit(self: Sequences) -> str:
    """The unit of time."""
    if self.times is None:
        return "step"
    return "s" if self.times.dtype.kind == "M" else "unit of time"
