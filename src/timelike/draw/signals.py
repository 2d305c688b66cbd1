"""Sequences as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")  # told apart by all eyes


def lines(
    axes: Axes, sequences: Sequence[NDArray[Any]], *, labels: Sequence[Any] | None = None, channel: int = 0
) -> None:
    """One thin line per sequence, one colour per label."""
    kinds = sorted(set(labels), key=str) if labels is not None else []
    seen: set[Any] = set()
    for i, sequence in enumerate(sequences):
        label = None if labels is None else labels[i]
        color = COLORS[kinds.index(label) % len(COLORS)] if label is not None else COLORS[0]
        name = str(label) if label is not None and label not in seen else None
        seen.add(label)
        axes.plot(as_channel(sequence, channel), color=color, linewidth=0.9, alpha=0.7, label=name)
    plain(axes)
    axes.set_xlabel("time step")
    if kinds:
        axes.legend(frameon=False, fontsize="small")


def average(members: Sequence[NDArray[Any]], mean: NDArray[Any], *, channel: int = 0) -> Figure:
    """The members as thin lines and their mean as a thick one."""
    from matplotlib.figure import Figure

    whole = Figure(figsize=(6.5, 3.6), layout="constrained")
    axes = whole.subplots()
    lines(axes, members, channel=channel)
    for line in axes.get_lines():
        line.set(color=COLORS[6], linewidth=0.7, alpha=0.5)
    axes.plot(as_channel(mean, channel), color=COLORS[1], linewidth=2.6, label="barycenter")
    axes.legend(frameon=False, fontsize="small")
    return whole


def as_channel(sequence: NDArray[Any], channel: int) -> NDArray[Any]:
    """One channel of a sequence, (time,), with a frame of several axes flattened."""
    flat = np.asarray(sequence).reshape(len(sequence), -1)
    if not -flat.shape[1] <= channel < flat.shape[1]:
        raise ValueError(f"channel={channel}: expected 0 to {flat.shape[1] - 1}")
    return flat[:, channel]


def plain(axes: Axes) -> None:
    """Axes without a box, counting in whole steps."""
    from matplotlib.ticker import MaxNLocator

    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
