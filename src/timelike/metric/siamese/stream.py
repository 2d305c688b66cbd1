"""A stream of samples through the siamese network, at a cost that does not grow with the past."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...encode.base import Floats, StandardizedStream
from ...sequences.coarse import Coarse
from ..strided import Strided
from .network import SiameseNetwork


@dataclass(frozen=True)
class _Seen:
    """What is to be known of the frames so far: what convolutions still need, a state, and what a readout keeps."""

    windows: tuple[Tensor, ...]
    frames: tuple[int, ...]
    state: Any = None
    last: Tensor | None = None
    total: Tensor | float = 0.0
    greatest: Tensor | float = -math.inf
    weight: float = 0.0
    most: float = -math.inf


class SiameseStream(StandardizedStream):
    """A stream through a siamese network in double precision.

    Where frames are means over several steps, the one that is not over yet is tried with every sample, and counts when
    it is.
    """

    def __init__(
        self, network: SiameseNetwork, coarse: Coarse, mean: NDArray[np.float64], scale: NDArray[np.float64]
    ) -> None:
        super().__init__(mean, scale)
        self._network, self._coarse = network, coarse
        front = network.front
        layers = front.layers if isinstance(front, Strided) else ()
        sizes = [mean.size, *(layer.channels for layer in layers)]
        windows = (torch.zeros(1, size, layer.taps).double() for size, layer in zip(sizes, layers, strict=False))
        self._seen = _Seen(tuple(windows), (0,) * len(layers))
        self._frames, self._sum, self._covered = 0, np.zeros(mean.size), 0.0

    @torch.no_grad()
    def _advance(self, x: Floats) -> Floats:
        step = x.reshape(-1).astype(np.float64)
        if self.n_samples >= self._coarse.most * self._coarse.factor:
            raise ValueError(
                f"the stream has {self.n_samples + 1} samples, and frames of {self._coarse.factor:g} steps are for at "
                f"most {self._coarse.most} of them: fit with max_frames=None to go on without end"
            )
        # how much of this step is in the frame under way; the rest, of a step on the border, is in the next
        here = min(1.0, (self._frames + 1) * self._coarse.factor - self.n_samples)
        tried = self._with(here * step, here)
        if (self.n_samples + 1) < (self._frames + 1) * self._coarse.factor * (1 - 1e-12):
            return self._vector(tried)
        self._seen, self._frames = tried, self._frames + 1
        self._sum, self._covered = np.zeros_like(step), 0.0
        if 1 - here > 1e-9:
            tried = self._with((1 - here) * step, 1 - here)
        return self._vector(tried)

    def _with(self, part: NDArray[np.float64], covered: float) -> _Seen:
        """All frames so far and the one under way, with a part of a step more in it."""
        self._sum, self._covered = self._sum + part, self._covered + covered
        mean = np.float32(self._sum / self._covered)  # as frames are rounded where all steps are there
        return self._read(self._seen, torch.from_numpy(mean.astype(np.float64))[None])

    def _read(self, seen: _Seen, x: Tensor) -> _Seen:
        """One more frame (1, channel) through the convolutions, the cells and the readout, where it gets so far."""
        front = self._network.front
        windows, frames = list(seen.windows), list(seen.frames)
        for k in range(len(windows)):
            assert isinstance(front, Strided)
            windows[k] = torch.cat([windows[k][..., 1:], x[..., None]], -1)
            frames[k] += 1
            if (frames[k] - 1) % front.layers[k].stride:
                return replace(seen, windows=tuple(windows), frames=tuple(frames))
            found = front.convolutions[k](windows[k])
            x = nn.functional.gelu(front.norms[k](found, torch.ones(1, 1, dtype=torch.bool)))[..., 0]
        states, state = self._network.cells(x[:, None], seen.state)
        return self._kept(replace(seen, windows=tuple(windows), frames=tuple(frames), state=state), states[0, 0])

    def _kept(self, seen: _Seen, state: Tensor) -> _Seen:
        """What the readout needs, with one more state."""
        readout = self._network.readout
        if readout.pooling != "attention":
            greatest = torch.maximum(torch.as_tensor(seen.greatest, dtype=state.dtype), state)
            return replace(seen, last=state, total=seen.total + state, greatest=greatest, weight=seen.weight + 1)
        score = float(readout.weigh(state))
        most = max(seen.most, score)  # a softmax that grows: what was is scaled by the new maximum
        old, new = math.exp(seen.most - most), math.exp(score - most)
        return replace(seen, most=most, total=old * seen.total + new * state, weight=old * seen.weight + new)

    def _vector(self, seen: _Seen) -> Floats:
        parts = {"last": seen.last, "max": seen.greatest}
        if self._network.readout.pooling in ("mean", "mean+max", "attention"):
            parts["mean"] = parts["attention"] = torch.as_tensor(seen.total) / seen.weight
        chosen = self._network.readout.pooling.split("+")
        found = torch.cat([torch.as_tensor(parts[name]) for name in chosen])
        return self._network.vectors(found[None])[0].float().numpy()
