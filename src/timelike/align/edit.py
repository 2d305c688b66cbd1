"""Edit distances: one sequence is turned into the other by matching, inserting and deleting steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..sequences import Sequences
from ..sequences.arguments import real
from .elastic import Elastic


@dataclass(frozen=True, kw_only=True, repr=False)
class ERP(Elastic):
    """Edit distance with real penalty: gaps are compared with a constant (Chen and Ng, 2004). A metric.

    D(i, j) = min(D(i−1, j−1) + ‖x_i − y_j‖, D(i−1, j) + ‖x_i − g‖, D(i, j−1) + ‖y_j − g‖), and a sequence against
    nothing costs the sum of its distances to g. `gap` is one number or one per channel.

    >>> import timelike as tl
    >>> tl.ERP().distance([1.0, 2.0], [1.0, 2.0, 3.0])
    3.0
    """

    gap: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.gap, Sequence | np.ndarray):
            object.__setattr__(self, "gap", tuple(real(entry, "gap") for entry in self.gap))
        else:
            real(self.gap, "gap")

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        n_channels = int(np.prod(x.frame))
        gap = np.atleast_1d(np.asarray(self.gap, np.float64))
        if len(gap) not in (1, n_channels):
            raise ValueError(f"gap has {len(gap)} entries for {n_channels} channels: expected one number, or one each")
        return native.Program(rule="erp", gap=np.broadcast_to(gap, (n_channels,)), window=self._bound)


@dataclass(frozen=True, kw_only=True, repr=False)
class EDR(Elastic):
    """Edit distance on real sequences: how many steps must be changed, inserted or deleted (Chen et al., 2005).

    Steps match if they are at most `epsilon` apart; None means a quarter of the larger of the two standard deviations,
    as the authors advise. `normalize` divides by the longer length.

    >>> import timelike as tl
    >>> tl.EDR(epsilon=0.1).distance([1.0, 2.0, 3.0], [1.0, 2.5, 3.0, 4.0])
    2.0
    """

    epsilon: float | None = None
    normalize: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is not None:
            real(self.epsilon, "epsilon", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule="edr", thresholds=_thresholds(self.epsilon, x, y), window=self._bound)

    def _finished(self, totals: NDArray[Any], n: NDArray[np.int64], m: NDArray[np.int64]) -> NDArray[Any]:
        if self.normalize:
            totals /= np.maximum(n, m)
        return totals

    def _rooted(self) -> bool | None:
        return None if self.normalize else False


@dataclass(frozen=True, kw_only=True, repr=False)
class LCSS(Elastic):
    """One minus the share of the shorter sequence that the longest common subsequence covers (Vlachos et al., 2002).

    L(i, j) = max(L(i−1, j), L(i, j−1), L(i−1, j−1) + [‖x_i − y_j‖ ≤ ε]); the distance is 1 − L/min(n, m).

    >>> import timelike as tl
    >>> tl.LCSS(epsilon=0.1).distance([1.0, 2.0, 3.0, 4.0], [1.0, 9.0, 3.0, 4.0])
    0.25
    """

    epsilon: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        real(self.epsilon, "epsilon", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule="lcss", thresholds=_thresholds(self.epsilon, x, y), window=self._bound)

    def _finished(self, totals: NDArray[Any], n: NDArray[np.int64], m: NDArray[np.int64]) -> NDArray[Any]:
        totals /= np.minimum(n, m)  # the program counts matches downwards, from 0
        totals += 1
        return totals

    def _rooted(self) -> bool | None:
        return None


@dataclass(frozen=True, kw_only=True, repr=False)
class MSM(Elastic):
    """Move–split–merge: values are moved, or steps are split and merged at a cost `c` (Stefan et al., 2013). A metric.

    Splitting or merging costs c, and more by as much as the new value lies outside the interval between its
    neighbours. With several channels, outside means outside the sphere over the segment between them (Shifaz et al.,
    2023, with unsquared distances, so that one channel is the special case).

    >>> import timelike as tl
    >>> tl.MSM(c=0.5).distance([1.0, 2.0], [1.0, 1.0, 2.0])
    0.5
    """

    c: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        real(self.c, "c", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule="msm", first=self.c, window=self._bound)


@dataclass(frozen=True, kw_only=True, repr=False)
class TWE(Elastic):
    """Time warp edit distance: matching is stiff in time, and deleting has a price (Marteau, 2009). A metric if nu > 0.

    Matching x_i and y_j costs ‖x_i − y_j‖ + ‖x_{i−1} − y_{j−1}‖ + 2ν|i − j|, deleting a step its distance to the step
    before it plus ν + λ; both sequences begin with a step of zeros.

    >>> import timelike as tl
    >>> tl.TWE(nu=0.5, lmbda=1.0).distance([1.0, 2.0], [1.0, 2.0, 2.0])
    1.5
    """

    nu: float = 0.001
    lmbda: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        real(self.nu, "nu", 0.0)
        real(self.lmbda, "lmbda", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule="twe", first=self.nu, second=self.lmbda, window=self._bound)


def _thresholds(epsilon: float | None, x: Sequences, y: Sequences) -> tuple[NDArray[Any], NDArray[Any]]:
    """One for every sequence; a pair takes the larger of its two."""
    if epsilon is not None:
        return np.full(len(x), epsilon), np.full(len(y), epsilon)
    first = _quarter_deviations(x)
    return first, first if y is x else _quarter_deviations(y)


def _quarter_deviations(s: Sequences) -> NDArray[np.float64]:
    return np.array([np.std(sequence, dtype=np.float64) / 4 for sequence in s])
