"""Animations of videos side by side, .gif or .mp4: strips, swaps and trails of `image_grids`, moving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import image_grids
from .animation_writer import check_target, line_colors, write_animation
from .image_grids import CONTENT, FUTURE, MOTION, PAST, as_rgb, make_grid, plot_image
from .maps import MASKED, step_label
from .signals import escape_mathtext

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LARGE, _SMALL = 1.6, 1.0  # inches: pictures of a few videos, and of many
_PAST = 10  # of the past no more than so many are shown
_MAX_PIXELS = 1 << 16  # pixels whose colours stand for those of all
_COLORS = 256 - 20 - 7 * 4  # in a .gif, without those of words and frames


def animate_image_strips(
    rows: Mapping[str, Any], path: str | Path, *, past: Any = None, between: int = 1, rate: float = 8
) -> Path:
    """The rows of `image_grids.plot_image_strips` as videos side by side, each after the same past.

    There are `rate` frames a second. Of a long past the last ten frames are shown. The frame is grey in the past and
    has a colour in the future, a paler one at frames in between; a row with frames at whole steps only waits there.
    """
    target = check_target(path, rate)
    shown = {str(name): as_rgb(frames, f"rows[{name!r}]") for name, frames in rows.items()}
    before = as_rgb(past, "past")[-_PAST:] if past is not None and len(past) else None
    n_frames, size = image_grids.frames_and_size(shown, before, between)
    n_past = 0 if before is None else len(before)
    start = np.repeat(before, between, axis=0) if before is not None else np.zeros((0, *size, 3))
    videos = [np.concatenate([start, _fill_frames(frames, n_frames, before)]) for frames in shown.values()]
    whole, grid = make_grid(size, 1, len(videos), area=_LARGE, top=0.6)
    for axes, name in zip(grid[0], shown, strict=True):
        axes.text(
            0.5, 1.03, escape_mathtext(name), ha="center", va="bottom", transform=axes.transAxes, fontsize="small"
        )
    headings, colors = [], []
    for i in range(1 - n_past * between, n_frames + 1):
        headings.append(step_label(i / between if i > 0 else (i - 1) // between + 1))
        colors.append(PAST if i <= 0 else FUTURE if i % between == 0 else "#EEBF99")
    return _animate_videos(whole, list(grid[0]), videos, headings, [colors] * len(videos), target, rate)


def _fill_frames(frames: NDArray[Any], n_frames: int, before: NDArray[Any] | None) -> NDArray[Any]:
    """With as many frames as others have: at a frame in between, the last one that was there."""
    between = n_frames // len(frames)
    if between == 1:
        return frames
    last = (before if before is not None else frames[:1])[-1:]
    known = np.concatenate([last, frames])
    return np.asarray(known[(np.arange(n_frames) + 1) // between])


def animate_swaps(contents: Any, motions: Any, swapped: Any, path: str | Path, *, rate: float = 8) -> Path:
    """The grid of `image_grids.plot_swaps` with everything moving but the contents at the left."""
    target = check_target(path, rate)
    stills, above, inside = image_grids.validate_swap_images(contents, motions, swapped)
    n, m, length = inside.shape[:3]
    whole, grid = make_grid(inside.shape[3:5], n + 1, m + 1, apart={1}, gap_below_first=True, area=_SMALL, top=0.35)
    places = [*grid[1:, 0], *grid[0, 1:], *(grid[i + 1, j + 1] for i in range(n) for j in range(m))]
    videos = [*(one[None] for one in stills), *above, *(inside[i, j] for i in range(n) for j in range(m))]
    frames = [[CONTENT]] * n + [[MOTION]] * m + [[MASKED]] * (n * m)
    corner = {"transform": grid[0, 0].transAxes, "ha": "right", "fontsize": "small", "va": "center"}
    grid[0, 0].text(0.98, 0.62, "motion →", color=MOTION, **corner)
    grid[0, 0].text(0.98, 0.25, "content ↓", color=CONTENT, **corner)
    return _animate_videos(whole, places, videos, [step_label(i + 1) for i in range(length)], frames, target, rate)


def animate_sequences(sequences: Mapping[str, Any], path: str | Path, *, rate: float = 8) -> Path:
    """The sequences of `image_grids.plot_trails`, each moving in its place, of one length."""
    target = check_target(path, rate)
    shown = {str(name): as_rgb(frames, f"sequences[{name!r}]") for name, frames in sequences.items()}
    shapes = {name: frames.shape[:3] for name, frames in shown.items()}
    if len(set(shapes.values())) != 1:
        raise ValueError(f"sequences have the lengths and sizes {shapes}: expected one length and one size")
    whole, grid = make_grid(next(iter(shapes.values()))[1:], 1, len(shown), area=_SMALL, top=0.6)
    for axes, name in zip(grid[0], shown, strict=True):
        axes.text(
            0.5, 1.03, escape_mathtext(name), ha="center", va="bottom", transform=axes.transAxes, fontsize="small"
        )
    headings = [f"{i + 1}" for i in range(len(next(iter(shown.values()))))]
    return _animate_videos(whole, list(grid[0]), list(shown.values()), headings, [[MASKED]] * len(shown), target, rate)


def _animate_videos(
    whole: Figure,
    places: Sequence[Any],
    videos: Sequence[NDArray[Any]],
    headings: Sequence[str],
    frames: Sequence[Sequence[str]],
    target: Path,
    rate: float,
) -> Path:
    """Every video (time, height, width, 3) in its place, in a frame of its colours; one that is short stands still."""
    images = [plot_image(axes, video[0], width=2.0) for axes, video in zip(places, videos, strict=True)]
    heading = whole.text(0.5, 0.98, headings[0], ha="center", va="top", fontsize="medium")

    def draw(step: int) -> None:
        heading.set_text(headings[step])
        for axes, image, video, colors in zip(places, images, videos, frames, strict=True):
            image.set_data(video[min(step, len(video) - 1)])
            axes.spines[:].set(color=colors[min(step, len(colors) - 1)])

    write_animation(whole, range(len(headings)), draw, target, rate, _gif_palette(videos))
    return target


def _gif_palette(videos: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The colours of a .gif: those of words and frames, and those that stand best for all pictures."""
    from PIL import Image

    pixels = np.concatenate([video.reshape(-1, 3) for video in videos])
    pixels = pixels[:: -(-len(pixels) // _MAX_PIXELS)]
    row = Image.fromarray((255 * pixels).round().astype(np.uint8)[None])
    found = row.quantize(_COLORS, method=Image.Quantize.MEDIANCUT).getpalette("RGB")
    own = np.array(found or [], np.float64).reshape(-1, 3)[:_COLORS] / 255
    return np.concatenate([line_colors(20, 4), own])
