"""Small random changes of a whole batch, which keep a network from memorizing few sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ...core.parameters import check_float
from ...core.validation.tensors import valid_mask
from ...sequences.augment import Augmentation
from .self_supervised import augment_batch


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """Random crops stretched to the original length, random channel scales, and noise.

    A crop keeps at least the fraction `crop` of a sequence. Each channel is multiplied by a number with mean 1 and
    deviation `scaling`, and each value gets noise of deviation `jitter`, in units of standardized channels. The whole
    batch is computed at once, whereas `timelike.sequences.augment` changes single sequences and returns alignments.

    >>> x, lengths = torch.arange(6.0).reshape(1, 6, 1), torch.tensor([5])
    >>> none = Perturbation(crop=1.0, scaling=0.0, jitter=0.0)
    >>> none(x, lengths, np.random.default_rng(0))[0].flatten().tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 0.0]
    """

    crop: float = 0.8
    scaling: float = 0.1
    jitter: float = 0.05

    def __post_init__(self) -> None:
        check_float(self.crop, "crop", above=0.0, most=1.0)
        check_float(self.scaling, "scaling", 0.0)
        check_float(self.jitter, "jitter", 0.0)

    def __call__(self, x: Tensor, lengths: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Perturbed sequences of the same lengths, from x (item, time, channel) with lengths (item,)."""
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        n, longest, channels = x.shape
        inside = valid_mask(lengths, longest)
        changed = self._crop_and_stretch(x, lengths, generator)
        if self.scaling:
            changed = changed * (1 + self.scaling * torch.randn(n, 1, channels, generator=generator))
        if self.jitter:
            changed = changed + self.jitter * torch.randn(x.shape, generator=generator)
        return torch.where(inside[..., None], changed, 0).to(x.dtype), lengths

    def _crop_and_stretch(self, x: Tensor, lengths: Tensor, generator: torch.Generator) -> Tensor:
        width = self.crop + (1 - self.crop) * torch.rand(len(x), 1, generator=generator, dtype=torch.float64)
        start = (1 - width) * torch.rand(len(x), 1, generator=generator, dtype=torch.float64)
        last = (lengths - 1)[:, None]
        positions = torch.minimum(start * last + width * torch.arange(x.shape[1]), last)
        before = positions.long()
        fraction = (positions - before)[..., None].to(x.dtype)
        items = torch.arange(len(x))[:, None]
        return x[items, before] * (1 - fraction) + x[items, torch.minimum(before + 1, last)] * fraction


@dataclass(frozen=True)
class PerItemAugmentation:
    """An augmentation of single sequences, applied to a batch."""

    augmentation: Augmentation

    def __call__(self, x: Tensor, lengths: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Augmented sequences and their lengths, from x (item, time, channel) with lengths (item,)."""
        new = augment_batch(x, lengths, self.augmentation, random_state=rng)
        return new.x, new.lengths


BatchPerturbation = Perturbation | PerItemAugmentation
