"""Warnings about what `fit` is given and is seldom meant: channels last, unlike frame rates, options without effect."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..core.warnings import find_stack_level
from ..sequences import Sequences
from .time_grid import step_durations
from .validation import describe_item

_IMAGE_CHANNELS = (1, 3, 4)  # grey, three colours, and these with a mask
_MIN_IMAGE_SIDE = 8  # rows and columns from which on frames look like pictures
_EVEN_FACTOR = 1.1  # by which factor most steps of a clip may differ, as times in whole milliseconds do
_RATE_FACTOR = 1.01  # by which factor frame rates may differ


def warn_of_channels_last(sequences: Sequences, who: str) -> None:
    """A warning of pictures (height, width, channel), which would be taken for many channels of narrow pictures."""
    frame = sequences.frame
    if (
        len(frame) != 3
        or frame[-1] not in _IMAGE_CHANNELS
        or min(frame[:2]) < _MIN_IMAGE_SIDE
        or sequences.channel_names is not None
    ):
        return
    warnings.warn(
        f"X has frames of shape {frame}, which {who} takes for {frame[0]} channels of {frame[1]} × {frame[2]} cells: "
        "pictures with the channel last are X.transpose(0, 1, 4, 2, 3) as an array, and Sequences([x.transpose(0, 3, "
        "1, 2) for x in X]) otherwise; fields that are so meant have channel_names",
        stacklevel=find_stack_level(),
    )


def warn_of_unused_options(model: Any, pictures: bool) -> None:
    """Warnings of options from which nothing comes, as they need others."""
    if model.patience is not None and model.validation == 0:
        warnings.warn(
            f"patience={model.patience} has nothing to wait for with validation=0: give validation=0.1, which holds "
            "some sequences out to judge by, or patience=None",
            stacklevel=find_stack_level(),
        )
    if model.skips and not pictures:
        warnings.warn(
            f"skips=True is about convolutions, and frames of shape {model.frame_} have the perceptron: use "
            "skips=False, or for images a codec such as codec='dcgan'",
            stacklevel=find_stack_level(),
        )


def find_unequal_rates(sequences: Sequences) -> tuple[tuple[int, float], tuple[int, float]] | None:
    """The sequences of the shortest and the longest steps, with their usual steps, if each has a frame rate of its own.

    That is, if steps within each are nearly even, and those of the one shorter than those of the other.

    >>> clips = Sequences([np.zeros(3), np.zeros(3)], times=[[0, 1, 2], [0, 2, 4]])
    >>> find_unequal_rates(clips)
    ((0, 1.0), (1, 2.0))
    >>> find_unequal_rates(clips[:1]) is None
    True
    """
    long = np.flatnonzero(sequences.lengths > 2)  # a single step does not tell whether others are like it
    if sequences.times is None or len(long) < 2:
        return None
    steps, lengths = step_durations(sequences), sequences.lengths - 1
    begins = np.append(0, np.cumsum(np.maximum(lengths, 0)))
    means = np.add.reduceat(steps, begins[long]) / lengths[long]  # the medians of two sequences are enough
    fast, slow = int(long[np.argmin(means)]), int(long[np.argmax(means)])
    usual = np.stack([np.quantile(steps[begins[item] : begins[item + 1]], [0.1, 0.5, 0.9]) for item in (fast, slow)])
    if (usual[:, 2] > _EVEN_FACTOR * usual[:, 0]).any() or usual[1, 0] <= _RATE_FACTOR * usual[0, 2]:
        return None
    return (fast, float(usual[0, 1])), (slow, float(usual[1, 1]))


def warn_of_unequal_rates(sequences: Sequences, who: str) -> bool:
    """A warning of clips whose frame rates differ, to a method that counts steps; whether there was one."""
    found = find_unequal_rates(sequences)
    if found is None:
        return False
    (fast, short), (slow, long) = found
    warnings.warn(
        f"X has timestamps {short:.4g} apart in {describe_item(sequences, fast)} and {long:.4g} apart in "
        f"{describe_item(sequences, slow)}, and to {who} a step is a step: resample(rate={1 / long:.4g}) makes them "
        "alike, "
        "and so does tl.load(…, every=…) of those with more frames, before tl.concat",
        stacklevel=find_stack_level(),
    )
    return True
