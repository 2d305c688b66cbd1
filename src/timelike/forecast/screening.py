"""Frames of forecasts as pictures to be shown: from 0 to 1, of one channel or three, the best and the worst sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..score import best_first
from ..sequences.arguments import real
from .result import Forecast, checked_position, truth_of

_SAMPLES = 3  # rows of samples where nothing says which is the best
_ROUNDING = 0.01  # by how much of the range pictures may be beyond it

Judge = tuple[str | Callable[..., Any], bool | None]
"""A score, and whether more is better."""


def rows_of(
    forecast: Forecast,
    item: int,
    truth: Any,
    judge: Judge,
    beside: Mapping[str, Forecast],
    value_range: float,
    channel: int | None,
) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
    """Pictures by the name of their row, (frame, channel, height, width) from 0 to 1, and those of the past."""
    past = pictures(forecast.past[item], value_range, channel, "the past")
    known = None if truth is None else _known(forecast, item, truth, value_range, channel)
    rows = {} if known is None else {"truth": known}
    rows |= _chosen(_samples(forecast, item, value_range, channel), known, judge, forecast.frames_per_step)
    for name, other in _others(beside).items():
        if other.samples.shape[1:] != forecast.samples.shape[1:]:
            came, expected = other.samples.shape[1:], forecast.samples.shape[1:]
            raise ValueError(f"beside[{name!r}] has futures of shape {came}: expected {expected}, of the same pasts")
        samples = _samples(other, item, value_range, channel)
        best = _order(samples, known, judge, forecast.frames_per_step)[0] if known is not None else 0
        rows[name] = samples[best]
    return rows, past


def _others(beside: Any) -> Mapping[str, Forecast]:
    way = "expected forecasts by name, as predict gives them, such as {'Persistence': forecast}"
    if not isinstance(beside, Mapping):
        raise TypeError(f"beside is a {type(beside).__name__}: {way}")
    for name, other in beside.items():
        if not isinstance(other, Forecast):
            raise TypeError(f"beside[{name!r}] is a {type(other).__name__}: {way}")
    return beside


def pictures(frames: NDArray[Any], value_range: float, channel: int | None, name: str) -> NDArray[np.float64]:
    """Frames of pictures from 0 to 1; fields of other numbers are refused."""
    span = real(value_range, "value_range", above=0.0)
    array = shown_channels(np.asarray(frames, np.float64), channel) / span
    low, high = np.nanmin(array, initial=0.0), np.nanmax(array, initial=0.0)
    if low < -_ROUNDING or high > 1 + _ROUNDING:
        raise ValueError(
            f"{name} has numbers from {low * span:g} to {high * span:g}: expected pictures from 0 to "
            f"value_range={value_range:g}; give value_range=255 for bytes; the plot() of a Forecast draws fields"
        )
    return array


def cut_off(frames: NDArray[Any], value_range: float, channel: int | None) -> NDArray[np.float64]:
    """What a model says as pictures from 0 to 1, cut off there: a network may miss the range by a little."""
    span = real(value_range, "value_range", above=0.0)
    return np.clip(shown_channels(np.asarray(frames, np.float64) / span, channel), 0.0, 1.0)


def shown_channels(frames: NDArray[Any], channel: int | None) -> NDArray[Any]:
    """One channel or three, of frames (frame, channel, height, width)."""
    n_channels = frames.shape[1] if frames.ndim == 4 else 0
    if not n_channels:
        raise ValueError(
            f"frames have shape {frames.shape[1:]}: expected pictures (channel, height, width); the plot() of a "
            "Forecast draws others"
        )
    if channel is not None:
        return frames[:, [checked_position(channel, "channel", n_channels, "channel")]]
    if n_channels not in (1, 3):
        raise ValueError(f"frames have {n_channels} channels, neither grey nor three colours: say which, channel=0")
    return frames


def _known(forecast: Forecast, item: int, truth: Any, value_range: float, channel: int | None) -> NDArray[Any]:
    """What really came, at all frames or at whole steps."""
    n_frames, *frame = forecast.samples.shape[2:]
    found = truth_of(truth, item, len(forecast), tuple(frame))
    whole_steps = n_frames // forecast.frames_per_step
    if found.shape[1:] != tuple(frame) or len(found) not in (n_frames, whole_steps):
        lengths = f"{n_frames}" if n_frames == whole_steps else f"{n_frames} or, at whole steps, {whole_steps}"
        raise ValueError(f"truth has shape {found.shape}: expected {lengths} frames of shape {tuple(frame)}")
    return pictures(found, value_range, channel, "truth")


def _samples(forecast: Forecast, item: int, value_range: float, channel: int | None) -> NDArray[Any]:
    """All futures of an item."""
    one = forecast.mean[None, item] if len(forecast.samples) == 1 else forecast.samples[:, item]
    return np.stack([cut_off(sample, value_range, channel) for sample in one])


def _chosen(samples: NDArray[Any], known: NDArray[Any] | None, judge: Judge, between: int) -> dict[str, NDArray[Any]]:
    if len(samples) == 1:
        return {"forecast": samples[0]}
    if known is None:
        return {f"sample {i + 1}": sample for i, sample in enumerate(samples[:_SAMPLES])}
    order = _order(samples, known, judge, between)
    return {f"best of {len(samples)}": samples[order[0]], f"worst of {len(samples)}": samples[order[-1]]}


def _order(samples: NDArray[Any], known: NDArray[Any], judge: Judge, between: int) -> NDArray[np.int64]:
    """Samples from the best to the worst, by frames of which the truth is known."""
    if len(samples) == 1:
        return np.zeros(1, np.int64)
    there = samples if len(known) == samples.shape[1] else samples[:, between - 1 :: between]
    return best_first(known[None], there[:, None], judge[0], higher=judge[1])[:, 0]
