"""Independent normal distributions, their divergences and samples, and standard normal noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

_MIN_STD = 1e-8  # keeps divergences finite


class DiagonalGaussian(NamedTuple):
    """Independent normal distributions: means and standard deviations of equal shape."""

    mean: Tensor
    scale: Tensor

    @classmethod
    def from_parameters(cls, numbers: Tensor) -> DiagonalGaussian:
        """Means from the first half of the last axis, standard deviations from the softplus of the second."""
        mean, raw = numbers.chunk(2, dim=-1)
        return cls(mean, F.softplus(raw) + _MIN_STD)

    def sample(self, noise: Tensor) -> Tensor:
        """A reparameterized sample, from standard normal noise."""
        return self.mean + self.scale * noise

    def kl_divergence(self, prior: DiagonalGaussian) -> Tensor:
        """KL divergence from a prior, (batch, …) without the last axis."""
        ratio = (self.scale / prior.scale).square()
        apart = ((self.mean - prior.mean) / prior.scale).square()
        return 0.5 * (ratio + apart - 1 - ratio.log()).sum(-1)

    def kl_from_standard(self) -> Tensor:
        """KL divergence from the standard normal distribution."""
        return 0.5 * (self.scale.square() + self.mean.square() - 1 - 2 * self.scale.log()).sum(-1)


def standard_normal_noise(shape: Sequence[int], like: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Standard normal noise."""
    return torch.randn(*shape, dtype=like.dtype, device=like.device, generator=generator)
