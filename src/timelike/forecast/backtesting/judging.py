"""The scores of windows, (window, step) each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import score
from ...models import fingerprint
from ...sequences import Sequences
from .contestants import Answers

ENSEMBLE = ("crps", "energy")
NAMES = ("mse", "mae", "mase", "psnr", "ssim", *ENSEMBLE)
_PERFECT = {"mse": 0.0, "mae": 0.0, "mase": 0.0, "ssim": 1.0, "crps": 0.0, "energy": 0.0, "pinball": 0.0}
"""The best there is, from which skill is counted: PSNR is a logarithm, of which no part is left to be gained."""

Scores = dict[str, NDArray[np.float64]]
BAND = "coverage", "width"  # scores of intervals, which some contestants have
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


def perfect(scores: dict[str, Judge]) -> dict[str, float]:
    """What a perfect forecast has, of scores of which that is known: ours, and functions that say so in `perfect`."""
    found = {name: _perfect(name, one) for name, one in scores.items()}
    return {name: float(best) for name, best in found.items() if best is not None}


def ours(name: str, one: Judge) -> bool:
    """Whether it is a score of this library, as a word, a function or a partial of one."""
    return isinstance(one, str) or getattr(one, "func", one) is getattr(score, name, None)


def _perfect(name: str, one: Judge) -> float | None:
    if ours(name, one):
        return _PERFECT.get(name)
    return getattr(one, "perfect", getattr(getattr(one, "func", one), "perfect", None))


def of_scores(scores: dict[str, Judge]) -> list[str]:
    """Words that are others for other scores, or for other arguments of theirs; an error where there are none."""
    return [one if isinstance(one, str) else _function(name, one) for name, one in scores.items()]


def _function(name: str, one: Callable[..., Any]) -> str:
    whole = getattr(one, "func", one)
    where = f"{getattr(whole, '__module__', '')}.{getattr(whole, '__qualname__', '<')}"
    if "<" in where:  # a lambda, or made inside of a function: another one would have the same name
        raise ValueError(
            f"checkpoint: the score {name!r} cannot be told from another, which a folder must: give a function of a "
            "module, or a partial of one, or no checkpoint"
        )
    args = [*enumerate(getattr(one, "args", ())), *sorted(getattr(one, "keywords", {}).items())]
    return f"{where}({', '.join(f'{key}={_value(value, name)}' for key, value in args)})"


def _value(value: Any, name: str) -> str:
    if isinstance(value, np.ndarray):
        return str(fingerprint(value))
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, str | int | float | bool):
        return repr(plain)
    if isinstance(plain, tuple | list):
        return f"[{', '.join(_value(one, name) for one in plain)}]"
    raise ValueError(
        f"checkpoint: the score {name!r} has the argument {value!r:.60}, which cannot be told from another: expected "
        "numbers, words or arrays, or no checkpoint"
    )


def judged(truth: NDArray[Any], answers: Answers, pasts: Sequences, scores: dict[str, Judge]) -> Scores:
    """Every score of every window and step; of intervals, where there are any, how much they cover and how wide."""
    found = {name: _score(name, one, truth, answers, pasts) for name, one in scores.items()}
    if answers.band is not None:
        low, high = (np.where(np.isnan(truth), np.nan, end) for end in answers.band)
        of_band = score.coverage(truth, low, high, per="each"), score.width(low, high, per="each")
        found |= dict(zip(BAND, map(np.asarray, of_band), strict=True))
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
