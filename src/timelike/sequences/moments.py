"""What channels are brought to mean 0 and deviation 1 by, learned from some sequences and applied to others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .container import Sequences

RESCALE = "give them in another unit, or look for an outlier"


class Moments(NamedTuple):
    """Mean and deviation, both of the shape of a frame."""

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, sequences: Sequences) -> Moments:
        """Those of all steps together; what never changes keeps its scale.

        >>> import timelike as tl
        >>> Moments.of(tl.Sequences([[1.0, 3.0], [1.0, 3.0, 2.0]]))
        Moments(mean=array([2.]), scale=array([0.89442719]))
        """
        values = sequences.values
        with np.errstate(over="ignore", invalid="ignore"):
            mean, scale = values.mean(0, dtype=np.float64), values.std(0, dtype=np.float64)
        low, high = values.min(0), values.max(0)
        tiny = (scale < 1e-140) & (high > low)  # squares underflow there, or nearly
        if tiny.any():
            size = np.where(tiny, high - low, 1.0)
            scale = np.where(tiny, size * ((values - mean) / size).std(0), scale)
        constant = low == high  # its deviation may be a rounding error, and not 0
        return cls(mean, np.where(constant | (scale == 0), 1.0, scale)).checked()

    def checked(self) -> Moments:
        """The same, or an error where a deviation overflowed: everything would become 0 or nan."""
        if not np.isfinite(self.scale).all():
            raise ValueError(f"X has values so large that their squares overflow: {RESCALE}")
        return self

    @classmethod
    def none(cls, frame: tuple[int, ...]) -> Moments:
        """Those that change nothing."""
        return cls(np.zeros(frame), np.ones(frame))

    def refuse(self, sequences: Sequences, name: str) -> None:
        """An error that names the argument, if some value will be too large."""
        ends = np.stack([sequences.values.min(0, initial=0), sequences.values.max(0, initial=0)])
        with np.errstate(over="ignore", invalid="ignore"):
            large = np.abs((ends - self.mean) / self.scale) > np.finfo(np.float32).max
        if large.any():
            self.applied(sequences, name)

    def applied(self, sequences: Sequences, name: str | None = None) -> Sequences:
        """Frames in float32, after the mean is gone: a large one would leave no digits for the rest.

        `name` is that of the argument they came as, for errors.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            values = ((sequences.values - self.mean) / self.scale).astype(np.float32)
        if len(values) and not (np.isfinite(values.min()) and np.isfinite(values.max())):
            finite = np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
            step = int(np.flatnonzero(~finite)[0])
            item = int(np.searchsorted(sequences.offsets, step, side="right")) - 1
            where = f"sequence {item}" if name is None else f"{name}: sequence {item}"
            raise ValueError(
                f"{where} has a value at time step {step - int(sequences.offsets[item])} that is too large for "
                f"float32, in which networks compute: {RESCALE}"
            )
        return Sequences.from_packed(values, sequences.offsets)


def flat(sequences: Sequences) -> Sequences:
    """The same with frames of one axis, whatever they were: no value is copied.

    >>> import timelike as tl
    >>> flat(tl.Sequences(np.zeros((2, 5, 3, 4, 4)))).frame
    (48,)
    """
    if len(sequences.frame) == 1:
        return sequences
    values = sequences.values
    return Sequences.from_packed(values.reshape(len(values), -1), sequences.offsets)
