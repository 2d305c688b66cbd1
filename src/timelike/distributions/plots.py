"""Figures of any discriminator (6.1 to 6.7 of the thesis): landscapes, particles, Dirac fields, profiles, images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_bool, check_float, check_int
from ..core.validation.arrays import validate_array
from ..plotting import landscapes as draw
from .discriminators.base import as_discriminator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]
Table = Mapping[str, Mapping[str, Any]]


def plot_landscapes(
    fake: Any,
    target: Any,
    discriminators: Mapping[str, Any],
    *,
    size: int = 61,
    margin: float = 0.15,
    dark: bool = False,
) -> Figure:
    """The cost c_f of generated points in the plane as a landscape, with −∇c_f as arrows (figure 6.1).

    Generated points are discs, real ones crosses; the generator descends, so arrows point downhill.

    Parameters
    ----------
    fake, target : arrays (item, 2)
        Generated and real points.
    discriminators : dict, or dict of dicts
        {column: discriminator or kernel}, or {row: {column: …}}. A kernel becomes `IPM(kernel)`.
    size : int
        Points along each side of the landscape.
    margin : float
        Margin around the points, as a fraction of their extent.
    dark : bool
        For a dark page.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike import distributions as ds
    >>> rng = np.random.default_rng(0)
    >>> fake, real = rng.standard_normal((20, 2)), rng.standard_normal((20, 2)) + 3
    >>> figure = ds.plot_landscapes(fake, real, {"RBF": ds.RBF(width=1.0)}, size=9)
    >>> figure.savefig("landscape.png")  # doctest: +SKIP
    """
    fake, target, size = (
        _validate_plane_points(fake, "fake"),
        _validate_plane_points(target, "target"),
        check_int(size, "size", 2),
    )
    box = _square_box(margin, fake, target)
    rows = {
        title: {name: _make_panel(kind, fake, target, box, size) for name, kind in row.items()}
        for title, row in _check_table(discriminators).items()
    }
    return draw.plot_landscapes(rows, dark=check_bool(dark, "dark"))


def plot_particles(
    flows: Mapping[str, Mapping[Any, Any]],
    target: Any,
    discriminators: Mapping[str, Any] | None = None,
    *,
    size: int = 61,
    margin: float = 0.1,
    dark: bool = False,
) -> Figure:
    """Particles over time, a row for each flow, on the landscape of their discriminator (figures 6.2 and 6.3).

    `flows` are {name: {step: particles (item, 2)}}, `discriminators` {name: discriminator} of the same names; without
    them there is no landscape.

    >>> import numpy as np
    >>> from timelike import distributions as ds
    >>> points = np.random.default_rng(0).standard_normal((20, 2))
    >>> figure = ds.plot_particles({"moved to the right": {0: points, 9: points + [1.0, 0.0]}}, points + 3, size=9)
    """
    target, size = _validate_plane_points(target, "target"), check_int(size, "size", 2)
    moments = {
        name: {step: _validate_plane_points(some, f"flows[{name!r}][{step!r}]") for step, some in flow.items()}
        for name, flow in flows.items()
    }
    kinds = dict.fromkeys(moments) | dict(discriminators or {})
    box = _square_box(margin, target, *(some for flow in moments.values() for some in flow.values()))
    rows = {
        name: {
            f"step {step}": _make_panel(kinds[name], some, target, box, size, arrows=False)
            for step, some in flow.items()
        }
        for name, flow in moments.items()
    }
    return draw.plot_landscapes(rows, dark=check_bool(dark, "dark"))


def plot_dirac_fields(
    discriminators: Mapping[str, Any], *, dimension: int = 2, size: int = 15, dark: bool = False
) -> Figure:
    """How one generated point x moves towards one real point y = (1, 0), wherever x is (figures 6.6 and 6.7).

    x is on a grid of `size` × `size` over [−2, 2] × [0, 2]; in more dimensions the grid lies in the plane of x and y,
    which −∇c_f(x) does not leave: kernels of networks depend on norms and the inner product alone. The colour of an
    arrow is its length relative to the longest of the panel.

    >>> from timelike import distributions as ds
    >>> figure = ds.plot_dirac_fields({"RBF": ds.RBF(width=1.0)}, dimension=8, size=5)
    """
    dimension, size = check_int(dimension, "dimension", 2), check_int(size, "size", 2)
    points = grid_points((-2.0, 2.0, 0.0, 2.0), size)
    rows = {
        title: {name: (points, dirac_moves(kind, points, dimension)) for name, kind in row.items()}
        for title, row in _check_table(discriminators).items()
    }
    return draw.plot_gradient_fields(rows, np.array([1.0, 0.0]), dark=check_bool(dark, "dark"))


def dirac_moves(discriminator: Any, points: Any, dimension: int = 2) -> Floats:
    """−∇c_f(x) in the plane of x and y = (1, 0), for each x of points (item, 2), with other coordinates 0.

    >>> from timelike import distributions as ds
    >>> ds.dirac_moves(ds.RBF(width=1.0), [[0.0, 1.0]]).round(4)  # towards y
    array([[ 0.3679, -0.3679]])
    """
    moves, kind = [], as_discriminator(discriminator)
    target = np.eye(1, dimension).repeat(2, axis=0)  # a point twice is the same distribution
    for point in _validate_plane_points(points, "points"):
        x = np.zeros((2, dimension))
        x[:, :2] = point
        moves.append(-np.asarray(kind.train_critic(x, target).gradient(x[:1]))[0, :2])
    return np.array(moves)


def plot_profiles(
    fake: Any, target: Any, discriminators: Table, *, size: int = 201, margin: float = 0.4, dark: bool = False
) -> Figure:
    """c_f over a line, a panel for each row and a curve for each discriminator, the last one thick (figure 6.1).

    Give finite widths first and the infinite one last to show the convergence. Points are (item, 1); generated ones are
    triangles up, real ones triangles down.

    >>> from timelike import distributions as ds
    >>> figure = ds.plot_profiles([[0.0], [0.5]], [[2.0], [3.0]], {"IPM": {"RBF": ds.RBF(width=1.0)}}, size=9)
    """
    fake, target, size = (
        _validate_points(fake, "fake", 1),
        _validate_points(target, "target", 1),
        check_int(size, "size", 2),
    )
    left, right = _axis_limits(np.concatenate([fake, target]), margin)[0]
    line = np.linspace(left, right, size)
    panels = {
        title: {name: (line, _train_critic(kind, fake, target).cost(line[:, None])) for name, kind in row.items()}
        for title, row in _check_table(discriminators).items()
    }
    return draw.plot_profiles(panels, fake[:, 0], target[:, 0], dark=check_bool(dark, "dark"), unit="c(f(x))")


def plot_particle_images(groups: Mapping[str, Any], *, columns: int = 8, rows: int = 8, dark: bool = False) -> Figure:
    """The first particles of each group as pictures, side by side (figure 6.5): (item, height · width) in ±1, square.

    >>> import numpy as np
    >>> from timelike import distributions as ds
    >>> figure = ds.plot_particle_images({"noise": np.zeros((4, 1024))}, columns=2, rows=2)
    """
    columns, rows = check_int(columns, "columns", 1), check_int(rows, "rows", 1)
    images = {name: _to_images(some, f"groups[{name!r}]")[: columns * rows] for name, some in groups.items()}
    return draw.plot_mosaic(images, columns=columns, dark=check_bool(dark, "dark"))


def grid_points(box: Box, size: int) -> Floats:
    """Points (size², 2) of a grid over (left, right, low, high), the first row below."""
    left, right, low, high = box
    x, y = np.meshgrid(np.linspace(left, right, size), np.linspace(low, high, size))
    return np.stack([x.ravel(), y.ravel()], axis=1)


def _train_critic(kind: Any, fake: Floats, target: Floats) -> Any:
    return as_discriminator(kind).train_critic(fake, target)


def _make_panel(
    kind: Any, fake: Floats, target: Floats, box: Box, size: int, *, arrows: bool = True
) -> draw.LandscapePanel:
    if kind is None:
        return draw.LandscapePanel(np.zeros((size, size)), box, fake, target)
    critic = _train_critic(kind, fake, target)
    values = np.asarray(critic.cost(grid_points(box, size))).reshape(size, size)
    return draw.LandscapePanel(values, box, fake, target, -np.asarray(critic.gradient(fake)) if arrows else None)


def _check_table(discriminators: Mapping[str, Any]) -> Table:
    """Rows of columns; columns alone become one row without a name."""
    if not isinstance(discriminators, Mapping) or not discriminators:
        raise TypeError(f"discriminators={discriminators!r:.60}: expected {{name: discriminator}}, at least one")
    is_row = [isinstance(one, Mapping) for one in discriminators.values()]
    if any(is_row) and not all(is_row):
        raise TypeError("discriminators mixes rows and single discriminators: expected {row: {column: …}} throughout")
    return discriminators if all(is_row) else {"": discriminators}


def _validate_plane_points(value: Any, name: str) -> Floats:
    return _validate_points(value, name, 2)


def _validate_points(value: Any, name: str, dimension: int) -> Floats:
    points = validate_array(value.to_numpy() if hasattr(value, "iloc") else value, name).astype(np.float64)
    if points.ndim != 2 or points.shape[1] != dimension or not len(points):
        raise ValueError(f"{name} has shape {points.shape}: expected (item, {dimension}), the dimensions of the figure")
    return points


def _axis_limits(points: Floats, margin: float) -> Floats:
    """The limits of every axis, (axis, 2), with a margin."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = check_float(margin, "margin", 0.0) * np.maximum(high - low, 1e-9)
    return np.stack([low - room, high + room], axis=1)


def _square_box(margin: float, *samples: Floats) -> Box:
    """A square around all points."""
    ends = _axis_limits(np.concatenate(samples), margin)
    middle, half = ends.mean(axis=1), float(np.ptp(ends, axis=1).max()) / 2
    return middle[0] - half, middle[0] + half, middle[1] - half, middle[1] + half


def _to_images(particles: Any, name: str) -> Floats:
    vectors = np.asarray(particles, np.float64)
    side = round(vectors.shape[-1] ** 0.5) if vectors.ndim == 2 else 0
    if not side or side * side != vectors.shape[1]:
        raise ValueError(f"{name} has shape {vectors.shape}: expected (item, height · width) of square pictures")
    return (vectors.reshape(-1, side, side) + 1) / 2
