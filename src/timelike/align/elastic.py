"""`ElasticDistance`, the base of distances that are dynamic programs over pairs of steps, run by the compiled
engine.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..sequences import Sequences, as_single_sequence
from .alignment import Alignment
from .band import Band, Window, check_band, refuse_infeasible
from .base import Aligner
from .distance_matrix import ProgressCallback, pair_dtype
from .gallery import Matches


@dataclass(frozen=True, kw_only=True, repr=False)
class ElasticDistance(Aligner):
    """A dynamic program over pairs of steps; a subclass defines the recurrence and the meaning of its last cell.

    Every elastic distance has the options `window`, `band` and `dependent`: see `DTW`.
    """

    window: Window = None
    band: Band = "sakoe"
    dependent: bool = True
    # 1 == 1.0 in Python, but one cell is not all of the length: metrics that differ so must not be equal
    _window_type: str = field(init=False, repr=False, default="")
    _warping_band: native.WarpingBand = field(init=False, repr=False, compare=False, default=native.WarpingBand())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_warping_band", check_band(self.window, self.band))
        object.__setattr__(self, "_window_type", type(self.window).__name__)
        if not isinstance(self.dependent, bool):
            raise TypeError(f"dependent={self.dependent!r}: expected True (one path) or False (one per channel)")

    @abc.abstractmethod
    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        """The recurrence for these sequences."""

    def _preprocess_sequences(self, s: Sequences) -> Sequences:
        """What is compared: the sequences themselves, unless a method compares something made from them."""
        return s

    def _kernel_arguments(
        self, x: Sequences, y: Sequences, dtype: np.dtype[Any]
    ) -> tuple[native.Program, native.PackedSequences, native.PackedSequences]:
        """The recurrence and both sides as the executors take them, in `dtype`."""
        return self._program(x, y), pack_steps(x, dtype), pack_steps(y, dtype)

    def _distances_from_totals(self, totals: NDArray[Any], n: NDArray[np.int64], m: NDArray[np.int64]) -> NDArray[Any]:
        """Distances from last cells, in place; n and m are the lengths, shaped to go with `totals`."""
        return totals

    def _is_rooted(self) -> bool | None:
        """Whether a distance is the root of its total; None if equal totals may be unequal distances."""
        return False

    def _is_per_channel(self, x: Sequences) -> bool:
        return not self.dependent and x.frame != (1,)

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        other = x if y is None else y
        refuse_infeasible(self._warping_band, x.lengths, other.lengths)
        first, second = self._preprocess_sequences(x), None if y is None else self._preprocess_sequences(y)
        if not self._is_per_channel(x):
            self._fill_dependent(first, second, out, threads, report)
            return
        out[...] = 0
        part, n_channels = np.empty_like(out), int(np.prod(x.frame))
        for c in range(n_channels):
            report_channel = None if report is None else _scale_report(report, c, n_channels)
            sides = (_select_channel(first, c), None if second is None else _select_channel(second, c))
            self._fill_dependent(*sides, part, threads, report_channel)
            out += part

    def _fill_dependent(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        other = x if y is None else y
        ready = self._kernel_arguments(x, other, out.dtype)
        native.pairwise(*ready, symmetric=y is None, threads=threads, out=out, report=report)
        self._distances_from_totals(out, x.lengths[:, None], other.lengths[None, :])

    def _search_nearest(
        self, query_sequences: Sequences, references: Sequences, k: int, threads: int, report: ProgressCallback
    ) -> Matches | None:
        rooted = self._is_rooted()
        if rooted is None or self._is_per_channel(query_sequences):
            return None
        refuse_infeasible(self._warping_band, query_sequences.lengths, references.lengths)
        queries, items = self._preprocess_sequences(query_sequences), self._preprocess_sequences(references)
        ready = self._kernel_arguments(queries, items, pair_dtype(queries, items))
        nearest = native.search(*ready, k, rooted=rooted, threads=threads, report=report)
        return None if nearest is None else Matches(*nearest)

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        program, one, two = self._single_pair_arguments(x, y)
        path, total = native.path(program, one, two)
        cost = self._distances_from_totals(np.array([[total]], one.dtype), x.lengths[:, None], y.lengths[None, :])
        return Alignment(float(cost[0, 0]), path, x[0], y[0])

    def cost_matrix(self, x: Any, y: Any) -> NDArray[Any]:
        """The accumulated cost at every pair of steps, (len x, len y), inf outside the band.

        >>> import timelike as tl
        >>> tl.DTW().cost_matrix([0.0, 1.0], [0.0, 3.0])
        array([[0., 9.],
               [1., 4.]])
        """
        first, second = as_single_sequence(x, "x"), as_single_sequence(y, "y")
        self._validate_sides(first, second, ("x", "y"))
        return native.matrix(*self._single_pair_arguments(first, second))

    def _single_pair_arguments(self, x: Sequences, y: Sequences) -> tuple[native.Program, NDArray[Any], NDArray[Any]]:
        if self._is_per_channel(x):
            raise ValueError(
                "dependent=False has a path for every channel: align one channel, x[:, [c]], or use dependent=True"
            )
        refuse_infeasible(self._warping_band, x.lengths, y.lengths)
        first, second = self._preprocess_sequences(x), self._preprocess_sequences(y)
        program, one, two = self._kernel_arguments(first, second, pair_dtype(first, second))
        return program, one.items()[0], two.items()[0]


def pack_steps(sequences: Sequences, dtype: np.dtype[Any]) -> native.PackedSequences:
    """Buffer (step, channel) in `dtype`, starts and lengths; the sequences' own memory where the dtype agrees."""
    base, starts, lengths = sequences.buffers()
    if base.dtype != dtype:  # convert our own steps only: the base may hold many more
        base, starts = sequences.values.astype(dtype), sequences.offsets[:-1]
    return native.PackedSequences(base.reshape(len(base), -1), starts, lengths)


def _select_channel(s: Sequences, c: int) -> Sequences:
    flat = s.values.reshape(len(s.values), -1)
    return Sequences.from_packed(np.ascontiguousarray(flat[:, [c]]), s.offsets, times=s.times)


def _scale_report(report: Any, done: int, parts: int) -> Any:
    """Progress of one channel of several."""
    return lambda tiles, total: report(done * total + tiles, parts * total)
