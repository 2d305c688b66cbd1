"""Matrices as images: distances of steps, weights of a plan, fields and their differences, strips of frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .style import COLORS, escape_mathtext, text_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

DIFFERENCE = "difference"  # the row, or panel, that has colours of its own: white where nothing differs
PALETTES = ("viridis", "RdBu_r")  # of fields, and of differences
_PIXELS = 600  # a cost image need not be finer than this
_FRAMES = 10  # in a strip
_WIDEST = 11.0  # inches that the frames of a row take together
_PAST = 3  # of which at most so many are of the past
MASKED = "#8a8a8a"


def plot_costs(axes: Axes, x: NDArray[Any], y: NDArray[Any]) -> None:
    """The distance of every step of x to every step of y, dark where they are near."""
    from matplotlib.ticker import MaxNLocator

    rows, columns = (np.unique(np.linspace(0, len(s) - 1, min(len(s), _PIXELS)).astype(int)) for s in (x, y))
    a, b = x[rows].reshape(len(rows), -1), y[columns].reshape(len(columns), -1)
    squares = (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T
    image = np.sqrt(np.maximum(squares, 0))
    extent = (-0.5, len(y) - 0.5, -0.5, len(x) - 0.5)
    axes.imshow(image, origin="lower", aspect="auto", cmap="Greys_r", extent=extent, interpolation="nearest")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("step of y")
    axes.set_ylabel("step of x")


def plot_plan(axes: Axes, plan: NDArray[Any]) -> None:
    """The plan as colour that is as opaque as the weight is large."""
    from matplotlib.colors import to_rgb

    n, m = plan.shape
    image = np.empty((n, m, 4))
    image[..., :3] = to_rgb(COLORS[1])
    image[..., 3] = np.clip(plan / (plan.max() or 1.0), 0, 1) ** 0.7
    axes.imshow(image, origin="lower", aspect="auto", extent=(-0.5, m - 0.5, -0.5, n - 0.5), interpolation="nearest")


def plot_field(
    axes: Axes,
    values: NDArray[Any],
    *,
    limits: tuple[float, float] | None = None,
    difference: bool = False,
    bar: bool = True,
    unit: str = "",
    upwards: bool = False,
) -> AxesImage:
    """A field (height, width) as an image, grey where it is masked (NaN), with a colour bar.

    A `difference` is white where it is 0, and as red above as it is blue below. `limits` are the numbers of the
    first and last colour, those of the values unless given. The first row is above, or below where rows go `upwards`,
    as latitudes often do.
    """
    from matplotlib import colormaps

    low, high = limits if limits is not None else value_range([values], difference=difference)
    image = axes.imshow(
        np.asarray(values, np.float64),
        cmap=colormaps[PALETTES[difference]].with_extremes(bad=MASKED),
        vmin=low,
        vmax=high,
        origin="lower" if upwards else "upper",
        interpolation="nearest",
    )
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set(linewidth=0.5, color=MASKED)
    if bar:
        add_color_bar([axes], image, unit)
    return image


def plot_difference(a: NDArray[Any], b: NDArray[Any], *, names: tuple[str, str] = ("a", "b"), unit: str = "") -> Figure:
    """Two fields (height, width) in the same colours, and a − b beside them."""
    from matplotlib.figure import Figure

    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(f"a has shape {a.shape}, b {b.shape}: expected two fields (height, width) of one size")
    width, height = _panel_size(a.shape, 2.6)
    figure = Figure(figsize=(3 * width + 1.8, height + 0.5), layout="compressed")
    first, second, third = figure.subplots(1, 3)
    common = value_range([a, b])
    for axes, values, name in ((first, a, names[0]), (second, b, names[1])):
        image = plot_field(axes, values, limits=common, bar=False)
        axes.set_title(escape_mathtext(name), fontsize="medium")
    add_color_bar([first, second], image, unit)
    plot_field(third, a - b, difference=True, unit=unit)
    third.set_title(escape_mathtext(f"{names[0]} − {names[1]}"), fontsize="medium")
    return figure


def plot_field_strips(
    rows: Mapping[str, NDArray[Any]], *, past: NDArray[Any] | None = None, every: int | None = None, unit: str = ""
) -> Figure:
    """Rows of frames (time, height, width) under each other, named at the left, their steps written above.

    At most ten frames are shown, evenly over the time, or `every` so many steps; in front of the first row are the last
    frames of the `past`. All rows have the same colours, but for one that is called "difference".
    """
    from matplotlib.figure import Figure

    shape = _validate_rows(rows, past)
    before = np.zeros((0, *shape[1:])) if past is None else np.asarray(past)[-_PAST:]
    leader = next((name for name in rows if name != DIFFERENCE), None)
    steps = choose_steps(shape[0], _FRAMES - len(before), every)
    n_columns = len(before) + len(steps)
    width, height = _panel_size(shape[1:], 0.95, most=max(_WIDEST / n_columns, 0.5))
    size = (n_columns * width + 1.9, len(rows) * height + 0.45)
    figure = Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.015, h_pad=0.02, wspace=0, hspace=0)  # type: ignore[union-attr, call-arg]
    grid = figure.subplots(len(rows), n_columns, squeeze=False)
    limits = _color_limits(rows, before)
    for axes in grid.flat:
        axes.set_axis_off()
    for i, (name, frames) in enumerate(rows.items()):
        shown = [*(before if name == leader else [None] * len(before)), *np.asarray(frames)[steps]]
        image = _plot_strip(grid[i], shown, limits[name == DIFFERENCE], is_difference=name == DIFFERENCE)
        # not a label of the axis: there may be no frame to the right of it
        grid[i, 0].text(-0.06, 0.5, escape_mathtext(name), ha="right", va="center", transform=grid[i, 0].transAxes)
        if name == DIFFERENCE:
            add_color_bar(list(grid[i]), image, unit)
        elif name == leader:
            common = [axes for row, other in zip(grid, rows, strict=True) if other != DIFFERENCE for axes in row]
            add_color_bar(common, image, unit)
    for column, step in enumerate([*range(1 - len(before), 1), *(steps + 1)]):
        grid[0, column].set_title(step_label(step), fontsize="small", color=COLORS[6] if step <= 0 else text_color())
    return figure


def _plot_strip(
    row: Sequence[Axes], frames: Sequence[NDArray[Any] | None], limits: tuple[float, float], *, is_difference: bool
) -> AxesImage:
    for axes, values in zip(row, frames, strict=True):
        if values is not None:
            axes.set_axis_on()
            image = plot_field(axes, values, limits=limits, difference=is_difference, bar=False)
    return image


def _validate_rows(rows: Mapping[str, NDArray[Any]], past: NDArray[Any] | None) -> tuple[int, ...]:
    """The shape that all rows have."""
    shapes = {name: np.shape(frames) for name, frames in rows.items()}
    first = next(iter(shapes.values()), ())
    if len(first) != 3 or not all(first) or set(shapes.values()) != {first}:
        raise ValueError(f"rows have the shapes {shapes}: expected (time, height, width), the same for all")
    if past is not None and np.shape(past)[1:] != first[1:]:
        raise ValueError(f"past has shape {np.shape(past)}: expected (time, {first[1]}, {first[2]}), as the rows have")
    return first


def choose_steps(length: int, most: int, every: int | None) -> NDArray[np.int64]:
    """Positions of the frames that are shown: at most so many, evenly, or `every` so many."""
    if every is not None:
        if isinstance(every, bool) or not isinstance(every, int | np.integer):
            raise TypeError(f"every={every!r}: expected an integer, to show one of so many frames")
        if every < 1 or every > length:
            raise ValueError(f"every={every}: expected 1 to {length}, the number of frames")
        return np.arange(every - 1, length, every)
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(np.int64))


def _color_limits(rows: Mapping[str, NDArray[Any]], before: NDArray[Any]) -> dict[bool, tuple[float, float]]:
    """Of differences, and of everything else."""
    return {
        True: value_range([frames for name, frames in rows.items() if name == DIFFERENCE], difference=True),
        False: value_range([before, *(frames for name, frames in rows.items() if name != DIFFERENCE)]),
    }


def value_range(fields: Sequence[NDArray[Any]], *, difference: bool = False) -> tuple[float, float]:
    """Smallest and largest number in some fields; for a difference, as far below 0 as above it.

    >>> value_range([np.array([3.0, np.nan, -4.0])]), value_range([np.array([3.0, -4.0])], difference=True)
    ((-4.0, 3.0), (-4.0, 4.0))
    """
    finite = [np.asarray(values, np.float64)[np.isfinite(values)] for values in fields]
    numbers = np.concatenate([np.zeros(0), *(values.ravel() for values in finite)])
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 0.0)
    if difference:
        most = max(abs(low), abs(high)) or 1.0
        return -most, most
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def step_label(step: float) -> str:
    """How a step is called that far after the last one that is known.

    >>> step_label(-1), step_label(0), step_label(2), step_label(0.5)
    ('t−1', 't', 't+2', 't+0.5')
    """
    return "t" if step == 0 else f"t+{step:.3g}" if step > 0 else f"t−{-step:.3g}"


def add_color_bar(panels: Sequence[Axes], image: AxesImage, unit: str) -> None:
    """A bar for all panels that have the colours of this image."""
    bar = panels[0].figure.colorbar(image, ax=list(panels), shrink=0.9, pad=0.02, fraction=0.05, aspect=15)
    bar.ax.tick_params(labelsize="small")
    bar.outline.set_visible(False)
    if unit:
        bar.set_label(escape_mathtext(unit), fontsize="small")


def _panel_size(shape: Sequence[int], side: float, most: float = np.inf) -> tuple[float, float]:
    """Width and height in inches of a frame with the area of a square of that side, at most so wide."""
    ratio = float(np.clip(shape[0] / shape[1], 0.25, 4.0))
    width = min(side / ratio**0.5, most)
    return width, width * ratio
