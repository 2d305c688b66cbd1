"""Scores of forecasts that are several futures, or several quantiles: CRPS, energy score, the best of N."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_bool
from ..core.validation.arrays import validate_array
from . import forecasting, image_quality, perceptual_distance
from .forecast_arrays import Numbers, Per, Score, mean_over_cells, summarize_scores, validate_samples, validate_truth

_MAX_NUMBERS = 1 << 22  # numbers that are sorted together, so that many samples of pictures need little memory more


def crps(truth: Any, samples: Any, *, per: Per = "all") -> Score:
    """The continuous ranked probability score of several futures, per cell: the absolute error of a distribution.

    mean |x_i − y| − Σ_{i,j} |x_i − x_j| / (2 n (n − 1)), the fair estimate, which does not get better or worse with the
    number n of samples alone (Ferro, "Fair scores for ensemble forecasts", 2014), in O(n log n) by sorting. Of one
    sample it is the absolute error, so it compares distributions with plain forecasts. For how cells of a frame go
    together see `energy_score`.

    Parameters
    ----------
    truth : array (item, step, *frame)
    samples : array (sample, item, step, *frame) or Forecast

    Examples
    --------
    >>> crps([[0.0]], [[[-1.0]], [[1.0]]]), crps([[0.0]], [[[2.0]]])
    (0.0, 2.0)
    """
    known = validate_truth(truth)
    drawn = validate_samples(samples, known)
    found = np.empty(known.shape[:2])
    for rows in _item_blocks(drawn):
        found[rows] = mean_over_cells(_fair_crps(drawn[:, rows] - known[rows]))
    return summarize_scores(found, per)


def _fair_crps(errors: Numbers) -> Numbers:
    """The fair score of errors (sample, …) of each cell."""
    count = len(errors)
    away = np.abs(errors).mean(axis=0)
    if count == 1:
        return np.asarray(away)
    # Σ_{i<j} (x_(j) − x_(i)) counts the k-th smallest k times with plus and n − 1 − k times with minus
    weights = 2.0 * np.arange(count) - count + 1
    apart = np.tensordot(weights, np.sort(errors, axis=0), axes=1)
    return np.asarray(away - apart / (count * (count - 1)))


def crps_quantiles(truth: Any, quantiles: Any, levels: Any, *, per: Per = "all") -> Score:
    """The ranked probability score from forecast quantiles: twice the mean pinball loss over levels.

    CRPS = 2 ∫ pinball_q dq (Gneiting and Ranjan, 2011), so the levels should lie evenly in (0, 1), such as
    (k − ½) / K: the median alone gives the absolute error.

    Parameters
    ----------
    quantiles : array (level, item, step, *frame)
    levels : array (level,)

    Examples
    --------
    >>> crps_quantiles([[3.0]], [[[1.0]]], [0.5])
    2.0
    """
    known = validate_truth(truth)
    given = validate_samples(quantiles, known, "quantiles")
    shares = validate_array(levels, "levels").astype(np.float64)
    if shares.shape != given.shape[:1]:
        raise ValueError(f"levels has shape {shares.shape} and quantiles {given.shape}: expected a level for each")
    parts = [forecasting.pinball_loss(known, one, q, per="each") for one, q in zip(given, shares.tolist(), strict=True)]
    return summarize_scores(2 * np.mean(np.stack([np.asarray(part) for part in parts]), axis=0), per)


def energy_score(truth: Any, samples: Any, *, per: Per = "all") -> Score:
    """The energy score of several futures: the ranked probability score for whole frames.

    mean ‖x_i − y‖ − Σ_{i,j} ‖x_i − x_j‖ / (2 n (n − 1)) with the Euclidean norm over the cells of a frame, the fair
    estimate (Gneiting and Raftery, "Strictly proper scoring rules", 2007; Ferro, 2014). It also judges whether cells go
    together as they should, which `crps` does not see; for frames of one number the two are the same. Its cost grows
    with the square of the number of samples.

    Parameters
    ----------
    truth : array (item, step, *frame)
    samples : array (sample, item, step, *frame) or Forecast

    Examples
    --------
    >>> energy_score([[[0.0, 0.0]]], [[[[3.0, 4.0]]]])
    5.0
    """
    from scipy.spatial.distance import pdist

    known = validate_truth(truth)
    drawn = validate_samples(samples, known)
    found = np.full(known.shape[:2], np.nan)
    for place in np.ndindex(*found.shape):
        there = ~np.isnan(known[place])
        if there.any():
            rows = drawn[:, place[0], place[1]][:, there].astype(np.float64).reshape(len(drawn), -1)
            away = np.linalg.norm(rows - known[place][there].ravel(), axis=1).mean()
            found[place] = away - (pdist(rows).mean() / 2 if len(rows) > 1 else 0.0)  # the mean is over i < j
    return summarize_scores(found, per)


HIGHER_IS_BETTER: dict[str, bool] = {"mse": False, "mae": False, "psnr": True, "ssim": True, "lpips": False}
"""Scores of one future by the names of their functions, and whether more is better."""


def best_of_n(
    truth: Any, samples: Any, score: str | Callable[..., Any], *, higher_is_better: bool | None = None, per: Per = "all"
) -> Score:
    """The score of the best of several futures, chosen for every item and by this score: best-of-N.

    The score of each sample is its mean over the steps that are forecast; the conditioning steps are excluded.
    With `per="step"` it is one future that is followed through all steps, not the best of each. It says whether
    the truth is among the futures, not how probable: more samples are always better, so it compares methods with
    equally many only. To judge a distribution take `crps`.

    Parameters
    ----------
    truth : array (item, step, *frame)
    samples : array (sample, item, step, *frame) or Forecast
    score : {"mse", "mae", "psnr", "ssim"} or callable
        A function such as `partial(psnr, value_range=255)` or `partial(lpips, weights=file)`, called as
        `score(truth, sample, per="each")`.
    higher_is_better : bool, optional
        Whether more is better; known of the library's scores, needed for others. The worst future by a score of the
        library is the last that `rank_samples` gives.

    Examples
    --------
    >>> best_of_n([[0.0], [0.0]], [[[1.0], [5.0]], [[2.0], [3.0]]], "mae", per="item")
    array([1., 3.])
    """
    each, order = _score_samples(truth, samples, score, higher_is_better)
    return summarize_scores(each[order[0], np.arange(each.shape[1])], per)


def rank_samples(
    truth: Any, samples: Any, score: str | Callable[..., Any], *, higher_is_better: bool | None = None
) -> NDArray[np.int64]:
    """The numbers of the samples of every item, (sample, item), from the best to the worst by this score.

    `rank_samples(…)[0]` is what `best_of_n` takes, and `[-1]` the worst; of equally good ones the first comes first.

    Examples
    --------
    >>> rank_samples([[0.0], [0.0]], [[[1.0], [5.0]], [[2.0], [3.0]]], "mae")
    array([[0, 1],
           [1, 0]])
    """
    return _score_samples(truth, samples, score, higher_is_better)[1]


def _score_samples(
    truth: Any, samples: Any, score: str | Callable[..., Any], higher: bool | None
) -> tuple[Numbers, NDArray[np.int64]]:
    """Scores (sample, item, step), and the samples of every item by their means over all steps, the best first."""
    known = validate_truth(truth)
    drawn = validate_samples(samples, known)
    call, more = _resolve_score(score, higher)
    each = np.stack([np.asarray(call(known, sample, per="each"), np.float64) for sample in drawn])
    if each.shape != drawn.shape[:3]:
        raise ValueError(f"score gave the shape {each.shape[1:]}: expected (item, step), {known.shape[:2]}")
    _refuse_nan_scores(each, known)
    totals = np.stack([np.asarray(summarize_scores(one, "item")) for one in each])
    return each, np.argsort(-totals if more else totals, axis=0, kind="stable")


def _refuse_nan_scores(each: Numbers, known: Numbers) -> None:
    """A score that has none of a whole sample cannot judge it; of a truth without numbers it need not."""
    none = np.isnan(each).all(axis=(1, 2))
    if none.any() and not np.isnan(known).all():
        raise ValueError(
            f"score gave nan for all of samples[{int(none.argmax())}]: expected a number where truth has one"
        )


def default_higher_is_better(score: str | Callable[..., Any]) -> bool | None:
    """Whether more is better, of the library's scores of one future; None of others.

    >>> default_higher_is_better("psnr"), default_higher_is_better(forecasting.mae), default_higher_is_better(max)
    (True, False, None)
    """
    if isinstance(score, str):
        return HIGHER_IS_BETTER.get(score)
    plain = getattr(score, "func", score)  # of a partial, the function in it
    return next((HIGHER_IS_BETTER[name] for name, known in _score_functions().items() if plain is known), None)


def _score_functions() -> dict[str, Callable[..., Any]]:
    return {
        "mse": forecasting.mse,
        "mae": forecasting.mae,
        "psnr": image_quality.psnr,
        "ssim": image_quality.ssim,
        "lpips": perceptual_distance.lpips,
    }


def _resolve_score(score: str | Callable[..., Any], higher: bool | None) -> tuple[Callable[..., Any], bool]:
    if isinstance(score, str):
        score = _score_by_name(score)
    if not callable(score):
        raise TypeError(f"score is a {type(score).__name__}: expected a name or a function")
    way = resolve_higher_is_better(score, higher, "higher_is_better")
    if way is None:
        name = _score_name(score)
        raise ValueError(
            f"higher_is_better=None: say whether more is better for the score {name}, higher_is_better=True or "
            "higher_is_better=False"
        )
    return score, way


def resolve_higher_is_better(score: str | Callable[..., Any], given: Any, argument: str) -> bool | None:
    """Whether more is better, as known or as given; refused where one is not the other."""
    known = default_higher_is_better(score)
    if given is None:
        return known
    way = check_bool(given, argument)
    if known is not None and way != known:
        raise ValueError(
            f"{argument}={way}: {'more' if known else 'less'} is better for {_score_name(score)}, so the worst future "
            f"would be taken for the best; leave {argument} out, or take rank_samples(…)[-1] for the worst"
        )
    return way


def _score_name(score: str | Callable[..., Any]) -> str:
    if isinstance(score, str):
        return score
    return getattr(getattr(score, "func", score), "__name__", "") or repr(score)


def _score_by_name(score: str) -> Callable[..., Any]:
    if score == "lpips":  # a word cannot say which weights
        raise ValueError(
            "score='lpips' has no weights, which are not part of the library: give the function with yours, "
            "score=partial(lpips, weights='alexnet_lpips.safetensors')"
        )
    known = {name: function for name, function in _score_functions().items() if name != "lpips"}
    if score not in known:
        raise ValueError(f"score={score!r}: expected one of {', '.join(map(repr, known))}, or a function")
    return known[score]


def _item_blocks(samples: NDArray[Any]) -> Iterator[slice]:
    """Items, so many at once that their samples are not too many numbers."""
    size = max(1, _MAX_NUMBERS // max(1, samples[:, :1].size))
    return (slice(begin, begin + size) for begin in range(0, samples.shape[1], size))
