"""Scores of the windows of a backtest, (window, step) each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import score
from ...sequences import Sequences
from .evaluated_model import WindowForecasts

ENSEMBLE_SCORES = ("crps", "energy")
SCORE_NAMES = ("mse", "mae", "mase", "psnr", "ssim", *ENSEMBLE_SCORES)
_PERFECT_SCORES = {"mse": 0.0, "mae": 0.0, "mase": 0.0, "ssim": 1.0, "crps": 0.0, "energy": 0.0, "pinball": 0.0}
"""The best possible values, the reference of skill; PSNR has no finite one."""

ScoreArrays = dict[str, NDArray[np.float64]]
INTERVAL_SCORES = "coverage", "width"  # scores of models with intervals
ScoreFunction = str | Callable[..., Any]


def parse_scores(scores: Any) -> dict[str, ScoreFunction]:
    """Scores by name, from names and functions `score(truth, forecast, per="each")`, such as partials."""
    entries = (scores,) if isinstance(scores, str) or callable(scores) else tuple(scores)
    functions: dict[str, ScoreFunction] = {}
    for one in entries:
        if isinstance(one, str) and one not in SCORE_NAMES:
            raise ValueError(
                f"scores holds {one!r}: expected {', '.join(map(repr, SCORE_NAMES))}, or functions of truth and "
                "forecast; coverage and width of intervals are added automatically"
            )
        name = one if isinstance(one, str) else getattr(getattr(one, "func", one), "__name__", None)
        if name is None or not (isinstance(one, str) or callable(one)):
            raise TypeError(f"scores holds {one!r}: expected names or functions")
        if name in functions or name in ("coverage", "width"):
            raise ValueError(f"scores holds {name!r} twice, or the name is reserved: expected each name once")
        functions[name] = one
    if not functions:
        raise ValueError("scores is empty: expected at least one, such as scores=('mse',)")
    return functions


def perfect_scores(scores: dict[str, ScoreFunction]) -> dict[str, float]:
    """The scores of a perfect forecast, for scores of this library and functions with an attribute `perfect`."""
    best_scores = {name: _perfect_score(name, one) for name, one in scores.items()}
    return {name: float(best) for name, best in best_scores.items() if best is not None}


def is_own_score(name: str, one: ScoreFunction) -> bool:
    """Whether a score belongs to this library, as a name, a function or a partial."""
    return isinstance(one, str) or getattr(one, "func", one) is getattr(score, name, None)


def _perfect_score(name: str, one: ScoreFunction) -> float | None:
    if is_own_score(name, one):
        return _PERFECT_SCORES.get(name)
    return getattr(one, "perfect", getattr(getattr(one, "func", one), "perfect", None))


def score_windows(
    truth: NDArray[Any], answers: WindowForecasts, pasts: Sequences, scores: dict[str, ScoreFunction]
) -> ScoreArrays:
    """Every score of every window and step, with coverage and width if there are intervals."""
    scores_by_name = {name: _score_each(name, one, truth, answers, pasts) for name, one in scores.items()}
    if answers.interval is not None:
        low, high = (np.where(np.isnan(truth), np.nan, end) for end in answers.interval)
        of_band = score.coverage(truth, low, high, per="each"), score.interval_width(low, high, per="each")
        scores_by_name |= dict(zip(INTERVAL_SCORES, map(np.asarray, of_band), strict=True))
    return scores_by_name


def _score_each(
    name: str, one: ScoreFunction, truth: NDArray[Any], answers: WindowForecasts, pasts: Sequences
) -> NDArray[np.float64]:
    plain = {"mse": score.mse, "mae": score.mae, "psnr": score.psnr, "ssim": score.ssim}
    if one == "mase":
        return _mase_scores(truth, answers.mean, pasts)
    if one in ENSEMBLE_SCORES:
        several = score.crps if one == "crps" else score.energy_score
        return np.asarray(several(truth, answers.samples, per="each"))
    call = plain[one] if isinstance(one, str) else one
    each = np.asarray(call(truth, answers.mean, per="each"), np.float64)
    if each.shape != truth.shape[:2]:
        raise ValueError(f"the score {name!r} returned shape {each.shape}: expected (item, step), {truth.shape[:2]}")
    return each


def _mase_scores(truth: NDArray[Any], mean: NDArray[Any], pasts: Sequences) -> NDArray[np.float64]:
    try:
        return np.asarray(score.mase(truth, mean, pasts, per="each"))
    except ValueError as error:
        error.add_note(
            "backtest: these sequences are the pasts of windows; remove 'mase' from scores to avoid this error"
        )
        raise
