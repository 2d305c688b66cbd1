"""How near forecast pictures are to the true ones: PSNR and SSIM."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice, check_float, check_int
from ..core.warnings import find_stack_level
from .forecast_arrays import (
    Numbers,
    Per,
    Score,
    as_forecast_array,
    mean_over_cells,
    summarize_scores,
    validate_forecast,
    validate_truth,
)

_WINDOW, _DEVIATION = 11, 1.5  # of the Gaussian weights, as in the paper
_LUMINANCE, _CONTRAST = 0.01, 0.03  # K₁ and K₂ there
_MAX_RANGES = 1.5  # ranges that pictures may span at most: a little more is a matter of scaling, more another range


def psnr(truth: Any, forecast: Any, *, value_range: float = 1.0, maximum: float = 100.0, per: Per = "all") -> Score:
    """The peak signal-to-noise ratio of every frame, 10 · log₁₀(range² / mean squared error), in decibels.

    More is better. A frame without error would be infinite, and one of them would be the mean of all, so no frame has
    more than `maximum`. The mean is one of decibels, as papers on video give it, and not that of the mean error.

    Parameters
    ----------
    truth, forecast : array (item, step, *frame), Sequences of one length, or a Forecast
    value_range : float
        The largest value minus the smallest that there can be: 1 for pictures in [0, 1], 255 for bytes, which are
        refused in another.
    maximum : float
        What a frame without error has.

    Examples
    --------
    >>> psnr([[0.5, 0.5]], [[0.4, 0.5]], per="step").round(6)
    array([ 20., 100.])
    """
    span, cap = check_float(value_range, "value_range", above=0.0), check_float(maximum, "maximum")
    known = _validate_images(truth, span)
    errors = mean_over_cells((validate_forecast(forecast, known) - known) ** 2)
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
    """The structural similarity of pictures: 1 for equal ones, about 0 for unrelated ones.

    The mean over all places of a window with Gaussian weights (11 × 11, σ = 1.5) inside the picture, and over channels,
    of (2 μ_x μ_y + c₁)(2 σ_xy + c₂) / ((μ_x² + μ_y² + c₁)(σ_x² + σ_y² + c₂)), with c₁ = (0.01 · range)² and
    c₂ = (0.03 · range)² (Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to
    structural similarity", 2004). Masked cells have no weight, the others in the window share it, and no window has its
    middle there.

    Parameters
    ----------
    truth, forecast : array (item, step, *frame)
        Frames of (channel, height, width) or (height, width).
    value_range : float
        The largest value minus the smallest that there can be: 1 for pictures in [0, 1], 255 for bytes.
    window : int
        Odd. Of pictures that are smaller it is the largest that fits, and a warning says so: numbers of different
        windows are not to be compared.
    edges : {"inside", "mirror"}
        Windows inside the picture, as in the paper and in scikit-image; or also those that reach over its border, into
        a mirror image of it, as torchmetrics counts them: of pictures with little at their borders the second number
        is the higher one.

    Examples
    --------
    >>> picture = np.arange(144.0).reshape(1, 1, 12, 12) / 143
    >>> ssim(picture, picture), ssim(picture, 1 - picture) < 0
    (1.0, True)
    """
    span = check_float(value_range, "value_range", above=0.0)
    known = _validate_images(truth, span)
    answer = validate_forecast(forecast, known)
    if known.ndim < 4:
        raise ValueError(f"truth has frames of shape {known.shape[2:]}: expected pictures, (channel, height, width)")
    weights = _gaussian_weights(_fit_window(check_int(window, "window", 1), min(known.shape[-2:])))
    if check_choice(edges, "edges", ("inside", "mirror")) == "mirror":
        known, answer = (_mirror_edges(side, len(weights) // 2) for side in (known, answer))
    constants = (_LUMINANCE * span) ** 2, (_CONTRAST * span) ** 2
    each = np.stack(
        [
            mean_over_cells(_local_similarity(a[None], b[None], weights, *constants))[0]
            for a, b in zip(known, answer, strict=True)
        ]
    )
    return summarize_scores(each, per)


def _validate_images(truth: Any, span: float) -> Numbers:
    """What really came; bytes, and pictures that span far more than the range, are refused: scores would be wrong."""
    given = as_forecast_array(truth, "truth")
    known = validate_truth(given)
    low, high = float(np.fmin.reduce(known, axis=None)), float(np.fmax.reduce(known, axis=None))
    is_bytes = given.dtype == np.uint8
    if (is_bytes and high > span) or (known.ndim > 3 and high - low > _MAX_RANGES * span):
        what = "bytes" if is_bytes else "numbers"
        raise ValueError(
            f"truth has {what} from {low:g} to {high:g}: expected a range of value_range={span:g}; give "
            "value_range=255 for bytes, and for others the largest value minus the smallest that there can be"
        )
    return known


def _mirror_edges(values: Numbers, edge: int) -> Numbers:
    """With so many rows and columns more on every side, in which the picture is seen as in a mirror at its border."""
    return np.pad(values, [(0, 0)] * (values.ndim - 2) + [(edge, edge)] * 2, mode="reflect")


def _fit_window(window: int, side: int) -> int:
    if window % 2 == 0:
        raise ValueError(f"window={window}: expected an odd number, so that it has a middle")
    if window <= side:
        return window
    fits = side - 1 + side % 2
    warnings.warn(
        f"pictures with a side of {side} are smaller than the window of {window}: it is {fits} wide here; "
        f"ssim(…, window={fits}) takes the same for all pictures",
        stacklevel=find_stack_level(),
    )
    return fits


def _gaussian_weights(width: int) -> Numbers:
    places = np.arange(width) - width // 2
    found = np.exp(-(places**2) / (2 * _DEVIATION**2))
    return np.asarray(found / found.sum())


def _local_similarity(x: Numbers, y: Numbers, weights: Numbers, c1: float, c2: float) -> Numbers:
    """At every place of the window; NaN where its middle is masked."""
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
    # differences of nearly equal numbers can be a little below zero, where no variance is
    return np.asarray(luminance * (2 * both + c2) / (np.maximum(var_x, 0) + np.maximum(var_y, 0) + c2))


def _window_means(values: Numbers, weights: Numbers) -> Numbers:
    """Weighted means of all windows inside the picture, over the last two axes."""
    from scipy.ndimage import correlate1d

    rows = correlate1d(correlate1d(values, weights, axis=-1, mode="constant"), weights, axis=-2, mode="constant")
    return np.asarray(_window_centres(rows, len(weights)))


def _masked_window_means(values: Numbers, weights: Numbers, total: Numbers) -> Numbers:
    """The same, where masked cells have left their weight to the others."""
    return _window_means(values, weights) / total


def _window_centres(values: NDArray[Any], width: int) -> NDArray[Any]:
    """The places at which windows have their middle."""
    edge = width // 2
    return values[..., edge : values.shape[-2] - edge, edge : values.shape[-1] - edge]
