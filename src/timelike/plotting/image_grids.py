"""Images of forecast videos: strips over time, a grid of swapped contents and motions, paths in one image."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .maps import MASKED, choose_steps, step_label
from .style import COLORS, escape_mathtext, text_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAST, FUTURE, CONTENT, MOTION = COLORS[6], COLORS[1], COLORS[0], COLORS[2]  # the frames of what they are called
_COLUMNS = 12  # images side by side
_PAST = 3  # of which at most so many are of the past
_AREA = 0.85  # inches: the side of a square as large as an image
_NARROW, _WIDE = 0.04, 0.16  # inches between two images, and between two groups of them
_BAR = 0.06  # inches that a dashed bar takes
_LETTER, _LINE = 0.085, 0.24  # inches
_FAINTEST = 0.25  # of the first image of a path


def plot_image_strips(
    rows: Mapping[str, Any], *, past: Any = None, between: int = 1, every: int | None = None, columns: int = _COLUMNS
) -> Figure:
    """Rows of images over time, named at the left: truth, best sample, worst sample.

    `rows` are {name: (frame, height, width) or (frame, channel, height, width)}, grey or of three colours, from 0 to 1.
    The last images of the `past` stand in front of the first row, framed in grey. Where `between` frames belong to a
    step of the data, those that are not at a whole step have a dashed bar below, and a row that has only frames at
    whole steps has gaps. `every` shows one of so many frames; otherwise at most `columns` images are shown, evenly to
    the end: where there are frames in between, some of the steps, each with all that lead to it.
    """
    shown = {str(name): as_rgb(frames, f"rows[{name!r}]") for name, frames in rows.items()}
    before = as_rgb(past, "past")[-_PAST:] if past is not None and len(past) else None
    n_frames, size = frames_and_size(shown, before, between)
    n_past = 0 if before is None else len(before)
    most = max(columns - n_past, 1)
    steps = _choose_frame_groups(n_frames, most, between) if every is None else choose_steps(n_frames, most, every)
    left = _LETTER * max(map(len, shown)) + 0.15
    apart = {n_past} if n_past else set()
    if every is None and 1 < between <= most // 2:
        apart |= {n_past + i for i in np.flatnonzero(np.diff(steps) > 1) + 1}  # a gap where steps are left out
    figure, grid = make_grid(size, len(shown), n_past + len(steps), apart=apart, left=left, below=_BAR * (between > 1))
    for column, step in enumerate([*range(1 - n_past, 1), *((steps + 1) / between)]):
        _title_above(grid[0, column], step_label(float(step)), PAST if column < n_past else text_color())
    for i, (name, frames) in enumerate(shown.items()):
        if i == 0 and before is not None:
            for axes, frame in zip(grid[0], before, strict=False):
                plot_image(axes, frame, color=PAST, width=2.0)
        _plot_row(grid[i, n_past:], frames, steps, n_frames, between)
        grid[i, 0].text(-0.08, 0.5, escape_mathtext(name), ha="right", va="center", transform=grid[i, 0].transAxes)
    return figure


def _choose_frame_groups(n_frames: int, most: int, between: int) -> NDArray[np.int64]:
    """Positions of at most so many frames, evenly to the end, and of a step that is shown all frames.

    >>> _choose_frame_groups(12, 6, 2), _choose_frame_groups(12, 6, 4)
    (array([ 0,  1,  4,  5, 10, 11]), array([ 0,  2,  4,  7,  9, 11]))
    """
    room = most // between
    if n_frames <= most or room < 2:  # a single step of which all is seen would hide the others
        return choose_steps(n_frames, most, None)
    first = between * choose_steps(n_frames // between, room, None)
    return np.asarray((first[:, None] + np.arange(between)).ravel())


def _plot_row(row: NDArray[Any], frames: NDArray[Any], steps: NDArray[Any], n_frames: int, between: int) -> None:
    sparse = len(frames) < n_frames  # frames at whole steps alone
    for axes, step in zip(row, steps, strict=True):
        inner = (step + 1) % between > 0
        if not (inner and sparse):
            plot_image(axes, frames[step // between if sparse else step])
        if inner and not sparse:
            axes.plot(
                [0.04, 0.96], [-0.05, -0.05], color=FUTURE, linewidth=2.2, linestyle=(0, (2, 1)), **_below_axes(axes)
            )


def _below_axes(axes: Axes) -> dict[str, Any]:
    return {"transform": axes.transAxes, "clip_on": False, "scalex": False, "scaley": False}


def frames_and_size(
    rows: Mapping[str, NDArray[Any]], past: NDArray[Any] | None, between: int
) -> tuple[int, tuple[int, int]]:
    """How many frames the longest row has, and the size of all images."""
    shapes = {name: frames.shape for name, frames in rows.items()}
    if not shapes:
        raise ValueError("rows is empty: expected images by name")
    n_frames = max(shape[0] for shape in shapes.values())
    sizes = {shape[1:3] for shape in shapes.values()} | (set() if past is None else {past.shape[1:3]})
    lengths = {shape[0] for shape in shapes.values()}
    if len(sizes) > 1 or not lengths <= {n_frames, n_frames // between} or (between > 1 and n_frames % between):
        lengths_and_sizes = {name: shape[:3] for name, shape in shapes.items()}
        raise ValueError(
            f"rows have the lengths and sizes {lengths_and_sizes}: expected images of one size, past too, and "
            f"{'equally many' if between == 1 else f'n × {between}, or n at whole steps,'} in all rows"
        )
    return n_frames, next(iter(sizes))


def plot_swaps(contents: Any, motions: Any, swapped: Any, *, at: Sequence[int]) -> Figure:
    """Contents down the left side, motions along the top, and what has the one and the other where they meet.

    `contents` (content, *image) are stills, `motions` (motion, step, *image) videos, `swapped` (content, motion,
    step, *image) videos; `at` are the steps that are shown, the first is 1.
    """
    stills, above, inside = validate_swap_images(contents, motions, swapped)
    n, m, length = inside.shape[:3]
    steps = [int(step) for step in at]
    if not steps or min(steps) < 1 or max(steps) > length:
        raise ValueError(f"at={list(at)}: expected steps from 1 to {length}")
    k = len(steps)
    apart = {1 + k * j for j in range(m)}
    figure, grid = make_grid(
        inside.shape[3:5], n + 1, 1 + m * k, apart=apart, left=0.1, top=2 * _LINE, gap_below_first=True
    )
    for i in range(n):
        plot_image(grid[i + 1, 0], stills[i], color=CONTENT, width=2.0)
    for j in range(m):
        for number, step in enumerate(steps):
            column = 1 + k * j + number
            plot_image(grid[0, column], above[j, step - 1], color=MOTION, width=2.0)
            _title_above(grid[0, column], step_label(step))
            for i in range(n):
                plot_image(grid[i + 1, column], inside[i, j, step - 1])
    corner = {"transform": grid[0, 0].transAxes, "ha": "right", "fontsize": "small"}
    grid[0, 0].text(0.98, 0.62, "motion →", color=MOTION, va="center", **corner)
    grid[0, 0].text(0.98, 0.25, "content ↓", color=CONTENT, va="center", **corner)
    return figure


def validate_swap_images(contents: Any, motions: Any, swapped: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Stills (content, …), videos (motion, step, …) and (content, motion, step, …), all of (height, width, 3)."""
    n, m, length = np.shape(swapped)[:3]
    if len(contents) != n or len(motions) != m or np.shape(motions)[1] < length:
        raise ValueError(
            f"contents has {len(contents)} images, motions the shape {np.shape(motions)} and swapped "
            f"{np.shape(swapped)}: expected (content, motion, step, *image) of these contents and motions"
        )
    above = [as_rgb(one, f"motions[{j}]") for j, one in enumerate(motions)]
    inside = [[as_rgb(one, f"swapped[{i}, {j}]") for j, one in enumerate(row)] for i, row in enumerate(swapped)]
    return as_rgb(contents, "contents"), np.stack([one[:length] for one in above]), np.array(inside)


def plot_trails(sequences: Mapping[str, Any]) -> Figure:
    """Every sequence of images as one image in which its path can be seen, the later the stronger.

    `sequences` are {name: (frame, *image)}, of things that move over an even ground.
    """
    trails = {str(name): trail_image(as_rgb(frames, f"sequences[{name!r}]")) for name, frames in sequences.items()}
    sizes = {one.shape for one in trails.values()}
    if len(sizes) != 1:
        raise ValueError(f"sequences have images of the sizes {sorted(sizes)}: expected one size")
    figure, grid = make_grid(next(iter(sizes))[:2], 1, len(trails), area=1.1)
    for axes, (name, one) in zip(grid[0], trails.items(), strict=True):
        plot_image(axes, one)
        _title_above(axes, escape_mathtext(name))
    return figure


def trail_image(frames: NDArray[Any]) -> NDArray[Any]:
    """All of the images (time, height, width, 3) in one: what is brightest there, earlier images being darker.

    On a light ground, what is darkest, earlier images being lighter.
    """
    light = float(np.median(frames)) > 0.5
    shades = np.linspace(_FAINTEST, 1.0, len(frames)) if len(frames) > 1 else np.ones(1)
    trail = (shades[:, None, None, None] * (1 - frames if light else frames)).max(axis=0)
    return np.asarray(1 - trail if light else trail)


def as_rgb(frames: Any, name: str) -> NDArray[np.float64]:
    """Images as (frame, height, width, 3) from 0 to 1; what is outside is cut off, what is masked (NaN) grey."""
    from matplotlib.colors import to_rgb

    array = np.asarray(frames, np.float64)
    array = array[:, None] if array.ndim == 3 else array
    if array.ndim != 4 or array.shape[1] not in (1, 3) or 0 in array.shape:
        raise ValueError(
            f"{name} has shape {np.shape(frames)}: expected (frame, height, width) or (frame, channel, height, width), "
            "grey or three colours"
        )
    colours = np.moveaxis(array if array.shape[1] == 3 else np.repeat(array, 3, axis=1), 1, -1)
    return np.where(np.isnan(colours), to_rgb(MASKED), np.clip(colours, 0.0, 1.0))


def plot_image(axes: Axes, frame: NDArray[Any], *, color: str = MASKED, width: float = 0.5) -> Any:
    """An image (height, width, 3) in a frame of this colour."""
    axes.set_axis_on()
    axes.spines[:].set(linewidth=width, color=color)
    return axes.imshow(frame, interpolation="nearest", aspect="auto")


def make_grid(
    size: Sequence[int],
    n_rows: int,
    n_columns: int,
    *,
    apart: Collection[int] = (),
    gap_below_first: bool = False,
    below: float = 0.0,
    left: float = 0.1,
    top: float = _LINE + 0.06,
    area: float = _AREA,
) -> tuple[Figure, NDArray[Any]]:
    """A figure with places for images of one size, empty as yet; columns `apart` have more room before them.

    Placed by the inch: images are equally large and near each other whatever stands around them.
    """
    from matplotlib.figure import Figure

    ratio = float(np.clip(size[0] / size[1], 0.25, 4.0))
    width, height = area / ratio**0.5, area * ratio**0.5
    step_x, step_y = width + _NARROW, height + _NARROW + below
    starts = [left + i * step_x + (_WIDE - _NARROW) * sum(edge <= i for edge in apart) for i in range(n_columns)]
    tops = [top + i * step_y + (_WIDE - _NARROW) * (gap_below_first and i > 0) for i in range(n_rows)]
    total = starts[-1] + width + 0.1, tops[-1] + height + 0.12
    figure = Figure(figsize=total)
    grid = np.empty((n_rows, n_columns), object)
    for i, down in enumerate(tops):
        for j, across in enumerate(starts):
            place = across / total[0], 1 - (down + height) / total[1], width / total[0], height / total[1]
            grid[i, j] = figure.add_axes(place, xticks=[], yticks=[])
            grid[i, j].set_axis_off()
    return figure, grid


def _title_above(axes: Axes, words: str, color: str | None = None) -> None:
    axes.text(0.5, 1.06, words, ha="center", va="bottom", fontsize="small", color=color, transform=axes.transAxes)
