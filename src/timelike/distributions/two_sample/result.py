"""`TestResult`: what a two-sample test found, in words, numbers and a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...plotting import html, two_sample as drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KernelResult:
    """One of several kernels that were tried: what it found by itself, before all of them were counted in."""

    kernel: str
    statistic: float
    """MMD²."""
    p_value: float
    """By the same permutations, as if this kernel had been the only one: the smallest says what drives the result.

    Where permutations stopped early (`stop_above`), it is by those that were drawn until then.
    """


@dataclass(frozen=True, eq=False)
class TestResult:
    """Whether two samples differ: `p_value` is how probable so large a statistic is if they do not.

    p = (1 + #{permuted ≥ observed}) / (1 + permutations): never 0, ties counted, and exact: of samples that do not
    differ at most a share α has p ≤ α, whatever the kernel and the sizes.
    """

    __test__ = False  # for pytest, which takes it for a test by its name

    statistic: float
    p_value: float
    null: Floats = field(repr=False)
    """The statistics of the permutations, (permutation,): `statistic` itself where they are equal up to rounding."""
    kernel: str
    """What was compared, with its open options resolved."""
    sizes: tuple[int, int]
    n_allocations: int
    """In how many ways items, or groups, could be on two sides; 2⁶³ − 1 where there are more."""
    is_enumerated: bool
    """Whether all of them were tried, and none drawn."""
    unit: str = "items"
    """What changed sides."""
    parts: tuple[KernelResult, ...] = ()
    notes: tuple[str, ...] = ()
    statistic_name: str = "MMD²"
    """What the statistic is."""

    @property
    def n_permutations(self) -> int:
        """How many there were."""
        return len(self.null)

    def __str__(self) -> str:
        """The answer first."""
        how = "all" if self.is_enumerated else f"{self.n_permutations}"
        lines = [
            f"p = {self.p_value:.4g}: {self.verdict}",
            f"{self.statistic_name} {self.statistic:.6g}, by {how} permutations of {self.unit}, {self.sizes[0]} and "
            f"{self.sizes[1]} items; {self.kernel}",
            *(f"  {part.kernel}: p = {part.p_value:.4g}" for part in self.parts),
            *(f"Note: {note}." for note in self.notes),
        ]
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        """In words, by the usual levels."""
        if self.p_value <= 0.01:
            return "the samples differ"
        return "the samples probably differ" if self.p_value <= 0.05 else "no difference is seen"

    def plot(self) -> Figure:
        """The statistics of the permutations, and the one that was observed."""
        return drawing.plot_null(self.null, self.statistic, self.p_value, self.statistic_name)

    def _repr_html_(self) -> str:
        facts = [
            ("p", self.p_value),
            (self.statistic_name, self.statistic),
            ("items", f"{self.sizes[0]} and {self.sizes[1]}"),
            ("permutations", f"{'all ' if self.is_enumerated else ''}{self.n_permutations} of {self.unit}"),
            ("kernel", self.kernel),
        ]
        several = [html.table(["kernel", "MMD²", "p"], [[p.kernel, p.statistic, p.p_value] for p in self.parts])]
        picture = html.figure_html(self.plot(), "The statistic of the samples among those of permutations")
        notes = [html.paragraph(f"Note: {note}.") for note in self.notes]
        return html.join_html(
            html.fact_table(self.verdict.capitalize(), facts), *(several if self.parts else []), *notes, picture
        )
