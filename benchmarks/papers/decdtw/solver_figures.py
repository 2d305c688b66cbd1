"""Figures 5 to 7 of the DecDTW paper, drawn from finished rows."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.papers.canvas import blank
from benchmarks.papers.decdtw.solving import STREAM
from benchmarks.papers.page import MissingRows, need
from benchmarks.papers.results import Found, Rows

SHRINK = 0.125  # of the grid's width, from pass to pass


INFERENCE = ("DTW", "grid alone, not refined", "grid alone", "GDTW", "GDTW, usual grid")
TRAINING = ("Soft-DTW", "DILATE", "DecDTW")


def sizes(rows: Rows, part: str) -> list[Found]:
    """The rows of a part, which must have some, by size."""
    return sorted(need(rows, part=part), key=lambda row: int(row["size"]))


def draw(rows: Rows, folder: Path) -> None:
    """All that there are rows for."""
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(MissingRows):
        times(rows, folder / "decdtw_time.png")
    with suppress(MissingRows):
        passes(sizes(rows, "passes")[0], folder / "decdtw_passes.png")


def times(rows: Rows, path: Path) -> None:
    """Figures 5 and 7 side by side, on logarithms."""
    figure, (left, right) = blank(9, 3.4, 2)
    for axes, part, names in ((left, "inference", INFERENCE), (right, "training", TRAINING)):
        found = sizes(rows, part)
        at = [row["size"] for row in found]
        for name in names:
            axes.plot(at, [1e3 * row["times"][name] for row in found], marker="o", ms=4, label=name)
        axes.set(xscale="log", yscale="log", xlabel="steps", ylabel="ms for one pair")
        axes.set_xticks(at, [str(steps) for steps in at])
        axes.minorticks_off()
        axes.legend(frameon=False, fontsize=8, loc="lower right")
    left.set_title("alignment (figure 5)", fontsize=10)
    right.set_title("forward and backward (figure 7)", fontsize=10)
    figure.savefig(path, metadata={"Software": None})


def passes(row: Found, path: Path) -> None:
    """Figure 6: where the values of three passes lie, and the warp after each; the last beside SLSQP's.

    The later passes are drawn less the last warp, for they would not be seen on y's scale.
    """
    figure, every = blank(12, 3.2, 4)
    warps, last = [np.array(warp) for warp in row["warps"]], STREAM - 1.0
    low, high = np.zeros(len(warps[0])), np.full(len(warps[0]), last)
    for turn, axes in enumerate(every[:3]):
        zero = warps[-1] if turn else np.zeros(len(low))
        _grid(axes, low - zero, high - zero, row["size"])
        axes.plot(warps[turn] - zero, color="C3", lw=1.5)
        axes.set_title(f"pass {turn + 1}: objective {row['objectives'][turn]:.6f}", fontsize=9)
        axes.set_ylabel("step of y, less the last warp" if turn else "step of y")
        low, high = _around(warps[turn], last * SHRINK ** (turn + 1), last)
    every[3].plot(warps[-1], color="C3", lw=3, label=f"polished: {row['objectives'][-1]:.6f}")
    every[3].plot(row["slsqp"], color="k", lw=1, ls="--", label=f"SLSQP: {row['slsqp objective']:.6f}")
    every[3].set(ylabel="step of y", ylim=(0, last))
    every[3].legend(frameon=False, fontsize=8, loc="upper left")
    for axes in every:
        axes.set_xlabel("step of x")
    figure.savefig(path, metadata={"Software": None})


def _grid(axes: Any, low: Any, high: Any, count: int) -> None:
    for knot, (least, most) in enumerate(zip(low, high, strict=True)):
        axes.scatter(np.full(count, knot), np.linspace(least, most, count), s=0.6, color="0.6", lw=0)


def _around(warp: Any, width: float, last: float) -> tuple[Any, Any]:
    """The next box: as wide around the best warp, inside y, and never falling."""
    low, high = np.maximum(0, warp - width / 2), np.minimum(last, warp + width / 2)
    return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
