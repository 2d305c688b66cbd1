"""The largest of several kernels' MMD², each in standard deviations of chance: one statistic for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .mmd_statistic import Floats, MMDStatistic
from .permutations import Allocations


@dataclass(frozen=True, eq=False)
class MaxStatistic:
    """max_k MMD²_k / σ_k of many allocations, with σ_k the deviation of MMD²_k where nothing differs.

    σ_k is made of the pooled sample, without a look at which item is on which side, so it is the same for every
    allocation, and a permutation test with the largest is as exact as one with a single kernel. What only one of the
    kernels sees is seen almost as well as by that one alone: a sum would add the noise of the others.
    """

    parts: tuple[MMDStatistic, ...]
    is_scaled: bool = True
    """Whether each is divided by its deviation; MMD² of a single kernel may stay as it is."""

    @property
    def is_constant(self) -> bool:
        """Whether no kernel tells any two allocations apart."""
        return all(part.is_constant for part in self.parts)

    @property
    def matrix(self) -> Floats | None:
        """Similarities, where those of all kernels are in memory."""
        return None if any(part.matrix is None for part in self.parts) else self.parts[0].matrix

    @property
    def deviations(self) -> Floats:
        """σ_k, (kernel,); infinite where it would be 0.

        With s² the mean square of centred similarities (`MMDStatistic.similarity_deviation`), N = n + m and all
        allocations as likely,

            σ² = 2 s² (N − 1)(N − 2) / (n (n − 1) m (m − 1))

        exactly for single items and unbiased MMD²; for groups, and sides of one item, it is a scale like any other.
        """
        if not self.is_scaled:
            return np.ones(len(self.parts))
        units = self.parts[0].units
        total, n = len(units.unit_of), int(units.in_x[units.unit_of].sum())
        m = total - n
        pairs = n * max(n - 1, 1) * m * max(m - 1, 1)
        factor = math.sqrt(2 * (total - 1) * (total - 2) / pairs)
        found = np.array([factor * part.similarity_deviation for part in self.parts])
        return np.where(found > 0, found, np.inf)

    @property
    def tie_tolerance(self) -> float:
        """Statistics that are nearer than this are equal."""
        return float(
            max(part.tie_tolerance / deviation for part, deviation in zip(self.parts, self.deviations, strict=True))
        )

    def kernel_statistics(self, sides: Allocations) -> Floats:
        """MMD² of every kernel and allocation, (kernel, allocation)."""
        return np.stack([part.statistics(sides) for part in self.parts])

    def combine(self, each: Floats) -> Floats:
        """The statistic, (allocation,), of what `each` gave."""
        return np.asarray((each / self.deviations[:, None]).max(axis=0))

    def statistics(self, sides: Allocations) -> Floats:
        """The statistic of every allocation (allocation, item)."""
        return self.combine(self.kernel_statistics(sides))


def joint_statistic(parts: Sequence[MMDStatistic]) -> MMDStatistic | MaxStatistic:
    """One statistic of one kernel, or of several."""
    return parts[0] if len(parts) == 1 else MaxStatistic(tuple(parts))
