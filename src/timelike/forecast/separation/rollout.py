"""The verbs of a fitted Separation: futures, states, codes, reconstructions, and contents that change places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...sequences import Sequences
from ...sequences.sampling import RandomState
from ...train.base import double_precision_copy, torch_threads
from ..chunks import PackedFrames
from ..codecs.content import Content
from ..dynamics import ADAPTIVE_SOLVERS
from ..latent_forecaster import LatentForecaster, forecast_dtype
from ..request import ForecastRequest, Futures
from ..result import Forecast
from .network import SeparationNetwork
from .reencoding import RecentFrames

_BLOCK_NUMBERS = 1 << 22  # of pasts that are looked at together
_DECODE_NUMBERS = (
    1 << 18
)  # numbers drawn at once: long futures need little memory beside themselves, and stay in caches


class EncodedPast(NamedTuple):
    """Contents and states of some pasts: the state of the first frame of the window, or with `offset` of the next."""

    content: Content
    state: Tensor


class SeparationBase(LatentForecaster):
    """The verbs of Separation."""

    network_: SeparationNetwork
    solver: Any
    offset: Any
    reencode: Any
    reencode_: bool

    @torch_threads()
    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        return Futures(self._forecast_blocks(past, past, request))

    def _forecast_blocks(self, contents: Sequences, dynamics: Sequences, request: ForecastRequest) -> NDArray[Any]:
        """Futures in rows of cells, (item, frame, cell), of a few pasts at a time."""
        found = np.empty((len(dynamics), request.n_frames, self.cells_.n_cells), forecast_dtype(dynamics))
        for rows, moved in self._past_blocks(dynamics):
            stays = moved if contents is dynamics else contents[rows]
            self._roll_out(stays, moved, self._known_tensor(request, rows), request, found[rows])
        return found

    def swap(
        self,
        content_of: Any,
        dynamics_of: Any,
        horizon: int,
        *,
        n_samples: int = 1,
        frames_per_step: int = 1,
        substeps: int | None = None,
        known_covariates: Any = None,
        random_state: RandomState = None,
    ) -> Forecast:
        """Futures with the content of some pasts and the motion of others, one by one.

        Both are sequences like the pasts of `predict`, as many of the one as of the other.
        """
        contents, dynamics = self._validate_swap_pair(content_of, dynamics_of)
        request = self._make_request(
            dynamics, horizon, n_samples, frames_per_step, substeps, known_covariates, random_state
        )
        if request.n_samples > 1:
            raise ValueError(
                f"n_samples={n_samples}: {type(self).__name__} has one future for a content and a motion, expected 1; "
                "errors that `calibrate` finds are those of contents with their own motion"
            )
        with torch_threads():
            center = self.cells_.to_frames(self._forecast_blocks(contents, dynamics, request))
        return self._make_forecast(dynamics, request, center, center[None])

    @torch_threads()
    def states(self, X: Any) -> Sequences:
        """The state at every time, as sequences of (n_state,) or of maps.

        Each is read off the window that begins there; those of the last times, where no whole window begins, are moved
        on from the last one. With `offset` a state belongs to the time after its window, and sequences begin there.
        """
        sequences = self._validate_min_length(X, self._min_sequence_length())
        found = [self._infer_states(sequences[i : i + 1]) for i in range(len(sequences))]
        lengths = np.array([len(one) for one in found])
        states = np.asarray(np.concatenate(found), np.float32)
        return sequences._with_values(states, lengths, _last_timestamps(sequences, lengths))

    @torch_threads()
    def encode(self, X: Any) -> NDArray[np.float32]:
        """Content and last state of every sequence, (item, n_content + n_state)."""
        sequences = self._validate_min_length(X, self._min_sequence_length())
        found = []
        for _, some in self._past_blocks(sequences):
            begun, material = self._encode_past(some, some), self._pack_frames(some, "X")
            last = self._advance_to_last(begun.state, material)
            parts = [last] if begun.content.code is None else [begun.content.code, last]
            found.append(torch.cat([part.flatten(1) for part in parts], dim=1).numpy())
        return np.asarray(np.concatenate(found), np.float32)

    @torch_threads()
    def reconstruct(self, X: Any) -> Sequences:
        """Every sequence again, drawn from the content of its first window and the state at each time.

        With `offset` it begins after the first window.
        """
        sequences, network = (
            self._validate_min_length(X, self._min_sequence_length()),
            double_precision_copy(self.network_),
        )
        found, kind = [], forecast_dtype(sequences)
        for i in range(len(sequences)):
            one = sequences[i : i + 1]
            material, states = self._pack_double(one), self._infer_states(one)
            at = torch.zeros(1, dtype=torch.int64)
            content = network.encode_content(*self._gather_windows(material, at))
            known = None if material.known is None else material.known[None, -len(states) :]
            found.append(self._decode_blocks(network, content, torch.from_numpy(states)[None], known, kind)[0])
        lengths = np.array([len(one) for one in found])
        rows = self.cells_.to_frames(np.concatenate(found))
        return self.cells_.target_frames(sequences)._with_values(rows, lengths, _last_timestamps(sequences, lengths))

    # --- parts -------------------------------------------------------------------------------------------------------

    def _validate_request(self, request: ForecastRequest) -> None:
        super()._validate_request(request)
        self.network_.dynamics.validate_substeps(request.frames_per_step, request.substeps)

    def _min_sequence_length(self) -> int:
        """Steps of a sequence that has a state within it."""
        return self._min_past_steps() + (1 if self.offset else 0)

    def _past_blocks(self, past: Sequences) -> Iterator[tuple[slice, Sequences]]:
        """Pasts a few at a time; one by one where a solver's steps depend on the company."""
        size = (
            1
            if self.solver in ADAPTIVE_SOLVERS
            else max(1, _BLOCK_NUMBERS // (4 * self.cells_.valid_mask.size * self._min_past_steps()))
        )
        for start in range(0, len(past), size):
            rows = slice(start, start + size)
            yield rows, past[rows]

    def _pack_double(self, sequences: Sequences) -> PackedFrames:
        """Sequences as the network takes them, in double precision."""
        found = self._pack_frames(sequences, "past")
        known = None if found.known is None else found.known.double()
        return found._replace(frames=found.frames.double(), known=known, spans=found.spans.double())

    def _gather_windows(self, material: PackedFrames, at: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Windows that begin at packed steps."""
        size = self._min_past_steps()
        rows = at[:, None] + torch.arange(size)
        known = None if material.known is None else material.known[rows]
        clock = material.spans[rows][:, 1:] if self.network_.n_clock else None
        return material.frames[rows], known, clock

    def _encode_past(self, contents: Sequences, dynamics: Sequences) -> EncodedPast:
        """Content and state of the last window of each."""
        network, size = double_precision_copy(self.network_), self._min_past_steps()
        with torch.no_grad():
            looked = self._pack_double(contents.crop(-size))
            content = network.encode_content(*self._gather_windows(looked, torch.arange(len(contents)) * size))
            moved = looked if contents is dynamics else self._pack_double(dynamics.crop(-size))
            return EncodedPast(
                content, network.encode_state(*self._gather_windows(moved, torch.arange(len(dynamics)) * size))
            )

    def _advance_to_last(self, state: Tensor, material: PackedFrames) -> Tensor:
        """The state at the last frame of each, from that at the first frame of its last window."""
        network, size = double_precision_copy(self.network_), self._min_past_steps()
        if network.offset:  # the state stands for the frame that comes next
            return state
        ends = torch.from_numpy(np.cumsum(material.lengths))
        rows = ends[:, None] + torch.arange(1 - size, 0) if size > 1 else ends[:, None][:, :0]
        forcing = None if material.known is None else material.known[rows].double()
        with torch.no_grad():
            moved = network.dynamics(state, material.spans[rows].double(), forcing)
        return moved[:, -1] if size > 1 else state

    def _roll_out(
        self,
        contents: Sequences,
        dynamics: Sequences,
        known: Tensor | None,
        request: ForecastRequest,
        found: NDArray[Any],
    ) -> None:
        """Futures in rows of cells into `found` (item, frame, cell), a few steps at a time."""
        network, size = double_precision_copy(self.network_), self._min_past_steps()
        begun, material = self._encode_past(contents, dynamics), self._pack_double(dynamics.crop(-size))
        state = self._advance_to_last(begun.state, material)
        recent, step, per_step = RecentFrames.from_packed(material, len(dynamics), size), 0, request.frames_per_step
        at_once = max(1, _DECODE_NUMBERS // (len(contents) * per_step * self.cells_.valid_mask.size))
        given = {"frames": per_step, "parts": request.substeps}
        renewed = self.reencode_ if self.reencode is None else self.reencode
        reach = self.chunk_ - size if renewed else request.horizon
        while step < request.horizon:
            new, left = step % reach == 0, reach - step % reach
            if new and step:
                state = self._reencode_state(network, recent)
            steps = min(at_once, request.horizon - step, left)
            ahead = None if known is None else known[:, step : step + steps]
            with torch.no_grad():
                states = self._next_states(network, state, ahead, steps, first=new, given=given)
                forcing = None if ahead is None else ahead.repeat_interleave(per_step, dim=1)
                frames = network.decode(begun.content, states, forcing)
            self._refuse_divergence(frames, step + steps)
            found[:, step * per_step : (step + steps) * per_step] = self._to_data_units(frames.numpy(), found.dtype)
            recent = recent.append_frames(self._standardize_decoded(frames[:, per_step - 1 :: per_step]), ahead, size)
            state, step = states[:, -1], step + steps

    def _reencode_state(self, network: SeparationNetwork, recent: RecentFrames) -> Tensor:
        """The state at the last of the recent frames, which are forecasts themselves, and evenly apart."""
        spans = recent.frames.new_ones(recent.frames.shape[:2])
        clock = spans[:, 1:] if network.n_clock else None
        with torch.no_grad():
            state = network.encode_state(recent.frames, recent.known, clock)
            if network.offset or spans.shape[1] == 1:
                return state
            moved: Tensor = network.dynamics(state, spans[:, 1:], None if recent.known is None else recent.known[:, 1:])
        return moved[:, -1]

    def _standardize_decoded(self, frames: Tensor) -> Tensor:
        """Frames as the encoders see them: squashed ones are in the units of the data."""
        if not self.uses_sigmoid_:
            return frames
        mean, scale = (torch.from_numpy(np.asarray(moment, np.float64)) for moment in self.scaler_)
        return (frames - mean) / scale

    def _next_states(
        self, network: SeparationNetwork, state: Tensor, ahead: Tensor | None, steps: int, first: bool, given: Any
    ) -> Tensor:
        """States at the next frames; with `offset` the first state is that of the first step already."""
        if not (network.offset and first):
            moved: Tensor = network.dynamics(state, state.new_ones(len(state), steps), ahead, **given)
            return moved
        frames = given["frames"]
        if frames > 1:
            raise ValueError(
                f"frames_per_step={frames}: with offset=True the state begins one step after the past, and there is "
                "nothing between; fit with offset=False"
            )
        forcing = None if ahead is None else ahead[:, 1:]
        return torch.cat(
            [state[:, None], network.dynamics(state, state.new_ones(len(state), steps - 1), forcing, **given)], 1
        )

    def _refuse_divergence(self, frames: Tensor, step: int) -> None:
        fine = torch.isfinite(frames.float())  # as they are answered
        if not bool(fine.all()):
            item = int((~fine).flatten(1).any(1).nonzero()[0])
            raise ArithmeticError(
                f"the forecast of sequence {item} is not finite before step {step}: the learned equation has blown up "
                "there; ask for a shorter horizon, or train for longer or on longer chunks"
            )

    def _decode_blocks(
        self, network: SeparationNetwork, content: Content, states: Tensor, known: Tensor | None, kind: Any
    ) -> NDArray[Any]:
        size = max(1, _DECODE_NUMBERS // self.cells_.valid_mask.size)
        found = []
        with torch.no_grad():
            for start in range(0, states.shape[1], size):
                rows = slice(start, start + size)
                some = None if known is None else known[:, rows]
                found.append(self._to_data_units(network.decode(content, states[:, rows], some).numpy(), kind))
        return np.concatenate(found, axis=1)

    def _infer_states(self, one: Sequences) -> NDArray[np.float64]:
        """The states of one sequence, (time, …), read off some windows at a time."""
        network, size, material = double_precision_copy(self.network_), self._min_past_steps(), self._pack_double(one)
        starts = torch.arange(len(material.frames) - size + (0 if network.offset else 1))
        some = max(1, _DECODE_NUMBERS // (size * self.cells_.valid_mask.size))
        with torch.no_grad():
            read = torch.cat(
                [network.encode_state(*self._gather_windows(material, at)) for at in torch.split(starts, some)]
            )
            if network.offset or size == 1:
                return np.asarray(read.numpy())
            forcing = None if material.known is None else material.known[None, 1 - size :]
            rest = network.dynamics(read[-1:], material.spans[None, 1 - size :], forcing)
        return np.asarray(torch.cat([read, rest[0]]).numpy())

    def _known_tensor(self, request: ForecastRequest, rows: slice) -> Tensor | None:
        """What is known over the horizon, as the network takes it."""
        if request.known_covariates is None:
            return None
        assert self.known_scaler_ is not None
        mean, scale = self.known_scaler_
        return torch.from_numpy((request.known_covariates[rows] - mean) / scale)


def _last_timestamps(sequences: Sequences, lengths: NDArray[Any]) -> NDArray[Any] | None:
    """The timestamps of the last steps of each sequence."""
    if sequences.times is None:
        return None
    ends = zip(sequences.offsets[1:], lengths, strict=True)
    return np.asarray(np.concatenate([sequences.times[end - length : end] for end, length in ends]))
