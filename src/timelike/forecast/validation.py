"""Input validation of forecasters: errors for unusable inputs, warnings about inputs that look like mistakes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import format_count, format_value
from ..core.warnings import find_stack_level
from ..sequences import Sequences
from ..sequences.moments import RESCALE_HINT
from ..sequences.validation import as_sequences, validate_estimator_input
from .cells import Cells, KnownChannels
from .windows import step_durations

_MAX_MAGNITUDE = 1e150  # larger values overflow when squared and summed
_MAX_BYTE = 255  # largest value of images in bytes
_N_SAMPLED_FRAMES = 64  # frames checked for whole numbers
_IMAGE_CHANNELS = (1, 3, 4)  # grey, RGB and RGBA
_MIN_IMAGE_SIDE = 8  # fewest rows and columns of frames that look like images
_EVEN_FACTOR = 1.1  # spread of step durations in a clip, as with timestamps in whole milliseconds
_RATE_FACTOR = 1.01  # factor by which frame rates may differ
_MAX_LISTED = 5  # sequences listed in a warning


def refuse_time_indexed_table(value: Any, name: str) -> None:
    """Raise an error for a table indexed by time: a row of a table is a sequence, not a time step."""
    if getattr(getattr(getattr(value, "index", None), "dtype", None), "kind", "") == "M":
        raise TypeError(
            f"{name} is a table whose rows are times: expected sequences; one series is Sequences([table.to_numpy()], "
            "times=[table.index], channel_names=table.columns), and Sequences.from_frame reads long tables"
        )


def refuse_single_steps(sequences: Sequences, value: Any, who: str, call: str) -> None:
    """Raise an error if all sequences have one step: there is no next step to learn from."""
    if sequences.lengths.max() == 1:
        shape = getattr(value, "shape", None)
        shape = (len(sequences), 1, *sequences.frame) if isinstance(value, Sequences) or not shape else tuple(shape)
        axes = "(item, time)" if len(shape) == 2 else "(item, time, channel)"
        raise ValueError(
            f"X has shape {shape} and is read as {axes}: {format_count(len(sequences), 'sequence')} of 1 time step "
            f"each, and {who} learns what follows a step; time is the second axis: one series x of shape (time,) or "
            f"(time, channel) is passed as {call} (scikit-learn's n_features = 1)"
        )


def describe_item(sequences: Sequences, item: int) -> str:
    """The name of a sequence in messages: its position, and its id if it has one.

    >>> describe_item(Sequences([[1.0], [2.0]], ids=["walk", "run"]), 1), describe_item(Sequences([[1.0]]), 0)
    ("sequence 1 ('run')", 'sequence 0')
    """
    return f"sequence {item}" + ("" if sequences.ids is None else f" ({format_value(sequences.ids[item].item())})")


def warn_of_short_sequences(sequences: Sequences, least: int, who: str) -> None:
    """Warn about sequences that are too short to learn from."""
    short = np.flatnonzero(sequences.lengths < least)
    if len(short):
        descriptions = [
            f"{describe_item(sequences, item)} has {sequences.lengths[item]}" for item in short[:_MAX_LISTED].tolist()
        ]
        descriptions += [f"{len(short) - _MAX_LISTED} others"] if len(short) > _MAX_LISTED else []
        warnings.warn(
            f"{len(short)} of {len(sequences)} sequences of X are ignored, because {who} needs at least {least} "
            f"time steps: {', '.join(descriptions)}; leave them out, or choose a smaller conditioning",
            stacklevel=find_stack_level(),
        )


def warn_of_byte_images(sequences: Sequences, who: str) -> None:
    """Warn about images of whole numbers up to 255, whose forecasts would not stay in that range."""
    frames = sequences.values
    peaks = np.fmax.reduce(frames.reshape(len(frames), -1), axis=1)  # ignores missing values
    least, most = np.fmin.reduce(frames, axis=None), np.fmax.reduce(peaks)
    if 1 < most <= _MAX_BYTE and least >= 0 and _has_whole_numbers(frames, np.flatnonzero(peaks == most)[0]):
        warnings.warn(
            f"X has images of whole numbers from {least:g} to {most:g}: {who} standardizes them, and forecasts may "
            f"lie outside that range; divide X by {_MAX_BYTE}, so that all values lie in [0, 1] and forecasts do too, "
            "or set output='linear' to silence this warning",
            stacklevel=find_stack_level(),
        )


def _has_whole_numbers(frames: NDArray[Any], brightest: np.intp) -> bool:
    """Whether evenly spaced frames and the brightest one hold whole numbers; the others may all be black."""
    some = np.linspace(0, len(frames) - 1, min(len(frames), _N_SAMPLED_FRAMES)).astype(np.intp)
    return not (np.mod(frames[np.append(some, brightest)], 1) > 0).any()


def refuse_huge(sequences: Sequences, name: str) -> None:
    """Raise an error for numbers whose squares overflow: every method squares values."""
    if sequences.dtype.kind == "f" and sequences.dtype.itemsize > 4 and len(sequences.values):
        largest = np.fmax(np.fmax.reduce(sequences.values, axis=None), -np.fmin.reduce(sequences.values, axis=None))
        if largest > _MAX_MAGNITUDE:
            raise ValueError(f"{name} has values as large as {largest:.3g}, whose squares overflow: {RESCALE_HINT}")


def sample_source(source: Any, rng: np.random.Generator) -> Sequences:
    """Call a source and check that it returns Sequences."""
    sequences = source(rng)
    if not isinstance(sequences, Sequences):
        raise TypeError(f"the source X returned a {type(sequences).__name__}: expected Sequences")
    return sequences


def validate_known(
    known_covariates: Any, cells: Cells, channels: KnownChannels, past: Sequences, horizon: int, who: str
) -> NDArray[np.float64] | None:
    """Validate the known channels over the horizon, (item, horizon, channel)."""
    count = len(cells.known_channels)
    if count == 0:
        if known_covariates is not None:
            raise ValueError(
                f"known_covariates is given, but this {who} was fitted without known_channels: leave it out"
            )
        return None
    if known_covariates is None:
        raise ValueError(
            f"known_covariates=None: this {who} was fitted with known_channels={list(channels or ())!r}; give their "
            f"values over the horizon, (item, {horizon}, {count})"
        )
    ahead = (
        known_covariates
        if isinstance(known_covariates, Sequences)
        else as_sequences(validate_estimator_input(known_covariates), "known_covariates")
    )
    ahead.refuse_missing(who, "known_covariates")
    if ahead.frame != (count,) or len(ahead) != len(past) or ahead.lengths.min() < horizon:
        raise ValueError(
            f"known_covariates has {len(ahead)} sequences of {ahead.lengths.min()} steps and frames {ahead.frame}: "
            f"expected {len(past)} of at least {horizon} steps and frames ({count},)"
        )
    return np.stack([one[:horizon] for one in ahead]).astype(np.float64)


def warn_of_channels_last(sequences: Sequences, who: str) -> None:
    """Warn about images (height, width, channel), which are read as many channels of narrow images."""
    frame = sequences.frame
    if (
        len(frame) != 3
        or frame[-1] not in _IMAGE_CHANNELS
        or min(frame[:2]) < _MIN_IMAGE_SIDE
        or sequences.channel_names is not None
    ):
        return
    warnings.warn(
        f"X has frames of shape {frame}, which {who} reads as {frame[0]} channels of {frame[1]} × {frame[2]} cells: "
        "convert images with the channel last by X.transpose(0, 1, 4, 2, 3), or Sequences([x.transpose(0, 3, 1, 2) "
        "for x in X]) if X is not an array; for fields, set channel_names to silence this warning",
        stacklevel=find_stack_level(),
    )


def find_unequal_rates(sequences: Sequences) -> tuple[tuple[int, float], tuple[int, float]] | None:
    """The sequences with the shortest and longest steps, and their median steps, if frame rates differ.

    Frame rates differ if steps are nearly even within each of the two sequences but not between them.

    >>> clips = Sequences([np.zeros(3), np.zeros(3)], times=[[0, 1, 2], [0, 2, 4]])
    >>> find_unequal_rates(clips)
    ((0, 1.0), (1, 2.0))
    >>> find_unequal_rates(clips[:1]) is None
    True
    """
    long = np.flatnonzero(sequences.lengths > 2)  # a single step cannot show whether steps are even
    if sequences.times is None or len(long) < 2:
        return None
    steps, lengths = step_durations(sequences), sequences.lengths - 1
    begins = np.append(0, np.cumsum(np.maximum(lengths, 0)))
    means = np.add.reduceat(steps, begins[long]) / lengths[long]  # medians are needed of two sequences only
    fast, slow = int(long[np.argmin(means)]), int(long[np.argmax(means)])
    usual = np.stack([np.quantile(steps[begins[item] : begins[item + 1]], [0.1, 0.5, 0.9]) for item in (fast, slow)])
    if (usual[:, 2] > _EVEN_FACTOR * usual[:, 0]).any() or usual[1, 0] <= _RATE_FACTOR * usual[0, 2]:
        return None
    return (fast, float(usual[0, 1])), (slow, float(usual[1, 1]))


def warn_of_unequal_rates(sequences: Sequences, who: str) -> bool:
    """Warn about clips with different frame rates if the method counts steps; return whether it warned."""
    rates = find_unequal_rates(sequences)
    if rates is None:
        return False
    (fast, short), (slow, long) = rates
    warnings.warn(
        f"X has timestamps {short:.4g} apart in {describe_item(sequences, fast)} and {long:.4g} apart in "
        f"{describe_item(sequences, slow)}, and {who} ignores the time between steps: call "
        f"resample(rate={1 / long:.4g}), or load the faster clips with tl.load(…, every=…) before tl.concat",
        stacklevel=find_stack_level(),
    )
    return True
