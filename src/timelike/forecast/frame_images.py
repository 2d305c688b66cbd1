"""Frames of forecasts as images in [0, 1] with one or three channels, and the best and worst samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_float
from ..score import rank_samples
from .result import Forecast, check_position, item_truth

_MAX_SAMPLES = 3  # rows of samples without a truth to rank them by
_RANGE_TOLERANCE = 0.01  # fraction of the range by which images may exceed it

RankingScore = tuple[str | Callable[..., Any], bool | None]
"""A score, and whether more is better."""


def image_rows(
    forecast: Forecast,
    item: int,
    truth: Any,
    judge: RankingScore,
    others: Mapping[str, Forecast],
    value_range: float,
    channel: int | None,
) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
    """Images by row name, (frame, channel, height, width) in [0, 1], and the images of the past."""
    past = to_images(forecast.past[item], value_range, channel, "the past")
    truth_images = None if truth is None else _truth_images(forecast, item, truth, value_range, channel)
    rows = {} if truth_images is None else {"truth": truth_images}
    rows |= _choose_samples(
        _sample_images(forecast, item, value_range, channel), truth_images, judge, forecast.frames_per_step
    )
    for name, other in _validate_others(others).items():
        if other.samples.shape[1:] != forecast.samples.shape[1:]:
            shape, expected = other.samples.shape[1:], forecast.samples.shape[1:]
            raise ValueError(f"others[{name!r}] has futures of shape {shape}: expected {expected}, of the same pasts")
        samples = _sample_images(other, item, value_range, channel)
        best = (
            _rank_images(samples, truth_images, judge, forecast.frames_per_step)[0] if truth_images is not None else 0
        )
        rows[name] = samples[best]
    return rows, past


def _validate_others(others: Any) -> Mapping[str, Forecast]:
    expectation = "expected forecasts by name, as returned by predict, such as {'Persistence': forecast}"
    if not isinstance(others, Mapping):
        raise TypeError(f"others is a {type(others).__name__}: {expectation}")
    for name, other in others.items():
        if not isinstance(other, Forecast):
            raise TypeError(f"others[{name!r}] is a {type(other).__name__}: {expectation}")
    return others


def to_images(frames: NDArray[Any], value_range: float, channel: int | None, name: str) -> NDArray[np.float64]:
    """Frames as images in [0, 1]; raises an error for values outside the range."""
    span = check_float(value_range, "value_range", above=0.0)
    array = select_image_channels(np.asarray(frames, np.float64), channel) / span
    low, high = np.nanmin(array, initial=0.0), np.nanmax(array, initial=0.0)
    if low < -_RANGE_TOLERANCE or high > 1 + _RANGE_TOLERANCE:
        raise ValueError(
            f"{name} has numbers from {low * span:g} to {high * span:g}: expected pictures from 0 to "
            f"value_range={value_range:g}; give value_range=255 for bytes; the plot() of a Forecast draws fields"
        )
    return array


def clip_to_images(frames: NDArray[Any], value_range: float, channel: int | None) -> NDArray[np.float64]:
    """Forecast frames as images, clipped to [0, 1] because a network may slightly exceed the range."""
    span = check_float(value_range, "value_range", above=0.0)
    return np.clip(select_image_channels(np.asarray(frames, np.float64) / span, channel), 0.0, 1.0)


def select_image_channels(frames: NDArray[Any], channel: int | None) -> NDArray[Any]:
    """One or three channels of frames (frame, channel, height, width)."""
    n_channels = frames.shape[1] if frames.ndim == 4 else 0
    if not n_channels:
        raise ValueError(
            f"frames have shape {frames.shape[1:]}: expected pictures (channel, height, width); the plot() of a "
            "Forecast draws others"
        )
    if channel is not None:
        return frames[:, [check_position(channel, "channel", n_channels, "channel")]]
    if n_channels not in (1, 3):
        raise ValueError(f"frames have {n_channels} channels: expected 1 (grey) or 3 (RGB); choose one: channel=0")
    return frames


def _truth_images(forecast: Forecast, item: int, truth: Any, value_range: float, channel: int | None) -> NDArray[Any]:
    """The true images, at all frames or at whole steps."""
    n_frames, *frame = forecast.samples.shape[2:]
    frames = item_truth(truth, item, len(forecast), tuple(frame))
    whole_steps = n_frames // forecast.frames_per_step
    if frames.shape[1:] != tuple(frame) or len(frames) not in (n_frames, whole_steps):
        lengths = f"{n_frames}" if n_frames == whole_steps else f"{n_frames} or, at whole steps, {whole_steps}"
        raise ValueError(f"truth has shape {frames.shape}: expected {lengths} frames of shape {tuple(frame)}")
    return to_images(frames, value_range, channel, "truth")


def _sample_images(forecast: Forecast, item: int, value_range: float, channel: int | None) -> NDArray[Any]:
    """All futures of an item."""
    one = forecast.mean[None, item] if len(forecast.samples) == 1 else forecast.samples[:, item]
    return np.stack([clip_to_images(sample, value_range, channel) for sample in one])


def _choose_samples(
    samples: NDArray[Any], truth_images: NDArray[Any] | None, judge: RankingScore, between: int
) -> dict[str, NDArray[Any]]:
    if len(samples) == 1:
        return {"forecast": samples[0]}
    if truth_images is None:
        return {f"sample {i + 1}": sample for i, sample in enumerate(samples[:_MAX_SAMPLES])}
    order = _rank_images(samples, truth_images, judge, between)
    return {f"best of {len(samples)}": samples[order[0]], f"worst of {len(samples)}": samples[order[-1]]}


def _rank_images(
    samples: NDArray[Any], truth_images: NDArray[Any], judge: RankingScore, between: int
) -> NDArray[np.int64]:
    """Sample indices from best to worst, scored on the frames with a known truth."""
    if len(samples) == 1:
        return np.zeros(1, np.int64)
    samples_at_truth = samples if len(truth_images) == samples.shape[1] else samples[:, between - 1 :: between]
    return rank_samples(truth_images[None], samples_at_truth[:, None], judge[0], higher_is_better=judge[1])[:, 0]
