"""Animations, written to .gif or .mp4 files: forecasts of fields and lines, and videos side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import image_grids
from .animation_writer import check_target, line_colors, write_animation
from .image_grids import CONTENT, FUTURE, MOTION, PAST, as_rgb, make_grid, plot_image
from .maps import DIFFERENCE, MASKED, add_color_bar, plot_field, step_label, value_range
from .style import COLORS, escape_mathtext, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PICTURES = 200  # of a growing line; more steps are drawn several at a time
_LONG = 4  # at most so many lengths of the future are drawn of the past
_LARGE, _SMALL = 1.6, 1.0  # inches: images of a few videos, and of many
_MAX_PAST = 10  # frames shown of the past
_MAX_PIXELS = 1 << 16  # whose colours represent those of all
_GIF_COLORS = 256 - 20 - 7 * 4  # in a .gif, without those of text and frames


def animate_frames(
    past: NDArray[Any], future: NDArray[Any], path: str | Path, *, truth: NDArray[Any] | None = None, rate: float = 8
) -> Path:
    """Frames (time, height, width) of a past and then of its future, `rate` of them a second, written to `path`.

    With a `truth` (step, height, width) it moves at the left, and what the future is more than it at the right. The
    frame is grey in the past and has a colour in the future. The file appears whole or not at all.
    """
    target = check_target(path, rate)
    panels = _named_frames(np.asarray(past), np.asarray(future), None if truth is None else np.asarray(truth))
    figure, draw = _prepare_frames(panels, len(past))
    write_animation(figure, range(len(past) + len(future)), draw, target, rate)
    return target


def animate_line(
    past: NDArray[Any], future: NDArray[Any], path: str | Path, *, truth: NDArray[Any] | None = None, rate: float = 8
) -> Path:
    """The line of a past (time,) that its future (step,) continues, a step at a time, beside the `truth`.

    A future of more than 200 steps grows by several at a time; of a long past the end is shown. The file appears whole
    or not at all.
    """
    target = check_target(path, rate)
    past, future = np.asarray(past, np.float64), np.asarray(future, np.float64)
    truth = None if truth is None else np.asarray(truth, np.float64)
    if past.ndim != 1 or future.ndim != 1 or not len(future):
        raise ValueError(f"past has shape {past.shape}, future {future.shape}: expected (time,) and (step,)")
    _refuse_other_shape(truth, future)
    past = past[-_LONG * len(future) :]
    figure, draw = _prepare_lines(past, future, truth)
    shown = np.unique(np.linspace(0, len(future), min(len(future), _PICTURES) + 1).round().astype(int))
    write_animation(figure, shown.tolist(), draw, target, rate)
    return target


def _named_frames(past: NDArray[Any], future: NDArray[Any], truth: NDArray[Any] | None) -> dict[str, NDArray[Any]]:
    """What moves, by name, each (time, height, width)."""
    if past.ndim != 3 or future.ndim != 3 or past.shape[1:] != future.shape[1:] or not len(future):
        raise ValueError(
            f"past has shape {past.shape}, future {future.shape}: expected (time, height, width), frames of one size"
        )
    _refuse_other_shape(truth, future)
    forecast = np.concatenate([past, future]).astype(np.float64)
    if truth is None:
        return {"forecast": forecast}
    right = np.concatenate([past, truth]).astype(np.float64)
    return {"truth": right, "forecast": forecast, DIFFERENCE: forecast - right}


def _refuse_other_shape(truth: NDArray[Any] | None, future: NDArray[Any]) -> None:
    if truth is not None and truth.shape != future.shape:
        raise ValueError(f"truth has shape {truth.shape}: expected {future.shape}, that of the future")


def _prepare_frames(panels: dict[str, NDArray[Any]], n_past: int) -> tuple[Figure, Callable[[int], None]]:
    """A figure of the first frames, and what shows others in it."""
    from matplotlib.figure import Figure

    height, width = next(iter(panels.values())).shape[1:]
    tall = float(np.clip(2.6 * height / width, 1.0, 5.0))
    figure = Figure(figsize=(2.6 * len(panels) + 0.9, tall + 0.6), layout="compressed")
    columns = figure.subplots(1, len(panels), squeeze=False)[0]
    common = value_range([frames for name, frames in panels.items() if name != DIFFERENCE])
    images = []
    for axes, (name, frames) in zip(columns, panels.items(), strict=True):
        differs = name == DIFFERENCE
        limits = value_range([frames], difference=True) if differs else common
        images.append(plot_field(axes, frames[0], limits=limits, difference=differs, bar=differs))
        axes.set_xlabel(name)
    add_color_bar([axes for axes, name in zip(columns, panels, strict=True) if name != DIFFERENCE], images[0], "")
    heading = figure.suptitle(step_label(1 - n_past), fontsize="medium")

    def draw(step: int) -> None:
        for image, frames in zip(images, panels.values(), strict=True):
            image.set_data(frames[step])
        heading.set_text(step_label(step + 1 - n_past))
        for axes in columns:
            axes.spines[:].set(color=COLORS[6] if step < n_past else COLORS[1], linewidth=2)

    return figure, draw


def _prepare_lines(
    past: NDArray[Any], future: NDArray[Any], truth: NDArray[Any] | None
) -> tuple[Figure, Callable[[int], None]]:
    """A figure with the past in it, and what lets its future grow to so many steps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 3.2), layout="constrained")
    axes: Axes = figure.subplots()
    series = [past, future] if truth is None else [past, future, truth]
    low, high = value_range(series)
    room = 0.05 * (high - low)
    axes.set(xlim=(1 - len(past) - 0.5, len(future) + 0.5), ylim=(low - room, high + room), xlabel="step")
    axes.plot(np.arange(1 - len(past), 1), past, color=COLORS[6], label="past")
    last, start = (past[-1:], 0) if len(past) else (past, 1)
    steps = np.arange(start, len(future) + 1)  # a line begins where the past ends
    curves = {"forecast": (np.concatenate([last, future]), COLORS[1], 1.8)}
    if truth is not None:
        curves = {"truth": (np.concatenate([last, truth]), COLORS[0], 1.2), **curves}
    grown = {name: axes.plot([], [], color=color, linewidth=w, label=name)[0] for name, (_, color, w) in curves.items()}
    axes.axvline(0, color=COLORS[6], linewidth=0.8, linestyle=":")
    style_axes(axes)
    axes.legend(
        frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=len(series), borderpad=0
    )

    def draw(count: int) -> None:
        for name, line in grown.items():
            shown = steps <= count
            line.set_data(steps[shown], curves[name][0][shown])

    return figure, draw


def animate_image_strips(
    rows: Mapping[str, Any], path: str | Path, *, past: Any = None, between: int = 1, rate: float = 8
) -> Path:
    """The rows of `image_grids.plot_image_strips` as videos side by side, each after the same past.

    There are `rate` frames a second. Of a long past the last ten frames are shown. The frame is grey in the past and
    has a colour in the future, a paler one at frames in between; a row with frames at whole steps only waits there.
    """
    target = check_target(path, rate)
    shown = {str(name): as_rgb(frames, f"rows[{name!r}]") for name, frames in rows.items()}
    before = as_rgb(past, "past")[-_MAX_PAST:] if past is not None and len(past) else None
    n_frames, size = image_grids.frames_and_size(shown, before, between)
    n_past = 0 if before is None else len(before)
    start = np.repeat(before, between, axis=0) if before is not None else np.zeros((0, *size, 3))
    videos = [np.concatenate([start, _fill_frames(frames, n_frames, before)]) for frames in shown.values()]
    figure, grid = make_grid(size, 1, len(videos), area=_LARGE, top=0.6)
    for axes, name in zip(grid[0], shown, strict=True):
        axes.text(
            0.5, 1.03, escape_mathtext(name), ha="center", va="bottom", transform=axes.transAxes, fontsize="small"
        )
    headings, colors = [], []
    for i in range(1 - n_past * between, n_frames + 1):
        headings.append(step_label(i / between if i > 0 else (i - 1) // between + 1))
        colors.append(PAST if i <= 0 else FUTURE if i % between == 0 else "#EEBF99")
    return _animate_videos(figure, list(grid[0]), videos, headings, [colors] * len(videos), target, rate)


def _fill_frames(frames: NDArray[Any], n_frames: int, before: NDArray[Any] | None) -> NDArray[Any]:
    """With as many frames as others have: at a frame in between, the last one that was there."""
    between = n_frames // len(frames)
    if between == 1:
        return frames
    last = (before if before is not None else frames[:1])[-1:]
    extended = np.concatenate([last, frames])
    return np.asarray(extended[(np.arange(n_frames) + 1) // between])


def animate_swaps(contents: Any, motions: Any, swapped: Any, path: str | Path, *, rate: float = 8) -> Path:
    """The grid of `image_grids.plot_swaps` with everything moving but the contents at the left."""
    target = check_target(path, rate)
    stills, above, inside = image_grids.validate_swap_images(contents, motions, swapped)
    n, m, length = inside.shape[:3]
    figure, grid = make_grid(inside.shape[3:5], n + 1, m + 1, apart={1}, gap_below_first=True, area=_SMALL, top=0.35)
    places = [*grid[1:, 0], *grid[0, 1:], *(grid[i + 1, j + 1] for i in range(n) for j in range(m))]
    videos = [*(one[None] for one in stills), *above, *(inside[i, j] for i in range(n) for j in range(m))]
    frames = [[CONTENT]] * n + [[MOTION]] * m + [[MASKED]] * (n * m)
    corner = {"transform": grid[0, 0].transAxes, "ha": "right", "fontsize": "small", "va": "center"}
    grid[0, 0].text(0.98, 0.62, "motion →", color=MOTION, **corner)
    grid[0, 0].text(0.98, 0.25, "content ↓", color=CONTENT, **corner)
    return _animate_videos(figure, places, videos, [step_label(i + 1) for i in range(length)], frames, target, rate)


def animate_sequences(sequences: Mapping[str, Any], path: str | Path, *, rate: float = 8) -> Path:
    """The sequences of `image_grids.plot_trails`, each moving in its place, of one length."""
    target = check_target(path, rate)
    shown = {str(name): as_rgb(frames, f"sequences[{name!r}]") for name, frames in sequences.items()}
    shapes = {name: frames.shape[:3] for name, frames in shown.items()}
    if len(set(shapes.values())) != 1:
        raise ValueError(f"sequences have the lengths and sizes {shapes}: expected one length and one size")
    figure, grid = make_grid(next(iter(shapes.values()))[1:], 1, len(shown), area=_SMALL, top=0.6)
    for axes, name in zip(grid[0], shown, strict=True):
        axes.text(
            0.5, 1.03, escape_mathtext(name), ha="center", va="bottom", transform=axes.transAxes, fontsize="small"
        )
    headings = [f"{i + 1}" for i in range(len(next(iter(shown.values()))))]
    return _animate_videos(figure, list(grid[0]), list(shown.values()), headings, [[MASKED]] * len(shown), target, rate)


def _animate_videos(
    figure: Figure,
    places: Sequence[Any],
    videos: Sequence[NDArray[Any]],
    headings: Sequence[str],
    frames: Sequence[Sequence[str]],
    target: Path,
    rate: float,
) -> Path:
    """Every video (time, height, width, 3) in its place, in a frame of its colours; one that is short stands still."""
    images = [plot_image(axes, video[0], width=2.0) for axes, video in zip(places, videos, strict=True)]
    heading = figure.text(0.5, 0.98, headings[0], ha="center", va="top", fontsize="medium")

    def draw(step: int) -> None:
        heading.set_text(headings[step])
        for axes, image, video, colors in zip(places, images, videos, frames, strict=True):
            image.set_data(video[min(step, len(video) - 1)])
            axes.spines[:].set(color=colors[min(step, len(colors) - 1)])

    write_animation(figure, range(len(headings)), draw, target, rate, _gif_palette(videos))
    return target


def _gif_palette(videos: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The colours of a .gif: those of words and frames, and those that stand best for all images."""
    from PIL import Image

    pixels = np.concatenate([video.reshape(-1, 3) for video in videos])
    pixels = pixels[:: -(-len(pixels) // _MAX_PIXELS)]
    row = Image.fromarray((255 * pixels).round().astype(np.uint8)[None])
    palette = row.quantize(_GIF_COLORS, method=Image.Quantize.MEDIANCUT).getpalette("RGB")
    image_colors = np.array(palette or [], np.float64).reshape(-1, 3)[:_GIF_COLORS] / 255
    return np.concatenate([line_colors(20, 4), image_colors])
