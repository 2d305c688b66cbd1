"""`Elastic`, the base of distances that are dynamic programs over pairs of steps, run by the compiled engine."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..sequences import Sequences, as_one
from .alignment import Alignment
from .band import Band, Window, bound, refuse_infeasible
from .base import Aligner
from .gallery import Matches
from .matrix import Report, computed


@dataclass(frozen=True, kw_only=True, repr=False)
class Elastic(Aligner):
    """A dynamic program over pairs of steps; a subclass says which, and what its last cell means."""

    window: Window = None
    band: Band = "sakoe"
    dependent: bool = True
    # 1 == 1.0 in Python, but one cell is not all of the length: metrics that differ so must not be equal
    _unit: str = field(init=False, repr=False, default="")
    _bound: native.Window = field(init=False, repr=False, compare=False, default=native.Window())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bound", bound(self.window, self.band))
        object.__setattr__(self, "_unit", type(self.window).__name__)
        if not isinstance(self.dependent, bool):
            raise TypeError(f"dependent={self.dependent!r}: expected True (one path) or False (one per channel)")

    @abc.abstractmethod
    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        """The recurrence for these sequences."""

    def _compared(self, s: Sequences) -> Sequences:
        """What is compared: the sequences themselves, unless a method compares something made from them."""
        return s

    def _ready(
        self, x: Sequences, y: Sequences, dtype: np.dtype[Any]
    ) -> tuple[native.Program, native.Steps, native.Steps]:
        """The recurrence and both sides as the executors take them, in `dtype`."""
        return self._program(x, y), steps(x, dtype), steps(y, dtype)

    def _finished(self, totals: NDArray[Any], n: NDArray[np.int64], m: NDArray[np.int64]) -> NDArray[Any]:
        """Distances from last cells, in place; n and m are the lengths, shaped to go with `totals`."""
        return totals

    def _rooted(self) -> bool | None:
        """Whether a distance is the root of its total; None if equal totals may be unequal distances."""
        return False

    def _split(self, x: Sequences) -> bool:
        return not self.dependent and x.frame != (1,)

    def _fill(self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: Report) -> None:
        other = x if y is None else y
        refuse_infeasible(self._bound, x.lengths, other.lengths)
        first, second = self._compared(x), None if y is None else self._compared(y)
        if not self._split(x):
            self._fill_together(first, second, out, threads, report)
            return
        out[...] = 0
        part, n_channels = np.empty_like(out), int(np.prod(x.frame))
        for c in range(n_channels):
            told = None if report is None else _share(report, c, n_channels)
            sides = (_channel(first, c), None if second is None else _channel(second, c))
            self._fill_together(*sides, part, threads, told)
            out += part

    def _fill_together(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: Report
    ) -> None:
        other = x if y is None else y
        ready = self._ready(x, other, out.dtype)
        native.pairwise(*ready, symmetric=y is None, threads=threads, out=out, report=report)
        self._finished(out, x.lengths[:, None], other.lengths[None, :])

    def _found(self, asked: Sequences, known: Sequences, k: int, threads: int, report: Report) -> Matches | None:
        rooted = self._rooted()
        if rooted is None or self._split(asked):
            return None
        refuse_infeasible(self._bound, asked.lengths, known.lengths)
        queries, items = self._compared(asked), self._compared(known)
        ready = self._ready(queries, items, computed(queries, items))
        found = native.search(*ready, k, rooted=rooted, threads=threads, report=report)
        return None if found is None else Matches(*found)

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        program, one, two = self._single(x, y)
        path, total = native.path(program, one, two)
        cost = self._finished(np.array([[total]], one.dtype), x.lengths[:, None], y.lengths[None, :])
        return Alignment(float(cost[0, 0]), path, x[0], y[0])

    def cost_matrix(self, x: Any, y: Any) -> NDArray[Any]:
        """The accumulated cost at every pair of steps, (len x, len y), inf outside the band.

        >>> import timelike as tl
        >>> tl.DTW().cost_matrix([0.0, 1.0], [0.0, 3.0])
        array([[0., 9.],
               [1., 4.]])
        """
        first, second = as_one(x, "x"), as_one(y, "y")
        self._refuse(first, second, ("x", "y"))
        return native.matrix(*self._single(first, second))

    def _single(self, x: Sequences, y: Sequences) -> tuple[native.Program, NDArray[Any], NDArray[Any]]:
        if self._split(x):
            raise ValueError(
                "dependent=False has a path for every channel: align one channel, x[:, [c]], or use dependent=True"
            )
        refuse_infeasible(self._bound, x.lengths, y.lengths)
        first, second = self._compared(x), self._compared(y)
        program, one, two = self._ready(first, second, computed(first, second))
        return program, one.items()[0], two.items()[0]


def steps(sequences: Sequences, dtype: np.dtype[Any]) -> native.Steps:
    """Buffer (step, channel) in `dtype`, starts and lengths; the sequences' own memory where the dtype agrees."""
    base, starts, lengths = sequences.buffers()
    if base.dtype != dtype:  # convert our own steps only: the base may hold many more
        base, starts = sequences.values.astype(dtype), sequences.offsets[:-1]
    return native.Steps(base.reshape(len(base), -1), starts, lengths)


def _channel(s: Sequences, c: int) -> Sequences:
    flat = s.values.reshape(len(s.values), -1)
    return Sequences.from_packed(np.ascontiguousarray(flat[:, [c]]), s.offsets, times=s.times)


def _share(report: Any, done: int, parts: int) -> Any:
    """Progress of one channel of several."""
    return lambda tiles, total: report(done * total + tiles, parts * total)
