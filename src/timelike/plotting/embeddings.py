"""Vectors as points in the plane: by their two main directions, or by whatever brings them there; classes by colour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .style import COLORS, escape_mathtext, page_theme, style_axes, text_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_STAR_SIZE = 190  # of a centre, in points²
_MAX_NAMED_STARS = 20
_LEGEND_ROWS = 12  # classes in one column of the legend
_MAX_CLASSES = len(COLORS) * len(MARKERS)  # classes that have a look of their own


def principal_components(vectors: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates (item, 2) along the directions of the largest variance, and the shares of it that they have.

    Directions point to where their largest entry is positive, so that the map is the same every time.

    >>> places, shares = principal_components(np.array([[0.0, 1.0], [4.0, 1.0], [8.0, 1.0]]))
    >>> places.tolist(), shares.tolist()
    ([[-4.0, 0.0], [0.0, 0.0], [4.0, 0.0]], [1.0, 0.0])
    """
    points = np.asarray(vectors, np.float64).reshape(len(vectors), -1)
    centred = points - points.mean(axis=0)
    sizes, directions = np.linalg.svd(centred, full_matrices=False)[1:]
    places, shares = np.zeros((len(points), 2)), np.zeros(2)
    n = min(2, len(sizes))
    signs = np.sign(np.take_along_axis(directions[:n], np.abs(directions[:n]).argmax(axis=1)[:, None], axis=1)[:, 0])
    places[:, :n] = centred @ (directions[:n] * signs[:, None]).T
    total = float((sizes**2).sum())
    shares[:n] = sizes[:n] ** 2 / total if total > 0 else 0.0
    return places + 0.0, shares  # without minus zeros


def plot_points(
    places: NDArray[Any],
    labels: NDArray[Any] | None = None,
    *,
    centers: tuple[NDArray[Any], NDArray[Any]] | None = None,
    axes_names: tuple[str, str] = ("", ""),
    title: str = "",
    dark: bool = False,
) -> Figure:
    """Points (item, 2); classes differ in colour and, of more than seven, in shape; numbers are shades with a bar.

    `centers`, points (center, 2) and their classes, are stars in the colours of the classes.
    """
    from matplotlib.figure import Figure

    x, y = np.asarray(places).T
    numeric = labels is not None and np.asarray(labels).dtype.kind == "f"
    with page_theme(dark):
        figure = Figure(figsize=(6.2, 4.8), layout="constrained")
        axes = figure.subplots()
        size = float(np.clip(4000 / max(len(places), 1), 6, 36))
        if labels is None:
            axes.scatter(x, y, s=size, color=COLORS[0], alpha=0.8, linewidths=0)
        elif numeric:
            shades = axes.scatter(x, y, s=size, c=labels, cmap="viridis", alpha=0.9, linewidths=0)
            figure.colorbar(shades, ax=axes, shrink=0.8).outline.set_visible(False)
        else:
            _scatter_classes(axes, places, np.asarray(labels), size, centers)
        axes.set(xlabel=axes_names[0], ylabel=axes_names[1])
        if title:
            axes.set_title(escape_mathtext(title), fontsize="medium")
        style_axes(axes, counts=False)
    return figure


def _scatter_classes(
    axes: Axes,
    places: NDArray[Any],
    labels: NDArray[Any],
    size: float,
    centers: tuple[NDArray[Any], NDArray[Any]] | None,
) -> None:
    stars, star_labels = (np.zeros((0, 2)), labels[:0]) if centers is None else centers
    every_label = np.concatenate([labels, star_labels])
    for name, own, color, marker in _class_styles(every_label):
        x, y = places[own[: len(labels)]].T
        axes.scatter(x, y, s=size, color=color, marker=marker, alpha=0.9, linewidths=0, label=escape_mathtext(name))
        for x, y in stars[own[len(labels) :]]:
            axes.scatter(x, y, s=_STAR_SIZE, color=color, marker="*", edgecolors=text_color(), linewidths=0.9, zorder=3)
            if len(stars) <= _MAX_NAMED_STARS:
                _name_star(axes, (x, y), name)
    n = min(len(np.unique(every_label)), _MAX_CLASSES)
    columns = -(-n // _LEGEND_ROWS)
    # beside the map: inside it would lie on points
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=columns)


def _name_star(axes: Axes, place: tuple[float, float], name: str) -> None:
    """The class beside its star, with an outline, because it lies on points."""
    from matplotlib import rcParams
    from matplotlib.patheffects import withStroke

    outline = withStroke(linewidth=3, foreground=rcParams["axes.facecolor"])
    words = axes.annotate(escape_mathtext(name), place, (6, 5), textcoords="offset points", weight="bold", zorder=4)
    words.set_path_effects([outline])


def _class_styles(labels: NDArray[Any]) -> Iterator[tuple[str, NDArray[np.bool_], str, str]]:
    """Name, members, colour and shape of every class; of very many, the last ones are grey together."""
    kinds = np.unique(labels)
    shown_kinds = kinds if len(kinds) <= _MAX_CLASSES else kinds[: _MAX_CLASSES - 1]
    for i, kind in enumerate(shown_kinds.tolist()):
        shape = MARKERS[i // len(COLORS) % len(MARKERS)]
        yield str(kind), np.asarray(labels == kind), COLORS[i % len(COLORS)], shape
    if len(shown_kinds) < len(kinds):
        yield f"{len(kinds) - len(shown_kinds)} more", ~np.isin(labels, shown_kinds), "#9a9a9a", "."
