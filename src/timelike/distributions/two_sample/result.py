"""`TestResult`: the result of a two-sample test, with text, numbers and a figure."""

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
    """The result of one of several kernels by itself, without correction for their number."""

    kernel: str
    statistic: float
    """MMD²."""
    p_value: float
    """By the same permutations, as if this kernel had been the only one: the smallest drives the result.

    If permutations stopped early (`stop_above`), it is based on those until then.
    """


@dataclass(frozen=True, eq=False)
class TestResult:
    """Whether two samples differ: `p_value` is the probability of so large a statistic if they do not.

    p = (1 + #{permuted ≥ observed}) / (1 + permutations): never 0, ties counted, and exact: if samples do not differ, p
    ≤ α with a probability of at most α, for any kernel and sizes.
    """

    __test__ = False  # pytest would collect it by its name

    statistic: float
    p_value: float
    null: Floats = field(repr=False)
    """The statistics of the permutations, (permutation,): `statistic` itself where they are equal up to rounding."""
    kernel: str
    """The kernel, with its open options resolved."""
    sizes: tuple[int, int]
    n_allocations: int
    """The number of allocations of items, or groups, to two sides, at most 2⁶³ − 1."""
    is_enumerated: bool
    """Whether all of them were enumerated, and none sampled."""
    unit: str = "items"
    """The exchanged units."""
    parts: tuple[KernelResult, ...] = ()
    notes: tuple[str, ...] = ()
    statistic_name: str = "MMD²"
    """The name of the statistic."""

    @property
    def n_permutations(self) -> int:
        """The number of permutations."""
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
        """The result in words, by the usual levels."""
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
