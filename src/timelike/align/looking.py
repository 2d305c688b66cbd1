"""Figures of searches and averages: a query over its neighbours, a barycenter among its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..draw import members
from ..draw.multiples import Curve
from ..sequences import Sequences
from ..sequences.looking import overlaid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEIGHBOURS = 9  # panels
_MEMBERS = 30  # thin lines in one panel
_ONE = 1  # the colour of what stands out


def neighbours(
    X: Sequences,
    queries: Sequences,
    query: int,
    ids: NDArray[np.int64],
    distances: NDArray[Any],
    channel: int | str,
    dark: bool,
) -> Figure:
    """A panel for each of the nearest, with the query over it."""
    known = X if X.channel_names is not None else queries
    place = overlaid.one_channel(known, channel)
    clocked = X.times is not None and queries.times is not None
    nearest, time = overlaid.overlay(X, ids[:_NEIGHBOURS], place, clocked=clocked)
    asked = overlaid.overlay(queries, [query], place, color=_ONE, clocked=clocked).curves[0]
    groups = []
    for rank, (curve, item, distance) in enumerate(zip(nearest, ids.tolist(), distances.tolist(), strict=False), 1):
        label = "" if X.labels is None else f", {X.labels[item]}"
        groups.append(members.Group(f"{rank}: {_item(X, item)}{label}\ndistance {distance:.4g}", [curve], asked))
    legend = [asked._replace(name=f"query {overlaid.called(queries, query)}"), nearest[0]._replace(name="neighbour")]
    return members.figure(groups, time=time, unit=overlaid.unit(known, place), legend=legend, dark=dark)


def _item(X: Sequences, item: int) -> str:
    return f"item {item}" if X.ids is None else str(X.ids[item])


def averaged(
    X: Sequences,
    groups: list[tuple[str, NDArray[np.int64], NDArray[Any], NDArray[Any] | None, str]],
    channel: int | str,
    *,
    said: str = "",
    dark: bool = False,
) -> Figure:
    """Panels of members and what stands for them: title, positions, values, times and name of the thick line.

    What stands for members without a clock of its own is drawn over as long a time as they last on average.
    """
    place = overlaid.one_channel(X, channel)
    panels, time = [], "time step"
    for title, items, center, clock, name in groups:
        shown, time = overlaid.overlay(X, overlaid.spread(items, _MEMBERS), place, color=members.GREY)
        values = center.reshape(len(center), -1)[:, place]
        thick = Curve(_clock(X, items, len(values), clock), values, color=_ONE, name=name)
        panels.append(members.Group(title, shown, thick))
    return members.figure(panels, time=time, unit=overlaid.unit(X, place), said=said, dark=dark)


def _clock(X: Sequences, items: NDArray[np.int64], length: int, clock: NDArray[Any] | None) -> NDArray[Any]:
    if X.times is None:
        return np.arange(length)
    if clock is not None:
        return overlaid.since(clock)
    ends = [overlaid.since(X.times[X.offsets[i] : X.offsets[i + 1]])[-1] for i in items.tolist()]
    return np.linspace(0.0, float(np.mean(ends)) if ends else float(length - 1), length)
