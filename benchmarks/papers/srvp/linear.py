"""A linear system with normal noise, its exact likelihood by a Kalman filter, and linear rivals that are fitted.

y_1 ~ N(0, I), y_{t+1} = A y_t + q ε, x_t = C y_t + r δ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class System:
    """`transition` A (state, state), `emission` C (channel, state), deviations of what moves and of what is seen."""

    transition: Matrix
    emission: Matrix
    moved: float
    seen: float

    def drawn(self, n: int, length: int, rng: np.random.Generator) -> Matrix:
        """Sequences (item, time, channel)."""
        y = rng.standard_normal((n, len(self.transition)))
        found = []
        for _ in range(length):
            found.append(y @ self.emission.T + self.seen * rng.standard_normal((n, len(self.emission))))
            y = y @ self.transition.T + self.moved * rng.standard_normal(y.shape)
        return np.stack(found, axis=1)

    def log_likelihood(self, x: Matrix) -> Matrix:
        """log p(x) of every sequence, (item,): what a frame is, given all before it, by a Kalman filter."""
        size, n_channels = len(self.transition), len(self.emission)
        mean, cover = np.zeros((len(x), size)), np.eye(size)
        noise, total = self.seen**2 * np.eye(n_channels), np.zeros(len(x))
        for frame in np.swapaxes(x, 0, 1):
            expected = self.emission @ cover @ self.emission.T + noise
            total += normal_log_density(frame - mean @ self.emission.T, expected)
            gain = np.linalg.solve(expected, self.emission @ cover).T
            mean = mean + (frame - mean @ self.emission.T) @ gain.T
            cover = cover - gain @ self.emission @ cover
            mean = mean @ self.transition.T
            cover = self.transition @ cover @ self.transition.T + self.moved**2 * np.eye(size)
        return total


def turning(angle: float, shrink: float, n_channels: int, seen: float, rng: np.random.Generator) -> System:
    """A state of two numbers that turns, loses a share and is given as much by chance, so that N(0, I) stays."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return System(shrink * turn, rng.standard_normal((n_channels, 2)), float(np.sqrt(1 - shrink**2)), seen)


def normal_log_density(residuals: Matrix, cover: Matrix) -> Matrix:
    """log N(residual; 0, cover) of every row.

    >>> normal_log_density(np.zeros((1, 2)), np.eye(2)).round(4)
    array([-1.8379])
    """
    sides = np.linalg.cholesky(cover)
    white = np.linalg.solve(sides, residuals.T)
    constant = len(cover) * np.log(2 * np.pi) + 2 * np.log(np.diag(sides)).sum()
    return np.asarray(-0.5 * (np.square(white).sum(axis=0) + constant))


def autoregressive(train: Matrix, x: Matrix, lags: int) -> Matrix:
    """log p(x) of every sequence by normal regressions on up to `lags` frames before, and a constant.

    The first frames of a sequence, which have fewer before them, have regressions on as many as there are.
    """
    total = np.zeros(len(x))
    for known in range(min(lags, x.shape[1] - 1) + 1):
        inputs, targets = _pairs(train, known, range(known, train.shape[1]))
        weights = np.linalg.lstsq(inputs, targets, rcond=None)[0]
        left = targets - inputs @ weights
        places = [known] if known < lags else range(lags, x.shape[1])
        before, frames = _pairs(x, known, places)
        each = normal_log_density(frames - before @ weights, left.T @ left / len(left))
        total += each.reshape(len(places), len(x)).sum(axis=0)
    return total


def _pairs(x: Matrix, known: int, places: Sequence[int]) -> tuple[Matrix, Matrix]:
    """What came before the frames at some places, and these: place after place."""
    inputs = [_row(x[:, place - known : place]) for place in places]
    return np.concatenate(inputs), np.concatenate([x[:, place] for place in places])


def _row(frames: Matrix) -> Matrix:
    """Frames of every sequence end to end, with a 1."""
    return np.concatenate([frames.reshape(len(frames), -1), np.ones((len(frames), 1))], axis=1)
