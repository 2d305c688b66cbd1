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
from ...sequences.time_pool import TimePool
from ..strided_convolutions import StridedConvolutions
from .network import SiameseNetwork


@dataclass(frozen=True)
class _SiameseState:
    """The state of a stream: windows of the convolutions, the recurrent state, and running values of the readout."""

    windows: tuple[Tensor, ...]
    frames: tuple[int, ...]
    state: Any = None
    last: Tensor | None = None
    total: Tensor | float = 0.0
    running_max: Tensor | float = -math.inf
    weight: float = 0.0
    max_score: float = -math.inf


class SiameseStream(StandardizedStream):
    """A stream through a siamese network in double precision.

    If frames are means over several steps, the unfinished frame is included provisionally after each sample and
    committed when complete.
    """

    def __init__(
        self, network: SiameseNetwork, coarse: TimePool, mean: NDArray[np.float64], scale: NDArray[np.float64]
    ) -> None:
        super().__init__(mean, scale)
        self._network, self._time_pool = network, coarse
        front = network.front
        layers = front.layers if isinstance(front, StridedConvolutions) else ()
        sizes = [mean.size, *(layer.channels for layer in layers)]
        windows = (torch.zeros(1, size, layer.taps).double() for size, layer in zip(sizes, layers, strict=False))
        self._stream_state = _SiameseState(tuple(windows), (0,) * len(layers))
        self._frames, self._sum, self._covered_steps = 0, np.zeros(mean.size), 0.0

    @torch.no_grad()
    def _advance(self, x: Floats) -> Floats:
        step = x.reshape(-1).astype(np.float64)
        if self.n_samples >= self._time_pool.max_frames * self._time_pool.factor:
            raise ValueError(
                f"the stream has {self.n_samples + 1} samples, and frames of {self._time_pool.factor:g} steps are for "
                f"at most {self._time_pool.max_frames} of them: fit with max_frames=None to go on without end"
            )
        # the fraction of this step in the current frame; the rest belongs to the next frame
        here = min(1.0, (self._frames + 1) * self._time_pool.factor - self.n_samples)
        candidate = self._extend_frame(here * step, here)
        if (self.n_samples + 1) < (self._frames + 1) * self._time_pool.factor * (1 - 1e-12):
            return self._state_vector(candidate)
        self._stream_state, self._frames = candidate, self._frames + 1
        self._sum, self._covered_steps = np.zeros_like(step), 0.0
        if 1 - here > 1e-9:
            candidate = self._extend_frame((1 - here) * step, 1 - here)
        return self._state_vector(candidate)

    def _extend_frame(self, part: NDArray[np.float64], covered: float) -> _SiameseState:
        """The state after adding a part of a step to the current frame."""
        self._sum, self._covered_steps = self._sum + part, self._covered_steps + covered
        mean = np.float32(self._sum / self._covered_steps)  # rounded like the frames of whole sequences
        return self._push_frame(self._stream_state, torch.from_numpy(mean.astype(np.float64))[None])

    def _push_frame(self, past: _SiameseState, x: Tensor) -> _SiameseState:
        """Pass one frame (1, channel) through the convolutions and, where these emit a step, cells and readout."""
        front = self._network.front
        windows, frames = list(past.windows), list(past.frames)
        for k in range(len(windows)):
            assert isinstance(front, StridedConvolutions)
            windows[k] = torch.cat([windows[k][..., 1:], x[..., None]], -1)
            frames[k] += 1
            if (frames[k] - 1) % front.layers[k].stride:
                return replace(past, windows=tuple(windows), frames=tuple(frames))
            outputs = front.convolutions[k](windows[k])
            x = nn.functional.gelu(front.norms[k](outputs, torch.ones(1, 1, dtype=torch.bool)))[..., 0]
        states, state = self._network.cells(x[:, None], past.state)
        return self._update_readout(
            replace(past, windows=tuple(windows), frames=tuple(frames), state=state), states[0, 0]
        )

    def _update_readout(self, past: _SiameseState, state: Tensor) -> _SiameseState:
        """Update the running values of the readout with one more state."""
        readout = self._network.readout
        if readout.pooling != "attention":
            greatest = torch.maximum(torch.as_tensor(past.running_max, dtype=state.dtype), state)
            return replace(past, last=state, total=past.total + state, running_max=greatest, weight=past.weight + 1)
        score = float(readout.weigh(state))
        most = max(past.max_score, score)  # running softmax: rescale the past by the new maximum
        old, new = math.exp(past.max_score - most), math.exp(score - most)
        return replace(past, max_score=most, total=old * past.total + new * state, weight=old * past.weight + new)

    def _state_vector(self, state: _SiameseState) -> Floats:
        parts = {"last": state.last, "max": state.running_max}
        if self._network.readout.pooling in ("mean", "mean+max", "attention"):
            parts["mean"] = parts["attention"] = torch.as_tensor(state.total) / state.weight
        names = self._network.readout.pooling.split("+")
        vector = torch.cat([torch.as_tensor(parts[name]) for name in names])
        return self._network.project_readout(vector[None])[0].float().numpy()
