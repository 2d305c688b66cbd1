"""SRVPRollout: a fitted SRVP network that infers contents and states, samples futures and decodes frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..base import ForecastRequest
from ..codecs.base import Content
from ..codecs.convolutions import ConvDecoder
from .gaussian import DiagonalGaussian
from .network import SRVPNetwork

BLOCK_NUMBERS = 1 << 22  # numbers decoded at once


class InferredPast(NamedTuple):
    """The quantities inferred from the last frames of pasts, before sampling."""

    content: Content
    first: DiagonalGaussian
    random: DiagonalGaussian | None
    lstm_states: Tensor | None = None
    drift_posterior: DiagonalGaussian | None = None


class SRVPRollout(NamedTuple):
    """The operations of a fitted `SRVP` network.

    `network` is in double precision, `single` the same in single precision. `n_content_frames` is the number of frames
    that determine the content, `n_numbers` the size of a frame, including masked cells. `to_rows` converts decoded
    frames to rows of cells in data units, of a given dtype; `to_inputs` standardizes them as encoder inputs.
    `reencode_steps` is the number of steps after which a state is inferred from the forecast itself, None for never.
    """

    network: SRVPNetwork
    single: SRVPNetwork
    n_content_frames: int
    n_numbers: int
    to_rows: Callable[[NDArray[Any], Any], NDArray[Any]]
    to_inputs: Callable[[Tensor], Tensor]
    reencode_steps: int | None = None

    # --- inference ---------------------------------------------------------------------------------------------------

    def encode_frames(self, x: Tensor) -> tuple[Tensor, Content]:
        """Codes of all frames, and the content of the last frames, or of the first frames with drift."""
        network, count = self.network, self.n_content_frames
        with torch.no_grad():
            codes, stage_maps = network.encode_frames(x)
            begin = x.shape[1] - count if network.content_drift is None else 0
            frame_ids = torch.arange(begin, begin + count).expand(len(x), -1)
            return codes, network.encode_content(codes, frame_ids, stage_maps, torch.full((len(x),), x.shape[1] - 1))

    def content_over_time(self, content: Content, codes: Tensor) -> Content:
        """With drift, the content of every frame, from posterior means; otherwise the content itself."""
        drift = self.network.content_drift
        if drift is None:
            return content
        with torch.no_grad():
            return drift.content_path(content, drift.posterior(codes).mean)

    def mean_states(self, codes: Tensor) -> Tensor:
        """States at all frames, from posterior means."""
        network = self.network
        with torch.no_grad():
            y, random = network.first_state_posterior(codes).mean, network.random_posterior(codes)
            z = None if random is None else random.mean
            return self._advance_states(y, z, network.lstm_states(codes), codes.shape[1])

    def _advance_states(self, y: Tensor, z: Tensor | None, lstm_states: Tensor | None, n_frames: int) -> Tensor:
        """States from the first, with the substeps of training: from given z, or from LSTM states with delays."""
        network = self.network
        if network.delays is not None and lstm_states is not None:
            times = torch.arange(lstm_states.shape[1], dtype=y.dtype)
            return network.delays.sample_path(network, y, lstm_states, times, None).states
        states = [y]
        for step in range(n_frames - 1):
            y = network.advance_step(y, None if z is None else z[:, step], network.substeps)[0][-1]
            states.append(y)
        return torch.stack(states, dim=1)

    def event_times(self, codes: Tensor) -> NDArray[np.float64]:
        """The times at which z changes in one sequence, from posterior means: after each delay, or at every frame."""
        network = self.network
        with torch.no_grad():
            lstm_states = network.lstm_states(codes)
            if network.delays is None or lstm_states is None:
                return np.arange(codes.shape[1] - 1 if network.n_random else 0, dtype=np.float64)
            times = torch.arange(lstm_states.shape[1], dtype=lstm_states.dtype)
            path = network.delays.sample_path(
                network, network.first_state_posterior(codes).mean, lstm_states, times, None
            )
        return np.asarray(path.starts[0].numpy(), np.float64)

    def interpolate(self, ends: list[Tensor], count: int) -> tuple[Content, Tensor]:
        """Contents and states of `count` sequences between two others, given the frames of both.

        Contents, first states, z and LSTM states are interpolated linearly.
        """
        network, fractions = self.network, torch.linspace(0, 1, count, dtype=torch.float64)
        with torch.no_grad():
            sides = [self.encode_frames(x) for x in ends]
            codes = [side[0] for side in sides]
            one, other = (self.content_over_time(content, code) for code, content in sides)
            content = Content(
                _interpolate(one.code, other.code, fractions),
                [_interpolate(a, b, fractions) for a, b in zip(one.skips, other.skips, strict=True)],
            )
            first, last = (network.first_state_posterior(side).mean for side in codes)
            lstm, lstm_last = (network.lstm_states(side) for side in codes)
            random, random_last = (network.random_posterior(side) for side in codes)
            z = None
            if random is not None and random_last is not None:
                z = _interpolate(random.mean, random_last.mean, fractions)
            y, lstm = _interpolate(first, last, fractions), _interpolate(lstm, lstm_last, fractions)
            return content, self._advance_states(y, z, lstm, codes[0].shape[1])

    # --- decoding ----------------------------------------------------------------------------------------------------

    def decode(self, content: Content, states: Tensor, dtype: Any) -> NDArray[Any]:
        """Decode states to rows of cells, (row, time, cell), of the given dtype, a few times at a time.

        Convolutions run in single precision if that is the output dtype: this halves the time and stays independent of
        the batch, because `ConvDecoder` uses blocks of one size. States, whose errors accumulate, stay in double.
        """
        network = self.network
        if isinstance(network.decoder, ConvDecoder) and dtype == np.float32:
            network = self.single
            content, states = content.to(torch.float32), states.float()
        size = max(1, BLOCK_NUMBERS // (len(states) * self.n_numbers))
        blocks = []
        with torch.no_grad():
            for start in range(0, states.shape[1], size):
                frames = network.decode(_slice_content(content, start, start + size), states[:, start : start + size])
                if not bool(torch.isfinite(frames).all()):
                    raise ArithmeticError(
                        f"a forecast is not finite before step {start + size}: the learned steps have blown up there; "
                        "use a shorter horizon, or train for longer or on longer chunks"
                    )
                blocks.append(self.to_rows(frames.numpy(), dtype))
        return np.concatenate(blocks, axis=1)

    # --- forecasting -------------------------------------------------------------------------------------------------

    def forecast(
        self,
        content_frames: Tensor,
        state_frames: Tensor,
        rngs: list[np.random.Generator],
        request: ForecastRequest,
        out: NDArray[Any],
    ) -> None:
        """Write samples of a few items to `out` (sample, item, frame, cell), with one encoding per item.

        `content_frames` and `state_frames`, (item, time, *frame) each, determine content and states; `rngs` holds one
        generator per item.
        """
        network, n_items = self.network, out.shape[1]
        inferred, past = self._infer_past(content_frames, state_frames), network.conditioning - 1
        at_once = max(1, BLOCK_NUMBERS // (n_items * request.n_frames * self.n_numbers))
        steps = past + request.horizon
        events = steps if network.delays is None else network.delays.max_events(steps)
        drift = steps * network.n_content if network.content_drift is not None else 0
        for begin in range(0, request.n_samples, at_once):
            count = min(at_once, request.n_samples - begin)
            first, later, slow = _sample_noise(rngs, count, [network.n_state, events * network.n_random, drift])
            z = later.reshape(len(first), events, -1) if network.n_random else None
            content = repeat_content(inferred.content, count)
            states = self._sample_states(inferred, content, first, z, request)
            if inferred.drift_posterior is not None:
                walk = slow.reshape(len(first), steps, -1)
                content = sample_content_drift(network, content, inferred.drift_posterior, walk, request)
            frames = self.decode(content, states, out.dtype)
            out[begin : begin + count] = frames.reshape(count, n_items, request.n_frames, -1)

    def _infer_past(self, content_frames: Tensor, state_frames: Tensor) -> InferredPast:
        network = self.network
        codes, content = self.encode_frames(content_frames)
        with torch.no_grad():
            drift = None if network.content_drift is None else network.content_drift.posterior(codes)
            if state_frames is not content_frames:
                codes = network.encode_frames(state_frames)[0]
            return InferredPast(
                content,
                network.first_state_posterior(codes),
                network.random_posterior(codes),
                network.lstm_states(codes),
                drift,
            )

    def _sample_states(
        self, inferred: InferredPast, content: Content, first: Tensor, later: Tensor | None, request: ForecastRequest
    ) -> Tensor:
        """States (sample × item, frame, size): through the past with the substeps of training, then from the prior."""
        network, count = self.network, len(first) // len(inferred.first.mean)
        past, parts = network.conditioning - 1, request.substeps or network.substeps
        with torch.no_grad():
            y = DiagonalGaussian(*(part.repeat(count, 1) for part in inferred.first)).sample(first)
            if inferred.lstm_states is not None and later is not None:
                return sample_delayed_states(network, y, inferred.lstm_states, later, request)
            for step in range(past):
                z = None
                if inferred.random is not None and later is not None:
                    z = DiagonalGaussian(*(part[:, step].repeat(count, 1) for part in inferred.random)).sample(
                        later[:, step]
                    )
                y = network.advance_step(y, z, network.substeps)[0][-1]
            states: list[Tensor] = []
            for step in range(request.horizon):
                if step and self.reencode_steps is not None and step % self.reencode_steps == 0:
                    recent = states[request.frames_per_step - 1 :: request.frames_per_step][-network.conditioning :]
                    y = self._reencode_state(content, torch.stack(recent, dim=1))
                prior, z = network.random_prior(y), None
                if prior is not None and later is not None:
                    z = prior.sample(later[:, past + step])
                inner = network.advance_step(y, z, parts, request.frames_per_step)[0]
                states += inner
                y = inner[-1]
        return torch.stack(states, dim=1)

    def _reencode_state(self, content: Content, recent: Tensor) -> Tensor:
        """The last state inferred from the frames of recent states (batch, conditioning, size), from posterior means.

        Far beyond the trained length, states leave the region that the decoder was trained on, and frames fade; states
        that are inferred from frames lie in it.
        """
        codes = self.network.encode_frames(self.to_inputs(self.network.decode(content, recent)))[0]
        return self.mean_states(codes)[:, -1]


def repeat_content(content: Content, count: int) -> Content:
    """Repeat a content (batch, …) for `count` samples, (sample × batch, …)."""
    code = None if content.code is None else content.code.repeat(count, 1)
    return Content(code, [one.repeat(count, 1, 1, 1) for one in content.skips])


def sample_content_drift(
    network: SRVPNetwork, content: Content, drift: DiagonalGaussian, noise: Tensor, request: ForecastRequest
) -> Content:
    """Sampled contents of the future frames: through the past as inferred, then from the prior.

    `content` (sample × item, size) is that of the first frame, `noise` (sample × item, step, size) that of all steps.
    """
    assert network.content_drift is not None
    past = drift.mean.shape[1]
    count = len(noise) // len(drift.mean)
    past_drift = DiagonalGaussian(*(part.repeat(count, 1, 1) for part in drift)).sample(noise[:, :past])
    path = network.content_drift.content_path(content, past_drift)
    return network.content_drift.extend_path(path, noise[:, past:], request.frames_per_step)


def sample_delayed_states(
    network: SRVPNetwork, y: Tensor, lstm_states: Tensor, noise: Tensor, request: ForecastRequest
) -> Tensor:
    """States of the future frames (sample × item, frame, size): z is inferred in the past, then sampled."""
    assert network.delays is not None
    count, past = len(y) // len(lstm_states), lstm_states.shape[1] - 1
    times = past + torch.arange(1, request.n_frames + 1, dtype=y.dtype) / request.frames_per_step
    return network.delays.sample_path(network, y, lstm_states.repeat(count, 1, 1), times, noise).states


def _slice_content(content: Content, begin: int, end: int) -> Content:
    """The content of some frames."""
    if content.code is None or content.code.ndim == 2:
        return content
    return content._replace(code=content.code[:, begin:end])


def _sample_noise(draws: list[np.random.Generator], count: int, sizes: list[int]) -> tuple[Tensor, ...]:
    """Noise of `count` samples of each item, (sample × item, size) for each size.

    Every sample has one generator per size, so that neither the block size nor a longer horizon changes earlier
    noise.
    """
    seeds = np.stack([draw.integers(2**63, size=count) for draw in draws], axis=1).ravel()
    noise_arrays = [np.empty((len(seeds), size)) for size in sizes]
    for row, seed in enumerate(seeds):
        for kind, noise in enumerate(noise_arrays):
            if noise.shape[1]:
                bits = np.random.Philox(key=np.array([seed, kind], np.uint64))
                np.random.Generator(bits).standard_normal(out=noise[row])
    return tuple(torch.from_numpy(noise) for noise in noise_arrays)


def _interpolate(one: Any, other: Any, fractions: Tensor) -> Any:
    """Linear interpolation between two tensors, one row per fraction; None if either is None."""
    if one is None or other is None:
        return None
    weight = fractions.reshape(-1, *[1] * (one.ndim - 1))
    return one * (1 - weight) + other * weight
