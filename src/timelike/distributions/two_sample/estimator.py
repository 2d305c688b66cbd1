"""`TwoSample`: do two collections come from the same distribution? An exact permutation test with any kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ...align.matrix import Report, progress_bar
from ...sequences import Sequences, bars
from ...sequences.arguments import DRAWS, RandomState, generator, one_of, real, seed, whole
from .. import blocks
from ..kernels.base import Kernel, as_kernel, brief
from ..kernels.learned import default_kernels
from ..samples import pooled
from . import counting, quadratic
from .door import opened
from .exchange import Exchange, Sides, sizes_differ
from .largest import Largest
from .overlap import copies, missing
from .result import Part, TestResult

Statistic = Literal["unbiased", "biased"]
LARGEST = "largest MMD² over its deviation by chance"
_AT_ONCE = 256  # permutations between two looks whether p is decided


@dataclass(frozen=True)
class TwoSample:
    """Whether two collections differ, by MMD and an exact permutation test (Gretton et al., 2012).

    The statistic is MMD²; it is compared with that of the same items dealt out to two sides anew:

        p = (1 + #{permuted ≥ observed}) / (1 + permutations)

    never 0, ties counted (Phipson and Smyth, 2010). Where there are no more ways than `n_permutations`, all are tried.
    The level is exact for any kernel, also where it learns from the data or is not definite: kernels see the pooled
    sample only, and in an order that is drawn. How easily a difference is seen is a matter of the kernel.

    Use it for "is this week's data like last week's?", asked once; for a question that is asked every day, `Drift`,
    whose false alarms do not add up. It needs items that are exchangeable if nothing has changed: sequences of one
    subject are alike, so give groups. It says that something differs, and with thousands of sequences also what
    nobody cares about: look at the statistic, and at `witness`.

    Parameters
    ----------
    kernel : Kernel, callable, list of kernels, or None
        None is `RBF()` for vectors (arrays of two axes). Of sequences it is both `of(Rocket(n_features=2000), RBF())`,
        which sees shapes, and `of(StatisticsEncoder(), RBF())`, which sees levels, spreads and paces: the statistic is
        the larger MMD², each over its deviation by chance, and `parts` of the result say what each found. (Frames of
        more than 256 numbers are compared by Rocket alone.) Of several kernels that are given the best rank counts, and
        p is that of all of them together (`counting.least_ranks`).
    n_permutations : int
    estimator : {"unbiased", "biased"}
        Of MMD², as in `mmd`; unbiased also without pairs of items of one group, which are not independent.
    scales : tuple of float, optional
        Multiples of the kernel's width, such as (0.25, 0.5, 1, 2, 4), that are all tried, as several kernels are.
    stop_above : float, optional
        A level, such as 0.05: permutations stop as soon as p is certain to be above it (`counting.stopped`).
    random_state : int, Generator or None
    progress : bool or None
        Whether to show a bar where there are more than 4096 items: their similarities are made in blocks, three times.
        None does so on a terminal, where it takes over two seconds.

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
    estimator: Statistic = "unbiased"
    scales: tuple[float, ...] | None = None
    stop_above: float | None = None
    random_state: RandomState = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", _kernels(self.kernel))
        object.__setattr__(self, "scales", _factors(self.scales))
        whole(self.n_permutations, "n_permutations", 1, DRAWS)
        one_of(self.estimator, "estimator", get_args(Statistic))
        seed(self.random_state, "random_state")
        bars.checked(self.progress)
        if self.stop_above is None:
            return
        if real(self.stop_above, "stop_above", above=0.0) >= 1:
            raise ValueError(f"stop_above={self.stop_above}: expected a level below 1, such as 0.05")
        if isinstance(self.kernel, tuple) or self.scales is not None:
            raise ValueError("stop_above goes with one kernel: of several, ranks are known when all are drawn")

    def test(self, X: Any, Y: Any, *, groups: Any = None) -> TestResult:
        """Whether X and Y differ.

        Parameters
        ----------
        X, Y : Sequences, list of arrays, or array
            An array of two axes is vectors (item, feature), unless the kernel compares sequences.
        groups : (groups of X, groups of Y), None or False
            What changes sides as a whole (subjects, recordings): None for the groups that X and Y carry, False for
            single items. Groups of one sample are dealt out anew. A group that is in both has a part in each, and the
            parts change places: before and after, of the same subjects.
        """
        over = self._tried()[0].over if self.kernel is not None else None
        given = opened(X, Y, over, groups)
        for kernel in self._tried(given.samples):
            kernel._refuse((given.X, "X"), (given.Y, "Y"))
        return self._tested(given.samples, given.units)

    def _tested(self, samples: tuple[Sequences, Sequences], units: Exchange) -> TestResult:
        """The test of samples that have passed the door."""
        rng = generator(self.random_state)
        learning = kernel_generator(rng)
        sides = permutations(units, self.n_permutations, rng)
        with progress_bar(self.progress, "TwoSample") as report:
            settled = self._settled(samples, units, learning, report)
            if self.kernel is None and self.scales is None:
                columns = [self._together(list(settled), units, sides)]
            else:
                columns = [self._column(kernel, similar, units, sides) for kernel, similar in settled]
        notes = list(dict.fromkeys(one.doubt for one in columns if one.doubt))
        notes += _remarks(units, self.n_permutations) + sizes_differ(units) + copies(*samples) + missing(*samples)
        if all(one.constant for one in columns):
            notes.append("all similarities are equal, so no permutation differs from another, and p is 1")
        if len(columns[0].null) < len(sides):
            notes.append(
                f"stopped after {len(columns[0].null)} permutations, as p is certain to be above {self.stop_above}"
            )
        return _result(columns, units, samples, tuple(notes), len(sides) == units.n_allocations - 1)

    # --- kernels ------------------------------------------------------------------------------------------------------

    def _tried(self, samples: Sequence[Sequences] = ()) -> tuple[Kernel, ...]:
        if self.kernel is None:
            return default_kernels(samples)
        return self.kernel if isinstance(self.kernel, tuple) else (self.kernel,)

    def _settled(
        self, samples: Sequence[Sequences], units: Exchange, rng: np.random.Generator, report: Report
    ) -> Iterator[tuple[Kernel, quadratic.Whole]]:
        """Every kernel of every width, with the similarities of all pairs; one at a time, as they are large."""
        sample, factors, biased = pooled(samples), self.scales or (1.0,), self.estimator == "biased"
        for given in self._tried(samples):
            kernel = given.centred(sample)
            if len(sample) ** 2 <= blocks.WHOLE:
                settled = (
                    [kernel.settled(sample, rng)] if self.scales is None else kernel.rescaled(sample, factors, rng)
                )
                for ready, matrix in settled:
                    yield ready, quadratic.of_matrix(matrix, units, biased=biased, spare=True)
                continue
            ready = kernel.ready(sample, rng)
            known = ready._known(sample, "X and Y")
            for one in [ready] if self.scales is None else ready.scaled_widths(factors):
                yield one, quadratic.of_blocks(one, known, units, biased=biased, report=report)

    # --- permutations -------------------------------------------------------------------------------------------------

    def _together(self, settled: list[tuple[Kernel, quadratic.Whole]], units: Exchange, sides: Sides) -> Column:
        """What the default kernels find: the largest of their statistics, and what each finds by itself."""
        if len(settled) == 1:
            return self._column(*settled[0], units, sides)
        similar, names = Largest(tuple(one for _, one in settled)), [brief(kernel) for kernel, _ in settled]
        called = f"the largest of {len(names)} kernels"
        if self._stops(units, sides):
            found, each = self._stopped(called, similar, units, sides)
        else:
            each = similar.each(units.items(np.concatenate([units.in_x[None], sides])))
            found = _counted(called, similar.largest(each), similar)
        alone = [_counted(name, every, part) for name, every, part in zip(names, each, similar.parts, strict=True)]
        parts = tuple(Part(one.kernel, one.statistic, one.p_value) for one in alone)
        return found._replace(parts=parts, measured=LARGEST)

    def _column(self, kernel: Kernel, similar: quadratic.Whole, units: Exchange, sides: Sides) -> Column:
        """What one kernel finds."""
        if self._stops(units, sides):
            found, _ = self._stopped(brief(kernel), Largest((similar,), scaled=False), units, sides)
        else:
            # with the observed one at once: a matrix that is made in blocks is made anew for every call
            every = similar.statistics(units.items(np.concatenate([units.in_x[None], sides])))
            found = _counted(brief(kernel), every, similar)
        return found._replace(doubt=f"{brief(kernel):.60}: {kernel.indefinite}" if kernel.indefinite else "")

    def _stops(self, units: Exchange, sides: Sides) -> bool:
        """Whether permutations may stop: if they are drawn, and not all of them in an order."""
        return self.stop_above is not None and len(sides) < units.n_allocations - 1

    def _stopped(
        self, kernel: str, similar: Largest, units: Exchange, sides: Sides
    ) -> tuple[Column, NDArray[np.float64]]:
        """What as many permutations as it takes find, and the statistics of each kernel, the observed one first."""
        assert self.stop_above is not None
        each = [similar.each(units.items(units.in_x[None]))]
        observed = float(similar.largest(each[0])[0])
        limit, null = counting.enough(self.stop_above, len(sides)), np.empty(0)
        # a matrix that is made in blocks is made anew for every look, so there is one
        at_once = len(sides) if similar.matrix is None else _AT_ONCE
        decided = None
        for begin in range(0, len(sides), at_once):
            each.append(similar.each(units.items(sides[begin : begin + at_once])))
            null = np.concatenate([null, counting.snapped(similar.largest(each[-1]), observed, similar.tie)])
            if (decided := counting.stopped(null, observed, limit)) is not None:
                break
        p_value, n_drawn = (counting.p_of(null, observed), len(null)) if decided is None else decided
        found = Column(kernel, observed, null[:n_drawn], p_value, similar.constant)
        return found, np.concatenate(each, axis=1)[:, : n_drawn + 1]


class Column(NamedTuple):
    """What one kernel found by itself."""

    kernel: str
    statistic: float
    null: NDArray[np.float64]
    p_value: float
    constant: bool
    measured: str = "MMD²"
    doubt: str = ""
    parts: tuple[Part, ...] = ()


def _counted(kernel: str, every: NDArray[np.float64], similar: quadratic.Whole | Largest) -> Column:
    """A column of statistics, the observed one first, with its p-value."""
    observed = float(every[0])
    null = counting.snapped(every[1:], observed, similar.tie)
    return Column(kernel, observed, null, counting.p_of(null, observed), similar.constant)


def kernel_generator(rng: np.random.Generator) -> np.random.Generator:
    """The source of what kernels draw, apart from that of permutations: the same seed then settles the same kernel."""
    return np.random.default_rng(int(rng.integers(2**62)))


def permutations(units: Exchange, n_permutations: int, rng: np.random.Generator) -> Sides:
    """Allocations of units beside the observed one: all where there are no more, else so many drawn."""
    every = units.n_allocations - 1 <= n_permutations
    return units.every() if every else units.draw(n_permutations, rng)


def _result(
    columns: list[Column], units: Exchange, samples: Sequence[Sequences], notes: tuple[str, ...], enumerated: bool
) -> TestResult:
    """Of one kernel, or of the least rank among several."""
    known: dict[str, Any] = {
        "sizes": (len(samples[0]), len(samples[1])),
        "n_allocations": units.n_allocations,
        "enumerated": enumerated,
        "unit": units.called,
        "notes": notes,
    }
    if len(columns) == 1:
        one = columns[0]
        known |= {"parts": one.parts, "measured": one.measured}
        return TestResult(one.statistic, one.p_value, one.null, one.kernel, **known)
    table = np.stack([np.concatenate([[one.statistic], one.null]) for one in columns], axis=1)
    best = 1 - counting.least_ranks(table)
    parts = tuple(Part(one.kernel, one.statistic, one.p_value) for one in columns)
    return TestResult(
        float(best[0]),
        counting.p_of(best[1:], float(best[0])),
        best[1:],
        f"{len(columns)} kernels",
        parts=parts,
        measured="1 − least rank",
        **known,
    )


def _kernels(kernel: Any) -> Any:
    """A kernel, several of one kind, or None."""
    if kernel is None or not isinstance(kernel, list | tuple):
        return None if kernel is None else as_kernel(kernel)
    several = tuple(as_kernel(one, f"kernel[{i}]") for i, one in enumerate(kernel))
    if not several:
        raise ValueError("kernel is an empty list: expected kernels, or None for the default")
    if len({one.over for one in several}) > 1:
        raise ValueError(f"kernel={several!r:.120}: some compare vectors and some sequences; expected one kind")
    return several


def _factors(scales: Any) -> tuple[float, ...] | None:
    if scales is None:
        return None
    if not isinstance(scales, tuple | list) or not scales:
        raise TypeError(f"scales={scales!r:.60}: expected multiples of the width, such as (0.25, 0.5, 1, 2, 4)")
    return tuple(real(factor, f"scales[{i}]", above=0.0) for i, factor in enumerate(scales))


def _remarks(units: Exchange, n_permutations: int) -> list[str]:
    """What has to be said where there are few ways to exchange."""
    if units.smallest_p <= 0.05:
        few = f"with {n_permutations} permutations p is at least {1 / (n_permutations + 1):.3g}"
        return [few] if n_permutations < 19 else []
    return [f"there are {units.n_allocations} ways to exchange, so p is at least {units.smallest_p:.3g}"]
