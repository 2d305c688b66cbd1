"""Edit distances: one sequence is turned into the other by matching, inserting and deleting steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..core.parameters import check_choice, check_float
from ..sequences import Sequences
from .distance_matrix import pair_dtype
from .elastic import ElasticDistance
from .warp_problem import step_numbers

Match = Literal["frame", "channels"]


@dataclass(frozen=True, kw_only=True, repr=False)
class ERP(ElasticDistance):
    """Edit distance with real penalty: gaps are compared with a constant (Chen and Ng, 2004). A metric.

    D(i, j) = min(D(i−1, j−1) + ‖x_i − y_j‖, D(i−1, j) + ‖x_i − g‖, D(i, j−1) + ‖y_j − g‖). A sequence compared with an
    empty one costs the sum of its distances to g. `gap` is one number or one per channel.

    >>> import timelike as tl
    >>> tl.ERP().distance([1.0, 2.0], [1.0, 2.0, 3.0])
    3.0
    """

    gap: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.gap, Sequence | np.ndarray):
            object.__setattr__(self, "gap", tuple(check_float(entry, "gap") for entry in self.gap))
        else:
            check_float(self.gap, "gap")

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        n_channels = int(np.prod(x.frame))
        gap = np.atleast_1d(np.asarray(self.gap, np.float64))
        if len(gap) not in (1, n_channels):
            raise ValueError(f"gap has {len(gap)} entries for {n_channels} channels: expected one number, or one each")
        return native.Program(rule="erp", gap=np.broadcast_to(gap, (n_channels,)), band=self._warping_band)


@dataclass(frozen=True, kw_only=True, repr=False)
class EDR(ElasticDistance):
    """Edit distance on real sequences: how many steps must be changed, inserted or deleted (Chen et al., 2005).

    D(i, j) = min(D(i−1, j−1) + [x_i and y_j do not match], D(i−1, j) + 1, D(i, j−1) + 1). A sequence compared with an
    empty one costs its length. With `match="frame"`, steps match if ‖x_i − y_j‖ ≤ ε; with `match="channels"`, the
    paper's rule, if |x_ic − y_jc| ≤ ε in every channel c. With one channel, both are the same. `epsilon=None` means a
    quarter of the larger of the two standard deviations, as the authors recommend. `normalize` divides by the longer
    length.

    >>> import timelike as tl
    >>> tl.EDR(epsilon=0.1).distance([1.0, 2.0, 3.0], [1.0, 2.5, 3.0, 4.0])
    2.0
    >>> tl.EDR(epsilon=1.0).distance([[0.0, 0.0]], [[1.0, 1.0]])  # √2 apart
    1.0
    >>> tl.EDR(epsilon=1.0, match="channels").distance([[0.0, 0.0]], [[1.0, 1.0]])
    0.0
    """

    epsilon: float | None = None
    normalize: bool = False
    match: Match = "frame"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.match, "match", get_args(Match))
        if self.epsilon is not None:
            check_float(self.epsilon, "epsilon", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        rule = "edr" if self.match == "frame" else "edr_by_channel"
        return native.Program(rule=rule, thresholds=_match_thresholds(self, x, y), band=self._warping_band)

    def _distances_from_totals(self, totals: NDArray[Any], n: NDArray[np.int64], m: NDArray[np.int64]) -> NDArray[Any]:
        if self.normalize:
            totals /= np.maximum(n, m)
        return totals

    def _is_rooted(self) -> bool | None:
        return None if self.normalize else False


@dataclass(frozen=True, kw_only=True, repr=False)
class LCSS(ElasticDistance):
    """One minus the fraction of the shorter sequence that the longest common subsequence covers (Vlachos et al., 2002).

    L(i, j) = max(L(i−1, j), L(i, j−1), L(i−1, j−1) + [x_i and y_j match]); the distance is 1 − L/min(n, m). With
    `match="frame"`, steps match if ‖x_i − y_j‖ ≤ ε; with `match="channels"`, as in the paper, if |x_ic − y_jc| ≤ ε in
    every channel c (the paper has <). With one channel, both are the same.

    >>> import timelike as tl
    >>> tl.LCSS(epsilon=0.1).distance([1.0, 2.0, 3.0, 4.0], [1.0, 9.0, 3.0, 4.0])
    0.25
    """

    epsilon: float = 1.0
    match: Match = "frame"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.match, "match", get_args(Match))
        check_float(self.epsilon, "epsilon", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        rule = "lcss" if self.match == "frame" else "lcss_by_channel"
        return native.Program(rule=rule, thresholds=_match_thresholds(self, x, y), band=self._warping_band)

    def _distances_from_totals(self, totals: NDArray[Any], n: NDArray[np.int64], m: NDArray[np.int64]) -> NDArray[Any]:
        totals /= np.minimum(n, m)  # the program counts matches downwards, from 0
        totals += 1
        return totals

    def _is_rooted(self) -> bool | None:
        return None


@dataclass(frozen=True, kw_only=True, repr=False)
class MSM(ElasticDistance):
    """Move–split–merge: values are moved, or steps are split and merged at a cost `c` (Stefan et al., 2013). A metric.

    Splitting or merging costs c, plus the distance of the new value from the interval between its neighbours. With
    several channels, a sphere around the segment between the neighbours replaces the interval (Shifaz et al., 2023,
    with unsquared distances, which agrees with the univariate case).

    >>> import timelike as tl
    >>> tl.MSM(c=0.5).distance([1.0, 2.0], [1.0, 1.0, 2.0])
    0.5
    """

    c: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_float(self.c, "c", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule="msm", first=self.c, band=self._warping_band)


@dataclass(frozen=True, kw_only=True, repr=False)
class TWE(ElasticDistance):
    """Time warp edit distance: an edit distance with a stiffness ν in time (Marteau, 2009). A metric if nu > 0.

    Matching x_i and y_j costs ‖x_i − y_j‖ + ‖x_{i−1} − y_{j−1}‖ + ν(|s_i − t_j| + |s_{i−1} − t_{j−1}|), deleting x_i
    costs ‖x_i − x_{i−1}‖ + ν(s_i − s_{i−1}) + λ, and the same for y_j. s and t are `Sequences.times`; sequences without
    times have the times 1, 2, 3, …

    Both sequences begin with an added step of zeros at time 0. First steps are always matched, so it has no effect:
    only time differences count. A common start time changes nothing; different start times cost ν for every unit of
    time at both ends of every match. Datetimes count in seconds from the first step of their sequence.

    >>> import timelike as tl
    >>> tl.TWE(nu=0.5, lmbda=1.0).distance([1.0, 2.0], [1.0, 2.0, 2.0])
    1.5
    >>> early, late = (tl.Sequences([[1.0, 2.0]], times=times) for times in ([0.0, 1.0], [10.0, 11.0]))
    >>> tl.TWE(nu=0.125).distance(early, late)  # 10 apart at three ends of two matches
    3.75
    """

    uses_times: ClassVar[bool] = True

    nu: float = 0.001
    lmbda: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_float(self.nu, "nu", 0.0)
        check_float(self.lmbda, "lmbda", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        rule = "twe" if x.times is None and y.times is None else "twe_timed"
        return native.Program(rule=rule, first=self.nu, second=self.lmbda, band=self._warping_band)

    def _kernel_arguments(
        self, x: Sequences, y: Sequences, dtype: np.dtype[Any]
    ) -> tuple[native.Program, native.PackedSequences, native.PackedSequences]:
        if x.times is None and y.times is None:
            return super()._kernel_arguments(x, y, dtype)
        first = _with_times(x, dtype)
        return self._program(x, y), first, first if y is x else _with_times(y, dtype)


def _with_times(s: Sequences, dtype: np.dtype[Any]) -> native.PackedSequences:
    """Steps with their times as two more channels: rounded to `dtype`, and the remainder."""
    times = step_numbers(s.lengths) + 1 if s.elapsed_times is None else s.elapsed_times
    if np.abs(times).max() > np.finfo(dtype).max:
        raise ValueError(f"times reach {np.abs(times).max():g}, too large for {dtype}: give the sequences as float64")
    rounded = times.astype(dtype)
    parts = s.values.reshape(len(times), -1), rounded[:, None], (times - rounded)[:, None]
    return native.PackedSequences(
        np.concatenate(parts, axis=1, dtype=dtype, casting="unsafe"), s.offsets[:-1], s.lengths
    )


def _match_thresholds(metric: EDR | LCSS, x: Sequences, y: Sequences) -> tuple[NDArray[Any], NDArray[Any]]:
    """One for every sequence; a pair takes the larger of its two."""
    if metric.match == "frame":
        _refuse_overflow(x, y)
    if metric.epsilon is not None:
        return np.full(len(x), metric.epsilon), np.full(len(y), metric.epsilon)
    first = _quarter_deviations(x)
    return first, first if y is x else _quarter_deviations(y)


def _quarter_deviations(s: Sequences) -> NDArray[np.float64]:
    """Scaled by a power of two first, so that the squares of very large values do not overflow: then all would match.

    >>> _quarter_deviations(Sequences([[1e200, -1e200], [3.0, 3.0]]))
    array([2.5e+199, 0.0e+000])
    """
    largest = float(np.abs(s.values).max(initial=0))
    exponent = int(np.frexp(largest)[1]) if largest > 1e100 else 0
    scaled = (np.ldexp(sequence.astype(np.float64), -exponent) for sequence in s)
    return np.array([np.ldexp(np.std(one), exponent) / 4 for one in scaled])


def _refuse_overflow(x: Sequences, y: Sequences) -> None:
    """A frame of several channels whose distance from another is infinite would match nothing, without a word."""
    n_channels, dtype = int(np.prod(x.frame)), pair_dtype(x, y)
    if n_channels == 1:
        return
    largest = max(float(np.abs(side.values).max(initial=0)) for side in (x, y))
    if 2 * largest > np.sqrt(float(np.finfo(dtype).max) / n_channels):
        raise ValueError(
            f"values up to {largest:g} make the distance of two frames too large for {dtype}: standardize() the "
            "sequences" + (" or give them as float64" if dtype == np.float32 else "")
        )
