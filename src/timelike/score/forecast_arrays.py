"""Arrays, sequences and forecasts for scores: input validation, and means per step, per item or of all."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice
from ..core.validation.arrays import validate_array
from ..sequences import Sequences

Per = Literal["all", "step", "item", "each"]
"""One number of all, one for each step of the horizon, for each item, or for each item and step."""

Numbers = NDArray[np.float64]
Score = float | Numbers
MEAN_AXES: dict[str, tuple[int, ...]] = {"all": (0, 1), "step": (0,), "item": (1,), "each": ()}


def validate_truth(truth: Any, name: str = "truth") -> Numbers:
    """What really came, (item, step, *frame), or sequences of one length; NaN where it is not known."""
    array = as_forecast_array(truth, name).astype(np.float64, copy=False)
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}: expected (item, step, *frame), at least one of each")
    if np.isinf(array).any():
        raise ValueError(
            f"{name} is infinite at {_describe_place(np.isinf(array))}: expected numbers, or NaN where masked"
        )
    return array


def validate_forecast(answer: Any, truth: Numbers, name: str = "forecast") -> Numbers:
    """A forecast of the truth, of its shape, with a number wherever the truth has one; of a `Forecast` its mean."""
    array = _match_channel_axis(as_forecast_array(answer, name).astype(np.float64, copy=False), truth.shape)
    if array.shape != truth.shape:
        raise ValueError(
            f"{name} has shape {array.shape} and truth {truth.shape}: expected the same (item, step, *frame)"
        )
    _refuse_missing_forecast(array, truth, name)
    return array


def validate_samples(samples: Any, truth: Numbers, name: str = "samples") -> NDArray[Any]:
    """Several forecasts of the truth, (sample, item, step, *frame), in the precision that they came in.

    Of a `Forecast` its samples, recognised by their name: `forecast` imports this package, not the other way round.
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
    """Numbers as they came, of sequences (item, step, *frame), of a `Forecast` its mean."""
    if not isinstance(value, Sequences):
        return validate_array(value, name)
    if not value.has_equal_lengths:
        shortest, longest = int(value.lengths.min()), int(value.lengths.max())
        raise ValueError(
            f"{name} has sequences of {shortest} to {longest} steps: expected one length; {name}.crop(0, {shortest}) "
            "keeps what all have, and the conditioning steps are excluded"
        )
    return value.values.reshape(len(value), -1, *value.frame)


def _match_channel_axis(array: NDArray[Any], shape: tuple[int, ...], lead: int = 0) -> NDArray[Any]:
    """Numbers (item, step) and frames of one channel (item, step, 1) are the same: sequences have the second."""
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
    item, step, *cell = (int(found[0]) for found in np.nonzero(bad))
    where = f", cell {tuple(cell)}" if cell else ""
    return f"item {item}, step {step + 1}{where}"


def mean_over_cells(values: Numbers) -> Numbers:
    """The mean over the cells of every frame that are not NaN, (item, step); NaN of a frame that has none."""
    flat = values.reshape(*values.shape[:2], -1)
    return _nan_mean(flat, 2) if np.isnan(flat).any() else np.asarray(flat.mean(axis=2))


def summarize_scores(each: Numbers, per: str) -> Score:
    """The mean of scores (item, step) per step, per item or of all; where there is no score, nothing counts."""
    check_choice(per, "per", tuple(MEAN_AXES))
    if np.isnan(each).all():
        raise ValueError("truth has no number: every cell is NaN, and nothing can be judged")
    axes = MEAN_AXES[per]
    if not axes:
        return each
    found = _nan_mean(each, axes)
    return float(found) if per == "all" else found


def _nan_mean(values: Numbers, axes: int | tuple[int, ...]) -> Numbers:
    """The mean of what is not NaN; NaN where all is."""
    counted = ~np.isnan(values)
    counts = counted.sum(axis=axes)
    sums = np.where(counted, values, 0.0).sum(axis=axes)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def at_step(scores: Any, h: int) -> Score:
    """The score at the step h alone, of scores (step,) or (item, step); the first step is 1.

    In the tables of many papers "t+h" is not this but the mean over t+1…t+h, see `mean_to_step`.

    >>> at_step([1.0, 2.0, 6.0], 3)
    6.0
    """
    array, position = _validate_step(scores, h)
    found = array[..., position - 1]
    return float(found) if found.ndim == 0 else found


def mean_to_step(scores: Any, h: int) -> Score:
    """The mean of the scores at the steps 1 to h, of scores (step,) or (item, step): what tables call "t+h".

    A step that is NaN, for its truth is not known, does not count; where none counts the mean is NaN.

    >>> mean_to_step([1.0, 2.0, 6.0], 3)
    3.0
    """
    array, position = _validate_step(scores, h)
    found = _nan_mean(array[..., :position], -1)
    return float(found) if found.ndim == 0 else found


def _validate_step(scores: Any, h: int) -> tuple[Numbers, int]:
    from ..core.parameters import check_int

    array = validate_array(scores, "scores").astype(np.float64, copy=False)
    if array.ndim < 1:
        raise ValueError('scores is one number: expected one for each step, such as per="step" gives')
    if check_int(h, "h", 1) > array.shape[-1]:
        raise ValueError(f"h={h}: the scores are of {array.shape[-1]} steps")
    return array, int(h)
