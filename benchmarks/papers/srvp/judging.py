"""PSNR and SSIM of futures beside what came: of one future, of the mean of several, and of the best of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import timelike as tl

SCORES: dict[str, Callable[..., Any]] = {"psnr": tl.score.psnr, "ssim": tl.score.ssim}
ONE, BEST, MEAN = "one sample", "best of N", "mean of N"
FORECAST = "forecast"  # of a method that has one
AT_ONCE = 20  # clips
Numbers = NDArray[np.float64]
Draw = Callable[[slice], NDArray[Any]]
"""Futures (sample, clip, step, *frame) of the clips in a slice."""


def judged(draw: Draw, truth: NDArray[Any], horizons: Sequence[int], seed: int = 0) -> dict[str, Any]:
    """Scores by reading, score and horizon, each with its interval, and the mean at every step.

    {"scores": {reading: {"psnr": {"10": [mean, low, high]}}}, "steps": {reading: {"psnr": [mean, …]}}}
    """
    parts = [_each(draw(rows), truth[rows]) for rows in _blocks(len(truth))]
    samples, means = (
        {name: np.concatenate([part[of][name] for part in parts], axis=-2) for name in SCORES} for of in (0, 1)
    )
    n_samples = len(samples["psnr"])
    readings = [FORECAST] if n_samples == 1 else [ONE, BEST, MEAN]
    scores = {
        reading: {
            name: {
                str(h): interval_of(_read(samples[name], means[name], reading, h)[:, :h].mean(axis=1), seed)
                for h in horizons
            }
            for name in SCORES
        }
        for reading in readings
    }
    steps = {
        reading: {
            name: _read(samples[name], means[name], reading, max(horizons)).mean(axis=0).round(4).tolist()
            for name in SCORES
        }
        for reading in readings
    }
    return {"scores": scores, "steps": steps, "n_samples": n_samples, "n_clips": len(truth)}


def _blocks(n: int) -> list[slice]:
    return [slice(start, min(start + AT_ONCE, n)) for start in range(0, n, AT_ONCE)]


def _each(futures: NDArray[Any], truth: NDArray[Any]) -> tuple[dict[str, Numbers], dict[str, Numbers]]:
    """Scores (sample, clip, step) of all futures, and (clip, step) of their mean."""
    mean = futures.mean(axis=0, dtype=np.float64)
    each = {name: np.stack([score(truth, one, per="each") for one in futures]) for name, score in SCORES.items()}
    return each, scores_of(mean, truth)


def _read(samples: Numbers, mean: Numbers, reading: str, horizon: int) -> Numbers:
    """Scores (clip, step) by a reading; the best sample of a clip is that of the mean up to the horizon."""
    if reading == MEAN:
        return mean
    if reading != BEST:
        return np.asarray(samples[0])
    chosen = samples[:, :, :horizon].mean(axis=2).argmax(axis=0)
    return np.asarray(samples[chosen, np.arange(samples.shape[1])])


def scores_of(frames: NDArray[Any], truth: NDArray[Any]) -> dict[str, Numbers]:
    """Scores (clip, step) of one forecast."""
    return {name: np.asarray(score(truth, frames, per="each")) for name, score in SCORES.items()}


def interval_of(scores: Numbers, seed: int = 0) -> list[float]:
    """The mean over clips, and between which numbers it lies when clips are drawn anew."""
    found = tl.score.bootstrap(scores, random_state=seed)
    return [found.mean, found.low, found.high]
