"""Optimal transport between the steps of two sequences, exact or entropy-regularized."""

from __future__ import annotations

import abc
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.extras import import_extra
from ..core.memory import refuse_beyond_memory, total_memory
from ..core.parameters import check_float, check_int
from ..core.warnings import find_stack_level
from ..native import COSTS, Cost, transport as native
from ..native.transport.fallback import frame_costs
from ..sequences import Sequences
from .alignment import Alignment
from .base import Aligner
from .distance_matrix import ProgressCallback
from .elastic import pack_steps

# matrices of all pairs of steps that are held at once: the kernels' costs, frames, plan and at most one of normal
# equations; POT's simplex keeps costs, flows and several numbers of every arc
_SOLVER_MATRICES, _EXACT_MATRICES = 4, 8
_MAX_STEEPNESS = 1e260  # λ2/(2δ²) at most: times the square of any number of steps it is still a number
_ENTROPY_REASON = "entropy spreads every plan, so that a sequence is at a positive distance even from itself"


@dataclass(frozen=True, kw_only=True, repr=False)
class OT(Aligner):
    """Exact optimal transport: the cheapest plan that gives every step of x the weight 1/N and every step of y 1/M.

    min ⟨T, D⟩ over T ≥ 0 with row sums 1/N and column sums 1/M, where D_ij is the cost of frames x_i and y_j
    (Kantorovich, 1942; solved by POT's network simplex, Bonneel et al., 2011). The order of the steps has no effect.

    Parameters
    ----------
    cost : {"sqeuclidean", "euclidean", "manhattan"}
        D: squared Euclidean distance of the two frames, its root, or the sum of absolute differences.

    Examples
    --------
    >>> import timelike as tl  # needs: timelike[transport]
    >>> tl.OT().distance([0.0, 1.0], [1.0, 0.0])
    0.0
    >>> tl.OT(cost="manhattan").align([0.0, 4.0], [1.0, 1.0, 5.0, 5.0]).plan
    array([[0.25, 0.25, 0.  , 0.  ],
           [0.  , 0.  , 0.25, 0.25]])
    """

    cost: Cost = "sqeuclidean"

    def __post_init__(self) -> None:
        check_cost(self.cost)

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        sides = _split_frames(x), None if y is None else _split_frames(y)
        with _limit_memory(x, x if y is None else y, _EXACT_MATRICES):
            for i, one in enumerate(sides[0]):
                for j, two in enumerate(sides[0][: i + 1] if sides[1] is None else sides[1]):
                    out[i, j], _ = self._solve(one, two)
                    if y is None:
                        out[j, i] = out[i, j]
                if report is not None:
                    report(i + 1, len(x))

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        with _limit_memory(x, y, _EXACT_MATRICES):
            cost, plan = self._solve(*_split_frames(x), *_split_frames(y))
        return Alignment(cost, None, x[0], y[0], weights=plan)

    def _solve(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Both orders of a pair are solved in the same one, so that the distance is symmetric to the last bit."""
        if len(x) < len(y) or (len(x) == len(y) and y.ravel().tolist() < x.ravel().tolist()):
            cost, turned = self._solve(y, x)
            return cost, np.ascontiguousarray(turned.T)
        with np.errstate(over="ignore"):
            frames = frame_costs(self.cost, x, y)
        if not np.isfinite(frames).all():
            return math.inf, np.zeros(frames.shape)
        plan = exact_plan(frames)
        return float((plan * frames).sum()), plan


def exact_plan(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cheapest plan (n, m) with uniform marginals."""
    ot = import_extra("ot", "OT", ", or use Sinkhorn, which needs nothing")
    n, m = costs.shape
    scale = float(np.abs(costs).max()) or 1.0  # POT compares costs with constants that suit numbers around 1
    plan, log = ot.emd(np.full(n, 1 / n), np.full(m, 1 / m), costs / scale, numItermax=10_000_000, log=True)
    if log["warning"] is not None:
        raise RuntimeError(f"POT gave up on {n} × {m} steps ({log['warning']}): resample() to fewer, or use Sinkhorn")
    return np.asarray(plan, np.float64)


@dataclass(frozen=True, kw_only=True, repr=False)
class EntropicTransport(Aligner):
    """A plan exp(f_i + g_j − C_ij/ε) with given marginals; a subclass defines the ground cost C."""

    contract_exemptions = {"a_sequence_is_at_distance_zero_from_itself": _ENTROPY_REASON}  # noqa: RUF012

    regularization: float = 0.1
    cost: Cost = "sqeuclidean"
    max_iter: int = 1000
    tolerance: float = 1e-12

    def __post_init__(self) -> None:
        check_cost(self.cost)
        check_float(self.regularization, "regularization", above=0)
        check_int(self.max_iter, "max_iter", 1)
        check_float(self.tolerance, "tolerance", 1e-13, 1)  # less is rounding

    @abc.abstractmethod
    def _solver_options(self) -> native.SinkhornOptions:
        """The ground cost, for the kernels."""

    def _common_options(self) -> dict[str, Any]:
        effort = {"tolerance": self.tolerance, "rounds": int(self.max_iter)}
        return {"cost": self.cost, "epsilon": float(self.regularization), **effort}

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        float64 = np.dtype(np.float64)
        other = x if y is None else y
        sides = pack_steps(x, float64), pack_steps(other, float64)
        with _limit_memory(x, other, _SOLVER_MATRICES, threads) as workers:
            miss = native.pairwise(
                self._solver_options(), *sides, symmetric=y is None, threads=workers, out=out, report=report
            )
        if miss.number:
            second = "X" if y is None else "Y"
            pair = f"the plan of X[{miss.row}] and {second}[{miss.column}]"
            self._warn_not_converged(f"{pair}, the worst of {miss.number},", miss.deviation)

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        with _limit_memory(x, y, _SOLVER_MATRICES + 1):
            cost, plan, deviation = native.align(self._solver_options(), *_split_frames(x), *_split_frames(y))
        if deviation > self.tolerance:
            self._warn_not_converged("the plan of x and y", deviation)
        return Alignment(cost, None, x[0], y[0], weights=plan)

    def _warn_not_converged(self, whose: str, deviation: float) -> None:
        warnings.warn(
            f"{type(self).__name__}: {whose} misses its marginals by {deviation:.1e} after max_iter={self.max_iter} "
            f"rounds, and tolerance={self.tolerance:g} was asked: use a larger max_iter, tolerance or regularization",
            RuntimeWarning,
            stacklevel=find_stack_level(),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Sinkhorn(EntropicTransport):
    """Entropy-regularized optimal transport (Cuturi, 2013): the cost ⟨T, D⟩ of T = argmin ⟨T, D⟩ − ε H(T).

    H(T) = −Σ T_ij log T_ij, row sums 1/N, column sums 1/M. The cost excludes the entropy. As ε goes to 0, the distance
    approaches that of `OT`; as ε grows, it approaches the mean of D.

    Parameters
    ----------
    regularization : float
        ε, in the units of the cost; at least 1e-13 of the range of the costs is used.
    cost : {"sqeuclidean", "euclidean", "manhattan"}
        D: squared Euclidean distance of the two frames, its root, or the sum of absolute differences.
    max_iter : int
        Maximum number of iterations: eight scalings each and, if these converge slowly, a Newton step.
    tolerance : float
        The allowed sum of absolute differences of row and column sums from 1/N and 1/M. A warning names the pairs that
        have not converged after `max_iter` iterations.

    Examples
    --------
    >>> import timelike as tl
    >>> round(tl.Sinkhorn(regularization=0.5).distance([0.0, 1.0], [0.0, 1.0]), 6)
    0.119203
    >>> tl.Sinkhorn(regularization=0.5).align([0.0, 1.0], [0.0, 1.0]).plan.round(4)
    array([[0.4404, 0.0596],
           [0.0596, 0.4404]])
    """

    def _solver_options(self) -> native.SinkhornOptions:
        return native.SinkhornOptions(**self._common_options())


@dataclass(frozen=True, kw_only=True, repr=False)
class OPW(EntropicTransport):
    """Order-preserving Wasserstein distance: transport with plans near the diagonal (Su and Hua, 2017).

    T = diag(u) K diag(v) with row sums 1/N, column sums 1/M and K_ij = P_ij exp((S_ij − D_ij)/λ2), where, i and j
    counted from 1, S_ij = λ1/((i/N − j/M)² + 1) and P_ij = exp(−ℓ²/(2δ²))/(δ√(2π)) with
    ℓ = |i/N − j/M|/√(1/N² + 1/M²), the distance of (i, j) to the diagonal. T minimises ⟨T, D⟩ − λ1 I(T) + λ2 KL(T‖P),
    the paper's objective, in which I(T) = Σ T_ij/((i/N − j/M)² + 1). The constant 1/(δ√(2π)) is the paper's and
    cancels: u and v absorb it. The distance is ⟨T, D⟩. The log domain prevents underflow for every λ.

    Parameters
    ----------
    inverse_difference : float
        λ1, the reward for mass near the diagonal.
    regularization : float
        λ2, the weight of the deviation of T from P; in the units of the cost.
    deviation : float
        δ, the standard deviation of P, in steps off the diagonal.
    cost, max_iter, tolerance
        As in `Sinkhorn`.

    Examples
    --------
    >>> import timelike as tl  # needs: timelike[transport]
    >>> x, y = [0.0, 1.0, 2.0], [2.0, 1.0, 0.0]
    >>> tl.OT().distance(x, y), round(tl.OPW().distance(x, y), 4)
    (0.0, 2.6667)
    """

    inverse_difference: float = 50.0
    deviation: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_float(self.deviation, "deviation", above=0)
        check_float(self.inverse_difference, "inverse_difference", 0)
        least = math.sqrt(self.regularization / _MAX_STEEPNESS) / math.sqrt(2)
        if self.deviation < least:
            raise ValueError(
                f"deviation={self.deviation}: expected at least {least:.2g} with regularization={self.regularization}, "
                "or λ2/(2δ²) overflows"
            )

    def _solver_options(self) -> native.SinkhornOptions:
        spread = self.regularization / self.deviation / self.deviation / 2  # δ² alone may overflow
        return native.SinkhornOptions(similarity=self.inverse_difference, spread=spread, **self._common_options())


@dataclass(frozen=True, kw_only=True, repr=False)
class TCOT(EntropicTransport):
    """Entropy-regularized transport with time in the ground cost: ⟨T, C⟩ with C_ij = D_ij + w |i/N − j/M|.

    The tables of the TAP paper (Su and Wen, 2022) list a method TCOT. This is our interpretation: the distance of
    relative positions is part of the ground cost. With w = 0 it is `Sinkhorn`.

    Parameters
    ----------
    weight : float
        w, the cost of moving mass over the whole length, in the units of the cost.
    regularization, cost, max_iter, tolerance
        As in `Sinkhorn`.

    Examples
    --------
    >>> import timelike as tl
    >>> early, late = [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]
    >>> for w in (0.0, 1.0):
    ...     print(round(tl.align.TCOT(weight=w, regularization=0.01).distance(early, late), 4))
    0.0
    0.375
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_float(self.weight, "weight", 0)

    def _solver_options(self) -> native.SinkhornOptions:
        return native.SinkhornOptions(weight=self.weight, counted=True, **self._common_options())


@contextmanager
def _limit_memory(x: Sequences, y: Sequences, matrices: int, threads: int = 1) -> Iterator[int]:
    """How many of the threads have memory for `matrices` of the longest pair's steps; an error if none has."""
    n, m = int(x.lengths.max()), int(y.lengths.max())
    need, what = 8 * matrices * n * m, f"transport between {n} and {m} steps"
    fewer = "resample() to fewer steps, crop() to a part, or use DTW, whose memory grows with the length only"
    refuse_beyond_memory(need, what, fewer)
    try:
        yield max(1, min(threads, (total_memory() or threads * need) // need))
    except MemoryError:  # a limit of the process or of the system, which is less than the machine has
        raise MemoryError(f"{what} needs {need / 2**30:.1f} GiB: {fewer}") from None


def check_cost(cost: Any) -> None:
    """An error unless it is a cost of frames."""
    if cost not in COSTS:
        raise ValueError(f"cost={cost!r}: expected one of {', '.join(map(repr, COSTS))}")


def _split_frames(s: Sequences) -> list[NDArray[np.float64]]:
    flat = s.values.reshape(len(s.values), -1).astype(np.float64, copy=False)
    return [flat[a:b] for a, b in zip(s.offsets[:-1], s.offsets[1:], strict=True)]
