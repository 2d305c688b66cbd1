"""Sequences as lines: small multiples by class, and a few as sparklines in a notebook. Methods of `Sequences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_bool, check_int
from ...plotting import html, sparklines
from ...plotting.panels import STYLES, CurvePanel, PlotCurve, break_line, plot_multiples
from ...plotting.signals import channel_values
from ...plotting.style import COLORS
from ..clean.gaps import find_jumps
from ..selection import channel_position
from .quality_checks import channel_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.figure import Figure

    from ..container import Sequences

_MAX_PANELS = 12  # at most
_MAX_CHANNELS = 6  # channels drawn unless they are chosen
_MAX_SCALE_RATIO = 5.0  # times the smallest spread that channels in one panel may have
_MIN_SHARE = 0.05  # of the axis, below which the longest line shows nothing
_MAX_EXAMPLES = 6  # sparklines one below the other
_MAX_COLUMNS = 4  # and side by side


def plot(
    self: Sequences,
    *,
    n: int | None = None,
    channel: int | str | Iterable[int | str] | None = None,
    from_start: bool | None = None,
    dark: bool = False,
) -> Figure:
    """Draw a few sequences of every class, one panel per class, or of the whole collection if there are no classes.

    The sequences are spread evenly over the class: at most `n`, by default five, or fewer if there are several
    channels. `channel` is a name, a position (in a frame with several axes: of the flattened values) or several of
    these. By default, up to six channels are drawn, in one panel if their scales are similar, otherwise side by side.
    If there are many classes or channels, the first ones are drawn, and the title gives the numbers.

    The x-axis is the time of the sequences if they have times; lines are broken where values or timestamps are missing.
    `from_start` counts time from the first sample of each sequence. By default, this happens only if sequences are too
    far apart to be visible (on different days). Legends show ids and channel names. `dark` draws for a dark page.

    >>> import timelike as tl
    >>> [axes.get_title() for axes in tl.Sequences([[1.0, 2.0], [3.0]], labels=["up", "down"]).plot().axes]
    ['down: 1 of 1', 'up: 1 of 1']
    """
    if len(self) == 0:
        raise ValueError("there are no sequences to draw: expected at least one")
    chosen = _resolve_channels(self, channel)
    kinds = _group_by_class(self)
    apart = len(chosen) > 1 and not _has_similar_scales(self, chosen)
    n = (5 if len(chosen) == 1 else 3 if apart else 2) if n is None else check_int(n, "n", 1)
    drawn_kinds = kinds[: max(1, _MAX_PANELS // len(chosen)) if apart else _MAX_PANELS]
    shown = [
        (f"{name}{min(n, len(members))} of {len(members)}", pick_evenly(members, n)) for name, members in drawn_kinds
    ]
    time = TimeAxis(self, np.concatenate([members for _, members in shown]), from_start)
    omissions = [] if len(drawn_kinds) == len(kinds) else [f"{len(drawn_kinds)} of {len(kinds)} classes"]
    if channel is None and len(self.frame) == 1 and len(chosen) < self.frame[0]:
        omissions.append(f"{len(chosen)} of {self.frame[0]} channels")
    groups = [[c] for c in chosen] if apart else [chosen]
    names = [_channel_title(self, c) for c in chosen]
    panels = [
        CurvePanel(
            title, _value_name(self, group), _make_curves(self, time, members, group, len(shown) == 1, named=k == 0)
        )
        for title, members in shown
        for k, group in enumerate(groups)
    ]
    together = names if len(chosen) > 1 and not apart else ()
    columns = len(chosen) if apart else None
    text = ", ".join(omissions)
    return plot_multiples(panels, time=time.name, colors=together, columns=columns, title=text, dark=dark)


def _resolve_channels(self: Sequences, channels: Any) -> list[int]:
    """Positions of channels; in a frame of several axes, of its values in a row."""
    if channels is None:
        return list(range(min(self.frame[0], _MAX_CHANNELS))) if len(self.frame) == 1 else [0]
    if isinstance(channels, str | int | np.integer) or not hasattr(channels, "__iter__"):
        channels = [channels]
    channels = list(channels)
    if not channels:
        raise ValueError("channel is empty: expected at least one")
    if len(channels) > len(COLORS):
        raise ValueError(f"channel holds {len(channels)} channels: expected at most {len(COLORS)}, one per colour")
    return [channel_index(self, one) for one in channels]


def channel_index(self: Sequences, channel: int | str) -> int:
    """The place of a channel by name or position; in a frame of several axes, of its values in a row."""
    width = int(np.prod(self.frame))
    if isinstance(channel, str) or len(self.frame) == 1:
        return channel_position(self, channel, "channel") * (width // self.frame[0])
    place = check_int(channel, "channel")
    if not -width <= place < width:
        raise ValueError(f"channel={place}: expected 0 to {width - 1}")
    return place % width


def _channel_title(self: Sequences, channel: int) -> str:
    return channel_name(self, channel) if len(self.frame) == 1 else ""


def _value_name(self: Sequences, channels: list[int]) -> str:
    """The name of the values of a panel: that of its channel, if there is one."""
    if len(channels) > 1 or self.channel_names is None or len(self.frame) > 1:
        return ""
    return self.channel_names[channels[0]]


def _group_by_class(self: Sequences) -> list[tuple[str, NDArray[np.int64]]]:
    """The classes, each with the positions of its sequences; one group if labels are not classes."""
    if self.labels is None or self.labels.dtype.kind == "f":
        return [("", np.arange(len(self)))]
    kinds, inverse = np.unique(self.labels, return_inverse=True)
    members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    return [(f"{kind}: ", own) for kind, own in zip(kinds.tolist(), members, strict=True)]


def pick_evenly(members: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """At most this many of them, from the first to the last."""
    return members[np.unique(np.linspace(0, len(members) - 1, min(n, len(members))).astype(np.int64))]


def _has_similar_scales(self: Sequences, channels: list[int]) -> bool:
    """Whether the channels fit one panel: none looks flat next to the others, as degrees do next to pascals."""
    values = self.values.reshape(len(self.values), -1)[:, channels]
    low, high = np.fmin.reduce(values, axis=0).astype(np.float64), np.fmax.reduce(values, axis=0).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        spreads, whole_spread = high - low, np.nanmax(high) - np.nanmin(low) if np.isfinite(high).any() else 0.0
    spreads = spreads[spreads > 0]  # one that never changes is flat anyway
    return len(spreads) == 0 or bool(whole_spread <= _MAX_SCALE_RATIO * spreads.min())


class TimeAxis:
    """The time axis of the drawn sequences, and the places where lines are broken."""

    def __init__(self, sequences: Sequences, items: NDArray[np.int64], from_start: bool | None) -> None:
        if from_start is not None:
            check_bool(from_start, "from_start")
        self.places = {int(i): k for k, i in enumerate(items)}
        part = sequences[items]
        self.part, self.offsets = part, part.offsets
        self.after = find_jumps(part) if part.times is not None and part._in_order else np.empty(0, np.int64)
        self.from_start = part.times is not None and (self._is_too_short() if from_start is None else from_start)

    @property
    def name(self) -> str:
        if self.part.times is None:
            return "time step"
        if not self.from_start:
            return "time"
        return f"{'seconds' if self.part.times.dtype.kind == 'M' else 'time'} since the first sample"

    def _is_too_short(self) -> bool:
        """Whether even the longest of several sequences would be too short to be seen."""
        times = self.part.times
        assert times is not None
        starts, ends = times[self.offsets[:-1]], times[self.offsets[1:] - 1]
        whole_span = times.max() - times.min()
        return len(starts) > 1 and bool((ends - starts).max() < _MIN_SHARE * whole_span)

    def times_and_breaks(self, item: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The times of a sequence, and after which of its steps nothing was recorded for long."""
        place = self.places[item]
        begin, end = int(self.offsets[place]), int(self.offsets[place + 1])
        after = self.after[(self.after >= begin) & (self.after < end)] - begin
        if self.part.times is None:
            return np.arange(end - begin), after
        times = self.part.times[begin:end]
        if not self.from_start:
            return times, after
        since = times - times[0]
        return np.asarray(since.astype(np.int64) / 1e9 if since.dtype.kind == "m" else since), after


def _make_curves(
    self: Sequences, time: TimeAxis, members: NDArray[np.int64], channels: list[int], alone: bool, *, named: bool
) -> list[PlotCurve]:
    """A line for every sequence and channel: colours tell channels apart, or sequences if there is one channel."""
    several = len(channels) > 1
    most = len(STYLES) if several else len(COLORS)
    told_apart = len(members) <= most and (self.ids is not None or (alone and not several))
    curves = []
    for k, item in enumerate(members.tolist()):
        name = str(item if self.ids is None else self.ids[item]) if named and told_apart else None
        for c, channel in enumerate(channels):
            times, values = break_line(
                time.times_and_breaks(item)[0], channel_values(self[item], channel), time.times_and_breaks(item)[1]
            )
            color = c if several else (k if told_apart else 0)
            curves.append(PlotCurve(times, values, color, k if several else 0, name if c == 0 else None))
    return curves


def examples_html(self: Sequences) -> str:
    """A few sequences, of every class if they are not too many, as rows of a table with a small line per channel."""
    if len(self) == 0 or len(self.frame) > 1:
        return ""
    kinds = _group_by_class(self)
    each = max(1, _MAX_EXAMPLES // len(kinds))
    items = np.concatenate([pick_evenly(members, each) for _, members in kinds[:_MAX_EXAMPLES]]).tolist()
    channels = range(min(self.frame[0], _MAX_COLUMNS))
    metadata = {"id": self.ids, "label": self.labels, "group": self.groups}
    entries = {name: entry for name, entry in metadata.items() if entry is not None}
    header = [*(["item"] if self.ids is None else []), *entries, "length", *(channel_name(self, c) for c in channels)]
    ends, time = _value_ranges(self, items), TimeAxis(self, np.array(items), from_start=True)
    rows = []
    for item in items:
        cells = [*([item] if self.ids is None else []), *(_format_entry(entry[item]) for entry in entries.values())]
        rows.append(
            [*cells, int(self.lengths[item]), *(_make_sparkline(self, time, item, c, ends[c]) for c in channels)]
        )
    left_out = "" if self.frame[0] <= _MAX_COLUMNS else f", {_MAX_COLUMNS} of {self.frame[0]} channels"
    return html.paragraph(f"{len(items)} of {len(self)} sequences{left_out}:") + sparklines.sparkline_table(
        header, rows
    )


def _format_entry(entry: Any) -> str:
    """A label or another entry in a table, numbers with six digits."""
    return f"{entry:.6g}" if isinstance(entry, float | np.floating) else str(entry)


def _value_ranges(self: Sequences, items: list[int]) -> list[tuple[float, float]]:
    """The smallest and the largest value of every channel among these sequences, so that lines can be compared."""
    low = np.fmin.reduce([np.fmin.reduce(self[i], axis=0) for i in items]).astype(np.float64)
    high = np.fmax.reduce([np.fmax.reduce(self[i], axis=0) for i in items]).astype(np.float64)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _make_sparkline(
    self: Sequences, time: TimeAxis, item: int, channel: int, ends: tuple[float, float]
) -> sparklines.Sparkline:
    times, after = time.times_and_breaks(item)
    if not self._in_order:
        times = np.arange(len(times))
    name = f"{channel_name(self, channel)} of {item if self.ids is None else self.ids[item]}"
    return sparklines.Sparkline(*break_line(times, self[item][:, channel], after), *ends, name, channel)
