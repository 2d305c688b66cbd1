"""How far two sets of videos are apart as distributions: Fréchet distances of their features, FVD."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice, check_int
from ..core.validation.arrays import validate_array
from .forecast_arrays import Numbers, Score, as_forecast_array, validate_samples, validate_truth


def fvd(
    truth: Any,
    forecasts: Any,
    *,
    features: Callable[..., Any] | None = None,
    batch_size: int = 16,
    per: Literal["all", "sample"] = "all",
) -> Score:
    """The Fréchet distance of forecast videos to true ones, FVD: 0 for equal sets, less is better.

    ‖μ − μ̂‖² + tr(Σ + Σ̂ − 2 (Σ Σ̂)^½) of the features of all videos (Unterthiner, van Steenkiste, Kurach, Marinier,
    Michalski and Gelly, "Towards accurate generative models of video", 2018). It compares sets, not pairs: a video need
    not be near its own truth, but all together must look as the true ones do. It is too high with few videos, so
    compare numbers of equally many only, and of hundreds. Each sample is a set of its own, and the answer the mean of
    their distances.

    Parameters
    ----------
    truth : array (item, step, *frame) or Sequences of one length
        Two videos or more. The conditioning steps are excluded: put them in front of both where a table does.
    forecasts : array (item, step, *frame), or of several samples (sample, item, step, *frame), or Forecast
    features : callable
        Videos (n, step, *frame) → (n, size), in the values that you gave. A torch module gets a tensor, and is called
        without gradients and as in evaluation; any other function gets a NumPy array of float32. Published numbers
        are of the logits of an I3D network trained on Kinetics-400, whose weights you need to have.
    batch_size : int
        How many videos are looked at together.
    per : {"all", "sample"}
        The mean over samples, or a number for each, of which `interval` makes one with its ±.

    Examples
    --------
    >>> means = lambda videos: videos.mean(axis=(1, 2))[:, None]  # in the place of a network
    >>> fvd([[[0.0]], [[2.0]]], [[[1.0]], [[3.0]]], features=means)
    1.0
    """
    check_choice(per, "per", ("all", "sample"))
    known = validate_truth(truth)
    if features is None:
        raise ValueError(
            "features=None: FVD compares what a trained network sees in videos, and its weights are not part of this "
            "library, which downloads nothing. Give features=network, a callable from videos (n, step, channel, "
            "height, width) to (n, size), such as an I3D network trained on Kinetics-400 whose weights you loaded "
            "from a .safetensors file. psnr, ssim and crps need no weights"
        )
    if not callable(features):
        raise TypeError(f"features is a {type(features).__name__}: expected a callable, videos → (n, size)")
    if np.isnan(known).any():
        raise ValueError("truth is masked in places, and a network sees whole videos: fill the cells first")
    drawn = validate_samples(_with_sample_axis(forecasts, known), known, "forecasts")
    size = check_int(batch_size, "batch_size", 1)
    real = _extract_features(features, known, size, "truth")
    seen = (_extract_features(features, sample, size, f"forecasts, sample {i}") for i, sample in enumerate(drawn))
    found = np.array([frechet_distance(real, one) for one in seen])
    return found if per == "sample" else float(found.mean())


def frechet_distance(x: Any, y: Any) -> float:
    """The Fréchet distance of the normal distributions with the means and covariances of two sets of vectors.

    ‖μ_x − μ_y‖² + tr(Σ_x + Σ_y − 2 (Σ_x Σ_y)^½), which is the square of their 2-Wasserstein distance (Dowson and
    Landau, 1982). With Σ = RᵀR the last trace is the sum of the singular values of R_x R_yᵀ: no root of a matrix is
    taken, so covariances of fewer vectors than they have rows, which have no inverse, are no special case.

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
    apart = float(((means[0] - means[1]) ** 2).sum())
    spread = float((roots[0] ** 2).sum() + (roots[1] ** 2).sum() - 2 * shared)
    return apart + max(spread, 0.0)  # of equal sets it is a rounding error, on either side of 0


def _covariance_root(centred: Numbers) -> Numbers:
    """R with RᵀR the covariance, of no more rows than it needs."""
    return np.asarray(np.linalg.qr(centred / np.sqrt(len(centred) - 1), mode="r"))


def _validate_vectors(value: Any, name: str) -> Numbers:
    array = validate_array(value, name).astype(np.float64)
    if array.ndim != 2 or len(array) < 2 or not array.shape[1]:
        raise ValueError(f"{name} has shape {array.shape}: expected (n, size), two vectors or more")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}[{int(np.nonzero(~np.isfinite(array))[0][0])}] is not finite: expected numbers")
    return array


def _with_sample_axis(forecasts: Any, truth: Numbers) -> NDArray[Any]:
    """With an axis of samples, also of one forecast alone."""
    array = as_forecast_array(getattr(forecasts, "samples", forecasts), "forecasts")
    return array[None] if array.shape == truth.shape else array


def _extract_features(features: Callable[..., Any], videos: NDArray[Any], size: int, name: str) -> Numbers:
    """The features of all videos, some at a time."""
    if len(videos) < 2:
        raise ValueError("truth has one video: a distribution needs two or more, and FVD means something from hundreds")
    call = _wrap_module(features) if hasattr(features, "modules") and hasattr(features, "eval") else features
    found = []
    for begin in range(0, len(videos), size):
        batch = np.ascontiguousarray(videos[begin : begin + size], np.float32)
        array = validate_array(call(batch), "what features gave")
        if array.ndim != 2 or len(array) != len(batch):
            raise ValueError(
                f"features gave the shape {array.shape} for {len(batch)} videos: expected ({len(batch)}, size)"
            )
        found.append(array.astype(np.float64))
        bad = ~np.isfinite(found[-1])
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"features gave {found[-1][row, column]:g} for video {begin + row} of {name}: expected finite numbers"
            )
    return np.concatenate(found)


def _wrap_module(network: Any) -> Callable[[NDArray[Any]], Any]:
    """A torch module as a function of arrays."""
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
