"""Rollout: a fitted separation network in double precision that encodes windows, advances states and decodes frames.

States may be reencoded from forecast frames on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..base import ForecastRequest
from ..chunks import PackedFrames
from ..codecs.base import Content
from .network import SeparationNetwork

_DECODE_NUMBERS = 1 << 18  # numbers decoded at once: long futures need little extra memory, and stay in caches


class RecentFrames(NamedTuple):
    """The last frames of each item, (item, time, …), as encoder inputs, with the known channels."""

    frames: Tensor
    known: Tensor | None

    @classmethod
    def from_packed(cls, material: PackedFrames, n_items: int, size: int) -> RecentFrames:
        """The frames of sequences of `size` steps."""
        covariates = None if material.known is None else material.known.reshape(n_items, size, -1)
        return cls(material.frames.reshape(n_items, size, *material.frames.shape[1:]), covariates)

    def append_frames(self, frames: Tensor, covariates: Tensor | None, size: int) -> RecentFrames:
        """The last `size` frames after these have been appended."""
        all_covariates = (
            None if covariates is None or self.known is None else torch.cat([self.known, covariates], dim=1)[:, -size:]
        )
        return RecentFrames(torch.cat([self.frames, frames], dim=1)[:, -size:], all_covariates)


class Rollout(NamedTuple):
    """The operations of a fitted `Separation` network, in double precision.

    `n_numbers` is the size of a frame, including masked cells. `to_rows` converts decoded frames to rows of cells in
    data units, of a given dtype; `to_inputs` standardizes them as encoder inputs. `reencode_steps` is the number of
    steps after which a state is reencoded from the forecast itself, None for never.
    """

    network: SeparationNetwork
    n_numbers: int
    to_rows: Callable[[NDArray[Any], Any], NDArray[Any]]
    to_inputs: Callable[[Tensor], Tensor]
    reencode_steps: int | None = None

    # --- encoding ----------------------------------------------------------------------------------------------------

    def encode_content(self, packed: PackedFrames, starts: Tensor) -> Content:
        """The content of the windows that begin at packed steps."""
        with torch.no_grad():
            return self.network.encode_content(*self._gather_windows(packed, starts))

    def encode_state(self, packed: PackedFrames, starts: Tensor) -> Tensor:
        """The state at the first frame of such windows, or with `offset` at the frame after them."""
        with torch.no_grad():
            return self.network.encode_state(*self._gather_windows(packed, starts))

    def _gather_windows(self, packed: PackedFrames, starts: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        rows = starts[:, None] + torch.arange(self.network.conditioning)
        covariates = None if packed.known is None else packed.known[rows]
        clock = packed.spans[rows][:, 1:] if self.network.n_clock else None
        return packed.frames[rows], covariates, clock

    def last_windows(self, packed: PackedFrames) -> Tensor:
        """The packed step at which the last window of each sequence begins."""
        return torch.from_numpy(np.cumsum(packed.lengths)) - self.network.conditioning

    def infer_states(self, packed: PackedFrames) -> NDArray[np.float64]:
        """The states of one sequence, (time, …), inferred from a few windows at a time.

        The last states, where no whole window begins, evolve from the last inferred one.
        """
        network, size = self.network, self.network.conditioning
        starts = torch.arange(len(packed.frames) - size + (0 if network.offset else 1))
        some = max(1, _DECODE_NUMBERS // (size * self.n_numbers))
        with torch.no_grad():
            states = torch.cat([self.encode_state(packed, at) for at in torch.split(starts, some)])
            if network.offset or size == 1:
                return np.asarray(states.numpy())
            forcing = None if packed.known is None else packed.known[None, 1 - size :]
            rest = network.dynamics(states[-1:], packed.spans[None, 1 - size :], forcing)
        return np.asarray(torch.cat([states, rest[0]]).numpy())

    def advance_to_last(self, state: Tensor, packed: PackedFrames) -> Tensor:
        """The state at the last frame of each sequence, from that at the first frame of its last window."""
        network, size = self.network, self.network.conditioning
        if network.offset:  # the state represents the next frame
            return state
        ends = torch.from_numpy(np.cumsum(packed.lengths))
        rows = ends[:, None] + torch.arange(1 - size, 0) if size > 1 else ends[:, None][:, :0]
        forcing = None if packed.known is None else packed.known[rows].double()
        with torch.no_grad():
            states = network.dynamics(state, packed.spans[rows].double(), forcing)
        return states[:, -1] if size > 1 else state

    # --- decoding ----------------------------------------------------------------------------------------------------

    def decode(self, content: Content, states: Tensor, covariates: Tensor | None, dtype: Any) -> NDArray[Any]:
        """Decode states (batch, time, …) to rows of cells, a few times at a time."""
        size = max(1, _DECODE_NUMBERS // self.n_numbers)
        blocks = []
        with torch.no_grad():
            for start in range(0, states.shape[1], size):
                rows = slice(start, start + size)
                some = None if covariates is None else covariates[:, rows]
                blocks.append(self.to_rows(self.network.decode(content, states[:, rows], some).numpy(), dtype))
        return np.concatenate(blocks, axis=1)

    # --- forecasting -------------------------------------------------------------------------------------------------

    def forecast(
        self,
        content: Content,
        packed: PackedFrames,
        covariates: Tensor | None,
        request: ForecastRequest,
        out: NDArray[Any],
    ) -> None:
        """Forecast windows and write rows of cells to `out` (item, frame, cell), a few steps at a time.

        `packed` holds one window per item, `covariates` (item, horizon, channel) the known channels.
        """
        network, n_items, per_step = self.network, len(packed.lengths), request.frames_per_step
        state = self.advance_to_last(self.encode_state(packed, self.last_windows(packed)), packed)
        recent, step = RecentFrames.from_packed(packed, n_items, network.conditioning), 0
        at_once = max(1, _DECODE_NUMBERS // (n_items * per_step * self.n_numbers))
        step_options = {"frames": per_step, "parts": request.substeps}
        reach = self.reencode_steps or request.horizon
        while step < request.horizon:
            new, remaining = step % reach == 0, reach - step % reach
            if new and step:
                state = self._reencode_state(recent)
            steps = min(at_once, request.horizon - step, remaining)
            ahead = None if covariates is None else covariates[:, step : step + steps]
            with torch.no_grad():
                states = self._next_states(state, ahead, steps, first=new, step_options=step_options)
                forcing = None if ahead is None else ahead.repeat_interleave(per_step, dim=1)
                frames = network.decode(content, states, forcing)
            _refuse_divergence(frames, step + steps)
            out[:, step * per_step : (step + steps) * per_step] = self.to_rows(frames.numpy(), out.dtype)
            last = self.to_inputs(frames[:, per_step - 1 :: per_step])
            recent = recent.append_frames(last, ahead, network.conditioning)
            state, step = states[:, -1], step + steps

    def _reencode_state(self, recent: RecentFrames) -> Tensor:
        """The state at the last recent frame; recent frames are forecasts with even time steps."""
        network, spans = self.network, recent.frames.new_ones(recent.frames.shape[:2])
        clock = spans[:, 1:] if network.n_clock else None
        with torch.no_grad():
            state = network.encode_state(recent.frames, recent.known, clock)
            if network.offset or spans.shape[1] == 1:
                return state
            states: Tensor = network.dynamics(
                state, spans[:, 1:], None if recent.known is None else recent.known[:, 1:]
            )
        return states[:, -1]

    def _next_states(self, state: Tensor, ahead: Tensor | None, steps: int, first: bool, step_options: Any) -> Tensor:
        """States at the next frames; with `offset` the first state already belongs to the first step."""
        network = self.network
        if not (network.offset and first):
            states: Tensor = network.dynamics(state, state.new_ones(len(state), steps), ahead, **step_options)
            return states
        frames = step_options["frames"]
        if frames > 1:
            raise ValueError(
                f"frames_per_step={frames}: with offset=True the state begins one step after the past, and there is "
                "nothing between; fit with offset=False"
            )
        forcing = None if ahead is None else ahead[:, 1:]
        return torch.cat(
            [state[:, None], network.dynamics(state, state.new_ones(len(state), steps - 1), forcing, **step_options)], 1
        )


def _refuse_divergence(frames: Tensor, step: int) -> None:
    fine = torch.isfinite(frames.float())  # single precision, as they are returned
    if not bool(fine.all()):
        item = int((~fine).flatten(1).any(1).nonzero()[0])
        raise ArithmeticError(
            f"the forecast of sequence {item} is not finite before step {step}: the learned equation has blown up "
            "there; use a shorter horizon, or train for longer or on longer chunks"
        )
