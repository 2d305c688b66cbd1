"""Gaps in recordings, from missing values or missing timestamps: the table `Gaps`, and splitting at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_choice, check_int
from ...core.validation.arrays import make_read_only
from ...plotting import html
from ..timestamps import same_sequence_mask
from .durations import (
    SamplingIntervals,
    TypicalSteps,
    check_duration,
    elapsed_between,
    intervals_between_samples,
    is_longer,
    typical_steps,
)

if TYPE_CHECKING:
    from ..container import Sequences

_MAX_LISTED = 12  # gaps in a printed table
_STEP_FACTOR = 1.5  # usual steps, and
_DEVIATION_FACTOR = 5.0  # usual deviations, beyond which two samples are far apart


@dataclass(frozen=True, repr=False, eq=False)
class Gaps:
    """A table of gaps, one per row, sorted by sequence: see `Sequences.gaps`.

    `items` are positions of sequences and `channels` of channels, −1 if all are missing. `begins` and `ends` are the
    times of the samples on both sides (steps if there are no times), `durations` the time between them, and `missing`
    the number of missing samples, from the usual step of the sequence.
    """

    items: NDArray[np.int64]
    channels: NDArray[np.int64]
    begins: NDArray[Any]
    ends: NDArray[Any]
    durations: NDArray[np.float64]
    missing: NDArray[np.int64]
    ids: NDArray[Any] | None
    channel_names: tuple[str, ...] | None
    unit: str

    def __len__(self) -> int:
        return len(self.items)

    @property
    def longest(self) -> float:
        """The duration of the longest, 0 if there is none."""
        return float(self.durations.max(initial=0.0))

    def columns(self) -> dict[str, NDArray[Any]]:
        """The table as plain arrays by name, with ids and the names of channels if there are any."""
        columns = {"item": self.items, "channel": self._channel_column(), "begin": self.begins, "end": self.ends}
        columns |= {"duration": self.durations, "missing": self.missing}
        return columns if self.ids is None else {"item": self.items, "id": self.ids[self.items]} | columns

    def _channel_column(self) -> NDArray[Any]:
        if self.channel_names is None:
            return self.channels
        return np.array([*self.channel_names, "all"])[self.channels]

    def to_frame(self, kind: Literal["pandas", "polars"] = "pandas") -> Any:
        """The table in pandas or polars."""
        import narwhals as nw

        check_choice(kind, "kind", ("pandas", "polars"))
        try:
            return nw.from_dict(self.columns(), backend=kind).to_native()
        except ImportError:
            raise ImportError(f'to_frame(kind="{kind}") needs {kind}: pip install {kind}') from None

    def __repr__(self) -> str:
        if len(self) == 0:
            return "Gaps(none)"
        header, rows = self._table_cells()
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)
        ]
        return "\n".join([self._headline(), *lines])

    def _repr_html_(self) -> str:
        header, rows = self._table_cells()
        return html.paragraph(self._headline()) + (html.table(header, rows) if len(self) else "")

    def _headline(self) -> str:
        if len(self) == 0:
            return "no gaps"
        where = len(np.unique(self.items))
        shown = f", the {_MAX_LISTED} longest" if len(self) > _MAX_LISTED else ""
        return (
            f"{len(self)} gap{'s' * (len(self) > 1)} in {where} sequence{'s' * (where > 1)}, the longest "
            f"{self.longest:.6g}{self.unit and ' ' + self.unit}{shown}:"
        )

    def _table_cells(self) -> tuple[list[str], list[list[str]]]:
        """The longest gaps as text cells, in the order of the table."""
        columns = self.columns()
        chosen = np.sort(np.argsort(-self.durations, kind="stable")[:_MAX_LISTED])
        header = [f"{name} ({self.unit})" if name == "duration" and self.unit else name for name in columns]
        rows = [[_format_cell(name, column[i]) for name, column in columns.items()] for i in chosen.tolist()]
        return header, rows


def _format_cell(name: str, value: Any) -> str:
    if isinstance(value, np.datetime64):
        return str(value).rstrip("0").rstrip(".") if "." in str(value) else str(value)
    if name == "channel" and not isinstance(value, str) and int(value) == -1:
        return "all"
    return f"{value:.6g}" if isinstance(value, np.floating) else str(value)


def gaps(self: Sequences, max_gap: Any = None) -> Gaps:
    """Gaps between samples that are longer than `max_gap`, because timestamps or values (NaN) are missing.

    `max_gap` is in the unit of the times: seconds for datetimes (or a timedelta), steps if there are no times. Without
    it, every run of missing values counts, and every two timestamps further apart than both 1.5 usual steps of their
    sequence (the median) and five times the usual deviation from it, so irregular sampling does not count. A gap in all
    channels is one row. Missing values at an end of the sequence count from that end.

    >>> import timelike as tl
    >>> s = tl.Sequences([[1.0, 2.0, 3.0, 4.0]], times=[[0.0, 1.0, 2.0, 602.0]], ids=["walk"])
    >>> s.gaps()
    1 gap in 1 sequence, the longest 600:
    item    id  channel  begin  end  duration  missing
       0  walk      all      2  602       600      599
    >>> len(s.gaps(max_gap=1000))
    0
    """
    self.refuse_disorder("gaps()")
    return find_gaps(self, typical_steps(self), None if max_gap is None else check_duration(self, max_gap, "max_gap"))


def find_gaps(self: Sequences, usual: TypicalSteps, limit: float | None = None) -> Gaps:
    """The gaps, given the typical steps; see `gaps`."""
    holes, channels = _merge_channels(_find_channel_intervals(self, usual, limit), self.frame[0])
    times = _step_numbers(self.lengths) if self.times is None else self.times
    durations = elapsed_between(self, holes.begin, holes.end)
    with np.errstate(invalid="ignore"):
        stamps = np.nan_to_num(np.round(durations / usual.step[holes.item]), nan=0.0).astype(np.int64) - 1
    missing = np.maximum(stamps, holes.stop - holes.first)
    arrays = (holes.item, channels, times[holes.begin], times[holes.end], durations, missing)
    items, channels, begins, ends, durations, missing = map(make_read_only, arrays)
    unit = "s" if times.dtype.kind == "M" else ""
    return Gaps(items, channels, begins, ends, durations, missing, self.ids, self.channel_names, unit)


def _step_numbers(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of every packed step inside its sequence."""
    return np.asarray(np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths))


def _find_channel_intervals(
    self: Sequences, usual: TypicalSteps, limit: float | None
) -> list[tuple[int, SamplingIntervals]]:
    """The gaps of each channel; −1 stands for all channels if nothing is missing or there is only one channel."""
    there = present_mask(self) if self.has_missing else np.ones((len(self.values), 1), bool)
    whole = _find_intervals(self, np.ones(len(there), bool), usual, limit)
    each = [whole if column.all() else _find_intervals(self, column, usual, limit) for column in there.T]
    return [(-1 if len(each) == 1 else channel, holes) for channel, holes in enumerate(each)]


def _find_intervals(
    self: Sequences, there: NDArray[np.bool_], usual: TypicalSteps, limit: float | None
) -> SamplingIntervals:
    holes = intervals_between_samples(there, self.lengths)
    return holes.select(_gap_mask(self, holes, usual, limit))


def present_mask(self: Sequences) -> NDArray[np.bool_]:
    """Which channels have a whole frame at which step, (total_time, channel)."""
    values = self.values.reshape(len(self.values), self.frame[0], -1)
    return ~np.isnan(values).any(axis=2) if values.dtype.kind == "f" else np.ones(values.shape[:2], bool)


def find_jumps(self: Sequences) -> NDArray[np.int64]:
    """Rows after which the timestamps of their sequence jump further than usual."""
    return _find_intervals(self, np.ones(len(self.values), bool), typical_steps(self), None).begin


def _gap_mask(self: Sequences, holes: SamplingIntervals, usual: TypicalSteps, limit: float | None) -> NDArray[np.bool_]:
    """Which segments between samples are gaps."""
    if limit is not None:
        return is_longer(self, holes.begin, holes.end, limit)
    far = _STEP_FACTOR * usual.step + _DEVIATION_FACTOR * usual.deviation
    return (holes.stop > holes.first) | is_longer(self, holes.begin, holes.end, far[holes.item])


def _merge_channels(
    by_channel: list[tuple[int, SamplingIntervals]], n_channels: int
) -> tuple[SamplingIntervals, NDArray[np.int64]]:
    """The gaps of all channels in order; one that they all have stands there once, as channel −1."""
    holes = SamplingIntervals(
        *(np.concatenate(columns) for columns in zip(*(one for _, one in by_channel), strict=True))
    )
    channels = np.concatenate([np.full(len(one.item), channel, np.int64) for channel, one in by_channel])
    if len(by_channel) > 1:
        keys = np.stack([holes.first, holes.stop, holes.begin, holes.end], axis=1)
        _, first, inverse, counts = np.unique(keys, axis=0, return_index=True, return_inverse=True, return_counts=True)
        shared = counts[inverse.ravel()] == n_channels
        channels = np.where(shared, -1, channels)
        mask = ~shared
        mask[first] = True
        holes, channels = holes.select(mask), channels[mask]
    order = np.lexsort((channels, holes.end, holes.begin))
    return SamplingIntervals(*(column[order] for column in holes)), channels[order]


def split_at_gaps(
    self: Sequences, max_gap: Any, *, channels: Literal["all", "any"] = "all", min_length: int = 1
) -> Sequences:
    """Split sequences at gaps longer than `max_gap`; each piece becomes a sequence, a view of the same memory.

    `max_gap` is in the unit of the times: seconds for datetimes (or a timedelta), steps if there are no times. Steps
    at which all channels are missing (with `channels="any"`, at least one) do not count as samples, and are removed in
    long gaps. Shorter gaps stay, for `interpolate`.

    Pieces keep labels and groups. If there are no groups, the number of the sequence becomes the group, so that a split
    by group keeps pieces of one recording together. The pieces of `walk` are `walk#1`, `walk#2`, …; a sequence without
    long gaps keeps its id. Pieces shorter than `min_length` steps are skipped.

    >>> import timelike as tl
    >>> s = tl.Sequences([[1.0, 2.0, 3.0, 4.0]], times=[[0.0, 1.0, 601.0, 602.0]], ids=["walk"])
    >>> s.split_at_gaps(10).ids, s.split_at_gaps(10).times
    (array(['walk#1', 'walk#2'], dtype='<U6'), array([  0.,   1., 601., 602.]))
    """
    self.refuse_disorder("split_at_gaps()")
    limit, shortest = check_duration(self, max_gap, "max_gap"), check_int(min_length, "min_length", 1)
    if len(self) == 0:
        return self
    outside, joined = _outside_gaps(self, limit, check_choice(channels, "channels", ("all", "any")))
    linked = outside[:-1] & outside[1:] & joined
    begins = np.flatnonzero(outside & ~np.concatenate([[False], linked]))
    ends = np.flatnonzero(outside & ~np.concatenate([linked, [False]])) + 1
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
    outside, joined = np.ones(len(self.values), bool), same_sequence_mask(self.lengths)
    there = present_mask(self) if self.has_missing else np.ones((len(self.values), 1), bool)
    sides = [np.asarray(there.any(axis=1))] if channels == "all" else list(there.T)
    for samples in sides:
        holes = intervals_between_samples(samples, self.lengths)
        holes = holes.select(is_longer(self, holes.begin, holes.end, limit))
        marks = np.zeros(len(outside) + 1, np.int64)
        np.add.at(marks, holes.first, 1)
        np.add.at(marks, holes.stop, -1)
        outside &= np.cumsum(marks[:-1]) == 0
        joined[holes.begin[holes.begin < holes.end]] = False
    return outside, joined


def _number_ids(ids: NDArray[Any], source: NDArray[np.int64]) -> NDArray[Any]:
    """Ids of pieces: distinct if those of the recordings were, whatever these look like."""
    counts = np.bincount(source, minlength=len(ids))
    if counts.max() <= 1:
        return ids[source]
    number = np.arange(len(source)) - (np.cumsum(counts) - counts)[source] + 1
    names, distinct = [str(one) for one in ids.tolist()], len(np.unique(ids)) == len(ids)
    mark = "#"
    while True:
        piece_ids = [
            f"{names[i]}{mark}{n}" if counts[i] > 1 else names[i]
            for i, n in zip(source.tolist(), number.tolist(), strict=True)
        ]
        if not distinct or len(set(piece_ids)) == len(piece_ids):
            return np.array(piece_ids)
        mark += "#"  # another recording may be called walk#1
