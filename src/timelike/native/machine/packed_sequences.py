"""Sequences in memory as every kernel and every fallback is given them, and what two of their frames may cost."""

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
        """The chosen ones, (item, time, channel); past its end a sequence repeats its last step.

        Not zeros: a repeated step is as large as the others, so nothing that is made of it and dropped can overflow.
        """
        last = self.lengths[chosen, None] - 1  # (item, 1)
        at = np.minimum(np.arange(last.max() + 1), last)
        return np.asarray(self.values[self.starts[chosen, None] + at])


def refuse_mismatch(x: PackedSequences, y: PackedSequences) -> None:
    """An error where two sides have other channels, or a sequence lies outside its values, which kernels would read.

    Callers have checked their input before; this costs a microsecond, and what it guards against is a crash.

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
        if len(lengths) == 1 == len(starts):  # one pair is asked for by the million
            outside = starts[0] < 0 or lengths[0] < 0 or starts[0] + lengths[0] > rows
        else:
            ends = starts + lengths if len(starts) == len(lengths) else None
            outside = ends is None or bool(len(ends) and (starts.min() < 0 or lengths.min() < 0 or ends.max() > rows))
        if outside:
            raise ValueError(f"{name} has sequences outside its {rows} steps: expected starts and lengths within them")
