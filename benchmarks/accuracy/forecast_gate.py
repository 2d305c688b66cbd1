"""The first gate: 200 series of 12 noisy sine channels, 400 steps of training.

`Separation` learns from chunks that go 20 steps beyond the conditioning ones unless told otherwise. Forecasts are 30
steps long, judged within these 20 and after them apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import timelike as tl
from timelike.forecast import Mean, Persistence

N_SERIES, LENGTH, PAST, CHANNELS, STEPS, NOISE = 200, 60, 30, 12, 400, 0.1
LEARNED, CALIBRATED = 120, 40  # series; the others are asked about
TRAINED = 20  # steps ahead in a chunk of the training
SPANS = {"within": slice(0, TRAINED), "after": slice(TRAINED, None)}


def sines(seed: int) -> tl.Sequences:
    """Channels of one period each, with a phase and an amplitude of their own in every series."""
    rng = np.random.default_rng([seed, 19])
    period = rng.uniform(8, 30, CHANNELS)
    phase, size = rng.uniform(0, 2 * np.pi, (N_SERIES, 1, CHANNELS)), rng.uniform(0.5, 2, (N_SERIES, 1, CHANNELS))
    clean = size * np.sin(2 * np.pi * np.arange(LENGTH)[:, None] / period + phase)
    return tl.Sequences((clean + NOISE * rng.standard_normal(clean.shape)).astype(np.float32))


def judged(seed: int, steps: int) -> dict[str, Any]:
    """Of both spans: errors of all, the ratio to the better simple one, and how much intervals of 80 % cover."""
    every = sines(seed)
    train, between = every[:LEARNED], every[LEARNED : LEARNED + CALIBRATED]
    asked = np.stack(list(every[LEARNED + CALIBRATED :]))
    past, truth = asked[:, :PAST], asked[:, PAST:]
    horizon = LENGTH - PAST
    model = tl.Separation(max_steps=steps, progress=False, random_state=seed).fit(train)
    found = model.calibrate(between, horizon=horizon).predict(past, horizon)
    simple = {
        type(one).__name__: np.asarray(one.fit(train).predict(past, horizon).mean) for one in (Persistence(), Mean())
    }
    low, high = found.interval(0.8)
    return {name: _span(truth, found.mean, simple, low, high, span) for name, span in SPANS.items()}


def _span(truth: Any, ours: Any, simple: dict[str, NDArray[Any]], low: Any, high: Any, span: slice) -> dict[str, Any]:
    errors = {name: float(tl.score.mse(truth[:, span], one[:, span])) for name, one in simple.items()}
    error = float(tl.score.mse(truth[:, span], ours[:, span]))
    covered = float(tl.score.coverage(truth[:, span], low[:, span], high[:, span]))
    return {"mse": error, "simple": errors, "ratio": error / min(errors.values()), "coverage": covered}
