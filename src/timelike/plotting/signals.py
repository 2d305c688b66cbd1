"""Sequences as lines over time in one panel; `panels` has several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .style import COLORS, escape_mathtext, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_lines(
    axes: Axes,
    sequences: Sequence[NDArray[Any]],
    *,
    labels: Sequence[Any] | None = None,
    times_per_sequence: Sequence[NDArray[Any]] | None = None,
    channel: int = 0,
    color: str = COLORS[0],
) -> None:
    """One thin line per sequence, one colour per label, over steps or over their own `times_per_sequence`; gaps where
    NaN is.
    """
    kinds = sorted(set(labels), key=str) if labels is not None else []
    legend_labels: set[Any] = set()
    for i, sequence in enumerate(sequences):
        label = None if labels is None else labels[i]
        shade = COLORS[kinds.index(label) % len(COLORS)] if label is not None else color
        name = escape_mathtext(label) if label is not None and label not in legend_labels else None
        legend_labels.add(label)
        values = channel_values(sequence, channel)
        times = np.arange(len(values)) if times_per_sequence is None else times_per_sequence[i]
        (line,) = axes.plot(times, values, color=shade, linewidth=0.9, alpha=0.7, label=name)
        line.set(marker=".", markevery=isolated_steps(values))
    style_axes(axes, counts=times_per_sequence is None)
    axes.set_xlabel("time step" if times_per_sequence is None else "time")
    if kinds:
        axes.legend(frameon=False, fontsize="small")


def isolated_steps(values: NDArray[Any]) -> list[int]:
    """Steps with nothing on either side, of which a line shows nothing."""
    is_present = np.concatenate([[False], ~np.isnan(values.astype(np.float64)), [False]])
    return [int(step) for step in np.flatnonzero(is_present[1:-1] & ~is_present[:-2] & ~is_present[2:])]


def channel_values(sequence: NDArray[Any], channel: int) -> NDArray[Any]:
    """One channel of a sequence, (time,), with a frame of several axes flattened."""
    flat = np.asarray(sequence).reshape(len(sequence), -1)
    if not -flat.shape[1] <= channel < flat.shape[1]:
        raise ValueError(f"channel={channel}: expected 0 to {flat.shape[1] - 1}")
    return flat[:, channel]
