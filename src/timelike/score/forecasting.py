"""Forecast scores: errors, intervals, several futures, images, sets of videos, and tables over a horizon.

The scores take `truth` and a forecast of shape (item, step, *frame) and return a number: the mean over the cells of a
frame, then over steps and items. Cells whose truth is NaN, such as masked cells, are ignored; a forecast must have a
number wherever the truth has one. `per="step"` returns one number per step of the horizon, `per="item"` one per item,
`per="each"` one per item and step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_bool, check_choice, check_float, check_int
from ..core.validation.arrays import validate_array
from ..core.warnings import find_stack_level
from ..sequences import Sequences
from ..sequences.validation import as_sequences
from .alexnet import load_lpips_network
from .intervals import Interval, interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Per = Literal["all", "step", "item", "each"]
"""One number for everything, per step of the horizon, per item, or per item and step."""

Numbers = NDArray[np.float64]
Score = float | Numbers
MEAN_AXES: dict[str, tuple[int, ...]] = {"all": (0, 1), "step": (0,), "item": (1,), "each": ()}
Scores = str | Sequence[str] | Mapping[str, Callable[..., Any]]

_MAX_NUMBERS = 1 << 22  # sorted at a time, to limit memory for many samples of images
_WINDOW, _DEVIATION = 11, 1.5  # of SSIM's Gaussian weights, as in the paper
_LUMINANCE, _CONTRAST = 0.01, 0.03  # K₁ and K₂ there
_MAX_RANGES = 1.5  # multiples of value_range that images may span; beyond, value_range must be wrong
_ROUNDING = 1e-3  # fraction of value_range by which the truth may lie outside it


def mse(truth: Any, forecast: Any, *, per: Per = "all") -> Score:
    """The mean squared error, mean of (x̂ − x)²; minimized by the expected future.

    >>> mse([[1.0, 2.0], [3.0, 4.0]], [[1.0, 4.0], [3.0, 4.0]], per="step")
    array([0., 2.])
    """
    truth = validate_truth(truth)
    return summarize_scores(mean_over_cells((validate_forecast(forecast, truth) - truth) ** 2), per)


def mae(truth: Any, forecast: Any, *, per: Per = "all") -> Score:
    """The mean absolute error, mean of |x̂ − x|; minimized by the median, less sensitive to large errors than `mse`.

    >>> mae([[1.0, 2.0], [3.0, 4.0]], [[1.0, 4.0], [3.0, 4.0]])
    0.5
    """
    truth = validate_truth(truth)
    return summarize_scores(mean_over_cells(np.abs(validate_forecast(forecast, truth) - truth)), per)


def mase(truth: Any, forecast: Any, training: Any, period: int = 1, *, pooled: bool = False, per: Per = "all") -> Score:
    """The mean absolute scaled error: relative to the error of the seasonal naive forecast on the training data.

    |x̂ − x| / mean over t of |x_t − x_{t−m}|, with the period m and a scale for each channel (Hyndman and Koehler,
    "Another look at measures of forecast accuracy", 2006). It has no unit, so it can be averaged over series in
    different units. A value below 1 beats the naive forecast one period ahead, which is hard over long horizons.

    Parameters
    ----------
    training : sequences
        The past of each item, in the same order; with `pooled`, any sequences, which give one common scale.

    Examples
    --------
    >>> mase([[5.0, 6.0]], [[4.0, 4.0]], [[1.0, 2.0, 3.0, 4.0]])
    1.5
    """
    truth = validate_truth(truth)
    errors = np.abs(validate_forecast(forecast, truth) - truth)
    past = training if isinstance(training, Sequences) else as_sequences(training, "training")
    naive_errors = _naive_errors(past, truth, check_int(period, "period", 1), check_bool(pooled, "pooled"))
    return summarize_scores(mean_over_cells(errors / naive_errors), per)


def _naive_errors(past: Sequences, truth: Numbers, period: int, pooled: bool) -> Numbers:
    """The mean absolute change of each channel over a period, broadcastable to (item, step, *frame)."""
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


def _absolute_changes(sequence: NDArray[Any], period: int) -> tuple[Numbers, Numbers]:
    """The summed absolute changes of each channel over a period, and their number."""
    changes = np.abs(sequence[period:].astype(np.float64) - sequence[:-period])
    time_and_space = (0, *range(2, changes.ndim))
    return np.nansum(changes, axis=time_and_space), (~np.isnan(changes)).sum(axis=time_and_space).astype(np.float64)


def _refuse_no_scale(lacks: NDArray[np.bool_], past: Sequences, period: int, pooled: bool) -> None:
    if not lacks.any():
        return
    item, _, *cell = np.argwhere(lacks)[0].tolist()
    short = past.lengths.max() <= period if pooled else past.lengths[item] <= period
    who = "training" if pooled else f"training: sequence {item}"
    what = "is too short for a" if short else "never changes over the"
    way = "" if pooled else "; pooled=True takes one scale from all sequences"
    raise ValueError(f"{who} {what} period of {period} steps in channel {(*cell, 0)[0]}, so errors have no scale{way}")


def pinball_loss(truth: Any, quantile: Any, q: float, *, per: Per = "all") -> Score:
    """The pinball loss of a forecast quantile, max(q · (x − x̂), (q − 1) · (x − x̂)); minimized by the true quantile.

    For q = ½ it is half the absolute error (Koenker and Bassett, "Regression quantiles", 1978).

    >>> pinball_loss([[10.0]], [[8.0]], 0.9), round(pinball_loss([[10.0]], [[12.0]], 0.9), 3)
    (1.8, 0.2)
    """
    level = check_float(q, "q", above=0.0)
    if level >= 1:
        raise ValueError(f"q={q}: expected a number between 0 and 1, such as 0.9")
    truth = validate_truth(truth)
    errors = truth - validate_forecast(quantile, truth, "quantile")
    return summarize_scores(mean_over_cells(np.maximum(level * errors, (level - 1) * errors)), per)


def coverage(truth: Any, low: Any, high: Any, *, per: Per = "all") -> Score:
    """The fraction of the truth between low and high, both included; ideally the nominal level of the intervals.

    >>> coverage([[1.0, 2.0, 3.0, 4.0]], [[0.0, 2.0, 2.0, 0.0]], [[1.0, 3.0, 2.5, 9.0]])
    0.75
    """
    truth = validate_truth(truth)
    low, high = validate_forecast(low, truth, "low"), validate_forecast(high, truth, "high")
    _refuse_crossed_bounds(low, high)
    inside = ((low <= truth) & (truth <= high)).astype(np.float64)
    return summarize_scores(mean_over_cells(np.where(np.isnan(truth), np.nan, inside)), per)


def interval_width(low: Any, high: Any, *, per: Per = "all") -> Score:
    """The mean width of intervals; at equal coverage, narrower is better.

    >>> interval_width([[0.0, 1.0]], [[1.0, 4.0]])
    2.0
    """
    low = validate_truth(low, "low")
    high = validate_forecast(high, low, "high")
    _refuse_crossed_bounds(low, high)
    return summarize_scores(mean_over_cells(high - low), per)


def _refuse_crossed_bounds(low: NDArray[Any], high: NDArray[Any]) -> None:
    crossed = low > high
    if crossed.any():
        place = tuple(np.argwhere(crossed)[0].tolist())
        raise ValueError(f"low is {low[place]:g} and high {high[place]:g} at {place}: expected low at most high")


def skill(score: Any, reference: Any, *, perfect: float = 0.0) -> Score:
    """The skill relative to a reference: 1 is perfect, 0 no better than the reference, negative worse.

    (S − S_ref) / (S_perfect − S_ref), which is 1 − S/S_ref for an error (Murphy, "Skill scores based on the mean square
    error", 1988). Against a perfect reference the skill is nan. Report the reference: a bad one is easy to beat.

    Parameters
    ----------
    score, reference : float or array
        The same score on the same items, such as the results of two calls of `mse`.
    perfect : float
        The best possible score: 0 for errors, 1 for `ssim`.

    Examples
    --------
    >>> skill(0.5, 2.0)
    0.75
    """
    best = check_float(perfect, "perfect")
    scores, references = (
        validate_array(side, name).astype(np.float64) for side, name in ((score, "score"), (reference, "reference"))
    )
    if scores.shape != references.shape:
        raise ValueError(f"score has shape {scores.shape} and reference {references.shape}: expected the same")
    room = best - references
    skills = np.where(room == 0, np.nan, (scores - references) / np.where(room == 0, 1.0, room))
    skills = skills + 0.0  # turns −0 into 0
    return float(skills) if skills.ndim == 0 else skills


def at_step(scores: Any, h: int) -> Score:
    """The score at step h alone, from scores (step,) or (item, step); the first step is 1.

    In the tables of many papers "t+h" means the mean over t+1…t+h instead: see `mean_to_step`.

    >>> at_step([1.0, 2.0, 6.0], 3)
    6.0
    """
    array, position = _validate_step(scores, h)
    value = array[..., position - 1]
    return float(value) if value.ndim == 0 else value


def mean_to_step(scores: Any, h: int) -> Score:
    """The mean of the scores at steps 1 to h, from scores (step,) or (item, step): "t+h" in many tables.

    Steps that are NaN, because their truth is missing, are ignored; if all are, the mean is NaN.

    >>> mean_to_step([1.0, 2.0, 6.0], 3)
    3.0
    """
    array, position = _validate_step(scores, h)
    value = _nan_mean(array[..., :position], -1)
    return float(value) if value.ndim == 0 else value


def _validate_step(scores: Any, h: int) -> tuple[Numbers, int]:
    array = validate_array(scores, "scores").astype(np.float64, copy=False)
    if array.ndim < 1:
        raise ValueError('scores is one number: expected one for each step, such as the result of per="step"')
    if check_int(h, "h", 1) > array.shape[-1]:
        raise ValueError(f"h={h}: expected at most {array.shape[-1]}, the number of steps in scores")
    return array, int(h)


def crps(truth: Any, samples: Any, *, per: Per = "all") -> Score:
    """The continuous ranked probability score of several futures, per cell: the absolute error of a distribution.

    mean |x_i − y| − Σ_{i,j} |x_i − x_j| / (2 n (n − 1)), the fair estimate, whose expectation does not depend on the
    number n of samples (Ferro, "Fair scores for ensemble forecasts", 2014), in O(n log n) by sorting. For one sample it
    is the absolute error, so distributions can be compared with point forecasts. `energy_score` also measures the
    dependence between the cells of a frame.

    Parameters
    ----------
    truth : array (item, step, *frame)
    samples : array (sample, item, step, *frame) or Forecast

    Examples
    --------
    >>> crps([[0.0]], [[[-1.0]], [[1.0]]]), crps([[0.0]], [[[2.0]]])
    (0.0, 2.0)
    """
    truth = validate_truth(truth)
    samples = validate_samples(samples, truth)
    item_scores = np.empty(truth.shape[:2])
    for rows in _item_blocks(samples):
        item_scores[rows] = mean_over_cells(_fair_crps(samples[:, rows] - truth[rows]))
    return summarize_scores(item_scores, per)


def _fair_crps(errors: Numbers) -> Numbers:
    """The fair score of each cell from errors (sample, …)."""
    count = len(errors)
    mean_error = np.abs(errors).mean(axis=0)
    if count == 1:
        return np.asarray(mean_error)
    # in Σ_{i<j} (x_(j) − x_(i)) the k-th smallest has weight k − (n − 1 − k)
    weights = 2.0 * np.arange(count) - count + 1
    spread = np.tensordot(weights, np.sort(errors, axis=0), axes=1)
    return np.asarray(mean_error - spread / (count * (count - 1)))


def crps_quantiles(truth: Any, quantiles: Any, levels: Any, *, per: Per = "all") -> Score:
    """The continuous ranked probability score from forecast quantiles: twice the mean pinball loss over levels.

    CRPS = 2 ∫ pinball_q dq (Gneiting and Ranjan, 2011), so the levels should be evenly spaced in (0, 1), such as
    (k − ½) / K. The median alone gives the absolute error.

    Parameters
    ----------
    quantiles : array (level, item, step, *frame)
    levels : array (level,)

    Examples
    --------
    >>> crps_quantiles([[3.0]], [[[1.0]]], [0.5])
    2.0
    """
    truth = validate_truth(truth)
    quantiles = validate_samples(quantiles, truth, "quantiles")
    levels = validate_array(levels, "levels").astype(np.float64)
    if levels.shape != quantiles.shape[:1]:
        raise ValueError(f"levels has shape {levels.shape} and quantiles {quantiles.shape}: expected a level for each")
    losses = [
        np.asarray(pinball_loss(truth, quantile, q, per="each"))
        for quantile, q in zip(quantiles, levels.tolist(), strict=True)
    ]
    return summarize_scores(2 * np.mean(np.stack(losses), axis=0), per)


def energy_score(truth: Any, samples: Any, *, per: Per = "all") -> Score:
    """The energy score of several futures: the CRPS for whole frames.

    mean ‖x_i − y‖ − Σ_{i,j} ‖x_i − x_j‖ / (2 n (n − 1)) with the Euclidean norm over the cells of a frame, the fair
    estimate (Gneiting and Raftery, "Strictly proper scoring rules", 2007; Ferro, 2014). Unlike `crps` it also scores
    the dependence between cells; for frames of one number the two are equal. Its cost is quadratic in the number of
    samples.

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

    truth = validate_truth(truth)
    samples = validate_samples(samples, truth)
    item_scores = np.full(truth.shape[:2], np.nan)
    for place in np.ndindex(*item_scores.shape):
        observed = ~np.isnan(truth[place])
        if observed.any():
            rows = samples[:, place[0], place[1]][:, observed].astype(np.float64).reshape(len(samples), -1)
            mean_error = np.linalg.norm(rows - truth[place][observed].ravel(), axis=1).mean()
            # the mean of pdist is over i < j
            item_scores[place] = mean_error - (pdist(rows).mean() / 2 if len(rows) > 1 else 0.0)
    return summarize_scores(item_scores, per)


def best_of_n(
    truth: Any, samples: Any, score: str | Callable[..., Any], *, higher_is_better: bool | None = None, per: Per = "all"
) -> Score:
    """The score of the best of several futures, chosen for each item by this score: best-of-N.

    The score of a sample is its mean over the forecast steps; the conditioning steps are excluded. With `per="step"`
    one future is followed through all steps, instead of the best at each step. Best-of-N measures whether the truth is
    among the futures, not how probable it was. More samples always score better, so compare only methods with the same
    number of samples. To score a distribution, use `crps`.

    Parameters
    ----------
    truth : array (item, step, *frame)
    samples : array (sample, item, step, *frame) or Forecast
    score : {"mse", "mae", "psnr", "ssim"} or callable
        A function such as `partial(psnr, value_range=255)` or `partial(lpips, weights=file)`, called as
        `score(truth, sample, per="each")`.
    higher_is_better : bool, optional
        Whether more is better; needed only for your own scores. The worst future is the last of `rank_samples`.

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
    """The indices of the samples of each item, (sample, item), from the best to the worst by this score.

    `rank_samples(…)[0]` is the sample that `best_of_n` scores, `[-1]` the worst; ties keep the order of the samples.

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
    """Scores (sample, item, step), and the samples of each item ranked by their mean over steps, the best first."""
    truth = validate_truth(truth)
    samples = validate_samples(samples, truth)
    score_function, more_is_better = _resolve_score(score, higher)
    item_scores = np.stack([np.asarray(score_function(truth, sample, per="each"), np.float64) for sample in samples])
    if item_scores.shape != samples.shape[:3]:
        raise ValueError(f"score gave the shape {item_scores.shape[1:]}: expected (item, step), {truth.shape[:2]}")
    _refuse_nan_scores(item_scores, truth)
    totals = np.stack([np.asarray(summarize_scores(sample_scores, "item")) for sample_scores in item_scores])
    return item_scores, np.argsort(-totals if more_is_better else totals, axis=0, kind="stable")


def _refuse_nan_scores(item_scores: Numbers, truth: Numbers) -> None:
    """Raise an error if a sample has no score at all, unless the truth has no numbers either."""
    is_missing = np.isnan(item_scores).all(axis=(1, 2))
    if is_missing.any() and not np.isnan(truth).all():
        raise ValueError(
            f"score gave nan for all of samples[{int(is_missing.argmax())}]: expected a number where truth has one"
        )


def default_higher_is_better(score: str | Callable[..., Any]) -> bool | None:
    """Whether more is better for one of the library's scores of a single future; None for any other score.

    >>> default_higher_is_better("psnr"), default_higher_is_better(mae), default_higher_is_better(max)
    (True, False, None)
    """
    function = getattr(score, "func", score)  # unwraps a partial
    for name, (library_score, higher) in _library_scores().items():
        if score == name or function is library_score:
            return higher
    return None


def _library_scores() -> dict[str, tuple[Callable[..., Any], bool]]:
    """The scores of a single future by name, and whether more is better."""
    return {
        "mse": (mse, False),
        "mae": (mae, False),
        "psnr": (psnr, True),
        "ssim": (ssim, True),
        "lpips": (lpips, False),
    }


def _resolve_score(score: str | Callable[..., Any], higher: bool | None) -> tuple[Callable[..., Any], bool]:
    if isinstance(score, str):
        score = _score_by_name(score)
    if not callable(score):
        raise TypeError(f"score is a {type(score).__name__}: expected a name or a function")
    resolved = resolve_higher_is_better(score, higher, "higher_is_better")
    if resolved is None:
        name = _score_name(score)
        raise ValueError(
            f"higher_is_better=None: say whether more is better for the score {name}, higher_is_better=True or "
            "higher_is_better=False"
        )
    return score, resolved


def resolve_higher_is_better(score: str | Callable[..., Any], value: Any, argument: str) -> bool | None:
    """Whether more is better: the library's default or `value`; an error if they differ."""
    default = default_higher_is_better(score)
    if value is None:
        return default
    resolved = check_bool(value, argument)
    if default is not None and resolved != default:
        raise ValueError(
            f"{argument}={resolved}: {'more' if default else 'less'} is better for {_score_name(score)}, so the worst "
            f"future would be taken for the best; leave {argument} out, or take rank_samples(…)[-1] for the worst"
        )
    return resolved


def _score_name(score: str | Callable[..., Any]) -> str:
    if isinstance(score, str):
        return score
    return getattr(getattr(score, "func", score), "__name__", "") or repr(score)


def _score_by_name(score: str) -> Callable[..., Any]:
    if score == "lpips":  # a name cannot specify the weights
        raise ValueError(
            "score='lpips' has no weights, which are not part of the library: give the function with yours, "
            "score=partial(lpips, weights='alexnet_lpips.safetensors')"
        )
    functions = {name: function for name, (function, _) in _library_scores().items() if name != "lpips"}
    if score not in functions:
        raise ValueError(f"score={score!r}: expected one of {', '.join(map(repr, functions))}, or a function")
    return functions[score]


def _item_blocks(samples: NDArray[Any]) -> Iterator[slice]:
    """Slices of items whose samples have at most `_MAX_NUMBERS` numbers."""
    size = max(1, _MAX_NUMBERS // max(1, samples[:, :1].size))
    return (slice(begin, begin + size) for begin in range(0, samples.shape[1], size))


def psnr(truth: Any, forecast: Any, *, value_range: float = 1.0, maximum: float = 100.0, per: Per = "all") -> Score:
    """The peak signal-to-noise ratio of each frame, 10 · log₁₀(range² / mean squared error), in decibels.

    More is better. The PSNR of an exact frame is infinite and would dominate the mean, so frames are capped at
    `maximum`. Decibels are averaged over frames, as in papers on video, not computed from the mean error.

    Parameters
    ----------
    truth, forecast : array (item, step, *frame), Sequences of one length, or a Forecast
    value_range : float
        The largest possible value minus the smallest: 1 for images in [0, 1], 255 for bytes; bytes with another range
        raise an error.
    maximum : float
        The PSNR of a frame without error.

    Examples
    --------
    >>> psnr([[0.5, 0.5]], [[0.4, 0.5]], per="step").round(6)
    array([ 20., 100.])
    """
    span, cap = check_float(value_range, "value_range", above=0.0), check_float(maximum, "maximum")
    truth = _validate_images(truth, span)
    errors = mean_over_cells((validate_forecast(forecast, truth) - truth) ** 2)
    floor = span**2 * 10 ** (-cap / 10)
    return summarize_scores(np.minimum(10 * np.log10(span**2 / np.maximum(errors, floor)), cap), per)


def ssim(
    truth: Any,
    forecast: Any,
    *,
    value_range: float = 1.0,
    window: int = _WINDOW,
    edges: Literal["inside", "mirror"] = "inside",
    per: Per = "all",
) -> Score:
    """The structural similarity of images: 1 for equal images, about 0 for unrelated ones.

    The mean over all places of a window with Gaussian weights (11 × 11, σ = 1.5) inside the image, and over channels,
    of (2 μ_x μ_y + c₁)(2 σ_xy + c₂) / ((μ_x² + μ_y² + c₁)(σ_x² + σ_y² + c₂)), with c₁ = (0.01 · range)² and
    c₂ = (0.03 · range)² (Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to
    structural similarity", 2004). Masked cells get weight 0, the other weights of the window are normalized, and
    windows centred on masked cells are left out.

    Parameters
    ----------
    truth, forecast : array (item, step, *frame)
        Frames of (channel, height, width) or (height, width).
    value_range : float
        The largest possible value minus the smallest: 1 for images in [0, 1], 255 for bytes.
    window : int
        Odd window width. For smaller images the largest width that fits is used, with a warning: scores with different
        windows are not comparable.
    edges : {"inside", "mirror"}
        Use only windows inside the image, as in the paper and in scikit-image; or also windows that extend over its
        border into a mirror image, as in torchmetrics. The second gives higher scores for images with empty borders.

    Examples
    --------
    >>> image = np.arange(144.0).reshape(1, 1, 12, 12) / 143
    >>> ssim(image, image), ssim(image, 1 - image) < 0
    (1.0, True)
    """
    span = check_float(value_range, "value_range", above=0.0)
    truth = _validate_images(truth, span)
    forecast = validate_forecast(forecast, truth)
    if truth.ndim < 4:
        raise ValueError(f"truth has frames of shape {truth.shape[2:]}: expected images, (channel, height, width)")
    weights = _gaussian_weights(_fit_window(check_int(window, "window", 1), min(truth.shape[-2:])))
    if check_choice(edges, "edges", ("inside", "mirror")) == "mirror":
        truth, forecast = (_mirror_edges(side, len(weights) // 2) for side in (truth, forecast))
    constants = (_LUMINANCE * span) ** 2, (_CONTRAST * span) ** 2
    each = np.stack(
        [
            mean_over_cells(_local_similarity(a[None], b[None], weights, *constants))[0]
            for a, b in zip(truth, forecast, strict=True)
        ]
    )
    return summarize_scores(each, per)


def _validate_images(truth: Any, span: float) -> Numbers:
    """The true images; an error if their values span far more than `span`, since scores would be wrong."""
    array = as_forecast_array(truth, "truth")
    images = validate_truth(array)
    low, high = float(np.fmin.reduce(images, axis=None)), float(np.fmax.reduce(images, axis=None))
    is_bytes = array.dtype == np.uint8
    if (is_bytes and high > span) or (images.ndim > 3 and high - low > _MAX_RANGES * span):
        what = "bytes" if is_bytes else "numbers"
        raise ValueError(
            f"truth has {what} from {low:g} to {high:g}: expected a range of value_range={span:g}; give "
            "value_range=255 for bytes, otherwise the largest possible value minus the smallest"
        )
    return images


def _mirror_edges(values: Numbers, edge: int) -> Numbers:
    """Pad the images by `edge` mirrored rows and columns on each side."""
    return np.pad(values, [(0, 0)] * (values.ndim - 2) + [(edge, edge)] * 2, mode="reflect")


def _fit_window(window: int, side: int) -> int:
    if window % 2 == 0:
        raise ValueError(f"window={window}: expected an odd number, so that the window has a centre")
    if window <= side:
        return window
    fits = side - 1 + side % 2
    warnings.warn(
        f"images with a side of {side} are smaller than the window of {window}: it is {fits} wide here; "
        f"use ssim(…, window={fits}) for the same window on all images",
        stacklevel=find_stack_level(),
    )
    return fits


def _gaussian_weights(width: int) -> Numbers:
    places = np.arange(width) - width // 2
    weights = np.exp(-(places**2) / (2 * _DEVIATION**2))
    return np.asarray(weights / weights.sum())


def _local_similarity(x: Numbers, y: Numbers, weights: Numbers, c1: float, c2: float) -> Numbers:
    """The similarity at each window position; NaN if its centre is masked."""
    absent = np.isnan(x)
    mean = partial(_window_means, weights=weights)
    if absent.any():
        x, y = np.where(absent, 0.0, x), np.where(absent, 0.0, y)
        total = mean((~absent).astype(np.float64))
        total[_window_centres(absent, len(weights))] = np.nan
        mean = partial(_masked_window_means, weights=weights, total=total)
    mu_x, mu_y = mean(x), mean(y)
    var_x, var_y, both = mean(x * x) - mu_x**2, mean(y * y) - mu_y**2, mean(x * y) - mu_x * mu_y
    luminance = (2 * mu_x * mu_y + c1) / (mu_x**2 + mu_y**2 + c1)
    # rounding can make a variance slightly negative
    return np.asarray(luminance * (2 * both + c2) / (np.maximum(var_x, 0) + np.maximum(var_y, 0) + c2))


def _window_means(values: Numbers, weights: Numbers) -> Numbers:
    """Weighted means of all windows inside the image, over the last two axes."""
    from scipy.ndimage import correlate1d

    rows = correlate1d(correlate1d(values, weights, axis=-1, mode="constant"), weights, axis=-2, mode="constant")
    return np.asarray(_window_centres(rows, len(weights)))


def _masked_window_means(values: Numbers, weights: Numbers, total: Numbers) -> Numbers:
    """Weighted means of all windows, ignoring masked cells."""
    return _window_means(values, weights) / total


def _window_centres(values: NDArray[Any], width: int) -> NDArray[Any]:
    """The values at the centre of each window."""
    edge = width // 2
    return values[..., edge : values.shape[-2] - edge, edge : values.shape[-1] - edge]


def lpips(
    truth: Any,
    forecast: Any,
    *,
    weights: str | Path | Callable[..., Any] | None = None,
    value_range: float = 1.0,
    batch_size: int = 64,
    per: Per = "all",
) -> Score:
    """The learned perceptual distance of images, LPIPS: 0 for equal images, less is better.

    Σ_l mean over positions of Σ_c w_lc (ŷ_lc − ŷ⁰_lc)², where ŷ_l are the activations of layer l of AlexNet for the two
    images, normalized to length 1 at each position, and w_l ≥ 0 are learned from human judgement (Zhang, Isola, Efros,
    Shechtman and Wang, "The unreasonable effectiveness of deep features as a perceptual metric", 2018). Unlike `psnr`,
    LPIPS prefers sharp images with small errors to blurred ones. It is meaningful for photographs and films of real
    scenes, less so for digits or physical fields. The library neither contains nor downloads weights: see "Scores with
    a network" on the page about scores.

    Parameters
    ----------
    truth, forecast : array (item, step, *frame), Sequences of one length, or a Forecast
        Frames of (channel, height, width) with one or three channels, or (height, width); at least 31 pixels per side.
    weights : path or callable
        A `.safetensors` file with `features.N.weight` and `features.N.bias` of torchvision's AlexNet (N = 0, 3, 6, 8,
        10) and `lin0.model.1.weight` to `lin4.model.1.weight` of the lpips package; or a function of two image tensors
        (n, 3, height, width) from −1 to 1 that returns n numbers, such as `lpips.LPIPS(net="vgg")`.
    value_range : float
        The maximum of the images, which start at 0: 1, or 255 for bytes.
    batch_size : int
        Number of images per call of the network.

    Examples
    --------
    >>> apart = lambda x, y: (x - y).abs().mean(dim=(1, 2, 3))  # instead of a network  # needs: timelike[learn]
    >>> lpips(np.zeros((1, 2, 1, 32, 32)), np.ones((1, 2, 1, 32, 32)), weights=apart)
    2.0
    """
    network = load_lpips_network(weights)
    truth, forecast = validate_image_pair(truth, forecast, value_range)
    flat = [side.reshape(-1, *side.shape[2:]) for side in (truth, forecast)]
    size = check_int(batch_size, "batch_size", 1)
    parts = [_compare_batch(network, *(side[i : i + size] for side in flat)) for i in range(0, len(flat[0]), size)]
    return summarize_scores(np.concatenate(parts).reshape(truth.shape[:2]), per)


def validate_image_pair(truth: Any, forecast: Any, value_range: float) -> tuple[Numbers, Numbers]:
    """Both as (item, step, 3, height, width) from −1 to 1, the input of networks for photographs."""
    span = check_float(value_range, "value_range", above=0.0)
    truth = validate_truth(truth)
    forecast = validate_forecast(forecast, truth)
    if truth.ndim not in (4, 5) or (truth.ndim == 5 and truth.shape[2] not in (1, 3)):
        raise ValueError(
            f"truth has frames of shape {truth.shape[2:]}: expected images, (height, width) or (channel, height, "
            "width) with 1 channel or 3"
        )
    if np.isnan(truth).any():
        raise ValueError("truth has masked cells, and the network needs whole images: fill the cells, or use ssim")
    low, high = float(truth.min()), float(truth.max())
    if low < -_ROUNDING * span or high > (1 + _ROUNDING) * span:
        raise ValueError(
            f"truth has numbers from {low:g} to {high:g}: expected 0 to value_range={value_range:g}; give "
            "value_range=255 for bytes, and scale others to [0, 1]"
        )
    return _to_rgb(truth, span), _to_rgb(forecast, span)


def _to_rgb(images: Numbers, span: float) -> Numbers:
    framed = images[:, :, None] if images.ndim == 4 else images
    return np.broadcast_to(2 / span * framed - 1, (*framed.shape[:2], 3, *framed.shape[3:]))


def _compare_batch(network: Callable[..., Any], x: Numbers, y: Numbers) -> Numbers:
    import torch

    with torch.no_grad():
        distances = network(*(torch.from_numpy(np.ascontiguousarray(side, np.float32)) for side in (x, y)))
    array = validate_array(distances, "what weights gave").astype(np.float64)
    if array.size != len(x) or not np.isfinite(array).all():
        raise ValueError(
            f"weights gave an array of shape {array.shape} for {len(x)} pairs of images: expected a finite number "
            "for each"
        )
    return array.reshape(-1)


def fvd(
    truth: Any,
    forecasts: Any,
    *,
    features: Callable[..., Any] | None = None,
    batch_size: int = 16,
    per: Literal["all", "sample"] = "all",
) -> Score:
    """The Fréchet distance between forecast and true videos, FVD: 0 for equal sets, less is better.

    ‖μ − μ̂‖² + tr(Σ + Σ̂ − 2 (Σ Σ̂)^½) of the features of all videos (Unterthiner, van Steenkiste, Kurach, Marinier,
    Michalski and Gelly, "Towards accurate generative models of video", 2018). FVD compares sets, not pairs: a video
    need not be close to its own truth, but the forecasts together must look like the true videos. It is biased upwards
    for few videos, so compare only numbers from equally many videos, hundreds or more. Each sample is a set of its own;
    the result is the mean of their distances.

    Parameters
    ----------
    truth : array (item, step, *frame) or Sequences of one length
        Two videos or more. The conditioning steps are excluded; prepend them to both if a published table does.
    forecasts : array (item, step, *frame), or of several samples (sample, item, step, *frame), or Forecast
    features : callable
        A function from videos (n, step, *frame), with unchanged values, to features (n, size). A torch module gets a
        tensor and is called in evaluation mode without gradients; any other function gets a NumPy array of float32.
        Published numbers use the logits of an I3D network trained on Kinetics-400, whose weights you must supply.
    batch_size : int
        Number of videos per call of `features`.
    per : {"all", "sample"}
        The mean over samples, or one number per sample, ready for `interval`.

    Examples
    --------
    >>> means = lambda videos: videos.mean(axis=(1, 2))[:, None]  # instead of a network
    >>> fvd([[[0.0]], [[2.0]]], [[[1.0]], [[3.0]]], features=means)
    1.0
    """
    check_choice(per, "per", ("all", "sample"))
    truth = validate_truth(truth)
    if features is None:
        raise ValueError(
            "features=None: FVD compares features of a trained network, and its weights are not part of this "
            "library, which downloads nothing. Give features=network, a callable from videos (n, step, channel, "
            "height, width) to (n, size), such as an I3D network trained on Kinetics-400 whose weights you loaded "
            "from a .safetensors file. psnr, ssim and crps need no weights"
        )
    if not callable(features):
        raise TypeError(f"features is a {type(features).__name__}: expected a callable, videos → (n, size)")
    if np.isnan(truth).any():
        raise ValueError("truth has masked cells, and the network needs whole videos: fill the cells first")
    samples = validate_samples(_with_sample_axis(forecasts, truth), truth, "forecasts")
    size = check_int(batch_size, "batch_size", 1)
    true_features = _extract_features(features, truth, size, "truth")
    distances = np.array(
        [
            frechet_distance(true_features, _extract_features(features, sample, size, f"forecasts, sample {i}"))
            for i, sample in enumerate(samples)
        ]
    )
    return distances if per == "sample" else float(distances.mean())


def frechet_distance(x: Any, y: Any) -> float:
    """The Fréchet distance of the normal distributions with the means and covariances of two sets of vectors.

    ‖μ_x − μ_y‖² + tr(Σ_x + Σ_y − 2 (Σ_x Σ_y)^½), the square of their 2-Wasserstein distance (Dowson and Landau, 1982).
    With Σ = RᵀR the last trace is the sum of the singular values of R_x R_yᵀ. This avoids a matrix square root, so
    singular covariances, from fewer vectors than dimensions, are no special case.

    Parameters
    ----------
    x : array (n, size)
        Two vectors or more.
    y : array (m, size)

    Examples
    --------
    >>> frechet_distance([[0.0], [2.0]], [[1.0], [7.0]])  # means 1 and 4, deviations √2 and √18
    17.0
    """
    sides = [_validate_vectors(side, name) for side, name in ((x, "x"), (y, "y"))]
    if sides[0].shape[1] != sides[1].shape[1]:
        raise ValueError(
            f"x has vectors of {sides[0].shape[1]} numbers and y of {sides[1].shape[1]}: expected the same"
        )
    means = [side.mean(axis=0) for side in sides]
    roots = [_covariance_root(side - mean) for side, mean in zip(sides, means, strict=True)]
    shared = np.linalg.svd(roots[0] @ roots[1].T, compute_uv=False).sum()
    mean_gap = float(((means[0] - means[1]) ** 2).sum())
    spread = float((roots[0] ** 2).sum() + (roots[1] ** 2).sum() - 2 * shared)
    return mean_gap + max(spread, 0.0)  # for equal sets rounding may make it negative


def _covariance_root(centred: Numbers) -> Numbers:
    """R with RᵀR the covariance, with as few rows as possible."""
    return np.asarray(np.linalg.qr(centred / np.sqrt(len(centred) - 1), mode="r"))


def _validate_vectors(value: Any, name: str) -> Numbers:
    array = validate_array(value, name).astype(np.float64)
    if array.ndim != 2 or len(array) < 2 or not array.shape[1]:
        raise ValueError(f"{name} has shape {array.shape}: expected (n, size), two vectors or more")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}[{int(np.nonzero(~np.isfinite(array))[0][0])}] is not finite: expected numbers")
    return array


def _with_sample_axis(forecasts: Any, truth: Numbers) -> NDArray[Any]:
    """The forecasts with a leading axis of samples, added for a single forecast."""
    array = as_forecast_array(getattr(forecasts, "samples", forecasts), "forecasts")
    return array[None] if array.shape == truth.shape else array


def _extract_features(features: Callable[..., Any], videos: NDArray[Any], size: int, name: str) -> Numbers:
    """The features of all videos, computed in batches."""
    if len(videos) < 2:
        raise ValueError("truth has one video: a distribution needs two or more, and FVD means something from hundreds")
    call = _wrap_module(features) if hasattr(features, "modules") and hasattr(features, "eval") else features
    batches = []
    for begin in range(0, len(videos), size):
        batch = np.ascontiguousarray(videos[begin : begin + size], np.float32)
        array = validate_array(call(batch), "what features gave")
        if array.ndim != 2 or len(array) != len(batch):
            raise ValueError(
                f"features gave the shape {array.shape} for {len(batch)} videos: expected ({len(batch)}, size)"
            )
        batches.append(array.astype(np.float64))
        bad = ~np.isfinite(batches[-1])
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"features gave {batches[-1][row, column]:g} for video {begin + row} of {name}: expected finite numbers"
            )
    return np.concatenate(batches)


def _wrap_module(network: Any) -> Callable[[NDArray[Any]], Any]:
    """Wrap a torch module as a function of arrays."""
    import torch

    def call(batch: NDArray[Any]) -> Any:
        device = next((parameter.device for parameter in network.parameters()), None)
        modes = [(part, part.training) for part in network.modules()]  # some may be frozen in evaluation
        network.eval()
        try:
            with torch.no_grad():
                return network(torch.from_numpy(batch).to(device))
        finally:
            for part, training in modes:
                part.training = training

    return call


class HorizonCurve(NamedTuple):
    """A score at every step with its bounds, each (step,)."""

    mean: Numbers
    low: Numbers
    high: Numbers


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HorizonScores:
    """Scores of several methods over a horizon: see `horizon_scores`.

    `item_scores` is {score: {method: (item, step)}}, `n_samples` the number of futures of each method, and
    `trained_horizon` the longest horizon in training, or None.
    """

    item_scores: dict[str, dict[str, Numbers]]
    n_samples: dict[str, int]
    trained_horizon: int | None
    confidence: float

    def per_step(self, score: str, method: str) -> HorizonCurve:
        """A score of a method at each step, with its interval over items."""
        intervals = [self._interval(column) for column in self._values(score, method).T]
        return HorizonCurve(*np.array([(each.mean, each.low, each.high) for each in intervals]).T)

    def mean_to_step(self, h: int | None = None) -> dict[str, dict[str, Interval]]:
        """The mean of each score over steps 1 to h (default: all), by score and method: "t+h" in many tables.

        Steps with missing truth are ignored, and so are items without any other step.
        """
        return {
            score: {
                method: self._interval(np.asarray(mean_to_step(values, values.shape[1] if h is None else h)))
                for method, values in methods.items()
            }
            for score, methods in self.item_scores.items()
        }

    def plot(self) -> Figure:
        """Plot a panel per score, with a line and its interval per method, and a mark at `trained_horizon`."""
        from ..plotting.forecasts import plot_horizons

        curves = {
            score: {method: self.per_step(score, method) for method in methods}
            for score, methods in self.item_scores.items()
        }
        return plot_horizons(curves, trained=self.trained_horizon)

    def __repr__(self) -> str:
        n_items, n_steps = next(iter(next(iter(self.item_scores.values())).values())).shape
        of = f"{', '.join(self.item_scores)} of {', '.join(self.n_samples)}"
        return f"HorizonScores({of}, {n_items} items, {n_steps} steps)"

    def __str__(self) -> str:
        means = self.mean_to_step()
        rows = [["", *self.item_scores]]
        for method, count in self.n_samples.items():
            name = method if count == 1 else f"{method} (of {count})"
            rows.append([name, *(str(means[score][method]) for score in self.item_scores)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([f"{self._describe_items()}, ± {100 * self.confidence:g} % interval", *lines])

    def _describe_items(self) -> str:
        """The number of items behind the means, those with truth at one step or more."""
        score_arrays = [values for methods in self.item_scores.values() for values in methods.values()]
        n_items, n_steps = score_arrays[0].shape
        counts = sorted({int((~np.isnan(values)).any(axis=1).sum()) for values in score_arrays})
        counted = "" if counts == [n_items] else f"{' to '.join(map(str, dict.fromkeys([counts[0], counts[-1]])))} of "
        masked = ", without masked steps" if any(np.isnan(values).any() for values in score_arrays) else ""
        return f"mean over t+1…t+{n_steps} of {counted}{n_items} items{masked}"

    def _values(self, score: str, method: str) -> Numbers:
        check_choice(score, "score", tuple(self.item_scores))
        check_choice(method, "method", tuple(self.n_samples))
        return self.item_scores[score][method]

    def _interval(self, values: NDArray[Any]) -> Interval:
        """The interval over items; nan if all are missing."""
        if np.isnan(values).all():
            return Interval(np.nan, np.nan, np.nan)
        return interval(values, confidence=self.confidence)


def horizon_scores(
    truth: Any,
    forecasts: Mapping[str, Any],
    scores: Scores = ("psnr", "ssim"),
    *,
    higher_is_better: Mapping[str, bool] | None = None,
    trained_horizon: int | None = None,
    confidence: float = 0.95,
) -> HorizonScores:
    """Scores of several methods at each step ahead, with intervals over items: a table, and curves over time.

    A method with several futures is scored by the best of them, chosen for each item by the mean of that score over all
    steps (see `best_of_n`); the table states their number. "crps" scores all futures together. Compare only methods
    with the same number of futures.

    Parameters
    ----------
    truth : array (item, step, *frame) or Sequences of one length
    forecasts : mapping
        Forecasts by the name of the method: a `Forecast`, an array (item, step, *frame), or samples (sample, item,
        step, *frame).
    scores : names or mapping
        Any of "mse", "mae", "psnr", "ssim", "crps"; or a mapping from names to functions, such as
        {"LPIPS": partial(lpips, weights=file)}.
    higher_is_better : mapping, optional
        Whether more is better, by the name of the score, such as {"blur": False}. Needed for your own scores if a
        method has several futures.
    trained_horizon : int, optional
        The number of steps ahead in training: the length of training sequences without the conditioning frames.
    confidence : float
        Level of the intervals, from Student's t over items, which must be independent.

    Examples
    --------
    >>> truth = np.zeros((3, 2))
    >>> answers = {"near": [[0.1, 0.2]] * 3, "far": [[1.0, 2.0], [1.0, 2.0], [1.0, 5.0]]}
    >>> table = horizon_scores(truth, answers, "mae")
    >>> table.per_step("mae", "far").mean
    array([1., 3.])
    >>> print(table)
    mean over t+1…t+2 of 3 items, ± 95 % interval
          mae
    near  0.15 ± 0
    far   2 ± 2.2
    """
    truth = validate_truth(truth)
    level = check_float(confidence, "confidence", above=0.0)
    if level >= 1:
        raise ValueError(f"confidence={confidence}: expected a number between 0 and 1, such as 0.95")
    if not isinstance(forecasts, Mapping) or not forecasts:
        what = "empty" if isinstance(forecasts, Mapping) else f"a {type(forecasts).__name__}"
        raise TypeError(f"forecasts is {what}: expected forecasts by name, such as {{'SRVP': forecast}}")
    samples_by_method = {
        str(name): _as_samples(forecast, truth, f"forecasts[{name!r}]") for name, forecast in forecasts.items()
    }
    score_functions = _resolve_scores(scores)
    has_samples = any(len(samples) > 1 for samples in samples_by_method.values())
    higher = _score_directions(score_functions, higher_is_better, has_samples=has_samples)
    return HorizonScores(
        item_scores={
            name: {
                method: _score_each(truth, samples, function, higher[name])
                for method, samples in samples_by_method.items()
            }
            for name, function in score_functions.items()
        },
        n_samples={name: len(samples) for name, samples in samples_by_method.items()},
        trained_horizon=None if trained_horizon is None else check_int(trained_horizon, "trained_horizon", 1),
        confidence=level,
    )


def _as_samples(forecast: Any, truth: Numbers, name: str) -> NDArray[Any]:
    """A forecast with an axis of samples; for a `Forecast` with one sample, its mean, which may differ from it."""
    samples = getattr(forecast, "samples", None)
    if samples is None:
        forecast = as_forecast_array(forecast, name)
    has_samples = forecast.ndim > truth.ndim if samples is None else len(samples) > 1
    return validate_samples(forecast, truth, name) if has_samples else validate_forecast(forecast, truth, name)[None]


def _resolve_scores(scores: Scores) -> dict[str, str | Callable[..., Any]]:
    if not isinstance(scores, str | Mapping | Iterable):
        raise TypeError(f"scores is a {type(scores).__name__}: expected names, such as ['psnr'], or functions by name")
    if isinstance(scores, Mapping) and scores:
        return dict(scores)
    names = (scores,) if isinstance(scores, str) else tuple(scores)
    if not names:
        raise ValueError("scores is empty: expected a name or more, such as ['psnr'], or functions by name")
    return {check_choice(name, "scores", ("mse", "mae", "psnr", "ssim", "crps")): name for name in names}


def _score_directions(
    score_functions: Mapping[str, str | Callable[..., Any]], requested: Mapping[str, bool] | None, *, has_samples: bool
) -> dict[str, bool]:
    """Whether more is better for each score; required only for methods with several futures (`has_samples`)."""
    if requested is not None and not isinstance(requested, Mapping):
        raise TypeError(
            f"higher_is_better is a {type(requested).__name__}: expected True or False by the name of a score, such as "
            "{'blur': False}"
        )
    directions = {
        check_choice(name, "higher_is_better", tuple(score_functions)): way for name, way in (requested or {}).items()
    }
    for name, score in score_functions.items():
        higher = resolve_higher_is_better(score, directions.get(name), f"higher_is_better[{name!r}]")
        if higher is None and has_samples and not _is_ensemble_score(score):
            raise ValueError(
                f"higher_is_better={requested!r}: say whether more is better for the score {name!r}, which chooses the "
                f"best of several futures, such as higher_is_better={{{name!r}: False}}"
            )
        directions[name] = higher is not False
    return directions


def _is_ensemble_score(score: str | Callable[..., Any]) -> bool:
    """Whether a score evaluates all futures together."""
    return score in ("crps", crps)


def _score_each(truth: Numbers, samples: NDArray[Any], score: str | Callable[..., Any], higher: bool) -> Numbers:
    """The scores of a method, (item, step)."""
    if _is_ensemble_score(score):
        return np.asarray(crps(truth, samples, per="each"))
    return np.asarray(best_of_n(truth, samples, score, higher_is_better=higher, per="each"))


def validate_truth(truth: Any, name: str = "truth") -> Numbers:
    """The truth as an array (item, step, *frame), from an array or sequences of one length; NaN where missing."""
    array = as_forecast_array(truth, name).astype(np.float64, copy=False)
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}: expected (item, step, *frame), at least one of each")
    if np.isinf(array).any():
        raise ValueError(
            f"{name} is infinite at {_describe_place(np.isinf(array))}: expected numbers, or NaN where masked"
        )
    return array


def validate_forecast(answer: Any, truth: Numbers, name: str = "forecast") -> Numbers:
    """A forecast, or the mean of a `Forecast`, in the shape of the truth, with a number wherever the truth has one."""
    array = _match_channel_axis(as_forecast_array(answer, name).astype(np.float64, copy=False), truth.shape)
    if array.shape != truth.shape:
        raise ValueError(
            f"{name} has shape {array.shape} and truth {truth.shape}: expected the same (item, step, *frame)"
        )
    _refuse_missing_forecast(array, truth, name)
    return array


def validate_samples(samples: Any, truth: Numbers, name: str = "samples") -> NDArray[Any]:
    """Several forecasts of the truth, (sample, item, step, *frame), in their own precision.

    A `Forecast` is recognised by its attribute `samples`: `forecast` imports this package, not the other way round.
    """
    array = validate_array(getattr(samples, "samples", samples), name)
    array = _match_channel_axis(array, truth.shape, lead=1)
    if array.shape[1:] != truth.shape or not len(array):
        raise ValueError(
            f"{name} has shape {array.shape} and truth {truth.shape}: expected (sample, item, step, *frame) with the "
            "same items, steps and frames; one forecast alone is forecast[None]"
        )
    for number, sample in enumerate(array):
        _refuse_missing_forecast(sample, truth, f"{name}[{number}]")
    return array


def as_forecast_array(value: Any, name: str) -> NDArray[Any]:
    """An array in its own precision: (item, step, *frame) for sequences, the mean for a `Forecast`."""
    if not isinstance(value, Sequences):
        return validate_array(value, name)
    if not value.has_equal_lengths:
        shortest, longest = int(value.lengths.min()), int(value.lengths.max())
        raise ValueError(
            f"{name} has sequences of {shortest} to {longest} steps: expected one length; {name}.crop(0, {shortest}) "
            "keeps the common steps, and the conditioning steps are excluded"
        )
    return value.values.reshape(len(value), -1, *value.frame)


def _match_channel_axis(array: NDArray[Any], shape: tuple[int, ...], lead: int = 0) -> NDArray[Any]:
    """Add or remove the channel axis of (item, step): sequences of numbers have one channel."""
    short, long = sorted((array.shape[lead:], shape), key=len)
    same = len(short) == 2 and long == (*short, 1)
    return array.reshape(*array.shape[:lead], *shape) if same else array


def _refuse_missing_forecast(answer: NDArray[Any], truth: Numbers, name: str) -> None:
    lacks = ~np.isfinite(answer) & ~np.isnan(truth)
    if lacks.any():
        value = answer[lacks][0]
        raise ValueError(
            f"{name} is {value} at {_describe_place(lacks)}, where truth has a number: expected a number there"
        )


def _describe_place(bad: NDArray[np.bool_]) -> str:
    item, step, *cell = np.argwhere(bad)[0].tolist()
    where = f", cell {tuple(cell)}" if cell else ""
    return f"item {item}, step {step + 1}{where}"


def mean_over_cells(values: Numbers) -> Numbers:
    """The mean over the cells of each frame that are not NaN, (item, step); NaN for a frame without any."""
    flat = values.reshape(*values.shape[:2], -1)
    return _nan_mean(flat, 2) if np.isnan(flat).any() else np.asarray(flat.mean(axis=2))


def summarize_scores(each: Numbers, per: str) -> Score:
    """The mean of scores (item, step) per step, per item or over all; NaN scores are ignored."""
    check_choice(per, "per", tuple(MEAN_AXES))
    if np.isnan(each).all():
        raise ValueError("truth has no number: every cell is NaN, so there is nothing to score")
    axes = MEAN_AXES[per]
    if not axes:
        return each
    means = _nan_mean(each, axes)
    return float(means) if per == "all" else means


def _nan_mean(values: Numbers, axes: int | tuple[int, ...]) -> Numbers:
    """The mean over the numbers that are not NaN; NaN if there are none."""
    counted = ~np.isnan(values)
    counts = counted.sum(axis=axes)
    sums = np.where(counted, values, 0.0).sum(axis=axes)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))
