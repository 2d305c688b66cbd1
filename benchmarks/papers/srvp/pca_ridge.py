"""The linear rival for pictures: principal components, and ridge regression on the last codes, step after step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV

COMPONENTS = (10, 20, 40, 60, 100)
HELD_OUT = 5  # every fifth clip chooses the number of components
ALPHAS = np.logspace(-4, 4, 9)
Frames = NDArray[np.float32]


class PCARidge:
    """Codes of frames by principal components; the next code from the last `lags` ones, fed back.

    How many components is chosen by the error of whole forecasts of training clips that are held out for this, and the
    ridge penalty by leaving one window out. `n_components_` is the number chosen.
    """

    n_components_: int

    def __init__(self, *, components: Sequence[int] = COMPONENTS, lags: int = 5) -> None:
        self.components, self.lags = components, lags

    def fit(self, clips: Frames) -> PCARidge:
        """Learn from clips (clip, frame, channel, height, width)."""
        chooses = np.arange(len(clips)) % HELD_OUT == 0
        errors = {}
        if len(self.components) > 1:
            past, truth = clips[chooses, : self.lags], clips[chooses, self.lags :]
            for n in self.components:
                forecast = self._fit(clips[~chooses], n).predict(past, truth.shape[1])
                errors[n] = float(np.square(forecast - truth).mean())
        self.n_components_ = min(errors, key=errors.__getitem__) if errors else self.components[0]
        return self._fit(clips, self.n_components_)

    def _fit(self, clips: Frames, n: int) -> PCARidge:
        rows = clips.reshape(*clips.shape[:2], -1).astype(np.float64)
        self.mean = rows.mean(axis=(0, 1))
        centered = (rows - self.mean).reshape(-1, rows.shape[-1])
        self.axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :n]
        codes = (rows - self.mean) @ self.axes
        n_targets, width = rows.shape[1] - self.lags, self.axes.shape[1]
        before = [codes[:, lag : lag + n_targets].reshape(-1, width) for lag in range(self.lags)]
        self.regression = RidgeCV(ALPHAS).fit(np.concatenate(before, axis=1), codes[:, self.lags :].reshape(-1, width))
        return self

    def predict(self, past: Frames, horizon: int) -> Frames:
        """Frames (clip, horizon, channel, height, width)."""
        rows = past[:, -self.lags :].reshape(len(past), self.lags, -1)
        codes = list(np.swapaxes((rows - self.mean) @ self.axes, 0, 1))
        for _ in range(horizon):
            code = self.regression.predict(np.concatenate(codes[-self.lags :], axis=1))
            codes.append(code.reshape(len(past), -1))  # with one component it has no axis for it
        found = np.stack(codes[self.lags :], axis=1) @ self.axes.T + self.mean
        return np.asarray(found.reshape(len(past), horizon, *past.shape[2:]), np.float32)
