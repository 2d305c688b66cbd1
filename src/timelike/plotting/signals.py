"""Sequences as lines over time; `small_multiples` has one panel per class, `group_panels` highlights one of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")  # told apart by all eyes
_DATES = 5  # on an axis, so that they do not touch


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
    seen: set[Any] = set()
    for i, sequence in enumerate(sequences):
        label = None if labels is None else labels[i]
        shade = COLORS[kinds.index(label) % len(COLORS)] if label is not None else color
        name = escape_mathtext(label) if label is not None and label not in seen else None
        seen.add(label)
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
    there = np.concatenate([[False], ~np.isnan(values.astype(np.float64)), [False]])
    return [int(step) for step in np.flatnonzero(there[1:-1] & ~there[:-2] & ~there[2:])]


def channel_values(sequence: NDArray[Any], channel: int) -> NDArray[Any]:
    """One channel of a sequence, (time,), with a frame of several axes flattened."""
    flat = np.asarray(sequence).reshape(len(sequence), -1)
    if not -flat.shape[1] <= channel < flat.shape[1]:
        raise ValueError(f"channel={channel}: expected 0 to {flat.shape[1] - 1}")
    return flat[:, channel]


def escape_mathtext(words: Any) -> str:
    """Text as it is: matplotlib would read what stands between two dollars as a formula."""
    return str(words).replace("$", r"\$")


def style_axes(axes: Axes, *, counts: bool = True) -> None:
    """Axes without a box; where x `counts` steps, in whole ones, and where it has dates, in short ones."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    axes.spines[["top", "right"]].set_visible(False)
    if counts:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    elif isinstance(axes.xaxis.get_major_locator(), AutoDateLocator):
        few = AutoDateLocator(minticks=2, maxticks=_DATES)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(few)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(few))  # type: ignore[no-untyped-call]
