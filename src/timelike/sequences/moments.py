"""Mean and standard deviation of channels, and `ChannelScaler`, which standardizes other sequences with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.validation.arrays import locate_step

if TYPE_CHECKING:
    from .container import Sequences

RESCALE_HINT = "give them in another unit, or look for an outlier"
_LARGEST = float(np.sqrt(np.finfo(np.float64).max))  # what can be squared


def mean_and_deviation(
    values: NDArray[Any], lengths: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of every channel, in float64: (*frame), or (segment, *frame) with `lengths`.

    What is missing (NaN) does not count. Values are taken relative to the first of their segment and in two passes, so
    that a large offset does no harm and a constant deviates by exactly 0. Very large and very small ones are scaled by
    a power of two first, since their squares would overflow or vanish.

    >>> mean_and_deviation(np.array([[1.0], [3.0], [np.nan]]))
    (array([2.]), array([1.]))
    """
    each = np.array([len(values)]) if lengths is None else lengths
    starts = each.cumsum() - each
    numbers = values.astype(np.float64)
    absent, count = _count_present(numbers, each, starts)
    exponent = _exponent(numbers, starts)
    if exponent.any():
        numbers *= _repeat_per_step(np.exp2(-exponent), lengths)
    first = numbers[starts]
    numbers -= _repeat_per_step(first, lengths)
    if absent is not None:
        numbers[absent] = 0
    shift = np.add.reduceat(numbers, starts) / count
    numbers -= _repeat_per_step(shift, lengths)
    if absent is not None:
        numbers[absent] = 0
    deviation = np.sqrt(np.add.reduceat(np.square(numbers, out=numbers), starts) / count)
    mean, deviation = np.ldexp(first + shift, exponent), np.ldexp(deviation, exponent)
    return (mean[0], deviation[0]) if lengths is None else (mean, deviation)


def _repeat_per_step(moment: NDArray[Any], lengths: NDArray[np.int64] | None) -> NDArray[Any]:
    """The moment of its segment at every step; one for all is not repeated."""
    return moment if lengths is None else np.repeat(moment, lengths, axis=0)


def _count_present(
    values: NDArray[np.float64], lengths: NDArray[np.int64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.bool_] | None, NDArray[np.float64]]:
    """The mask of missing values, which become 0, and the number of others, at least 1, in every segment."""
    absent = np.isnan(values)
    if not absent.any():
        return None, lengths.astype(np.float64).reshape(-1, *[1] * (values.ndim - 1))
    values[absent] = 0
    return absent, np.maximum(np.add.reduceat(~absent, starts, dtype=np.float64), 1)


def _exponent(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """The power of two to divide by, 0 if squares neither overflow nor underflow."""
    peak = np.maximum(np.maximum.reduceat(values, starts), -np.minimum.reduceat(values, starts))
    return np.where((peak > 1e-100) & (peak < 1e100), 0, np.frexp(peak)[1].clip(-1000, 1000)).astype(np.int32)


class ChannelScaler(NamedTuple):
    """Mean and deviation, both of the shape of a frame."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def from_sequences(cls, sequences: Sequences) -> ChannelScaler:
        """Mean and deviation over all steps; a constant channel has scale 1.

        >>> import timelike as tl
        >>> ChannelScaler.from_sequences(tl.Sequences([[1.0, 3.0], [1.0, 3.0, 2.0]]))
        ChannelScaler(mean=array([2.]), scale=array([0.89442719]))
        """
        return cls._from_deviation(*mean_and_deviation(sequences.values))

    @classmethod
    def per_channel(cls, sequences: Sequences) -> ChannelScaler:
        """One mean and one deviation for all places of a channel: those at the border of images may never change.

        >>> import timelike as tl
        >>> ChannelScaler.per_channel(tl.Sequences(np.arange(8.0).reshape(1, 2, 1, 2, 2))).mean
        array([[[3.5, 3.5],
                [3.5, 3.5]]])
        """
        values, frame = sequences.values, sequences.frame
        places = np.moveaxis(values, 1, -1).reshape(-1, frame[0])
        of_channels = (moment.reshape(-1, *[1] * (len(frame) - 1)) for moment in mean_and_deviation(places))
        return cls._from_deviation(*(np.broadcast_to(moment, frame).copy() for moment in of_channels))

    @classmethod
    def _from_deviation(cls, mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> ChannelScaler:
        return cls(mean, np.where(deviation > 0, deviation, 1.0)).refuse_overflow()

    def refuse_overflow(self) -> ChannelScaler:
        """The same; raises an error if a standard deviation is too large to be squared in training."""
        if not (self.scale <= _LARGEST).all():
            raise ValueError(f"X has values so large that their squares overflow: {RESCALE_HINT}")
        return self

    @classmethod
    def identity(cls, frame: tuple[int, ...]) -> ChannelScaler:
        """The scaler that changes nothing."""
        return cls(np.zeros(frame), np.ones(frame))

    def refuse_too_large(self, sequences: Sequences | None, name: str) -> None:
        """Raise an error that names the argument if some value is too large."""
        if sequences is None:
            return
        ends = np.stack([sequences.values.min(0, initial=0), sequences.values.max(0, initial=0)])
        with np.errstate(over="ignore", invalid="ignore"):
            large = np.abs((ends - self.mean) / self.scale) > np.finfo(np.float32).max
        if large.any():
            self.transform(sequences, name)

    def transform(self, sequences: Sequences, name: str | None = None) -> Sequences:
        """Frames in float32, after the mean is gone: a large one would leave no digits for the rest.

        `name` is that of the argument they came as, for errors.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            values = ((sequences.values - self.mean) / self.scale).astype(np.float32)
        if len(values) and not (np.isfinite(values.min()) and np.isfinite(values.max())):
            finite = np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
            item, time = locate_step(int(np.flatnonzero(~finite)[0]), sequences.offsets[:-1])
            where = f"sequence {item}" if name is None else f"{name}: sequence {item}"
            raise ValueError(
                f"{where} has a value at time step {time} that is too large for "
                f"float32, in which networks compute: {RESCALE_HINT}"
            )
        ready = sequences._with_values(values)
        ready._base_missing.append(False)  # which was seen just now
        return ready


def flatten_frames(sequences: Sequences) -> Sequences:
    """The same with frames of one axis, whatever they were: no value is copied.

    >>> import timelike as tl
    >>> flatten_frames(tl.Sequences(np.zeros((2, 5, 3, 4, 4)))).frame
    (48,)
    """
    if len(sequences.frame) == 1:
        return sequences
    values = sequences.values
    return sequences._with_values(values.reshape(len(values), -1))
