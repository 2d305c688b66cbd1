"""Views of images and vectors: small random changes that preserve their class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .crops import Ints


@dataclass(frozen=True)
class ImageViews:
    """Images shifted by up to the fraction `shift` of their sides, the border repeated, plus white noise.

    `jitter` is the deviation of the noise, relative to that of the standardized values.

    >>> image = torch.arange(4.0).reshape(1, 1, 4)
    >>> ImageViews((1, 1, 4), shift=0.25, jitter=0.0)(image, np.ones(1), np.random.default_rng(2))[0].tolist()
    [[[1.0, 2.0, 3.0, 3.0]]]
    """

    frame: tuple[int, ...]
    shift: float
    jitter: float

    def __call__(self, x: Tensor, lengths: Ints, rng: np.random.Generator) -> tuple[Tensor, Ints]:
        """Change every image independently."""
        images = x.reshape(-1, *self.frame)
        item = np.arange(len(images))[:, None, None, None]
        channel = np.arange(self.frame[0])[:, None, None]
        rows, columns = (self._source_positions(len(images), side, rng) for side in self.frame[1:])
        views = images[item, channel, rows[:, None, :, None], columns[:, None, None, :]]
        return _add_noise(views.reshape(x.shape), self.jitter, rng), lengths

    def _source_positions(self, count: int, side: int, rng: np.random.Generator) -> Ints:
        """The source positions of the rows, or columns, of every shifted image."""
        most = round(self.shift * side)
        steps = rng.integers(-most, most + 1, (count, 1))
        return np.clip(np.arange(side) + steps, 0, side - 1)


@dataclass(frozen=True)
class VectorViews:
    """Vectors with white noise of deviation `jitter` and the fraction `mask_share` of their numbers set to 0.

    >>> VectorViews(mask_share=0.5, jitter=0.0)(torch.ones(1, 1, 4), np.ones(1), np.random.default_rng(0))[0].tolist()
    [[[1.0, 0.0, 0.0, 0.0]]]
    """

    mask_share: float
    jitter: float

    def __call__(self, x: Tensor, lengths: Ints, rng: np.random.Generator) -> tuple[Tensor, Ints]:
        """Change every vector independently."""
        mask = torch.from_numpy(rng.random(tuple(x.shape)) >= self.mask_share)
        return _add_noise(x, self.jitter, rng) * mask, lengths


def _add_noise(x: Tensor, jitter: float, rng: np.random.Generator) -> Tensor:
    return x + jitter * torch.from_numpy(rng.standard_normal(tuple(x.shape), np.float32))
