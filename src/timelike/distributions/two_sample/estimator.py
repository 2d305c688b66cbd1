"""`TwoSample`: do two collections come from the same distribution? An exact permutation test with any kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ...align.distance_matrix import ProgressCallback, report_progress
from ...core.parameters import check_choice, check_float, check_int
from ...core.progress import check_progress
from ...core.random import MAX_RESAMPLES, RandomState, check_random_state, check_seed, spawn_kernel_rng
from ..kernels import base as kernel_base
from ..kernels.base import Kernel, as_kernel, default_kernels, format_kernel
from ..validation import Sample, pool_samples
from .permutations import (
    Allocations,
    ExchangeableUnits,
    decisive_exceedances,
    group_size_notes,
    least_ranks,
    make_allocations,
    permutation_p_value,
    sequential_p_value,
    snap_ties,
)
from .result import KernelResult, TestResult
from .samples import copy_notes, missing_value_notes, validate_samples
from .statistic import MaxStatistic, MMDStatistic, statistic_from_blocks, statistic_from_matrix

StatisticEstimator = Literal["unbiased", "biased"]
MAX_STATISTIC_NAME = "largest MMD² over its deviation by chance"
_BLOCK_PERMUTATIONS = 256  # permutations between two checks whether p is decided


@dataclass(frozen=True)
class TwoSample:
    """Whether two collections differ, by MMD and an exact permutation test (Gretton et al., 2012).

    The statistic is MMD²; it is compared with its values after random permutations of the items:

        p = (1 + #{permuted ≥ observed}) / (1 + permutations)

    never 0, ties counted (Phipson and Smyth, 2010). If there are at most `n_permutations` allocations, all are
    enumerated. The level is exact for any kernel, even if it learns from the data or is not definite: kernels see the
    pooled sample only, in random order. The kernel determines the power of the test.

    Use it for a single question, "is this week's data like last week's?"; for daily monitoring use `Drift`, whose false
    alarms do not add up. It needs items that are exchangeable if nothing has changed: sequences of one subject are
    alike, so give groups. It detects that something differs, and with thousands of sequences even differences too small
    to matter: check the statistic, and `witness`.

    Parameters
    ----------
    kernel : Kernel, callable, list of kernels, or None
        None is `RBF()` for vectors (arrays of two axes). For sequences it is both
        `EncoderKernel(Rocket(n_features=2000), RBF())`, which sees shapes, and `EncoderKernel(StatisticsEncoder(),
        RBF())`, which sees levels, spreads and paces: the statistic is the larger MMD², each relative to its deviation
        by chance, and `parts` of the result are those of each kernel. (Frames of more than 256 numbers are compared by
        Rocket alone.) With a list of kernels the best rank counts, and p is that of all of them together
        (`least_ranks`).
    n_permutations : int
    estimator : {"unbiased", "biased"}
        The estimator of MMD², as in `mmd`; "unbiased" also excludes pairs of one group, which are not independent.
    scales : tuple of float, optional
        Multiples of the kernel's width, such as (0.25, 0.5, 1, 2, 4), that are all tested, as several kernels are.
    stop_above : float, optional
        A level, such as 0.05: permutations stop as soon as p is certain to be above it (`sequential_p_value`).
    random_state : int, Generator or None
    progress : bool or None
        Whether to show a bar for more than 4096 items, whose similarities are computed in blocks, three times. None
        shows it on a terminal if it takes over two seconds.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> before = [np.sin(np.arange(50) / 4 + rng.uniform(0, 6)) + 0.1 * rng.standard_normal(50) for _ in range(40)]
    >>> after = [np.sin(np.arange(50) / 4.6 + rng.uniform(0, 6)) + 0.1 * rng.standard_normal(50) for _ in range(40)]
    >>> test = tl.distributions.TwoSample(random_state=0)
    >>> print(test.test(before[:20], before[20:]).p_value > 0.05, test.test(before, after).p_value)
    True 0.000999000999000999
    """

    kernel: Any = None
    _: KW_ONLY
    n_permutations: int = 1000
    estimator: StatisticEstimator = "unbiased"
    scales: tuple[float, ...] | None = None
    stop_above: float | None = None
    random_state: RandomState = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", _check_kernels(self.kernel))
        object.__setattr__(self, "scales", _check_scales(self.scales))
        check_int(self.n_permutations, "n_permutations", 1, MAX_RESAMPLES)
        check_choice(self.estimator, "estimator", get_args(StatisticEstimator))
        check_seed(self.random_state, "random_state")
        check_progress(self.progress)
        if self.stop_above is None:
            return
        if check_float(self.stop_above, "stop_above", above=0.0) >= 1:
            raise ValueError(f"stop_above={self.stop_above}: expected a level below 1, such as 0.05")
        if isinstance(self.kernel, tuple) or self.scales is not None:
            raise ValueError("stop_above requires one kernel: ranks of several are known only after all permutations")

    def test(self, X: Any, Y: Any, *, groups: Any = None) -> TestResult:
        """Whether X and Y differ.

        Parameters
        ----------
        X, Y : Sequences, list of arrays, or array
            An array of two axes is vectors (item, feature), unless the kernel compares sequences.
        groups : (groups of X, groups of Y), None or False
            Units that are exchanged as a whole (subjects, recordings): None uses the groups of X and Y, False single
            items. Groups of one sample are reassigned as a whole. A group in both samples has a part in each, and the
            parts are swapped: before and after, for the same subjects.
        """
        domain = self._candidate_kernels()[0].domain if self.kernel is not None else None
        X, Y, units = validate_samples(X, Y, domain, groups)
        for kernel in self._candidate_kernels((X, Y)):
            kernel._validate_sides((X, "X"), (Y, "Y"))
        return self._test_samples((X, Y), units)

    def _test_samples(self, samples: tuple[Sample, Sample], units: ExchangeableUnits) -> TestResult:
        """Test validated samples."""
        rng = check_random_state(self.random_state)
        learning = spawn_kernel_rng(rng)
        sides = make_allocations(units, self.n_permutations, rng)
        with report_progress(self.progress, "TwoSample") as report:
            resolved = self._iterate_resolved(samples, units, learning, report)
            if self.kernel is None and self.scales is None:
                outcomes = [self._combine_defaults(list(resolved), units, sides)]
            else:
                outcomes = [self._kernel_outcome(kernel, statistic, units, sides) for kernel, statistic in resolved]
        notes = list(dict.fromkeys(outcome.indefinite_note for outcome in outcomes if outcome.indefinite_note))
        notes += (
            _permutation_notes(units, self.n_permutations)
            + group_size_notes(units)
            + copy_notes(*samples)
            + missing_value_notes(*samples)
        )
        if all(outcome.is_constant for outcome in outcomes):
            notes.append("all similarities are equal, so no permutation differs from another, and p is 1")
        if len(outcomes[0].null) < len(sides):
            notes.append(
                f"stopped after {len(outcomes[0].null)} permutations, as p is certain to be above {self.stop_above}"
            )
        return _make_result(outcomes, units, samples, tuple(notes), len(sides) == units.n_allocations - 1)

    # --- kernels ------------------------------------------------------------------------------------------------------

    def _candidate_kernels(self, samples: Sequence[Sample] = ()) -> tuple[Kernel, ...]:
        if self.kernel is None:
            return default_kernels(samples)
        return self.kernel if isinstance(self.kernel, tuple) else (self.kernel,)

    def _iterate_resolved(
        self, samples: Sequence[Sample], units: ExchangeableUnits, rng: np.random.Generator, report: ProgressCallback
    ) -> Iterator[tuple[Kernel, MMDStatistic]]:
        """Every kernel of every width with its statistic; one at a time, because matrices are large."""
        sample, factors, biased = pool_samples(samples), self.scales or (1.0,), self.estimator == "biased"
        for candidate in self._candidate_kernels(samples):
            kernel = candidate.center_on(sample)
            if len(sample) ** 2 <= kernel_base.MAX_MATRIX_ENTRIES:
                resolved = (
                    [kernel.resolve_with_matrix(sample, rng)]
                    if self.scales is None
                    else kernel.resolve_widths(sample, factors, rng)
                )
                for ready, matrix in resolved:
                    yield ready, statistic_from_matrix(matrix, units, biased=biased, spare=True)
                continue
            ready = kernel.resolve(sample, rng)
            items = ready._precompute_items(sample, "X and Y")
            for scaled in [ready] if self.scales is None else ready.scale_widths(factors):
                yield scaled, statistic_from_blocks(scaled, items, units, biased=biased, report=report)

    # --- permutations -------------------------------------------------------------------------------------------------

    def _combine_defaults(
        self, resolved: list[tuple[Kernel, MMDStatistic]], units: ExchangeableUnits, sides: Allocations
    ) -> KernelOutcome:
        """The outcome of the default kernels: the largest of their statistics, and the result of each."""
        if len(resolved) == 1:
            return self._kernel_outcome(*resolved[0], units, sides)
        statistic, names = (
            MaxStatistic(tuple(one for _, one in resolved)),
            [format_kernel(kernel) for kernel, _ in resolved],
        )
        joint_name = f"the largest of {len(names)} kernels"
        if self._may_stop_early(units, sides):
            outcome, each = self._permute_until_decided(joint_name, statistic, units, sides)
        else:
            each = statistic.kernel_statistics(units.items(np.concatenate([units.in_x[None], sides])))
            outcome = _count_outcome(joint_name, statistic.combine(each), statistic)
        alone = [
            _count_outcome(name, every, part) for name, every, part in zip(names, each, statistic.parts, strict=True)
        ]
        parts = tuple(KernelResult(one.kernel, one.statistic, one.p_value) for one in alone)
        return outcome._replace(parts=parts, statistic_name=MAX_STATISTIC_NAME)

    def _kernel_outcome(
        self, kernel: Kernel, statistic: MMDStatistic, units: ExchangeableUnits, sides: Allocations
    ) -> KernelOutcome:
        """The outcome of one kernel."""
        if self._may_stop_early(units, sides):
            outcome, _ = self._permute_until_decided(
                format_kernel(kernel), MaxStatistic((statistic,), is_scaled=False), units, sides
            )
        else:
            # together with the observed one: a matrix in blocks is recomputed for every call
            every = statistic.statistics(units.items(np.concatenate([units.in_x[None], sides])))
            outcome = _count_outcome(format_kernel(kernel), every, statistic)
        return outcome._replace(
            indefinite_note=f"{format_kernel(kernel):.60}: {kernel.indefinite_reason}"
            if kernel.indefinite_reason
            else ""
        )

    def _may_stop_early(self, units: ExchangeableUnits, sides: Allocations) -> bool:
        """Whether permutations may stop early: only sampled ones may, not an enumeration."""
        return self.stop_above is not None and len(sides) < units.n_allocations - 1

    def _permute_until_decided(
        self, kernel: str, statistic: MaxStatistic, units: ExchangeableUnits, sides: Allocations
    ) -> tuple[KernelOutcome, NDArray[np.float64]]:
        """The outcome of as many permutations as needed, and the statistics of each kernel, the observed one first."""
        assert self.stop_above is not None
        each = [statistic.kernel_statistics(units.items(units.in_x[None]))]
        observed = float(statistic.combine(each[0])[0])
        limit, null = decisive_exceedances(self.stop_above, len(sides)), np.empty(0)
        # a matrix in blocks is recomputed for every check, so there is one check
        at_once = len(sides) if statistic.matrix is None else _BLOCK_PERMUTATIONS
        decision = None
        for begin in range(0, len(sides), at_once):
            each.append(statistic.kernel_statistics(units.items(sides[begin : begin + at_once])))
            null = np.concatenate([null, snap_ties(statistic.combine(each[-1]), observed, statistic.tie_tolerance)])
            if (decision := sequential_p_value(null, observed, limit)) is not None:
                break
        p_value, n_drawn = (permutation_p_value(null, observed), len(null)) if decision is None else decision
        outcome = KernelOutcome(kernel, observed, null[:n_drawn], p_value, statistic.is_constant)
        return outcome, np.concatenate(each, axis=1)[:, : n_drawn + 1]


class KernelOutcome(NamedTuple):
    """The result of one kernel by itself."""

    kernel: str
    statistic: float
    null: NDArray[np.float64]
    p_value: float
    is_constant: bool
    statistic_name: str = "MMD²"
    indefinite_note: str = ""
    parts: tuple[KernelResult, ...] = ()


def _count_outcome(kernel: str, every: NDArray[np.float64], statistic: MMDStatistic | MaxStatistic) -> KernelOutcome:
    """A column of statistics, the observed one first, with its p-value."""
    observed = float(every[0])
    null = snap_ties(every[1:], observed, statistic.tie_tolerance)
    return KernelOutcome(kernel, observed, null, permutation_p_value(null, observed), statistic.is_constant)


def _make_result(
    outcomes: list[KernelOutcome],
    units: ExchangeableUnits,
    samples: Sequence[Sample],
    notes: tuple[str, ...],
    is_enumerated: bool,
) -> TestResult:
    """The result of one kernel, or of the least rank among several."""
    facts: dict[str, Any] = {
        "sizes": (len(samples[0]), len(samples[1])),
        "n_allocations": units.n_allocations,
        "is_enumerated": is_enumerated,
        "unit": units.unit_name,
        "notes": notes,
    }
    if len(outcomes) == 1:
        outcome = outcomes[0]
        facts |= {"parts": outcome.parts, "statistic_name": outcome.statistic_name}
        return TestResult(outcome.statistic, outcome.p_value, outcome.null, outcome.kernel, **facts)
    table = np.stack([np.concatenate([[outcome.statistic], outcome.null]) for outcome in outcomes], axis=1)
    best = 1 - least_ranks(table)
    parts = tuple(KernelResult(outcome.kernel, outcome.statistic, outcome.p_value) for outcome in outcomes)
    return TestResult(
        float(best[0]),
        permutation_p_value(best[1:], float(best[0])),
        best[1:],
        f"{len(outcomes)} kernels",
        parts=parts,
        statistic_name="1 − least rank",
        **facts,
    )


def _check_kernels(kernel: Any) -> Any:
    """A kernel, several of one kind, or None."""
    if kernel is None or not isinstance(kernel, list | tuple):
        return None if kernel is None else as_kernel(kernel)
    several = tuple(as_kernel(one, f"kernel[{i}]") for i, one in enumerate(kernel))
    if not several:
        raise ValueError("kernel is an empty list: expected kernels, or None for the default")
    if len({one.domain for one in several}) > 1:
        raise ValueError(f"kernel={several!r:.120}: some compare vectors and some sequences; expected one kind")
    return several


def _check_scales(scales: Any) -> tuple[float, ...] | None:
    if scales is None:
        return None
    if not isinstance(scales, tuple | list) or not scales:
        raise TypeError(f"scales={scales!r:.60}: expected multiples of the width, such as (0.25, 0.5, 1, 2, 4)")
    return tuple(check_float(factor, f"scales[{i}]", above=0.0) for i, factor in enumerate(scales))


def _permutation_notes(units: ExchangeableUnits, n_permutations: int) -> list[str]:
    """A note if there are few permutations or allocations."""
    if units.smallest_p <= 0.05:
        few = f"with {n_permutations} permutations p is at least {1 / (n_permutations + 1):.3g}"
        return [few] if n_permutations < 19 else []
    return [f"there are {units.n_allocations} ways to exchange, so p is at least {units.smallest_p:.3g}"]
