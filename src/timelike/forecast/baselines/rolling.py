"""Ridge fitted again at every origin of a backtest, from normal equations to which windows are only added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv as posv
from sklearn.base import clone

from ...sequences import Sequences
from ..request import Windows
from .base import Ids, Matrix, origins, stretch
from .lagged import Lagged, Moments, backward, chosen_of, factor, forward

if TYPE_CHECKING:
    from .ridge import Ridge

_FEATURES = 2048  # above which the equations are solved by windows, which cannot be added to


def forecasts(model: Ridge, sequences: Sequences, windows: Windows, horizon: int, known: NDArray[Any] | None) -> Matrix:
    """See `Ridge._rolling`."""
    columns = model._columns(sequences)
    centre, spread = model._scales(columns)  # only that numbers are of order 1: every cut has scales of its own
    design = Lagged((columns - centre) / spread, model.cells_.n_cells, model.lags_, horizon)
    if design.n_features > _FEATURES:
        return _one_by_one(model, sequences, windows, horizon, known)
    asked = _asked(model, design, windows, (centre, spread), known)
    found = np.empty((len(windows.item), design.n_answers))
    added, spreads = _Added(design, sequences.offsets), _Spreads(model, columns, sequences.offsets)
    alpha = model.alpha
    for cut in np.unique(windows.origin).tolist():
        moments, scale = added.until(cut), spreads.until(cut) / spread
        if alpha is None:
            alpha = _chosen(moments, scale)
        rows = np.flatnonzero(windows.origin == cut)
        found[rows] = _answers(moments, alpha * np.square(_wide(design, scale)), asked[rows])
    answers = found.reshape(len(found), horizon, design.n_cells)
    return np.asarray(answers * spread[: design.n_cells] + centre[: design.n_cells])


class _Added:
    """Moments of the windows that lie before a cut, which moves forward only."""

    def __init__(self, design: Lagged, offsets: Ids) -> None:
        every = origins(offsets, design.lags, design.horizon)
        # the step at which the last row of a window's future has passed, counted from the start of its sequence
        passed = every - offsets[np.searchsorted(offsets, every, side="right") - 1] + design.horizon
        order = np.argsort(passed, kind="stable")
        self.origin, self.passed, self.moments = every[order], passed[order], Moments(design)

    def until(self, cut: int) -> Moments:
        count = int(np.searchsorted(self.passed, cut, side="right"))
        self.moments.add(self.origin[self.moments.count : count])
        if count == 0:
            design = self.moments.design
            raise ValueError(
                f"at origin {cut} there is nothing to fit on: expected at least {design.lags + design.horizon} steps "
                "before the first origin, lags and horizon together"
            )
        return self.moments


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


def _wide(design: Lagged, scale: Matrix) -> Matrix:
    """The scale of every column as that of every feature."""
    return np.concatenate([np.tile(scale, design.lags), np.tile(scale[design.n_cells :], design.horizon)])


def _chosen(moments: Moments, scale: Matrix) -> float:
    """The penalty that a copy fitted here would choose: what it sees and answers has the spread 1."""
    design, normal = moments.design, moments.centred()
    seen, steps = _wide(design, scale), np.tile(scale[: design.n_cells], design.horizon)
    xx, xy = normal.xx / np.outer(seen, seen), normal.xy / np.outer(seen, steps)
    return chosen_of(normal._replace(xx=xx, xy=xy, yy=normal.yy / np.square(steps)))


def _answers(moments: Moments, penalty: Matrix, asked: Matrix) -> Matrix:
    """ȳ + (x − x̄)ᵀ (XᵀX + P)⁻¹ XᵀY, in units in which the penalty is that of each feature: (window, answer).

    With S the spreads of a copy fitted here, S⁻¹(S⁻¹XᵀXS⁻¹ + α)⁻¹S⁻¹ = (XᵀX + αS²)⁻¹: nothing need be scaled. The
    system is solved for what is asked instead of for weights, of which there are many more.
    """
    sizes, mean = moments.design.sizes(), moments.y / moments.count
    gram = np.multiply(moments.x[:, None], -moments.x / moments.count, out=moments.room[0])
    gram += moments.xx
    gram.flat[:: len(gram) + 1] += penalty
    around = asked - moments.x / moments.count
    if sizes[0] < sizes[-1]:
        lower = factor(gram, 0.0)
        return np.stack([mean + _by_steps(lower, one, moments, mean) for one in around])
    solved, failed = posv(gram.T, around.T, lower=1)[1:]  # the transpose is in the order that LAPACK wants
    if failed:
        lower = factor(gram, 0.0)
        solved = backward(lower, forward(lower, around.T))
    return np.asarray(mean + solved.T @ moments.xy - np.outer(moments.x @ solved, mean))


def _by_steps(lower: Matrix, one: Matrix, moments: Moments, mean: Matrix) -> Matrix:
    """The same without ȳ for one window, where each step sees other features: the first so many."""
    half, n_cells = forward(lower, one), moments.design.n_cells
    found = np.empty(len(mean))
    for step, size in enumerate(moments.design.sizes().tolist()):
        own, solved = slice(step * n_cells, (step + 1) * n_cells), backward(lower[:size, :size], half[:size])
        found[own] = solved @ moments.xy[:size, own] - (moments.x[:size] @ solved) * mean[own]
    return found


def _one_by_one(
    model: Ridge, sequences: Sequences, windows: Windows, horizon: int, known: NDArray[Any] | None
) -> Matrix:
    """The same by fits from the beginning, for frames so large that features are more than windows."""
    found = np.empty((len(windows.item), horizon, model.cells_.n_cells))
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
