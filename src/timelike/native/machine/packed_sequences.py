"""The memory layout of sequences that all kernels and fallbacks share, and the frame costs."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Cost = Literal["sqeuclidean", "euclidean", "manhattan"]

# in the order of the enum in steps.hpp
COSTS: tuple[Cost, ...] = ("sqeuclidean", "euclidean", "manhattan")


class PackedSequences(NamedTuple):
    """Sequence i is rows starts[i] to starts[i] + lengths[i] of `values` (step, channel)."""

    values: NDArray[Any]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def from_sequence(cls, sequence: NDArray[Any]) -> PackedSequences:
        """One sequence (time, channel)."""
        return cls(sequence, np.zeros(1, np.int64), np.array([len(sequence)]))

    def items(self) -> list[NDArray[Any]]:
        """Every sequence by itself, (time, channel)."""
        places = zip(self.starts.tolist(), self.lengths.tolist(), strict=True)
        return [self.values[start : start + length] for start, length in places]

    def pad_items(self, chosen: NDArray[np.int64]) -> NDArray[Any]:
        """The chosen sequences, (item, time, channel); past its end, a sequence repeats its last step.

        Not zeros: a repeated step is as large as the others, so values that are computed from it and dropped do not
        overflow.
        """
        last = self.lengths[chosen, None] - 1  # (item, 1)
        at = np.minimum(np.arange(last.max() + 1), last)
        return np.asarray(self.values[self.starts[chosen, None] + at])


def refuse_mismatch(x: PackedSequences, y: PackedSequences) -> None:
    """Raise an error if two sides differ in channels, or if a sequence lies outside its buffer.

    Callers have already validated their input; this check costs a microsecond and prevents a crash.

    >>> x, y = (PackedSequences.from_sequence(np.zeros((3, n_channels))) for n_channels in (2, 1))
    >>> refuse_mismatch(x, y)
    Traceback (most recent call last):
        ...
    ValueError: x has steps of 2 channels and y of 1: expected the same
    """
    if x.values.shape[1] != y.values.shape[1]:
        raise ValueError(f"x has steps of {x.values.shape[1]} channels and y of {y.values.shape[1]}: expected the same")
    for name, side in (("x", x), ("y", y)):
        starts, lengths, rows = side.starts, side.lengths, len(side.values)
        if len(lengths) == 1 == len(starts):  # called millions of times for single pairs
            outside = starts[0] < 0 or lengths[0] < 0 or starts[0] + lengths[0] > rows
        else:
            ends = starts + lengths if len(starts) == len(lengths) else None
            outside = ends is None or bool(len(ends) and (starts.min() < 0 or lengths.min() < 0 or ends.max() > rows))
        if outside:
            raise ValueError(f"{name} has sequences outside its {rows} steps: expected starts and lengths within them")
