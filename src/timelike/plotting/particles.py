"""Particles on their way to a target: at a few moments, as an animation, and numbers along the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .animation_writer import check_target, line_colors, write_animation
from .signals import channel_values
from .style import COLORS, escape_mathtext, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = tuple[NDArray[Any], NDArray[Any]]  # steps and values
_TARGET, _PARTICLES = COLORS[6], COLORS[1]
_SERIES = 60  # of a sample are drawn; more lines hide each other
_BINS = 40


def plot_particles(shown: Mapping[str, NDArray[Any]], real: NDArray[Any], curves: Mapping[str, Curve]) -> Figure:
    """Particles at several moments, each in a panel with the target, and a panel for every curve below.

    Items are vectors (item, feature): one number as a histogram, two as points, more as points along the two directions
    in which the target varies most; or series (item, time, channel), as lines of the first channel.
    """
    from matplotlib.figure import Figure

    panel = _panel_plotter([*shown.values()], real)
    figure = Figure(figsize=(max(2.6 * len(shown), 5.2), 3.2 + (2.1 if curves else 0.0)), layout="constrained")
    rows: Any = figure.subfigures(2, 1, height_ratios=(3.2, 2.1)) if curves else [figure]
    grid = rows[0].subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (name, particles) in zip(grid, shown.items(), strict=True):
        panel(axes, particles)
        axes.set_title(escape_mathtext(name), fontsize="medium")
    handles, labels = grid[0].get_legend_handles_labels()
    rows[0].legend(handles, labels, frameon=False, fontsize="small", loc="outside lower center", ncols=2)
    if curves:
        _plot_curves(rows[1].subplots(1, len(curves), squeeze=False)[0], curves)
    return figure


def plot_measures(curves: Mapping[str, Curve]) -> Figure:
    """Numbers along a flow, a panel each, on a logarithmic axis where all are greater than 0."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(2.6 * len(curves), 3.2), 2.4), layout="constrained")
    if curves:
        _plot_curves(figure.subplots(1, len(curves), squeeze=False)[0], curves)
    return figure


def animate_particles(
    frames: NDArray[Any], headings: Sequence[str], real: NDArray[Any], path: str | Path, *, rate: float = 8
) -> Path:
    """Particles (moment, item, …) on their way to the target, `rate` moments a second, written to `path`.

    The file appears whole or not at all.
    """
    from matplotlib.figure import Figure

    target = check_target(path, rate)
    panel = _panel_plotter([*frames], real)
    figure = Figure(figsize=(4.4, 4.2), layout="constrained")
    axes = figure.subplots()

    def draw(moment: int) -> None:
        axes.clear()
        panel(axes, frames[moment])
        axes.set_title(escape_mathtext(headings[moment]), fontsize="medium")

    write_animation(figure, range(len(frames)), draw, target, rate, line_colors(40, 24))
    return target


def animate_flows(
    flows: Mapping[str, NDArray[Any]], headings: Sequence[str], real: NDArray[Any], path: str | Path, *, rate: float = 8
) -> Path:
    """Several flows {name: particles (moment, item, …)} of the same moments side by side, written to `path`.

    The file appears whole or not at all.
    """
    from matplotlib.figure import Figure

    target = check_target(path, rate)
    panel = _panel_plotter([particles for frames in flows.values() for particles in frames], real)
    figure = Figure(figsize=(2.6 * len(flows), 3.0), layout="constrained")
    grid = figure.subplots(1, len(flows), squeeze=False)[0]
    heading = figure.suptitle(escape_mathtext(headings[0]), fontsize="medium")

    def draw(moment: int) -> None:
        heading.set_text(escape_mathtext(headings[moment]))
        for axes, (name, frames) in zip(grid, flows.items(), strict=True):
            axes.clear()
            panel(axes, frames[moment])
            axes.set_title(escape_mathtext(name), fontsize="small")

    write_animation(figure, range(len(headings)), draw, target, rate, line_colors(40, 24))
    return target


def _plot_curves(grid: Sequence[Axes], curves: Mapping[str, Curve]) -> None:
    from matplotlib.ticker import MaxNLocator

    for axes, (name, (steps, values)) in zip(grid, curves.items(), strict=True):
        few = len(steps) < 60
        axes.plot(steps, values, color=COLORS[0], linewidth=1.3, marker="." if few else None, markersize=4)
        if len(values) and values.min() > 0:
            axes.set_yscale("log")
        axes.set(xlabel="step", ylabel=escape_mathtext(name))
        style_axes(axes, counts=False)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))  # panels are narrow


def _panel_plotter(moving: Sequence[NDArray[Any]], real: NDArray[Any]) -> Callable[[Axes, NDArray[Any]], None]:
    """What draws particles and their target into axes, with the same limits for all moments."""
    if real.ndim > 2:
        return _line_plotter(moving, real)
    return _histogram_plotter(moving, real) if real.shape[1] == 1 else _point_plotter(moving, real)


def _point_plotter(moving: Sequence[NDArray[Any]], real: NDArray[Any]) -> Callable[[Axes, NDArray[Any]], None]:
    turn = _projection(real)
    places = real @ turn
    low, high = _square_limits(*_bounding_box([places, *(one @ turn for one in moving)]))
    size = float(np.clip(3000 / len(real), 4, 30))

    def draw(axes: Axes, particles: NDArray[Any]) -> None:
        axes.scatter(
            places[:, 0], places[:, 1], s=size, marker="x", color=_TARGET, linewidth=0.8, alpha=0.8, label="real"
        )
        x, y = (particles @ turn).T
        axes.scatter(x, y, s=size, color=_PARTICLES, linewidth=0, alpha=0.8, label="particles")
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        if real.shape[1] > 2:
            axes.set(xlabel="first direction", ylabel="second")
        style_axes(axes, counts=False)

    return draw


def _histogram_plotter(moving: Sequence[NDArray[Any]], real: NDArray[Any]) -> Callable[[Axes, NDArray[Any]], None]:
    low, high = _bounding_box([real, *moving])
    bins = np.linspace(float(low[0]), float(high[0]), _BINS + 1).tolist()

    def draw(axes: Axes, particles: NDArray[Any]) -> None:
        axes.hist(real.ravel(), bins=bins, density=True, color=_TARGET, alpha=0.45, label="real")
        axes.hist(
            particles.ravel(),
            bins=bins,
            density=True,
            histtype="step",
            color=_PARTICLES,
            linewidth=1.5,
            label="particles",
        )
        axes.set(xlim=(low[0], high[0]), yticks=[])
        style_axes(axes, counts=False)

    return draw


def _line_plotter(moving: Sequence[NDArray[Any]], real: NDArray[Any]) -> Callable[[Axes, NDArray[Any]], None]:
    low, high = _bounding_box([channel_values(one.reshape(-1, *one.shape[2:]), 0)[:, None] for one in (real, *moving)])

    def subsample(series: NDArray[Any]) -> NDArray[Any]:
        subset = series[:: -(-len(series) // _SERIES)]
        return subset.reshape(len(subset), subset.shape[1], -1)[:, :, 0].T

    def draw(axes: Axes, particles: NDArray[Any]) -> None:
        for series, color, name in ((real, _TARGET, "real"), (particles, _PARTICLES, "particles")):
            lines = axes.plot(subsample(series), color=color, linewidth=0.8, alpha=0.6)
            lines[0].set_label(name)
        axes.set(ylim=(low[0], high[0]), xlabel="time step")
        style_axes(axes)

    return draw


def _projection(real: NDArray[Any]) -> NDArray[np.float64]:
    """The plane that is shown, (feature, 2): the features themselves where there are two."""
    if real.shape[1] == 2:
        return np.eye(2)
    axes = np.linalg.svd(real - real.mean(axis=0), full_matrices=False)[2]
    if len(axes) < 2:
        axes = np.eye(2, real.shape[1])
    first = np.abs(axes[:2]).argmax(axis=1)
    return np.asarray((axes[:2] * np.sign(axes[[0, 1], first])[:, None]).T)  # one of two signs, always the same


def _square_limits(low: NDArray[Any], high: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """As much of either axis: a plane in which a step to the right is as long as one upwards."""
    middle, reach = (low + high) / 2, (high - low).max() / 2
    return middle - reach, middle + reach


def _bounding_box(places: Sequence[NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The box around all, with some room."""
    low = np.min([one.min(axis=0) for one in places], axis=0).astype(np.float64)
    high = np.max([one.max(axis=0) for one in places], axis=0).astype(np.float64)
    room = np.maximum(0.05 * (high - low), 1e-9 + 1e-3 * np.abs(high))
    return low - room, high + room
