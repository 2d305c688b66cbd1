"""Sparklines: sequences as small lines in a table of HTML, in the page itself and without matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .html import table_cell
from .style import COLORS

WIDTH, HEIGHT = 120, 24
_MARGIN = 2


class Sparkline(NamedTuple):
    """Values over times, between a low and a high that several lines may share; `name` is for screen readers."""

    times: NDArray[np.float64]
    values: NDArray[Any]
    low: float
    high: float
    name: str
    color: int = 0


def sparkline_svg(spark: Sparkline) -> str:
    """The line as SVG; broken where values are missing, a dot where one stands alone.

    >>> line = Sparkline(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 0.0, 1.0, "a < b")
    >>> 'aria-label="a &lt; b"' in sparkline_svg(line), 'd="M2 22L118 2"' in sparkline_svg(line)
    (True, True)
    """
    times, values = thin_line(spark.times.astype(np.float64), spark.values.astype(np.float64), WIDTH // 2)
    color = COLORS[spark.color % len(COLORS)]
    return (
        f'<svg role="img" aria-label="{escape(spark.name, quote=True)}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}"><path d="{_svg_path(times, values, spark.low, spark.high)}" fill="none" '
        f'stroke="{color}" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"/></svg>'
    )


def _svg_path(times: NDArray[np.float64], values: NDArray[np.float64], low: float, high: float) -> str:
    x = _rescale(times, times[0], times[-1], _MARGIN, WIDTH - _MARGIN)
    y = _rescale(values, low, high, HEIGHT - _MARGIN, _MARGIN)
    is_finite = np.isfinite(values)
    before = np.concatenate([[False], is_finite[:-1]])
    after = np.concatenate([is_finite[1:], [False]])
    parts = []
    for i in np.flatnonzero(is_finite).tolist():
        parts.append(f"{'L' if before[i] else 'M'}{x[i]:.4g} {y[i]:.4g}")
        if not before[i] and not after[i]:
            parts.append("h0")  # a line of no length has round ends
    return "".join(parts)


def _rescale(values: NDArray[np.float64], low: float, high: float, first: float, last: float) -> NDArray[np.float64]:
    """From low to high, onto first to last; in the middle where there is no extent."""
    if not high > low:
        return np.full(len(values), (first + last) / 2)
    return first + (values / 2 - low / 2) / (high / 2 - low / 2) * (last - first)  # halves: a difference may overflow


def thin_line(
    times: NDArray[np.float64], values: NDArray[np.float64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most `most` stretches, each by its smallest and its largest value, so that no peak is lost.

    >>> thin_line(np.arange(6.0), np.array([0.0, 9.0, 0.0, 1.0, 1.0, -5.0]), 2)
    (array([0., 0., 3., 3.]), array([ 0.,  9., -5.,  1.]))
    """
    if len(values) <= 2 * most:
        return times, values
    starts = np.linspace(0, len(values), most, endpoint=False).astype(np.int64)
    holes = np.flatnonzero(np.isnan(values[1:]) & ~np.isnan(values[:-1])) + 1
    if len(holes) <= most // 2:  # where a few values are missing the line stays broken
        restarts = np.flatnonzero(~np.isnan(values[1:]) & np.isnan(values[:-1])) + 1
        starts = np.unique(np.concatenate([starts, holes, restarts]))
    ends = np.stack([np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)], axis=1)
    return np.repeat(times[starts], 2), ends.ravel()


def sparkline_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in which a cell may be a `Sparkline`; text is escaped.

    >>> sparkline_table(["id"], [["<b>"]]).count("&lt;b&gt;")
    1
    """
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(map(_table_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _table_cell(value: Any) -> str:
    return f"<td>{sparkline_svg(value)}</td>" if isinstance(value, Sparkline) else table_cell(value)
