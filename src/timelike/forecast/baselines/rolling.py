"""Ridge fitted again at every origin of a backtest, from normal equations to which windows are only added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ...sequences import Sequences
from ..request import Windows
from .base import Ids, Matrix, origins, stretch
from .lagged import Lagged, Moments, Normal, backward, chosen_of, factor, forward

if TYPE_CHECKING:
    from .ridge import Ridge

_FEATURES = 2048  # above which the equations are solved by windows, which cannot be added to


def forecasts(model: Ridge, sequences: Sequences, windows: Windows, horizon: int, known: NDArray[Any] | None) -> Matrix:
    """See `Ridge._rolling`."""
    columns = model._columns(sequences)
    centre, spread = model._scales(columns)  # only that numbers are of order 1: every cut has scales of its own
    design = Lagged((columns - centre) / spread, model.cells_.count, model.lags_, horizon)
    if design.n_features > _FEATURES:
        return _one_by_one(model, sequences, windows, horizon, known)
    asked = _asked(model, design, windows, (centre, spread), known)
    found = np.empty((len(windows.item), design.n_answers))
    added, spreads = _Added(design, sequences.offsets), _Spreads(model, columns, sequences.offsets)
    alpha = model.alpha
    for cut in np.unique(windows.origin).tolist():
        normal = added.until(cut)
        # a copy fitted here would have these spreads; the means fall out of centred equations
        scale = np.tile(spreads.until(cut) / spread, model.lags_)
        if known is not None:
            scale = np.concatenate([scale, np.tile(scale[design.n_cells : design.rows.shape[1]], horizon)])
        normal = normal._replace(xx=normal.xx / np.outer(scale, scale), xy=normal.xy / scale[:, None])
        alpha = _chosen(normal, scale[: design.n_cells]) if alpha is None else alpha
        lower = factor(normal.xx, alpha)
        for row in np.flatnonzero(windows.origin == cut).tolist():
            found[row] = normal.y + _answer(lower, normal.xy, (asked[row] - normal.x) / scale, design.sizes())
    answers = found.reshape(len(found), horizon, design.n_cells)
    return np.asarray(answers * spread[: design.n_cells] + centre[: design.n_cells])


class _Added:
    """Moments of the windows that lie before a cut, which moves forward only."""

    def __init__(self, design: Lagged, offsets: Ids) -> None:
        self.origin = origins(offsets, design.lags, design.horizon)
        # the step at which the last row of a window's future has passed, counted from the start of its sequence
        starts = offsets[np.searchsorted(offsets, self.origin, side="right") - 1]
        self.passed = self.origin - starts + design.horizon
        self.moments, self.cut, self.need = Moments(design), 0, design.lags + design.horizon

    def until(self, cut: int) -> Normal:
        self.moments.add(self.origin[(self.passed > self.cut) & (self.passed <= cut)])
        self.cut = cut
        if self.moments.count == 0:
            raise ValueError(
                f"at origin {cut} there is nothing to fit on: expected at least {self.need} steps before the first "
                "origin, lags and horizon together"
            )
        return self.moments.centred()


class _Spreads:
    """The spread of every column before a cut, which moves forward only (Chan, Golub and LeVeque, 1983)."""

    def __init__(self, model: Ridge, columns: Matrix, offsets: Ids) -> None:
        self.model, self.columns = model, columns
        time = np.arange(len(columns)) - np.repeat(offsets[:-1], np.diff(offsets))
        self.order = np.argsort(time, kind="stable")
        self.time = time[self.order]
        self.count, self.mean, self.squares = 0, np.zeros(columns.shape[1]), np.zeros(columns.shape[1])

    def until(self, cut: int) -> Matrix:
        count = int(np.searchsorted(self.time, cut))
        new = self.columns[self.order[self.count : count]]
        if len(new):
            mean = new.mean(axis=0)
            apart = mean - self.mean
            self.squares += np.square(new - mean).sum(axis=0) + np.square(apart) * self.count * len(new) / count
            self.mean, self.count = self.mean + apart * len(new) / count, count
        return self.model._spread(self.mean, self.squares / self.count)


def _asked(
    model: Ridge, design: Lagged, windows: Windows, scales: tuple[Matrix, Matrix], known: NDArray[Any] | None
) -> Matrix:
    """What is seen of the windows to forecast, in the units of the design."""
    centre, spread = scales
    past = stretch(model._columns(windows.pasts), windows.pasts.offsets[1:], -model.lags_, 0)
    ahead = None if known is None else (known - centre[design.n_cells :]) / spread[design.n_cells :]
    return design.beside((past - centre) / spread, ahead)


def _chosen(normal: Normal, scale: Matrix) -> float:
    """The penalty that a copy fitted here would choose: its answers have the spread 1 too."""
    steps = np.tile(scale, len(normal.y) // len(scale))
    return chosen_of(normal._replace(xy=normal.xy / steps, yy=normal.yy / np.square(steps)))


def _answer(lower: Matrix, xy: Matrix, seen: Matrix, sizes: Ids) -> Matrix:
    """xᵀ (XᵀX + α)⁻¹ XᵀY for one window, each step by the features that it sees: two triangles, and no solution."""
    half = forward(lower, seen)
    if sizes[0] == sizes[-1]:
        return np.asarray(backward(lower, half) @ xy)
    n_cells = xy.shape[1] // len(sizes)
    steps = [backward(lower[:size, :size], half[:size]) for size in sizes.tolist()]
    parts = [own @ xy[: len(own), step * n_cells : (step + 1) * n_cells] for step, own in enumerate(steps)]
    return np.concatenate(parts)


def _one_by_one(
    model: Ridge, sequences: Sequences, windows: Windows, horizon: int, known: NDArray[Any] | None
) -> Matrix:
    """The same by fits from the beginning, for frames so large that features are more than windows."""
    found = np.empty((len(windows.item), horizon, model.cells_.count))
    alpha = model.alpha
    for cut in np.unique(windows.origin).tolist():
        before = sequences._spawn(sequences.buffers()[1], np.minimum(sequences.lengths, cut))
        copy = clone(model).set_params(lags=model.lags_, alpha=alpha).fit(before)
        alpha = copy.solution(horizon).alpha
        rows = np.flatnonzero(windows.origin == cut)
        ahead = None if known is None else known[rows]
        answers = copy.predict(windows.pasts[rows], horizon, known=ahead).mean
        found[rows] = answers.reshape(len(rows), horizon, -1)[..., model.cells_.there.ravel()]
    return found
