"""`SoftDTW`, a metric: its values, its divergence, and the expected alignment. The torch module is in layers/."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_float
from ..native import PackedSequences, soft as executor
from ..sequences import Sequences
from .alignment import Alignment
from .band import Band, Window, check_band, refuse_infeasible
from .base import Aligner
from .distance_matrix import ProgressCallback, pair_dtype
from .elastic import pack_steps

_MAX_PAIRS = 1 << 15  # pairs between two reports, and two looks for Ctrl-C
_MAX_CELLS = 1 << 27  # and cells, about a second of one core, in pairs that are enough for all lanes of all cores
_MIN_PAIRS = 256


@dataclass(frozen=True, kw_only=True, repr=False)
class SoftDTW(Aligner):
    """Soft-DTW: dynamic time warping with a soft minimum (Cuturi and Blondel, 2017).

    R(i, j) = ‖x_i − y_j‖² + softmin_γ(R(i−1, j), R(i, j−1), R(i−1, j−1)), where softmin_γ(a, b, c) =
    −γ log(exp(−a/γ) + exp(−b/γ) + exp(−c/γ)), and the value is R at the last two steps. It is the DTW cost minus a term
    that grows with the number of cheap paths, so it may be negative and is not 0 for equal sequences. The divergence
    d(x, y) − ½ d(x, x) − ½ d(y, y) is 0 for equal sequences (Blondel, Mensch and Vert, 2021).

    Parameters
    ----------
    gamma : float
        Softness, in units of a squared distance; towards 0 the value becomes that of DTW.
    window, band
        As for `DTW`.
    divergence : bool
        Whether to return the divergence instead of the raw value.

    Examples
    --------
    >>> import timelike as tl
    >>> round(tl.SoftDTW(gamma=0.1).distance([0.0, 1.0, 2.0], [0.0, 1.0, 2.0]), 6)
    -1.8e-05
    >>> tl.SoftDTW(gamma=0.1, divergence=True).distance([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    0.0
    >>> tl.SoftDTW(gamma=1.0).align([0.0, 2.0], [0.0, 2.0]).plan.round(2)
    array([[1.  , 0.02],
           [0.02, 1.  ]])
    """

    gamma: float = 1.0
    window: Window = None
    band: Band = "sakoe"
    divergence: bool = False
    # 1 == 1.0 in Python, but one cell is not all of the length: metrics that differ so must not be equal
    _window_type: str = field(init=False, repr=False, default="")
    _soft_minimum: executor.SoftMinimum = field(
        init=False, repr=False, compare=False, default=executor.SoftMinimum(1.0)
    )

    contract_exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "a_sequence_is_at_distance_zero_from_itself": (
                "the raw value is a soft minimum over many paths, which is below the best of them; divergence=True is 0"
            ),
            "distances_are_finite_and_not_negative": "a soft minimum is below the least, which may be 0 or nearly",
        }
    )

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "_soft_minimum",
            executor.SoftMinimum(check_float(self.gamma, "gamma", above=0), check_band(self.window, self.band)),
        )
        object.__setattr__(self, "_window_type", type(self.window).__name__)
        if not isinstance(self.divergence, bool):
            raise TypeError(f"divergence={self.divergence!r}: expected True or False")

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        other = x if y is None else y
        refuse_infeasible(self._soft_minimum.band, x.lengths, other.lengths)
        sides = pack_steps(x, out.dtype), pack_steps(other, out.dtype)
        done, total = 0, len(x) * (len(x) + 1) // 2 if y is None else out.size
        own = tuple(self._self_totals(side, threads) for side in sides) if self.divergence else None
        most = max(_MIN_PAIRS, int(_MAX_CELLS / max(x.lengths.mean() * other.lengths.mean(), 1)))
        for rows, columns in _pair_blocks(len(x), None if y is None else len(other), min(_MAX_PAIRS, most)):
            totals = executor.pair_totals(self._soft_minimum, *sides, rows, columns, threads)
            if own is not None:
                totals -= (own[0][rows] + own[1][columns]) / 2
            out[rows, columns] = totals
            if y is None:
                out[columns, rows] = totals
            done += len(rows)
            if report is not None:
                report(done, total)
        self._refuse_overflow(out)

    def _self_totals(self, side: PackedSequences, threads: int = 1) -> NDArray[Any]:
        """What each sequence has with itself."""
        items = np.arange(len(side.lengths))
        return executor.pair_totals(self._soft_minimum, side, side, items, items, threads)

    def _refuse_overflow(self, out: NDArray[Any]) -> None:
        if out.size and np.isneginf(out.min()):  # +inf and nan are seen by the verbs
            raise ValueError(f"gamma={self.gamma:g} is too large for {out.dtype}: use a smaller gamma or float64")

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        refuse_infeasible(self._soft_minimum.band, x.lengths, y.lengths)
        dtype = pair_dtype(x, y)
        one, two = pack_steps(x, dtype), pack_steps(y, dtype)
        frames = (np.ascontiguousarray(side.items()[0]) for side in (one, two))
        totals, visits = executor.expected_alignment(self._soft_minimum, *frames)
        if self.divergence:
            totals = totals - (self._self_totals(one) + self._self_totals(two)) / 2
        self._refuse_overflow(totals)
        return Alignment(float(totals[0]), None, x[0], y[0], weights=visits)


def _pair_blocks(n: int, m: int | None, most: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows and columns of all pairs, this many at a time; with m None those of a symmetric matrix, once each."""
    ends = np.cumsum(np.arange(n, 0, -1) if m is None else np.full(n, m))
    for begin in range(0, int(ends[-1]), most):
        flat = np.arange(begin, min(begin + most, int(ends[-1])))
        rows = np.searchsorted(ends, flat, side="right")
        # columns are counted from the end of their row, which both kinds share
        yield rows, (n if m is None else m) - (ends[rows] - flat)
