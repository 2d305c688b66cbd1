"""Sequences in memory as every kernel and every twin is given them, and what two of their frames may cost."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Cost = Literal["sqeuclidean", "euclidean", "manhattan"]

# in the order of the enum in steps.hpp
COSTS: tuple[Cost, ...] = ("sqeuclidean", "euclidean", "manhattan")


class Steps(NamedTuple):
    """Sequence i is rows starts[i] to starts[i] + lengths[i] of `values` (step, channel)."""

    values: NDArray[Any]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def alone(cls, sequence: NDArray[Any]) -> Steps:
        """One sequence (time, channel)."""
        return cls(sequence, np.zeros(1, np.int64), np.array([len(sequence)]))

    def items(self) -> list[NDArray[Any]]:
        """Every sequence by itself, (time, channel)."""
        places = zip(self.starts.tolist(), self.lengths.tolist(), strict=True)
        return [self.values[start : start + length] for start, length in places]

    def padded(self, chosen: NDArray[np.int64]) -> NDArray[Any]:
        """The chosen ones, (item, time, channel); past its end a sequence repeats its last step.

        Not zeros: a repeated step is as large as the others, so nothing that is made of it and dropped can overflow.
        """
        last = self.lengths[chosen, None] - 1  # (item, 1)
        at = np.minimum(np.arange(last.max() + 1), last)
        return np.asarray(self.values[self.starts[chosen, None] + at])
