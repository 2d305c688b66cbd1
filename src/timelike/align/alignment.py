"""`Alignment` of two sequences (cost, path or plan), and `Warp`, a map from the time of one to that of the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_bool
from ..core.validation import arrays
from ..plotting import alignments, html
from ..sequences import Sequences, as_single_sequence
from ..sequences.describe import overlay

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Warp:
    """A piecewise linear warp: a callable that maps x's time to y's time.

    `times` (knot,) are times of x, `values` (knot,) the matching times of y, and `y_times` (time,) the times of y's
    steps. The warp is constant before the first knot and after the last.
    """

    times: NDArray[np.float64]
    values: NDArray[np.float64]
    y_times: NDArray[np.float64]

    def __call__(self, t: Any) -> Any:
        """The time of y that matches x's time `t`; for datetimes, both are seconds from the first step."""
        if np.asarray(t).dtype.kind in "mM":
            raise TypeError(
                "t is a datetime: give seconds since x's first step, as (t - first) / np.timedelta64(1, 's')"
            )
        return np.interp(t, self.times, self.values)

    @property
    def slopes(self) -> NDArray[np.float64]:
        """The slope of the warp between neighbouring knots, (knot − 1,)."""
        return np.diff(self.values) / np.diff(self.times)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Interpolation weights of y's steps at each knot, (len x, len y); rows sum to 1, with at most two nonzero."""
        n = len(self.y_times)
        after = np.clip(np.searchsorted(self.y_times, self.values, side="right"), 1, max(n - 1, 1))
        matrix = np.zeros((len(self.values), n))
        rows = np.arange(len(self.values))
        if n == 1:
            matrix[:, 0] = 1
            return matrix
        before = after - 1
        share = (self.values - self.y_times[before]) / (self.y_times[after] - self.y_times[before])
        share = np.clip(share, 0, 1)
        matrix[rows, before] = 1 - share
        matrix[rows, after] = share
        return matrix

    def __repr__(self) -> str:
        first, last = self.times[0], self.times[-1]
        return f"Warp([{first:g}, {last:g}] → [{self.values[0]:g}, {self.values[-1]:g}], {len(self.times)} knots)"


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """The alignment of two sequences: its `cost`, and the correspondence of their steps.

    Every alignment has a `plan` (len x, len y). An alignment of single steps also has a `path` (steps, 2), with x in
    the first column and y in the second; an alignment in continuous time has a `warp`. Otherwise these are None.
    `sides` are the original x and y, if they have ids, times or channel names for a figure.
    """

    cost: float
    path: NDArray[np.int64] | None
    x: NDArray[Any]
    y: NDArray[Any]
    weights: NDArray[Any] | None = None
    warp: Warp | None = None
    sides: tuple[Sequences, Sequences] | None = None

    def __post_init__(self) -> None:
        for array in (self.path, self.weights):
            if array is not None:
                array.flags.writeable = False

    @property
    def plan(self) -> NDArray[np.float64]:
        """The weights that connect each step of x (row) with each step of y (column).

        For a path: 1 where two steps are matched, 0 elsewhere. For a soft or transport alignment: its weights. For a
        warp: the interpolation weights of y's steps at each of x's times, with rows that sum to 1.
        """
        if self.weights is not None:
            return self.weights
        if self.warp is not None:
            return self.warp.weights
        assert self.path is not None
        matrix = np.zeros((len(self.x), len(self.y)))
        matrix[self.path[:, 0], self.path[:, 1]] = 1
        return matrix

    def apply(self, y: Any = None) -> NDArray[Any]:
        """`y` (by default the aligned one) on x's time: each step is the mean of the steps matched with it."""
        if isinstance(y, Sequences):
            y = as_single_sequence(y, "y")[0]
        y = self.y if y is None else arrays.validate_array(y, "y")
        if np.ndim(y) == 0 or len(y) != len(self.y):
            raise ValueError(f"y has shape {np.shape(y)}: the alignment was made with {len(self.y)} time steps")
        if self.path is None:
            plan = self.plan
            mass = plan.sum(axis=1, keepdims=True)
            if not mass.all():
                raise ValueError(
                    f"step {int(mass.argmin())} of x is matched with nothing, because the plan was left unfinished: "
                    "align with a larger max_iter or regularization"
                )
            mixed = (plan / mass) @ y.reshape(len(y), -1)
            return np.asarray(mixed.reshape(len(plan), *y.shape[1:]))
        steps, matched = self.path.T
        first = np.flatnonzero(np.diff(steps, prepend=-1))
        counts = np.diff(np.append(first, len(steps))).reshape(-1, *[1] * (y.ndim - 1))
        return np.asarray(np.add.reduceat(y[matched], first, axis=0) / counts)

    def plot(self, *, channel: int | str = 0, costs: bool = True, dark: bool = False) -> Figure:
        """Draw the two signals joined where they match, the path or plan over the costs and, if any, the warp.

        `channel` is a position, or a name if you aligned `Sequences` with names: `align(X[:1], X[1:2])`. The legend
        then shows their ids and the axis their times since the first sample. `costs=False` draws the signals alone,
        `dark` draws for a dark page.
        """
        sides = (
            self.sides if self.sides is not None else (as_single_sequence(self.x, "x"), as_single_sequence(self.y, "y"))
        )
        place = overlay.channel_index(sides[0], channel)
        clocks, time = overlay.pair_times(*sides)
        x, y = (name if side.ids is None else f"{name}: {side.ids[0]}" for name, side in zip("xy", sides, strict=True))
        labels = alignments.SignalLabels((x, y), clocks, time, overlay.value_name(sides[0], place))
        if not check_bool(costs, "costs"):
            return alignments.plot_match(self, channel=place, labels=labels, dark=dark)
        return alignments.plot_alignment(self, channel=place, labels=labels, dark=dark)

    def _repr_html_(self) -> str:
        return html.figure_html(self.plot(), repr(self))

    def __repr__(self) -> str:
        how = "a plan" if self.path is None else f"path of {len(self.path)}"
        how = how if self.warp is None else f"{self.warp!r}"
        return f"Alignment(cost={self.cost:.6g}, {len(self.x)} × {len(self.y)} steps, {how})"
