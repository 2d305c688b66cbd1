"""Sequences as overlaid curves, each from its first sample, for members of clusters, neighbours and centres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...plotting.panels import PlotCurve, break_line
from ...plotting.signals import channel_values
from . import plots
from .plots import TimeAxis

if TYPE_CHECKING:
    from ..container import Sequences


channel_index, pick_evenly = plots.channel_index, plots.pick_evenly


def value_name(self: Sequences, place: int) -> str:
    """The name of the values: that of their channel, if it has one."""
    return "" if self.channel_names is None or len(self.frame) > 1 else self.channel_names[place]


def item_label(self: Sequences, item: int) -> str:
    """The id of a sequence, or its position."""
    return str(item if self.ids is None else self.ids[item])


def pair_times(x: Sequences, y: Sequences) -> tuple[tuple[NDArray[Any], NDArray[Any]] | None, str]:
    """The times of two sequences since the first sample of each, if both have times, and the name of the axis."""
    if x.times is None or y.times is None:
        return None, "time step"
    first, second = (TimeAxis(side, np.array([0]), from_start=True) for side in (x, y))
    return (first.times_and_breaks(0)[0], second.times_and_breaks(0)[0]), first.name


def item_times(self: Sequences, item: int) -> NDArray[Any] | None:
    """The times of one sequence, if it has times."""
    return None if self.times is None else self.times[self.offsets[item] : self.offsets[item + 1]]


def elapsed_from_first(clock: NDArray[Any]) -> NDArray[Any]:
    """Times from the first of them on, datetimes in seconds.

    >>> elapsed_from_first(np.array(["2024-01-01T00:00:00", "2024-01-01T00:01:30"], "datetime64[ns]"))
    array([ 0., 90.])
    """
    passed = clock - clock[0]
    return np.asarray(passed / np.timedelta64(1, "s") if passed.dtype.kind == "m" else passed)


class Overlay(NamedTuple):
    """Curves in the given order, each from its first sample, and the name of the time axis."""

    curves: list[PlotCurve]
    time: str


def overlay_curves(
    self: Sequences, items: Any, place: int, *, color: int = 0, names: list[str] | None = None, clocked: bool = True
) -> Overlay:
    """These sequences over the time since their first sample, or over steps if they have no times."""
    chosen = np.asarray(items, np.int64)
    time = TimeAxis(
        self if clocked else self.replace(times=None),
        np.unique(chosen) if len(chosen) else np.array([0]),
        from_start=True,
    )
    curves = []
    for k, item in enumerate(chosen.tolist()):
        times, after = time.times_and_breaks(item)
        line = break_line(times, channel_values(self[item], place), after)
        curves.append(PlotCurve(*line, color=color, name=None if names is None else names[k]))
    return Overlay(curves, time.name)
