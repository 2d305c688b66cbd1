"""The ball around a batch in which an attack may move it: budget, bounds and band, kept to the last bit."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..core.validation.tensors import valid_mask
from ..sequences import Sequences

Norm = Literal["linf", "l2"]
N_ALTERNATIONS = 8  # of projections onto budget and band, before the rest is scaled back


@dataclass(frozen=True)
class Ball:
    """The region in which an attack may move a batch.

    `center` (item, time, *frame) is the data; `low` and `high`, of the same shape, are the corners of its box; padding
    cannot move. `unit` has the shape of a frame: the size of a budget of 1 in every channel. A length of the l2 norm is
    ‖d / unit‖ over all steps and channels of a sequence.
    """

    center: Tensor
    low: Tensor
    high: Tensor
    unit: Tensor
    lengths: Tensor
    radius: float
    norm: Norm
    band: float | None

    def take(self, positions: Tensor) -> Ball:
        """The ball of some of the items."""
        parts = {name: getattr(self, name)[positions] for name in ("center", "low", "high", "lengths")}
        return replace(self, **parts)

    def direction(self, gradient: Tensor) -> Tensor:
        """The step of length 1 along which a linear function with this gradient grows most."""
        if self.norm == "linf":
            return self.unit * gradient.sign()
        scaled = gradient * self.unit
        return self.unit * scaled / _item_norms(scaled).clamp(min=torch.finfo(scaled.dtype).tiny)

    def project(self, point: Tensor) -> Tensor:
        """The point, or one near it that keeps to budget, bounds and band."""
        offset = torch.where(self._step_mask, point.double() - self.center.double(), 0.0)
        if self.band is None or self.band >= 1:
            return self._round_to_dtype(self._project_to_box(offset))
        for _ in range(N_ALTERNATIONS):
            offset = self._low_pass(self._project_to_box(offset))
        return self._round_to_dtype(self._scale_into_ball(offset))  # scaling keeps the frequencies

    def map_from_unit_ball(self, noise: Tensor) -> Tensor:
        """The point of the ball that corresponds to a point of the unit ball."""
        return self.project(self.center.double() + self.radius * self.unit * noise)

    @property
    def _step_mask(self) -> Tensor:
        """Mask of the steps that are not padding, (item, time, 1, …)."""
        steps = valid_mask(self.lengths, self.center.shape[1], self.center.device)
        return steps.reshape(*steps.shape, *[1] * (self.center.ndim - 2))

    def _project_to_box(self, offset: Tensor) -> Tensor:
        """Into the ball of the norm, then into the box."""
        if self.norm == "l2":
            length = _item_norms(offset / self.unit)
            offset = offset * (self.radius / length.clamp(min=torch.finfo(length.dtype).tiny)).clamp(max=1.0)
        center = self.center.double()
        return torch.maximum(torch.minimum(offset, self.high.double() - center), self.low.double() - center)

    def _low_pass(self, offset: Tensor) -> Tensor:
        """The lowest frequencies of every sequence's own length, the mean included."""
        assert self.band is not None
        low_frequencies = torch.zeros_like(offset)
        for length in sorted(set(self.lengths.tolist())):
            items = self.lengths == length
            waves = torch.fft.rfft(offset[items, :length], dim=1)
            waves[:, 1 + math.floor(self.band * (length // 2)) :] = 0
            low_frequencies[items, :length] = torch.fft.irfft(waves, n=length, dim=1)
        return low_frequencies

    def _scale_into_ball(self, offset: Tensor) -> Tensor:
        """The largest multiple, of at most 1, that is in the ball and in the box."""
        center = self.center.double()
        room = torch.where(offset > 0, self.high.double() - center, self.low.double() - center)
        fits = torch.where(offset == 0, 1.0, room / torch.where(offset == 0, 1.0, offset)).flatten(1).amin(1)
        if self.norm == "l2":
            length = _item_norms(offset / self.unit).flatten()
            fits = torch.minimum(fits, self.radius / length.clamp(min=torch.finfo(length.dtype).tiny))
        return offset * fits.clamp(max=1.0).reshape(-1, *[1] * (offset.ndim - 1))

    def _round_to_dtype(self, offset: Tensor) -> Tensor:
        """The point in the dtype of the data, which rounding must not move out of the ball."""
        point = self._clip_to_box(self.center.double() + offset)
        if self.norm == "linf":
            return point
        for _ in range(N_ALTERNATIONS):
            length = _item_norms((point.double() - self.center.double()) / self.unit)
            if not (length > self.radius).any():
                return point
            factors = torch.where(length > self.radius, (1 - 1e-6) * self.radius / length, 1.0)
            offset = offset * factors
            point = self._clip_to_box(self.center.double() + offset)
        return torch.where(length > self.radius, self.center, point)  # a budget below what the dtype can resolve

    def _clip_to_box(self, point: Tensor) -> Tensor:
        point = point.to(self.center.dtype)
        point = torch.maximum(torch.minimum(point, self.high), self.low)
        return torch.where(self._step_mask, point, self.center)


def make_ball(
    center: Tensor,
    lengths: Tensor,
    unit: Tensor,
    radius: float,
    *,
    norm: Norm = "linf",
    bounds: tuple[Any, Any] | None = None,
    band: float | None = None,
) -> Ball:
    """The ball of this radius; bounds are numbers or tensors of the shape of a frame.

    >>> scale = torch.ones(1, dtype=torch.double)
    >>> ball = make_ball(torch.tensor([[[0.9]]]), torch.tensor([1]), scale, 0.3, bounds=(0, 1))
    >>> ball.project(torch.tensor([[[2.0]]]))
    tensor([[[1.]]])
    """
    unit = unit.to(center.device, torch.float64)
    low, high = (
        _box_corners(center, radius * unit)
        if norm == "linf"
        else (torch.full_like(center, s) for s in (-math.inf, math.inf))
    )
    if bounds is not None:
        least, most = (torch.as_tensor(bound, device=center.device).to(center.dtype) for bound in bounds)
        low, high = torch.maximum(low, least), torch.minimum(high, most)
    # data that rounding has moved slightly out of the bounds stays where it is
    return Ball(
        center,
        torch.minimum(low, center),
        torch.maximum(high, center),
        unit,
        lengths.to(center.device),
        radius,
        norm,
        band,
    )


def _box_corners(center: Tensor, reach: Tensor) -> tuple[Tensor, Tensor]:
    """The outermost numbers of the dtype within the reach."""
    exact = center.double()
    corners = []
    for side in (-1, 1):
        corner = (exact + side * reach).to(center.dtype)
        outside = (corner.double() - exact).abs() > reach
        corners.append(torch.where(outside, torch.nextafter(corner, center), corner))
    return corners[0], corners[1]


def sample_noise(
    rngs: Sequence[np.random.Generator], lengths: Tensor, shape: tuple[int, ...] | torch.Size, norm: Norm
) -> Tensor:
    """A point of the unit ball for every item, (item, time, *frame), each by its own generator; padding is 0."""
    noise = np.zeros(shape)
    for item, (rng, length) in enumerate(zip(rngs, lengths.tolist(), strict=True)):
        if norm == "linf":
            noise[item, :length] = rng.uniform(-1, 1, (length, *shape[2:]))
        else:
            direction = rng.standard_normal((length, *shape[2:]))
            noise[item, :length] = rng.uniform() * direction / np.linalg.norm(direction)
    return torch.from_numpy(noise)


def item_generators(sequences: Sequences, seed: int, run: int) -> list[np.random.Generator]:
    """A generator for every item, independent of the other items."""
    return [np.random.default_rng([seed, run, _hash_values(values)]) for values in sequences]


def _hash_values(values: NDArray[Any]) -> int:
    return int.from_bytes(hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).digest(), "little")


def _item_norms(values: Tensor) -> Tensor:
    """Euclidean length of every item, (item, 1, …)."""
    norms: Tensor = torch.linalg.vector_norm(values.flatten(1), dim=1).reshape(-1, *[1] * (values.ndim - 1))
    return norms
