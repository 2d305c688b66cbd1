"""Recordings with holes → the pieces between them. A method of `Sequences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_choice, check_int
from ..timestamps import same_sequence_mask
from .durations import check_duration, intervals_between_samples, is_longer
from .gaps import present_mask

if TYPE_CHECKING:
    from ..container import Sequences


def split_at_gaps(
    self: Sequences, max_gap: Any, *, channels: Literal["all", "any"] = "all", min_length: int = 1
) -> Sequences:
    """The pieces between gaps longer than `max_gap`, each a sequence of its own; views of the same memory.

    `max_gap` is in the unit of the clock: seconds for datetimes (or a timedelta), steps where there are no times. Steps
    at which all channels are missing do not count as samples, and those in a gap are left out; with `channels="any"`
    it is enough that one channel is missing. What is missing for shorter stays, for `interpolate`.

    Labels and groups go with the pieces. Where there are no groups, the number of the sequence becomes the group, so
    that a split by group keeps pieces of one recording together. The pieces of `walk` are `walk#1`, `walk#2`, …; what
    was not cut keeps its id. Pieces of fewer than `min_length` steps are left out.

    >>> import timelike as tl
    >>> s = tl.Sequences([[1.0, 2.0, 3.0, 4.0]], times=[[0.0, 1.0, 601.0, 602.0]], ids=["walk"])
    >>> s.split_at_gaps(10).ids, s.split_at_gaps(10).times
    (array(['walk#1', 'walk#2'], dtype='<U6'), array([  0.,   1., 601., 602.]))
    """
    self.refuse_disorder("split_at_gaps()")
    limit, shortest = check_duration(self, max_gap, "max_gap"), check_int(min_length, "min_length", 1)
    if len(self) == 0:
        return self
    kept, joined = _outside_gaps(self, limit, check_choice(channels, "channels", ("all", "any")))
    linked = kept[:-1] & kept[1:] & joined
    begins = np.flatnonzero(kept & ~np.concatenate([[False], linked]))
    ends = np.flatnonzero(kept & ~np.concatenate([linked, [False]])) + 1
    long = ends - begins >= shortest
    if not long.any():
        raise ValueError(
            f"max_gap={max_gap} and min_length={min_length} leave no piece of any sequence: allow longer gaps or "
            "shorter pieces"
        )
    begins, ends = begins[long], ends[long]
    source = np.searchsorted(self.offsets, begins, side="right") - 1
    _, starts, _ = self.buffers()
    cut = self._with_spans(starts[source] + begins - self.offsets[source], ends - begins)
    cut._labels = None if self.labels is None else self.labels[source]
    cut._groups = source if self.groups is None else self.groups[source]
    cut._ids = None if self.ids is None else _number_ids(self.ids, source)
    return cut


def _outside_gaps(self: Sequences, limit: float, channels: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows lie in no gap, and which neighbouring rows have none between them and are of one sequence."""
    kept, joined = np.ones(len(self.values), bool), same_sequence_mask(self.lengths)
    there = present_mask(self) if self.has_missing else np.ones((len(self.values), 1), bool)
    sides = [np.asarray(there.any(axis=1))] if channels == "all" else list(there.T)
    for samples in sides:
        holes = intervals_between_samples(samples, self.lengths)
        holes = holes.select(is_longer(self, holes.begin, holes.end, limit))
        marks = np.zeros(len(kept) + 1, np.int64)
        np.add.at(marks, holes.first, 1)
        np.add.at(marks, holes.stop, -1)
        kept &= np.cumsum(marks[:-1]) == 0
        joined[holes.begin[holes.begin < holes.end]] = False
    return kept, joined


def _number_ids(ids: NDArray[Any], source: NDArray[np.int64]) -> NDArray[Any]:
    """Ids of pieces: distinct if those of the recordings were, whatever these look like."""
    counts = np.bincount(source, minlength=len(ids))
    if counts.max() <= 1:
        return ids[source]
    number = np.arange(len(source)) - (np.cumsum(counts) - counts)[source] + 1
    names, distinct = [str(one) for one in ids.tolist()], len(np.unique(ids)) == len(ids)
    mark = "#"
    while True:
        made = [
            f"{names[i]}{mark}{n}" if counts[i] > 1 else names[i]
            for i, n in zip(source.tolist(), number.tolist(), strict=True)
        ]
        if not distinct or len(set(made)) == len(made):
            return np.array(made)
        mark += "#"  # somebody has called another recording walk#1
