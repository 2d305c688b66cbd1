"""The scores of windows, (window, step) each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import score
from ...sequences import Sequences
from .contestants import Answers

ENSEMBLE = ("crps", "energy")
NAMES = ("mse", "mae", "mase", "psnr", "ssim", *ENSEMBLE)
PERFECT: dict[str, float | None] = {"ssim": 1.0, "psnr": None, "coverage": None, "width": None}
"""The best there is, from which skill is counted: 0 unless said here, None where there is no skill."""

Scores = dict[str, NDArray[np.float64]]
Judge = str | Callable[..., Any]


def read_scores(scores: Any) -> dict[str, Judge]:
    """Scores by name: words, and functions `score(truth, forecast, per="each")` such as a partial of `score.psnr`."""
    given = (scores,) if isinstance(scores, str) or callable(scores) else tuple(scores)
    found: dict[str, Judge] = {}
    for one in given:
        if isinstance(one, str) and one not in NAMES:
            raise ValueError(
                f"scores holds {one!r}: expected {', '.join(map(repr, NAMES))}, or functions of truth and forecast; "
                "coverage and width of intervals come by themselves"
            )
        name = one if isinstance(one, str) else getattr(getattr(one, "func", one), "__name__", None)
        if name is None or not (isinstance(one, str) or callable(one)):
            raise TypeError(f"scores holds {one!r}: expected names or functions")
        if name in found or name in ("coverage", "width"):
            raise ValueError(f"scores holds {name!r} twice, or for something else: expected each once")
        found[name] = one
    if not found:
        raise ValueError("scores is empty: expected at least one, such as scores=('mse',)")
    return found


def judged(truth: NDArray[Any], answers: Answers, pasts: Sequences, scores: dict[str, Judge]) -> Scores:
    """Every score of every window and step; of intervals, where there are any, how much they cover and how wide."""
    found = {name: _score(name, one, truth, answers, pasts) for name, one in scores.items()}
    if answers.band is not None:
        low, high = (np.where(np.isnan(truth), np.nan, end) for end in answers.band)
        found["coverage"] = np.asarray(score.coverage(truth, low, high, per="each"))
        found["width"] = np.asarray(score.width(low, high, per="each"))
    return found


def _score(name: str, one: Judge, truth: NDArray[Any], answers: Answers, pasts: Sequences) -> NDArray[np.float64]:
    plain = {"mse": score.mse, "mae": score.mae, "psnr": score.psnr, "ssim": score.ssim}
    if one == "mase":
        return _scaled(truth, answers.mean, pasts)
    if one in ENSEMBLE:
        several = score.crps if one == "crps" else score.energy_score
        return np.asarray(several(truth, answers.samples, per="each"))
    call = plain[one] if isinstance(one, str) else one
    each = np.asarray(call(truth, answers.mean, per="each"), np.float64)
    if each.shape != truth.shape[:2]:
        raise ValueError(f"the score {name!r} gave the shape {each.shape}: expected (item, step), {truth.shape[:2]}")
    return each


def _scaled(truth: NDArray[Any], mean: NDArray[Any], pasts: Sequences) -> NDArray[np.float64]:
    try:
        return np.asarray(score.mase(truth, mean, pasts, per="each"))
    except ValueError as error:
        error.add_note("backtest: these sequences are the pasts of windows; without 'mase' in scores it goes on")
        raise
