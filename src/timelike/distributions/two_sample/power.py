"""`power`: the number of sequences needed to detect a difference as large as that of two samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ...core.parameters import check_float, check_int
from ...core.random import MAX_RESAMPLES, RandomState, check_random_state
from ...plotting import two_sample as drawing
from ..discrepancy.mmd import estimate_mmd
from ..kernels.base import default_kernels
from ..validation import pool_samples
from .estimator import TwoSample
from .permutations import Allocations, ExchangeableUnits
from .samples import subsample_pair, validate_samples
from .statistic import statistic_from_matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
_NULL_LEVELS = tuple((np.arange(100) + 0.5) / 100)  # quantiles that stand for all permutations
_MAX_UNITS = 10_000_000  # units of a sample: a difference that needs more counts as none


@dataclass(frozen=True)
class Power:
    """The probability that a test detects a difference of this size, by the number of units in each sample."""

    effect: float
    """MMD² of the two samples at hand, unbiased."""
    standard_error: float
    """Of that estimate."""
    level: float
    target: float
    n_required: int | None
    """Units (items, or groups) of each sample that reach the target; None where no number does."""
    n_required_range: tuple[int | None, int | None]
    """The same if the effect were larger, and smaller, by its standard error."""
    unit: str
    first_order_variance: float
    null: tuple[float, ...]
    """Quantiles of the permuted statistics, per 1/n + 1/m."""

    def probability(self, n: Any) -> Any:
        """The probability that a test with n units in each sample has p ≤ level; a number or an array."""
        sizes = np.asarray(n, np.float64)
        if not (sizes >= 1).all():
            raise ValueError(f"n={n!r:.60}: expected numbers of units, 1 or more")
        probabilities = np.where(sizes < _min_units(self.level), 0.0, _power_curve(sizes, self.effect, self))
        return float(probabilities) if np.ndim(n) == 0 else probabilities

    def __str__(self) -> str:
        low, high = self.n_required_range
        if self.n_required is None:
            size = f"MMD² {self.effect:.3g} ± {self.standard_error:.2g}"
            more = "" if low is None else f"; if there is one, {low} {self.unit} in each sample or more are needed"
            return f"these samples are too few to measure a difference, or there is none ({size}){more}"
        between = f"{low} to {'any number' if high is None else high}"
        return (
            f"{self.n_required} {self.unit} in each sample ({between}) show a difference of MMD² {self.effect:.3g} "
            f"with probability {self.target:.0%} at level {self.level:g}"
        )

    def plot(self) -> Figure:
        """Power over the number of units in each sample."""
        end = 4 * (self.n_required or 100)
        sizes = np.unique(np.geomspace(3, max(end, 12), 60).round().astype(int))
        return drawing.plot_power(sizes, self.probability(sizes), self.target, self.n_required, self.unit)


def power(
    X: Any,
    Y: Any,
    kernel: Any = None,
    *,
    level: float = 0.05,
    target: float = 0.8,
    groups: Any = None,
    n_permutations: int = 1000,
    random_state: RandomState = None,
) -> Power:
    """The number of sequences needed to detect an effect as large as that between X and Y.

    X is a sample of your data, and Y an example of a change that should be detected: recordings of a known defect, or
    other sequences slowed down by 5 %. X and Y must be different recordings: with changed copies of the same ones, the
    effect comes out far too small. To measure a small effect, give a hundred of each or more.

        power(n) ≈ mean over permuted t of Φ((MMD² + (t − q) 2/n) / (σ/√n))

    with t the statistics of permutations, per 1/n + 1/m, q their quantile, and σ² the first-order variance (Gretton et
    al., 2012; Sutherland et al., "Generative models and model criticism via optimized MMD", 2017, with a normal t). It
    depends on the two samples: if they are small, the effect itself is uncertain, as `n_required_range` shows.

    Parameters
    ----------
    X, Y, kernel, groups
        As in `TwoSample` and its `test`. Of the default kernels of sequences the one that needs fewer units counts, at
        half of the level, because the test uses the larger of two statistics.
    level, target : float
        The level of the planned test, and its desired power.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import RBF, power
    >>> rng = np.random.default_rng(0)
    >>> plan = power(rng.standard_normal((200, 2)), rng.standard_normal((200, 2)) + 0.4, RBF(), random_state=0)
    >>> 40 < plan.n_required < 120, plan.probability(10) < plan.probability(100)
    (True, True)
    """
    level, target = (_check_fraction(value, name) for value, name in ((level, "level"), (target, "target")))
    test = TwoSample(
        kernel, n_permutations=check_int(n_permutations, "n_permutations", 19, MAX_RESAMPLES), random_state=random_state
    )
    if level < 10 / n_permutations:
        raise ValueError(
            f"level={level}: n_permutations={n_permutations} cannot resolve it; use {10 / level:.0f} or more"
        )
    if isinstance(test.kernel, tuple):
        raise ValueError("kernel is a list: expected one kernel; call power for each of them")
    X, Y, units = validate_samples(X, Y, None if test.kernel is None else test.kernel.domain, groups)
    if len(units.pairs):
        raise ValueError(
            "groups holds some that are in X and in Y: expected groups of one sample each; take X from some subjects "
            "and Y from others, or plan with groups=False for single items"
        )
    if units.has_lone_unit:
        raise ValueError("groups has one group in X or in Y: expected two of each, to measure how much groups differ")
    rng = check_random_state(random_state)
    X, Y, units, _ = subsample_pair(X, Y, units, rng)
    both = pool_samples((X, Y))
    kernels = default_kernels((X, Y)) if test.kernel is None else (test.kernel,)
    matrices = [kernel.center_on(both).resolve_with_matrix(both, rng).matrix for kernel in kernels]
    allocations = units.items(units.sample_allocations(n_permutations, rng))
    plans = [_estimate_power(matrix, len(X), units, allocations, level, target, len(kernels)) for matrix in matrices]
    return min(plans, key=lambda plan: (plan.n_required or math.inf, plan.n_required_range[0] or math.inf))


def _estimate_power(
    matrix: Floats,
    n_items: int,
    units: ExchangeableUnits,
    allocations: Allocations,
    level: float,
    target: float,
    n_kernels: int,
) -> Power:
    """The `Power` of one kernel; if the largest of several statistics counts, each has an equal part of the level."""
    estimate = estimate_mmd(matrix, n_items, units.group_of)
    n, m = int(units.in_x.sum()), int((~units.in_x).sum())
    null = statistic_from_matrix(matrix, units).statistics(allocations) / (1 / n + 1 / m)
    facts = {
        "effect": estimate.value,
        "standard_error": float(
            np.sqrt(estimate.x_variance / n + estimate.y_variance / m + null.var() * (1 / n + 1 / m) ** 2)
        ),
        "level": level,
        "target": target,
        "unit": units.unit_name,
        "first_order_variance": estimate.x_variance + estimate.y_variance,
        "null": tuple(np.quantile(null, [*_NULL_LEVELS, 1 - level / n_kernels]).tolist()),
    }
    rough = Power(n_required=None, n_required_range=(None, None), **facts)  # type: ignore[arg-type]
    low, middle, high = (_required_units(rough, rough.effect + sign * rough.standard_error) for sign in (1, 0, -1))
    return Power(n_required=middle, n_required_range=(low, high), **facts)  # type: ignore[arg-type]


def _power_curve(n: Floats, effect: float, plan: Power) -> Floats:
    sizes = np.asarray(n, np.float64)[..., None]
    *null, limit = plan.null
    away = effect + (np.array(null) - limit) * 2 / sizes
    spread_of = np.sqrt(plan.first_order_variance / sizes)
    certain = np.where(away > 0, 1.0, 0.0)  # for zero variance
    return np.asarray(np.where(spread_of > 0, ndtr(away / np.where(spread_of > 0, spread_of, 1.0)), certain).mean(-1))


def _required_units(plan: Power, effect: float) -> int | None:
    """The least number of units with the target's power, by halving: power grows with their number."""
    if effect <= 0 or _power_curve(np.array(float(_MAX_UNITS)), effect, plan) < plan.target:
        return None
    low, high = _min_units(plan.level) - 1, _MAX_UNITS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if _power_curve(np.array(float(middle)), effect, plan) >= plan.target else (middle, high)
        )
    return high


def _min_units(level: float) -> int:
    """The least number of units in each sample with which p can be at most the level at all."""
    return next(n for n in range(2, 10_000) if 2 / math.comb(2 * n, n) <= level)


def _check_fraction(value: float, name: str) -> float:
    if check_float(value, name, above=0.0) >= 1:
        raise ValueError(f"{name}={value}: expected a number between 0 and 1, such as 0.05")
    return float(value)
