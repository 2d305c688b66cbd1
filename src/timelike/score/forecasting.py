"""Errors of forecasts, of their quantiles and of their intervals, and skill against a reference.

All take `truth` and an answer of the shape (item, step, *frame) and give a number: the mean over the cells of a frame,
then over steps and items. Where the truth is NaN, as in masked cells, nothing counts; a forecast must have a number
wherever the truth has one. `per="step"` gives a number for each step of the horizon, `per="item"` for each item,
`per="each"` for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_bool, check_float, check_int
from ..core.validation.arrays import validate_array
from ..sequences import Sequences
from ..sequences.validation import as_sequences
from .forecast_arrays import Numbers, Per, Score, mean_over_cells, summarize_scores, validate_forecast, validate_truth


def mse(truth: Any, forecast: Any, *, per: Per = "all") -> Score:
    """The mean squared error, mean of (x̂ − x)²: least for the expected future.

    >>> mse([[1.0, 2.0], [3.0, 4.0]], [[1.0, 4.0], [3.0, 4.0]], per="step")
    array([0., 2.])
    """
    known = validate_truth(truth)
    return summarize_scores(mean_over_cells((validate_forecast(forecast, known) - known) ** 2), per)


def mae(truth: Any, forecast: Any, *, per: Per = "all") -> Score:
    """The mean absolute error, mean of |x̂ − x|: least for the median; large errors count less than in `mse`.

    >>> mae([[1.0, 2.0], [3.0, 4.0]], [[1.0, 4.0], [3.0, 4.0]])
    0.5
    """
    known = validate_truth(truth)
    return summarize_scores(mean_over_cells(np.abs(validate_forecast(forecast, known) - known)), per)


def mase(truth: Any, forecast: Any, training: Any, period: int = 1, *, pooled: bool = False, per: Per = "all") -> Score:
    """The absolute error, in units of what the seasonal naive forecast errs one period ahead in the training data.

    |x̂ − x| / mean over t of |x_t − x_{t−m}| with m the period, each channel by its own scale (Hyndman and Koehler,
    "Another look at measures of forecast accuracy", 2006). It has no unit, so series of different ones can be averaged;
    below 1 is better than what the naive forecast does one period ahead, which is easy over long horizons for none.

    Parameters
    ----------
    training : sequences
        The past of each item, in the same order; or, `pooled`, any sequences, of which all together give one scale.

    Examples
    --------
    >>> mase([[5.0, 6.0]], [[4.0, 4.0]], [[1.0, 2.0, 3.0, 4.0]])
    1.5
    """
    known = validate_truth(truth)
    apart = np.abs(validate_forecast(forecast, known) - known)
    past = training if isinstance(training, Sequences) else as_sequences(training, "training")
    scale = _naive_errors(past, known, check_int(period, "period", 1), check_bool(pooled, "pooled"))
    return summarize_scores(mean_over_cells(apart / scale), per)


def _naive_errors(past: Sequences, truth: Numbers, period: int, pooled: bool) -> Numbers:
    """The mean change over a period of each channel, to divide (item, step, *frame) by."""
    frame = truth.shape[2:]
    if past.frame != (frame or (1,)):
        raise ValueError(f"training has frames of shape {past.frame} and truth {frame}: expected the same")
    if not pooled and len(past) != len(truth):
        raise ValueError(
            f"training has {len(past)} sequences for {len(truth)} items: expected the past of each, or pooled=True for "
            "one scale from all of them"
        )
    sums, counts = map(np.stack, zip(*(_absolute_changes(one, period) for one in past), strict=True))
    if pooled:
        sums, counts = sums.sum(axis=0, keepdims=True), counts.sum(axis=0, keepdims=True)
    shape = (len(sums), 1, past.frame[0], *(1 for _ in frame[1:])) if frame else (len(sums), 1)
    scale = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0).reshape(shape)
    _refuse_no_scale((scale == 0) & ~np.isnan(truth), past, period, pooled)
    return np.where(scale == 0, np.nan, scale)


def _absolute_changes(one: NDArray[Any], period: int) -> tuple[Numbers, Numbers]:
    """The absolute changes over a period of each channel, and how many there are."""
    changes = np.abs(one[period:].astype(np.float64) - one[:-period])
    inner = (0, *range(2, changes.ndim))
    return np.nansum(changes, axis=inner), (~np.isnan(changes)).sum(axis=inner).astype(np.float64)


def _refuse_no_scale(lacks: NDArray[np.bool_], past: Sequences, period: int, pooled: bool) -> None:
    if not lacks.any():
        return
    item, _, *cell = (int(found[0]) for found in np.nonzero(lacks))
    short = past.lengths.max() <= period if pooled else past.lengths[item] <= period
    who = "training" if pooled else f"training: sequence {item}"
    what = "is too short for a" if short else "never changes over the"
    way = "" if pooled else "; pooled=True takes one scale from all sequences"
    raise ValueError(f"{who} {what} period of {period} steps in channel {(*cell, 0)[0]}, so errors have no scale{way}")


def pinball_loss(truth: Any, quantile: Any, q: float, *, per: Per = "all") -> Score:
    """How good a forecast quantile is: max(q · (x − x̂), (q − 1) · (x − x̂)), least in the mean for the true one.

    For q = ½ it is half the absolute error (Koenker and Bassett, "Regression quantiles", 1978).

    >>> pinball_loss([[10.0]], [[8.0]], 0.9), round(pinball_loss([[10.0]], [[12.0]], 0.9), 3)
    (1.8, 0.2)
    """
    share = check_float(q, "q", above=0.0)
    if share >= 1:
        raise ValueError(f"q={q}: expected a number between 0 and 1, such as 0.9")
    known = validate_truth(truth)
    apart = known - validate_forecast(quantile, known, "quantile")
    return summarize_scores(mean_over_cells(np.maximum(share * apart, (share - 1) * apart)), per)


def coverage(truth: Any, low: Any, high: Any, *, per: Per = "all") -> Score:
    """How large a share of the truth lies between low and high, both included; right if it is the level asked for.

    >>> coverage([[1.0, 2.0, 3.0, 4.0]], [[0.0, 2.0, 2.0, 0.0]], [[1.0, 3.0, 2.5, 9.0]])
    0.75
    """
    known = validate_truth(truth)
    bottom, top = validate_forecast(low, known, "low"), validate_forecast(high, known, "high")
    _refuse_crossed_bounds(bottom, top)
    inside = ((bottom <= known) & (known <= top)).astype(np.float64)
    return summarize_scores(mean_over_cells(np.where(np.isnan(known), np.nan, inside)), per)


def interval_width(low: Any, high: Any, *, per: Per = "all") -> Score:
    """How wide intervals are in the mean: of two that cover as much, the narrower is the better one.

    >>> interval_width([[0.0, 1.0]], [[1.0, 4.0]])
    2.0
    """
    bottom = validate_truth(low, "low")
    top = validate_forecast(high, bottom, "high")
    _refuse_crossed_bounds(bottom, top)
    return summarize_scores(mean_over_cells(top - bottom), per)


def _refuse_crossed_bounds(low: NDArray[Any], high: NDArray[Any]) -> None:
    crossed = low > high
    if crossed.any():
        place = tuple(int(found[0]) for found in np.nonzero(crossed))
        raise ValueError(f"low is {low[place]:g} and high {high[place]:g} at {place}: expected low at most high")


def skill(score: Any, reference: Any, *, perfect: float = 0.0) -> Score:
    """How much of the way from a reference to perfection is made: 1 perfect, 0 no better, negative worse.

    (S − S_ref) / (S_perfect − S_ref), which is 1 − S/S_ref for an error (Murphy, "Skill scores based on the mean square
    error", 1988). Against a perfect reference there is no skill, and nan is given. Say which reference it is: skill
    against a bad one is easy.

    Parameters
    ----------
    score, reference : float or array
        Of the same kind over the same items, such as two calls of `mse`.
    perfect : float
        The best there is: 0 for errors, 1 for `ssim`.

    Examples
    --------
    >>> skill(0.5, 2.0)
    0.75
    """
    best = check_float(perfect, "perfect")
    ours, theirs = (
        validate_array(side, name).astype(np.float64) for side, name in ((score, "score"), (reference, "reference"))
    )
    if ours.shape != theirs.shape:
        raise ValueError(f"score has shape {ours.shape} and reference {theirs.shape}: expected the same")
    room = best - theirs
    found = np.where(room == 0, np.nan, (ours - theirs) / np.where(room == 0, 1.0, room))
    found = found + 0.0  # no minus before a zero
    return float(found) if found.ndim == 0 else found
