"""Writing of animated figures to .gif or .mp4 files, step by step and atomically, with one palette."""

from __future__ import annotations

import importlib.util
import os
import secrets
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .maps import PALETTES
from .style import COLORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL import Image

_RESOLUTION = 100  # pixels of an inch
_SHORTEST = 20  # milliseconds: shorter pauses of a .gif are taken for an oversight and lengthened
_SUFFIXES = (".gif", ".mp4")
_SLOWEST, _FASTEST = 0.01, 1000  # frames a second; the pauses of a .gif are counted in two bytes


def check_target(path: str | Path, rate: float) -> Path:
    """The path of the animation, checked to be writable before anything is drawn."""
    target = _check_path(path)
    if isinstance(rate, bool) or not isinstance(rate, int | float | np.number) or not _SLOWEST <= rate <= _FASTEST:
        raise ValueError(f"rate={rate!r}: expected a number of frames a second, from {_SLOWEST:g} to {_FASTEST:g}")
    _check_writable(target)
    if target.suffix.lower() == ".mp4":
        _refuse_without_ffmpeg(target)
    return target


def _check_path(path: Any) -> Path:
    """A path with a suffix of an animation."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(text, str):
        raise TypeError(f"path={path!r:.60}: expected the path of a .gif or .mp4 file, as text or a Path")
    if "\0" in text:
        raise ValueError(f"path={text!r} has a NUL in it: expected the path of a .gif or .mp4 file")
    target = Path(os.path.expanduser(text))  # unlike that of a Path, it leaves users who are not there as they are
    if target.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"path={text!r} ends in {target.suffix!r}: expected .gif or .mp4")
    return target


def _check_writable(target: Path) -> None:
    """Raise an error if no file can be written there, before frames are drawn: create it, and remove it again."""
    if os.path.isdir(target):
        raise IsADirectoryError(f"path={str(target)!r} is a folder: expected the name of a file to write")
    if os.path.exists(target) and not os.path.isfile(target):
        raise FileExistsError(
            f"path={str(target)!r} is a pipe, a device or a socket, which a file would replace: give the name of a file"
        )
    if not os.path.isdir(target.parent):
        raise FileNotFoundError(f"the folder {target.parent} does not exist: make it first, or save elsewhere")
    part = _temporary_path(target)
    try:
        with suppress(FileNotFoundError):
            os.lstat(target)  # says of a name that it is too long
        part.touch(exist_ok=False)
        part.unlink()
    except OSError as error:
        message = f"path={str(target)!r}: no file can be written there ({error.strerror}); give another name or folder"
        raise (PermissionError if isinstance(error, PermissionError) else OSError)(message) from None


def _temporary_path(target: Path) -> Path:
    """A unique temporary path next to the target, with the same suffix."""
    return target.with_name(f".{target.stem[:40]}.{secrets.token_hex(8)}.part{target.suffix.lower()}")


def _refuse_without_ffmpeg(target: Path) -> None:
    from matplotlib.animation import FFMpegWriter

    if not FFMpegWriter.isAvailable() and importlib.util.find_spec("av") is None:
        raise RuntimeError(
            f"{target.name} needs the program ffmpeg, which is not found: install it, or PyAV (pip install "
            '"timelike[video]"), or save a .gif, which needs none'
        )


def write_animation(
    figure: Figure,
    steps: Sequence[int],
    render_step: Callable[[int], None],
    target: Path,
    rate: float,
    colors: NDArray[Any] | None = None,
) -> None:
    """Draw step after step into a file that takes its place at the end; a .gif has these `colors` (n, 3) and no others.

    They are from 0 to 1, at most 256, and those of fields and lines unless given.
    """
    render_step(steps[-1])
    figure.dpi = _RESOLUTION
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once: nothing jumps when a heading gets longer
    with _atomic_write(target) as temporary:
        if target.suffix.lower() == ".gif":
            _write_gif(figure, steps, render_step, temporary, rate, _field_colors() if colors is None else colors)
        else:
            _write_mp4(figure, steps, render_step, temporary, rate)


def _write_mp4(
    figure: Figure, steps: Sequence[int], render_step: Callable[[int], None], path: Path, rate: float
) -> None:
    from matplotlib.animation import FFMpegWriter

    if not FFMpegWriter.isAvailable():
        _write_with_av(figure, steps, render_step, path, rate)
        return
    writer = FFMpegWriter(fps=rate)  # type: ignore[arg-type]  # ffmpeg takes any number
    try:
        with writer.saving(figure, str(path), _RESOLUTION):
            for step in steps:
                render_step(step)
                writer.grab_frame()
    except (subprocess.CalledProcessError, BrokenPipeError) as error:
        message = f"ffmpeg could not write the animation ({error}): try another ffmpeg, or save a .gif"
        raise RuntimeError(message) from error


def _write_with_av(
    figure: Figure, steps: Sequence[int], render_step: Callable[[int], None], path: Path, rate: float
) -> None:
    """Write an .mp4 with PyAV, which contains the ffmpeg libraries."""
    import av

    with av.open(str(path), "w") as film:
        stream = film.add_stream("libx264", rate=Fraction(float(rate)).limit_denominator(1000))
        width, height = (int(_RESOLUTION * side) // 2 * 2 for side in figure.get_size_inches())  # it needs even sides
        stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
        for image in _render_steps(figure, steps, render_step):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image[:height, :width]), format="rgb24")
            film.mux(stream.encode(frame))
        film.mux(stream.encode())


def _render_steps(
    figure: Figure, steps: Sequence[int], render_step: Callable[[int], None]
) -> Iterator[NDArray[np.uint8]]:
    """The figure at every step, (height, width, 3)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    for step in steps:
        render_step(step)
        canvas.draw()  # type: ignore[no-untyped-call]
        yield np.asarray(canvas.buffer_rgba())[..., :3]  # type: ignore[no-untyped-call]


def _write_gif(
    figure: Figure,
    steps: Sequence[int],
    render_step: Callable[[int], None],
    path: Path,
    rate: float,
    colors: NDArray[Any],
) -> None:
    """By Pillow, which comes with matplotlib, and with one palette: with one for each frame, colours would waver."""
    images = map(_make_quantizer(colors), _render_steps(figure, steps, render_step))
    first, pause = next(images), max(round(1000 / rate), _SHORTEST)
    first.save(path, save_all=True, append_images=images, duration=pause, loop=0, optimize=False)


def _make_quantizer(colors: NDArray[Any]) -> Callable[[NDArray[Any]], Image.Image]:
    """What paints pixels (height, width, 3) in the nearest of these colours: Pillow's own nearest is a rough one."""
    from PIL import Image
    from scipy.spatial import cKDTree

    numbers = (255 * colors).round().astype(np.uint8)
    tree = cKDTree(numbers.astype(np.float64))

    def quantize(pixels: NDArray[Any]) -> Image.Image:
        packed = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
        colors_met, where = np.unique(packed, return_inverse=True)
        nearest = np.asarray(
            tree.query(np.stack([colors_met >> 16, colors_met >> 8 & 255, colors_met & 255], axis=1))[1]
        )
        image = Image.fromarray(nearest[where].reshape(packed.shape).astype(np.uint8))
        image.putpalette(numbers.ravel().tolist())
        return image

    return quantize


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
def _atomic_write(target: Path) -> Iterator[Path]:
    """A temporary file next to the target, with the same suffix, that replaces it if the block succeeds."""
    temporary = _temporary_path(target)
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        if str(error.filename) != str(temporary):
            raise
        raise OSError(error.errno, error.strerror, str(target)) from error  # the path that the caller gave
    finally:
        temporary.unlink(missing_ok=True)
