"""The two samples of a critic → arrays or `Sequences` that fit each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...sequences.container import Sequences
from ..kernels.base import Kernel
from ..validation import Domain, drop_metadata, is_tensor, pool_samples, refuse_unreadable_tensor, validate_pair
from .costs import Floats
from .critic import Critic


@dataclass(frozen=True, eq=False)
class CriticProblem:
    """The two samples a discriminator is trained on, and a kernel in which nothing is open."""

    fake: Sequences
    real: Sequences
    pooled: Sequences
    kernel: Kernel

    def with_items(self, fake: Floats, real: Floats) -> CriticProblem:
        """The same problem with other finite numbers of the same shapes, which are copied and not validated again."""
        values = [np.array(fake).reshape(self.fake.values.shape), np.array(real).reshape(self.real.values.shape)]
        return replace(
            self,
            fake=self.fake._with_values(values[0]),
            real=self.real._with_values(values[1]),
            pooled=self.pooled._with_values(np.concatenate(values)),
        )

    @property
    def signs(self) -> Floats:
        """−1 for generated items, 1 for real ones, (item,)."""
        return np.repeat([-1.0, 1.0], [len(self.fake), len(self.real)])

    @property
    def mean_weights(self) -> Floats:
        """1/n for generated items, 1/m for real ones: what an item has in the mean of its sample."""
        sizes = np.array([len(self.fake), len(self.real)])
        return np.repeat(1 / sizes, sizes)

    def initial_values(self, initial: Critic | None) -> Floats:
        """f₀ at the items, the generated ones first."""
        if initial is None:
            return np.zeros(len(self.pooled))
        return initial._evaluate(initial._validate_items(self.pooled))


def validate_fake_and_real(fake: Any, real: Any, domain: Domain | None) -> tuple[Sequences, Sequences]:
    """Two samples, arrays or tensors, of one kind, at least two items each, nothing missing; copies of them."""
    for side, name in ((fake, "fake"), (real, "real")):
        refuse_unreadable_tensor(side, name)
    given = [side.detach().double().cpu() if is_tensor(side) else side for side in (fake, real)]
    samples = validate_pair(given[0], given[1], domain, ("fake", "real"), min_items=2)
    for sample, name in zip(samples, ("fake", "real"), strict=True):
        sample.refuse_missing("a discriminator", name)
    return drop_metadata(samples[0]).copy(), drop_metadata(samples[1]).copy()


def validate_problem(fake: Any, real: Any, kernel: Kernel) -> CriticProblem:
    """Validate the samples of a discriminator with a kernel: comparable, nothing missing, two items each."""
    samples = validate_fake_and_real(fake, real, kernel.domain)
    kernel._validate_sides((samples[0], "fake"), (samples[1], "real"))
    both = pool_samples(samples)
    return CriticProblem(samples[0], samples[1], both, kernel.resolve(both) if kernel.has_open_options else kernel)
