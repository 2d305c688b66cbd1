"""The first gate: 200 series of 12 noisy sine channels, 400 steps of training."""

from __future__ import annotations

from typing import Any

import numpy as np

import timelike as tl
from timelike.forecast import Mean, Persistence

N_SERIES, LENGTH, PAST, CHANNELS, STEPS, NOISE = 200, 60, 30, 12, 400, 0.1
LEARNED, CALIBRATED = 120, 40  # series; the others are asked about


def sines(seed: int) -> tl.Sequences:
    """Channels of one period each, with a phase and an amplitude of their own in every series."""
    rng = np.random.default_rng([seed, 19])
    period = rng.uniform(8, 30, CHANNELS)
    phase, size = rng.uniform(0, 2 * np.pi, (N_SERIES, 1, CHANNELS)), rng.uniform(0.5, 2, (N_SERIES, 1, CHANNELS))
    clean = size * np.sin(2 * np.pi * np.arange(LENGTH)[:, None] / period + phase)
    return tl.Sequences((clean + NOISE * rng.standard_normal(clean.shape)).astype(np.float32))


def judged(seed: int, steps: int) -> dict[str, Any]:
    """Errors of all, the ratio to the better simple one, and how much intervals of 80 % cover."""
    every = sines(seed)
    train, between = every[:LEARNED], every[LEARNED : LEARNED + CALIBRATED]
    asked = np.stack(list(every[LEARNED + CALIBRATED :]))
    past, truth = asked[:, :PAST], asked[:, PAST:]
    model = tl.Separation(max_steps=steps, progress=False, random_state=seed).fit(train)
    horizon = LENGTH - PAST
    found = model.calibrate(between, horizon=horizon).predict(past, horizon)
    ours = float(tl.score.mse(truth, found.mean))
    simple = {
        type(one).__name__: float(tl.score.mse(truth, one.fit(train).predict(past, horizon).mean))
        for one in (Persistence(), Mean())
    }
    covered = float(tl.score.coverage(truth, *found.interval(0.8)))
    return {"mse": ours, "simple": simple, "ratio": ours / min(simple.values()), "coverage": covered}
