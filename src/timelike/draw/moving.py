"""Moving pictures, .gif and .mp4: frames that follow each other, and lines that grow."""

from __future__ import annotations

import importlib.util
import os
import secrets
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .maps import DIFFERENCE, PALETTES, color_bar, field, offset, spread
from .signals import COLORS, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL import Image

_RESOLUTION = 100  # pixels of an inch
_PICTURES = 200  # of a growing line; more steps come several at a time
_LONG = 4  # of the past no more than so many futures are drawn
_SHORTEST = 20  # milliseconds: shorter pauses of a .gif are taken for an oversight and lengthened
_ENDINGS = (".gif", ".mp4")


def animation(
    past: NDArray[Any],
    future: NDArray[Any],
    path: str | Path,
    *,
    truth: NDArray[Any] | None = None,
    rate: float = 8,
) -> Path:
    """Frames (time, height, width) of a past and then of its future, `rate` of them a second, written to `path`.

    With a `truth` (step, height, width) it moves at the left, and what the future is more than it at the right. The
    frame is grey in the past and has a colour in the future. The file appears whole or not at all.
    """
    target = file_for(path, rate)
    panels = _panels(np.asarray(past), np.asarray(future), None if truth is None else np.asarray(truth))
    figure, draw = _stage(panels, len(past))
    write(figure, range(len(past) + len(future)), draw, target, rate)
    return target


def growing(
    past: NDArray[Any],
    future: NDArray[Any],
    path: str | Path,
    *,
    truth: NDArray[Any] | None = None,
    rate: float = 8,
) -> Path:
    """The line of a past (time,) that its future (step,) continues, a step at a time, beside the `truth`.

    A future of more than 200 steps grows by several at a time; of a long past the end is shown. The file appears whole
    or not at all.
    """
    target = file_for(path, rate)
    past, future = np.asarray(past, np.float64), np.asarray(future, np.float64)
    known = None if truth is None else np.asarray(truth, np.float64)
    if past.ndim != 1 or future.ndim != 1 or not len(future):
        raise ValueError(f"past has shape {past.shape}, future {future.shape}: expected (time,) and (step,)")
    _refuse_other(known, future)
    past = past[-_LONG * len(future) :]
    figure, draw = _lines(past, future, known)
    shown = np.unique(np.linspace(0, len(future), min(len(future), _PICTURES) + 1).round().astype(int))
    write(figure, shown.tolist(), draw, target, rate)
    return target


def _panels(past: NDArray[Any], future: NDArray[Any], truth: NDArray[Any] | None) -> dict[str, NDArray[Any]]:
    """What moves, by name, each (time, height, width)."""
    if past.ndim != 3 or future.ndim != 3 or past.shape[1:] != future.shape[1:] or not len(future):
        raise ValueError(
            f"past has shape {past.shape}, future {future.shape}: expected (time, height, width), frames of one size"
        )
    _refuse_other(truth, future)
    forecast = np.concatenate([past, future]).astype(np.float64)
    if truth is None:
        return {"forecast": forecast}
    right = np.concatenate([past, truth]).astype(np.float64)
    return {"truth": right, "forecast": forecast, DIFFERENCE: forecast - right}


def _refuse_other(truth: NDArray[Any] | None, future: NDArray[Any]) -> None:
    if truth is not None and truth.shape != future.shape:
        raise ValueError(f"truth has shape {truth.shape}: expected {future.shape}, that of the future")


def _stage(panels: dict[str, NDArray[Any]], n_past: int) -> tuple[Figure, Callable[[int], None]]:
    """A figure of the first frames, and what shows others in it."""
    from matplotlib.figure import Figure

    height, width = next(iter(panels.values())).shape[1:]
    tall = float(np.clip(2.6 * height / width, 1.0, 5.0))
    figure = Figure(figsize=(2.6 * len(panels) + 0.9, tall + 0.6), layout="compressed")
    columns = figure.subplots(1, len(panels), squeeze=False)[0]
    common = spread([frames for name, frames in panels.items() if name != DIFFERENCE])
    images = []
    for axes, (name, frames) in zip(columns, panels.items(), strict=True):
        differs = name == DIFFERENCE
        limits = spread([frames], difference=True) if differs else common
        images.append(field(axes, frames[0], limits=limits, difference=differs, bar=differs))
        axes.set_xlabel(name)
    color_bar([axes for axes, name in zip(columns, panels, strict=True) if name != DIFFERENCE], images[0], "")
    heading = figure.suptitle(offset(1 - n_past), fontsize="medium")

    def draw(step: int) -> None:
        for image, frames in zip(images, panels.values(), strict=True):
            image.set_data(frames[step])
        heading.set_text(offset(step + 1 - n_past))
        for axes in columns:
            axes.spines[:].set(color=COLORS[6] if step < n_past else COLORS[1], linewidth=2)

    return figure, draw


def _lines(
    past: NDArray[Any], future: NDArray[Any], truth: NDArray[Any] | None
) -> tuple[Figure, Callable[[int], None]]:
    """A figure with the past in it, and what lets its future grow to so many steps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 3.2), layout="constrained")
    axes: Axes = figure.subplots()
    known = [past, future] if truth is None else [past, future, truth]
    low, high = spread(known)
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
    plain(axes)
    axes.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=len(known), borderpad=0)

    def draw(count: int) -> None:
        for name, line in grown.items():
            shown = steps <= count
            line.set_data(steps[shown], curves[name][0][shown])

    return figure, draw


def file_for(path: str | Path, rate: float) -> Path:
    """Where the picture goes, if it can go there."""
    target = Path(path).expanduser()
    if target.suffix.lower() not in _ENDINGS:
        raise ValueError(f"path={str(path)!r} ends in {target.suffix!r}: expected .gif or .mp4")
    if isinstance(rate, bool) or not isinstance(rate, int | float | np.number) or not 0 < rate < np.inf:
        raise ValueError(f"rate={rate!r}: expected a number of frames a second above 0")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist: make it first, or save elsewhere")
    if target.suffix.lower() == ".mp4":
        _refuse_without_ffmpeg(target)
    return target


def _refuse_without_ffmpeg(target: Path) -> None:
    from matplotlib.animation import FFMpegWriter

    if not FFMpegWriter.isAvailable() and importlib.util.find_spec("av") is None:
        raise RuntimeError(
            f"{target.name} needs the program ffmpeg, which is not found: install it, or PyAV (pip install "
            '"timelike[video]"), or save a .gif, which needs none'
        )


def write(
    figure: Figure,
    steps: Sequence[int],
    draw: Callable[[int], None],
    target: Path,
    rate: float,
    colors: NDArray[Any] | None = None,
) -> None:
    """Draw step after step into a file that takes its place at the end; a .gif has these `colors` (n, 3) and no others.

    They are from 0 to 1, at most 256, and those of fields and lines unless given.
    """
    draw(steps[-1])
    figure.dpi = _RESOLUTION
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once: nothing jumps when a heading gets longer
    with _replacing(target) as temporary:
        if target.suffix.lower() == ".gif":
            _write_gif(figure, steps, draw, temporary, rate, _field_colors() if colors is None else colors)
        else:
            _write_mp4(figure, steps, draw, temporary, rate)


def _write_mp4(figure: Figure, steps: Sequence[int], draw: Callable[[int], None], path: Path, rate: float) -> None:
    from matplotlib.animation import FFMpegWriter

    if not FFMpegWriter.isAvailable():
        _write_by_av(figure, steps, draw, path, rate)
        return
    writer = FFMpegWriter(fps=rate)  # type: ignore[arg-type]  # ffmpeg takes any number
    try:
        with writer.saving(figure, str(path), _RESOLUTION):
            for step in steps:
                draw(step)
                writer.grab_frame()
    except (subprocess.CalledProcessError, BrokenPipeError) as error:
        raise RuntimeError(
            f"ffmpeg could not write the picture ({error}): try another ffmpeg, or save a .gif"
        ) from error


def _write_by_av(figure: Figure, steps: Sequence[int], draw: Callable[[int], None], path: Path, rate: float) -> None:
    """By PyAV, which brings what ffmpeg is made of."""
    import av

    with av.open(str(path), "w") as film:
        stream = film.add_stream("libx264", rate=Fraction(float(rate)).limit_denominator(1000))
        width, height = (int(_RESOLUTION * side) // 2 * 2 for side in figure.get_size_inches())  # it needs even sides
        stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
        for picture in _rendered(figure, steps, draw):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture[:height, :width]), format="rgb24")
            film.mux(stream.encode(frame))
        film.mux(stream.encode())


def _rendered(figure: Figure, steps: Sequence[int], draw: Callable[[int], None]) -> Iterator[NDArray[np.uint8]]:
    """The figure at every step, (height, width, 3)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    for step in steps:
        draw(step)
        canvas.draw()  # type: ignore[no-untyped-call]
        yield np.asarray(canvas.buffer_rgba())[..., :3]  # type: ignore[no-untyped-call]


def _write_gif(
    figure: Figure,
    steps: Sequence[int],
    draw: Callable[[int], None],
    path: Path,
    rate: float,
    colors: NDArray[Any],
) -> None:
    """By Pillow, which comes with matplotlib, and with one palette: with one for each frame, colours would waver."""
    drawn = map(_palette(colors), _rendered(figure, steps, draw))
    first, pause = next(drawn), max(round(1000 / rate), _SHORTEST)
    first.save(path, save_all=True, append_images=drawn, duration=pause, loop=0, optimize=False)


def _palette(colors: NDArray[Any]) -> Callable[[NDArray[Any]], Image.Image]:
    """What paints pixels (height, width, 3) in the nearest of these colours: Pillow's own nearest is a rough one."""
    from PIL import Image
    from scipy.spatial import cKDTree

    numbers = (255 * colors).round().astype(np.uint8)
    tree = cKDTree(numbers.astype(np.float64))

    def painted(pixels: NDArray[Any]) -> Image.Image:
        packed = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
        met, where = np.unique(packed, return_inverse=True)
        nearest = np.asarray(tree.query(np.stack([met >> 16, met >> 8 & 255, met & 255], axis=1))[1])
        picture = Image.fromarray(nearest[where].reshape(packed.shape).astype(np.uint8))
        picture.putpalette(numbers.ravel().tolist())
        return picture

    return painted


def _field_colors() -> NDArray[Any]:
    """The colours of fields and of differences, and those of lines and words."""
    from matplotlib import colormaps

    return np.concatenate([line_colors(), *(colormaps[name](np.linspace(0, 1, 86))[:, :3] for name in PALETTES)])


def line_colors(n_greys: int = 20, n_shades: int = 9) -> NDArray[Any]:
    """Greys, and every line's colour as it fades into white."""
    from matplotlib.colors import to_rgb

    greys = np.linspace([0.0] * 3, [1.0] * 3, n_greys)
    return np.concatenate([greys, *(np.linspace(to_rgb(color), [1.0] * 3, n_shades + 1)[:-1] for color in COLORS)])


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """A file beside the target, of the same ending, that takes its place when all went well."""
    temporary = target.with_name(f".{target.stem[:40]}.{secrets.token_hex(8)}.part{target.suffix.lower()}")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
