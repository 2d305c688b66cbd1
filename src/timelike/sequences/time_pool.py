"""`TimePool`: means over segments of time steps, so that long sequences have a bounded number of frames."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .container import Sequences

UNLIMITED = 2**62  # frames: more than there are
_LENGTH_FACTOR = 2  # times `frames` that one sequence may have before it gets a factor of its own


class TimePool(NamedTuple):
    """Frames that are means of `factor` steps, at most `max_frames` per sequence; the last frame may have fewer steps.

    All sequences share one factor, so that equal speeds stay equal; only a sequence that would still have more than
    `max_frames` frames has a larger one.

    >>> import timelike as tl
    >>> TimePool(2.0, 100).apply(tl.Sequences([[1.0, 3.0, 5.0, 7.0, 9.0], [4.0]])).values[:, 0]
    array([2., 6., 9., 4.])
    """

    factor: float
    max_frames: int

    @classmethod
    def identity(cls) -> TimePool:
        """A pool that changes nothing."""
        return cls(1.0, UNLIMITED)

    @classmethod
    def from_lengths(cls, lengths: NDArray[np.int64], frames: int | None) -> TimePool:
        """The pool with which nine in ten sequences of these lengths have at most `frames` frames; None for any number.

        >>> TimePool.from_lengths(np.array([100, 400]), 200)
        TimePool(factor=2.0, max_frames=400)
        """
        if frames is None:
            return cls.identity()
        long = float(np.quantile(lengths, 0.9, method="higher"))
        return cls(max(1.0, long / frames), _LENGTH_FACTOR * frames)

    def lengths(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many frames sequences of these lengths have."""
        # a number of frames that is an integer up to rounding counts as that integer
        return np.ceil(lengths / self._factors(lengths) * (1 - 1e-12)).astype(np.int64)

    def apply(self, sequences: Sequences) -> Sequences:
        """The pooled sequences, with their labels, groups and ids."""
        own = sequences.lengths
        if (self._factors(own) == 1).all():
            return sequences
        frames = self.lengths(own)
        offsets = np.concatenate([[0], np.cumsum(frames)])
        item = np.repeat(np.arange(len(own)), frames)
        values = self._means(sequences, item, np.arange(offsets[-1]) - offsets[item])
        metadata = {"labels": sequences.labels, "groups": sequences.groups, "ids": sequences.ids}
        return Sequences.from_packed(values, offsets, **metadata)

    def pooling_matrix(self, length: int) -> NDArray[np.float64]:
        """The weights of the steps in every frame of a sequence of this length: (frame, step).

        >>> TimePool(1.5, 100).pooling_matrix(3)
        array([[0.66666667, 0.33333333, 0.        ],
               [0.        , 0.33333333, 0.66666667]])
        """
        own = np.array([length])
        edges = np.minimum(np.arange(self.lengths(own)[0] + 1) * self._factors(own)[0], length)
        steps = np.arange(length)
        covered = np.minimum(edges[1:, None], steps + 1) - np.maximum(edges[:-1, None], steps)
        return np.asarray(np.maximum(covered, 0) / np.diff(edges)[:, None])

    def _factors(self, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.maximum(self.factor, lengths / self.max_frames)

    def _means(self, sequences: Sequences, item: NDArray[np.int64], frame: NDArray[np.int64]) -> NDArray[np.float32]:
        """The mean of the steps of every frame, summed step by step, hence independent of the other sequences."""
        base, starts, lengths = sequences.buffers()
        factor = self._factors(lengths)[item]
        begin, end = frame * factor, np.minimum((frame + 1) * factor, lengths[item])
        first, means = np.floor(begin), np.zeros((len(item), *base.shape[1:]))
        for ahead in range(math.ceil(factor.max(initial=1.0)) + 1):
            step = np.minimum(first + ahead, lengths[item] - 1)
            covered = np.maximum(np.minimum(first + ahead + 1, end) - np.maximum(first + ahead, begin), 0)
            share = (covered / (end - begin)).reshape(-1, *[1] * (base.ndim - 1))
            means += share * base[starts[item] + step.astype(np.int64)]
        return means.astype(base.dtype)
