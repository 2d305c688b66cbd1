"""Figures of discriminators: landscapes with arrows, particles over time, gradient fields, curves."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .image_grids import as_rgb, make_grid, plot_image
from .maps import PALETTES, value_range
from .style import COLORS, escape_mathtext, page_theme, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Curve = tuple[NDArray[Any], NDArray[Any]]
FAKE, REAL = COLORS[1], "white"  # particles as orange discs, where they should go as white crosses
_PANEL = 2.3  # inches
_PIECES = 5  # contours
_STYLES = ("-", "--", ":", "-.")


@dataclass(frozen=True, eq=False)
class LandscapePanel:
    """Values (height, width) over a box (left, right, low, high), points (item, 2), and arrows at the fake ones."""

    values: Floats
    box: tuple[float, float, float, float]
    fake: Floats
    real: Floats
    arrows: Floats | None = None


def plot_landscapes(rows: Mapping[str, Mapping[str, LandscapePanel]], *, dark: bool = False) -> Figure:
    """A table of landscapes, named at the left and above, each in colours of its own: yellow is high."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    with page_theme(dark):
        figure, grid = _axes_grid(len(rows), len(names), _box_ratio(rows))
        for axes_row, (title, row) in zip(grid, rows.items(), strict=True):
            for axes, name in zip(axes_row, names, strict=True):
                if name in row:
                    plot_landscape(axes, row[name])
                else:
                    axes.set_visible(False)
            axes_row[0].set_ylabel(escape_mathtext(title), fontsize="small")
        for axes, name in zip(grid[0], names, strict=True):
            axes.set_title(escape_mathtext(name), fontsize="small")
    return figure


def plot_landscape(axes: Axes, panel: LandscapePanel) -> None:
    """One landscape: values as colours with contours, particles, targets and arrows on it."""
    low, high = value_range([panel.values])
    axes.imshow(
        panel.values, extent=panel.box, origin="lower", cmap=PALETTES[0], vmin=low, vmax=high, interpolation="bilinear"
    )
    if np.ptp(panel.values) > 0:
        heights = np.linspace(low, high, _PIECES + 2)[1:-1]
        how: dict[str, Any] = {"colors": "white", "linewidths": 0.5, "alpha": 0.35}
        axes.contour(panel.values, heights.tolist(), extent=panel.box, origin="lower", **how)
    small = 90 / np.sqrt(max(len(panel.fake), len(panel.real), 1))
    axes.scatter(
        panel.real[:, 0], panel.real[:, 1], s=1.6 * small, marker="x", color=REAL, linewidths=min(1.2, 0.12 * small)
    )
    axes.scatter(panel.fake[:, 0], panel.fake[:, 1], s=small, color=FAKE, edgecolors="black", linewidths=0.3)
    if panel.arrows is not None and np.any(panel.arrows):
        _plot_arrows(axes, panel.fake, panel.arrows, panel.box, "white")
    left, right, bottom, top = panel.box
    axes.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def plot_gradient_fields(
    rows: Mapping[str, Mapping[str, tuple[Floats, Floats]]], target: Floats, *, dark: bool = False, note: str = ""
) -> Figure:
    """A table of gradient fields, each of points (item, 2) and arrows there, with a cross at the target.

    Arrows are scaled for each panel: the longest is as long as the points are apart, and a colour tells how long one is
    beside it, on a logarithmic scale down to a thousandth.
    """
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    with page_theme(dark):
        points = next(iter(next(iter(rows.values())).values()))[0]
        figure, grid = _axes_grid(len(rows), len(names), float(np.ptp(points[:, 1]) / np.ptp(points[:, 0])))
        for axes_row, (title, row) in zip(grid, rows.items(), strict=True):
            for axes, name in zip(axes_row, names, strict=True):
                field = _plot_gradient_field(axes, *row[name], target, _length_colormap(dark))
            axes_row[0].set_ylabel(escape_mathtext(title), fontsize="small")
        for axes, name in zip(grid[0], names, strict=True):
            axes.set_title(escape_mathtext(name), fontsize="small")
        bar = figure.colorbar(field, ax=list(grid.ravel()), shrink=0.8, pad=0.01, fraction=0.03, aspect=25)
        bar.set_label(escape_mathtext(note or "length beside the longest"), fontsize="small")
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize="x-small")
    return figure


def _plot_gradient_field(axes: Axes, points: Floats, arrows: Floats, target: Floats, palette: Any) -> Any:
    from matplotlib.colors import LogNorm

    lengths = np.hypot(*arrows.T)
    share = np.clip(lengths / (lengths.max() or 1.0), 1e-3, 1.0)
    spacing = np.ptp(points[:, 0]) / (len(np.unique(points[:, 0].round(9))) - 1)
    # drawn longer than they are, by the root: a thousandth could not be seen
    shown = arrows / np.maximum(lengths, 1e-300)[:, None] * (0.95 * spacing * share[:, None] ** 0.35)
    shown[lengths == 0] = 0.0
    how: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.007, "headwidth": 3.6}
    quiver = axes.quiver(*points.T, *shown.T, share, norm=LogNorm(1e-3, 1), cmap=palette, **how)
    axes.plot(*target, marker="x", color=FAKE, markersize=7, markeredgewidth=2.2)
    axes.plot(0, 0, marker="+", color=COLORS[6], markersize=6)
    (left, low), (right, high) = points.min(0) - 0.6 * spacing, points.max(0) + 0.6 * spacing
    axes.set(xlim=(left, right), ylim=(low, high), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set(linewidth=0.4, color=COLORS[6])
    return quiver


def _length_colormap(dark: bool) -> Any:
    """Colours of short to long arrows: the longest stand out from the page most."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    shares = np.linspace(0.25, 1.0, 256) if dark else np.linspace(0.85, 0.0, 256)
    return ListedColormap(colormaps[PALETTES[0]](shares))


def plot_profiles(
    panels: Mapping[str, Mapping[str, Curve]], fake: Floats, real: Floats, *, dark: bool = False, unit: str = ""
) -> Figure:
    """Curves over a line, a panel for each group, the last curve thick: what widths tend to; points below the axis."""
    from matplotlib.figure import Figure

    with page_theme(dark):
        figure = Figure(figsize=(0.6 + 3.1 * len(panels), 2.9), layout="constrained")
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, curves) in zip(grid, panels.items(), strict=True):
            *others, last = curves.items()
            for color, (name, curve) in zip(_blue_shades(len(others)), others, strict=True):
                axes.plot(*curve, color=color, linewidth=1.1, label=escape_mathtext(name))
            axes.plot(*last[1], color=COLORS[1], linewidth=2.4, label=escape_mathtext(last[0]))
            low, high = axes.get_ylim()
            floor = low - 0.08 * (high - low)
            for points, marker, color in ((fake, "^", COLORS[3]), (real, "v", COLORS[2])):
                axes.scatter(points, np.full(len(points), floor), marker=marker, color=color, s=26, linewidths=0)
            axes.set_title(escape_mathtext(title), fontsize="medium")
            style_axes(axes, counts=False)
        grid[0].set_ylabel(escape_mathtext(unit))
        grid[-1].legend(frameon=False, fontsize="x-small")
    return figure


def plot_descents(
    curves: Mapping[str, Curve], *, dark: bool = False, unit: str = "Sinkhorn divergence", floors: bool = False
) -> Figure:
    """Numbers over steps, both logarithmic, a line for each name; every colour is also a kind of line."""
    from matplotlib.figure import Figure

    with page_theme(dark):
        figure = Figure(figsize=(6.5, 3.6), layout="constrained")
        axes = figure.subplots()
        kinds = itertools.product(_STYLES, COLORS[:6])
        mark: dict[str, Any] = {"marker": "o", "markersize": 4} if floors else {}
        scale = "linear"
        for (style, color), (name, (steps, values)) in zip(kinds, curves.items(), strict=False):
            is_positive = (np.asarray(steps) > 0) & (np.asarray(values) > 0)  # the start has no place on the axis
            axes.plot(
                steps[is_positive],
                values[is_positive],
                style,
                color=color,
                label=escape_mathtext(name),
                linewidth=1.5,
                **mark,
            )
            scale = "log" if is_positive.any() else scale
        axes.set(
            xscale=scale, yscale=scale, xlabel="step per particle" if floors else "step", ylabel=escape_mathtext(unit)
        )
        axes.legend(frameon=False, fontsize="small")
        style_axes(axes, counts=False)
    return figure


def plot_mosaic(groups: Mapping[str, Any], *, columns: int = 8, dark: bool = False) -> Figure:
    """Images (item, height, width) from 0 to 1 as a block for each name, side by side: grids of figure 6.5."""
    shown = {str(name): as_rgb(images, f"groups[{name!r}]") for name, images in groups.items()}
    n_rows = max(-(-len(images) // columns) for images in shown.values())
    size = next(iter(shown.values())).shape[1:3]
    with page_theme(dark):
        apart = {columns * i for i in range(1, len(shown))}
        figure, grid = make_grid(size, n_rows, columns * len(shown), apart=apart, area=0.36)
        for i, (name, images) in enumerate(shown.items()):
            block = grid[:, columns * i : columns * (i + 1)]
            for axes, one in zip(block.ravel(), images, strict=False):
                plot_image(axes, one, width=0.0)
            middle = block[0, columns // 2]
            middle.text(
                0.0, 1.12, escape_mathtext(name), ha="center", va="bottom", fontsize="small", transform=middle.transAxes
            )
    return figure


def _plot_arrows(axes: Axes, points: Floats, arrows: Floats, box: Sequence[float], color: str) -> None:
    """Arrows at points, the longest a sixth of the box."""
    longest = float(np.hypot(*arrows.T).max())
    scale = 6 * longest / (box[1] - box[0])
    how: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "width": 0.006, "headwidth": 4}
    axes.quiver(*points.T, *arrows.T, color=color, scale=scale, **how)


def _axes_grid(n_rows: int, n_columns: int, ratio: float) -> tuple[Figure, NDArray[Any]]:
    from matplotlib.figure import Figure

    width = max(_PANEL, 1.6 / ratio)
    figure = Figure(figsize=(0.3 + width * n_columns, 0.3 + width * ratio * n_rows), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0.0, hspace=0.0)  # type: ignore[union-attr, call-arg]
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def _box_ratio(rows: Mapping[str, Mapping[str, LandscapePanel]]) -> float:
    left, right, low, high = next(iter(next(iter(rows.values())).values())).box
    return float(np.clip((high - low) / (right - left), 0.25, 4.0))


def _blue_shades(n: int) -> list[Any]:
    """Colours from pale to dark blue."""
    from matplotlib import colormaps

    return [colormaps["Blues"](share) for share in np.linspace(0.35, 0.95, max(n, 1))][:n]
