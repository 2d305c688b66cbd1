"""DMD: dynamic mode decomposition, a sum of modes that rotate and decay."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import store_parameters
from ...models import options, schema
from ...sequences import Sequences
from ..base import ForecastRequest, Futures, SequenceSource
from ..cells import n_cells
from ..windows import thin_evenly
from .base import MAX_MATRIX_ROWS, Baseline, Matrix, gather_rows, window_origins
from .stability import contract_eigenvalues, warn_of_growth

_MIN_THRESHOLD_VALUES = 20  # fewest singular values whose median estimates the noise
_MIN_SINGULAR_SHARE = 1e-10  # smallest singular value that is inverted, relative to the largest


class DMD(Baseline):
    """Exact dynamic mode decomposition: the best linear map from a frame to the next, by its eigenvectors.

    For centered frames X and the next frames Y, X = UΣVᵀ is truncated to `rank` and A = Y V Σ⁻¹ Uᵀ. The eigenvectors of
    UᵀA U give the modes of A; each mode is multiplied by its eigenvalue in every step (Tu et al., 2014). Because both
    means are subtracted, a constant drift is learned too. With `delays` above 1 a state also contains the previous
    frames, without which a single channel cannot oscillate.

    For fields of many cells that move together: waves, rotations, decays. Noise makes modes decay, so forecasts fade;
    for a few channels `AR(vector=True)` or `Ridge` is better.

    Modes with eigenvalues outside the unit circle would grow without bound: forecasts move these eigenvalues onto it,
    and a warning is issued if a modulus exceeds 1.1. `eigenvalues_` holds the original ones.

    Parameters
    ----------
    rank : int, optional
        Number of directions to keep. Default: those above the optimal hard threshold for noise of unknown size (Gavish
        and Donoho, 2014), at least one; if there are fewer than 20, all but numerically zero ones, because the
        threshold treats their median as noise.
    delays : int
        Number of frames in a state.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> model = tl.forecast.DMD(delays=2).fit([np.cos(0.5 * np.arange(50))])
    >>> np.abs(np.angle(model.eigenvalues_)).round(6)
    array([0.5, 0.5])
    """

    rank = options.nullable(options.integer(1))
    delays = options.integer(1)

    rank_: int = schema.integer(1)
    directions_: Matrix = schema.array("rank_", lambda model: model.delays * n_cells(model))
    """The directions of states, (direction, delay × cell), the oldest frame first."""
    operator_: Matrix = schema.array("rank_", "rank_")
    """The fitted map of coordinates along the directions by one step, (direction, direction)."""
    drift_: Matrix = schema.array("rank_")
    state_mean_: Matrix = schema.array(lambda model: model.delays * n_cells(model))
    """The mean of the states with a next frame, (delay × cell,)."""
    next_mean_: Matrix = schema.array(n_cells)
    """The mean next frame, (cell,)."""
    readout_: Matrix = schema.array("rank_", n_cells)
    """The map from coordinates along the directions to the next frame, (direction, cell)."""
    mean_: Matrix = schema.array(n_cells)
    scale_: Matrix = schema.array(n_cells, above=0)
    damped_operator_: Matrix = schema.derived_value()

    def __init__(self, *, rank: int | None = None, delays: int = 1) -> None:
        store_parameters(self, locals())

    def _min_past_steps(self) -> int:
        return self.delays

    @property
    def eigenvalues_(self) -> NDArray[np.complex128]:
        """The factors of the modes in one step, the largest first, (mode,)."""
        return self._spectrum()[0]

    @property
    def modes_(self) -> NDArray[np.complex128]:
        """The mode of each eigenvalue as a frame, (mode, *frame); a frame is the real part of a sum of modes."""
        rows = self._spectrum()[1].T @ self.readout_ * self.scale_
        return self.cells_.to_frames(rows.astype(np.complex128))

    def _spectrum(self) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        self._require_fitted()
        values, vectors = np.linalg.eig(self.operator_)
        order = np.argsort(-np.abs(values), kind="stable")
        return values[order].astype(np.complex128), vectors[:, order].astype(np.complex128)

    def _fit_sequences(self, sequences: Sequences, source: SequenceSource | None = None) -> None:
        longest = int(sequences.lengths.max())
        if longest <= self.delays:
            raise ValueError(
                f"delays={self.delays}: the longest sequence of X has {longest} steps, expected at least "
                f"{self.delays + 1}: the frames of a state and a next one"
            )
        rows = self._target_rows(sequences)
        self.mean_, self.scale_ = self._column_scales(rows)
        rows = (rows - self.mean_) / self.scale_
        origin = window_origins(np.asarray(sequences.offsets), self.delays, 1)
        if self.delays * rows.shape[1] > MAX_MATRIX_ROWS:  # limits the smaller side of the matrix
            origin = thin_evenly(origin, MAX_MATRIX_ROWS)
        self._decompose(*(gather_rows(rows, origin - ago, -self.delays, 0).reshape(len(origin), -1) for ago in (0, -1)))
        self._derive_attributes()
        warn_of_growth(
            float(np.abs(self.eigenvalues_).max()), "DMD", "Take differences or logarithms first, or set a rank."
        )

    def _decompose(self, states: Matrix, after: Matrix) -> None:
        """Decompose states (pair, delay × cell) and the states one step later."""
        self.state_mean_, mean = states.mean(axis=0), after.mean(axis=0)
        left, values, right = np.linalg.svd(states - self.state_mean_, full_matrices=False)
        self.rank_ = self._choose_rank(values, states.shape)
        left, values, self.directions_ = left[:, : self.rank_], values[: self.rank_], right[: self.rank_]
        inverse = np.divide(
            1.0,
            values,
            out=np.zeros_like(values),
            where=values > _MIN_SINGULAR_SHARE * max(values[0], _MIN_SINGULAR_SHARE),
        )
        next_directions = (left * inverse).T @ (after - mean)  # (direction, delay × cell), one step later
        self.operator_ = self.directions_ @ next_directions.T
        self.drift_ = self.directions_ @ (mean - self.state_mean_)
        n_cells = len(self.mean_)
        self.next_mean_, self.readout_ = mean[-n_cells:].copy(), np.ascontiguousarray(next_directions[:, -n_cells:])

    def _choose_rank(self, values: Matrix, shape: tuple[int, ...]) -> int:
        if self.rank is not None:
            if self.rank > len(values):
                raise ValueError(
                    f"rank={self.rank}: X gives {shape[0]} states of {shape[1]} numbers, expected at most {len(values)}"
                )
            return self.rank
        threshold = _MIN_SINGULAR_SHARE * values[0]
        if len(values) >= _MIN_THRESHOLD_VALUES:
            threshold = max(threshold, hard_threshold(min(shape) / max(shape)) * float(np.median(values)))
        return max(1, int((values > threshold).sum()))

    def _derive_attributes(self) -> None:
        self.damped_operator_ = contract_eigenvalues(self.operator_)

    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        last = ((self._last_rows(past, self.delays) - self.mean_) / self.scale_).reshape(len(past), -1)
        futures = np.stack(
            [self._iterate_steps(self.directions_ @ (one - self.state_mean_), request.horizon) for one in last]
        )
        return Futures(futures * self.scale_ + self.mean_)

    def _iterate_steps(self, along: Matrix, horizon: int) -> Matrix:
        """The frames (horizon, cell) that follow a state with these coordinates."""
        steps = np.empty((horizon, len(along)))
        for step in range(horizon):
            steps[step] = along
            along = self.damped_operator_ @ along + self.drift_
        return np.asarray(self.next_mean_ + steps @ self.readout_)

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {"delays": 1}


def hard_threshold(ratio: float) -> float:
    """The threshold of singular values, in medians, for a matrix whose sides have this ratio ≤ 1.

    The approximation of Gavish and Donoho (2014), accurate to 0.02.

    >>> round(hard_threshold(1.0), 2)
    2.86
    """
    return float(0.56 * ratio**3 - 0.95 * ratio**2 + 1.82 * ratio + 1.43)
