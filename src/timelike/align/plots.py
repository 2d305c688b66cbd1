"""Figures of searches and barycenters: a query over its neighbours, a barycenter among its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..plotting.panels import GREY, CurveGroup, PlotCurve, plot_groups
from ..sequences import Sequences
from ..sequences.describe import overlay

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_NEIGHBORS = 9  # panels
_MAX_MEMBERS = 30  # thin lines in one panel
_HIGHLIGHT = 1  # the colour of what stands out


def plot_neighbors(
    X: Sequences,
    queries: Sequences,
    query: int,
    ids: NDArray[np.int64],
    distances: NDArray[Any],
    channel: int | str,
    dark: bool,
) -> Figure:
    """A panel for each of the nearest, with the query over it."""
    named = X if X.channel_names is not None else queries
    place = overlay.channel_index(named, channel)
    clocked = X.times is not None and queries.times is not None
    nearest, time = overlay.overlay_curves(X, ids[:_MAX_NEIGHBORS], place, clocked=clocked)
    query_curve = overlay.overlay_curves(queries, [query], place, color=_HIGHLIGHT, clocked=clocked).curves[0]
    groups = []
    for rank, (curve, item, distance) in enumerate(zip(nearest, ids.tolist(), distances.tolist(), strict=False), 1):
        label = "" if X.labels is None else f", {X.labels[item]}"
        groups.append(
            CurveGroup(f"{rank}: {_item_name(X, item)}{label}\ndistance {distance:.4g}", [curve], query_curve)
        )
    legend = [
        query_curve._replace(name=f"query {overlay.item_label(queries, query)}"),
        nearest[0]._replace(name="neighbour"),
    ]
    return plot_groups(groups, time=time, unit=overlay.value_name(named, place), legend=legend, dark=dark)


def _item_name(X: Sequences, item: int) -> str:
    return f"item {item}" if X.ids is None else str(X.ids[item])


def plot_averages(
    X: Sequences,
    groups: list[tuple[str, NDArray[np.int64], NDArray[Any], NDArray[Any] | None, str]],
    channel: int | str,
    *,
    title: str = "",
    dark: bool = False,
) -> Figure:
    """Draw panels of members and their average: title, positions, and values, times and name of the thick line.

    An average without times is drawn over the average duration of its members.
    """
    place = overlay.channel_index(X, channel)
    panels, time = [], "time step"
    for group_title, items, center, clock, name in groups:
        shown, time = overlay.overlay_curves(X, overlay.pick_evenly(items, _MAX_MEMBERS), place, color=GREY)
        values = center.reshape(len(center), -1)[:, place]
        thick = PlotCurve(_average_times(X, items, len(values), clock), values, color=_HIGHLIGHT, name=name)
        panels.append(CurveGroup(group_title, shown, thick))
    return plot_groups(panels, time=time, unit=overlay.value_name(X, place), title=title, dark=dark)


def _average_times(X: Sequences, items: NDArray[np.int64], length: int, clock: NDArray[Any] | None) -> NDArray[Any]:
    if X.times is None:
        return np.arange(length)
    if clock is not None:
        return overlay.elapsed_from_first(clock)
    ends = [overlay.elapsed_from_first(X.times[X.offsets[i] : X.offsets[i + 1]])[-1] for i in items.tolist()]
    return np.linspace(0.0, float(np.mean(ends)) if ends else float(length - 1), length)
