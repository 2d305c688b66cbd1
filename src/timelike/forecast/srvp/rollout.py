"""The verbs of a fitted SRVP: futures, evidence, states, reconstructions, swaps, and what lies between two."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...core.parameters import check_int, format_count
from ...sequences import Sequences
from ...sequences.sampling import RandomState
from ...train.base import double_precision_copy, torch_threads
from ..codecs.content import Content
from ..latent_forecaster import forecast_dtype
from ..random_streams import window_checksum
from ..request import ForecastRequest, Futures
from ..result import Forecast
from .elbo import Elbo
from .experimental import measure_bound
from .inference import BLOCK_NUMBERS, SRVPInference
from .network import DiagonalGaussian, SRVPNetwork
from .state_paths import (
    compute_lstm_states,
    content_over_time,
    event_times,
    infer_drift,
    last_content,
    mean_delayed_states,
    repeat_content,
    sample_content_drift,
    sample_delayed_states,
)


class InferredPast(NamedTuple):
    """What is inferred from the last frames of pasts, before anything is drawn."""

    content: Content
    first: DiagonalGaussian
    random: DiagonalGaussian | None
    lstm_states: Tensor | None = None
    drift_posterior: DiagonalGaussian | None = None


class SRVPBase(SRVPInference):
    """The verbs of SRVP."""

    @torch_threads()
    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        return Futures(None, self._sample_futures(past, past, request))

    def swap(
        self,
        content_of: Any,
        dynamics_of: Any,
        horizon: int,
        *,
        n_samples: int = 1,
        frames_per_step: int = 1,
        substeps: int | None = None,
        random_state: RandomState = None,
    ) -> Forecast:
        """Futures with the content of some pasts and the motion of others, one by one.

        Both are sequences like the pasts of `predict`, as many of the one as of the other.
        """
        self._require_fitted()
        if self.n_content == 0:
            raise ValueError("swap is about the content, and n_content=0 leaves it out: fit with n_content=50, say")
        contents, dynamics = self._validate_swap_pair(content_of, dynamics_of)
        request = self._make_request(dynamics, horizon, n_samples, frames_per_step, substeps, None, random_state)
        with torch_threads():
            samples = self.cells_.to_frames(self._sample_futures(contents, dynamics, request))
        return self._make_forecast(dynamics, request, None, samples)

    @torch_threads()
    def elbo(self, X: Any, *, n_samples: int = 1, random_state: RandomState = None) -> Elbo:
        """The evidence lower bound of whole sequences, by the mean of `n_samples` draws from the posterior."""
        sequences, count = self._validate_min_length(X), check_int(n_samples, "n_samples", 1)
        seed = int(self._resolve_generator(random_state).integers(2**62))
        network, found = double_precision_copy(self.network_), []
        units = 0.0 if self.uses_sigmoid_ else float(np.log(self._cell_scales()).sum())
        there = torch.from_numpy(self.cells_.valid_mask) if self._uses_images() and self.cells_.is_masked else None
        for one in self._iter_items(sequences):
            x = self._double_frames(one)
            codes, content = self._encode_frames(network, x)
            # a generator of its own: threads share torch's, and what the caller draws is not moved
            generator = torch.Generator().manual_seed(seed ^ window_checksum(x[0].numpy()))
            undone = self._scaler_tensors() if self.uses_sigmoid_ else None
            known = there, undone, 1.0, generator
            with torch.no_grad():
                draws = [measure_bound(network, x, codes, content, *known)[0] for _ in range(count)]
            parts = [torch.stack([getattr(draw, name) for draw in draws]).mean() for name in Elbo.__annotations__]
            found.append([float(part) for part in parts] + [x.shape[1] * units])
        table = np.array(found)
        return Elbo(
            elbo=table[:, 0] - table[:, 4],
            likelihood=table[:, 1] - table[:, 4],
            first_kl=table[:, 2],
            random_kl=table[:, 3],
        )

    @torch_threads()
    def states(self, X: Any) -> Sequences:
        """The state at every time, as sequences of (n_state,): the means of what is inferred from the frames."""
        sequences, network = self._validate_min_length(X), double_precision_copy(self.network_)
        found = [
            self._mean_states(network, self._encode_frames(network, self._double_frames(one))[0])
            for one in self._iter_items(sequences)
        ]
        return sequences._with_values(np.concatenate([states[0].numpy() for states in found]).astype(np.float32))

    @torch_threads()
    def events(self, X: Any) -> list[NDArray[np.float64]]:
        """When z was drawn anew in each sequence, in frames since its first, by the means of what is inferred.

        Only with `delays=True` (experimental): otherwise it is drawn at every frame.
        """
        sequences, network, found = self._validate_min_length(X), double_precision_copy(self.network_), []
        for one in self._iter_items(sequences):
            codes, _ = self._encode_frames(network, self._double_frames(one))
            with torch.no_grad():
                found.append(event_times(network, codes))
        return found

    @torch_threads()
    def encode(self, X: Any) -> NDArray[np.float32]:
        """Content and last state of every sequence, (item, n_content + n_state)."""
        sequences, network, found = self._validate_min_length(X), double_precision_copy(self.network_), []
        for one in self._iter_items(sequences):
            codes, content = self._encode_frames(network, self._double_frames(one))
            parts = last_content(content_over_time(network, content, codes))
            found.append(torch.cat([*parts, self._mean_states(network, codes)[:, -1]], dim=1).numpy())
        return np.asarray(np.concatenate(found), np.float32)

    @torch_threads()
    def reconstruct(self, X: Any) -> Sequences:
        """Every sequence again, drawn from its content and the states that are inferred from its frames."""
        sequences, network, found = self._validate_min_length(X), double_precision_copy(self.network_), []
        for one in self._iter_items(sequences):
            codes, content = self._encode_frames(network, self._double_frames(one))
            content, states = content_over_time(network, content, codes), self._mean_states(network, codes)
            found.append(self._decode_rows(network, content, states, forecast_dtype(sequences))[0])
        return self.cells_.target_frames(sequences)._with_values(self.cells_.to_frames(np.concatenate(found)))

    @torch_threads()
    def interpolate(self, a: Any, b: Any, steps: int = 8) -> Sequences:
        """`steps` sequences from a to b: contents, first states and random steps on straight lines between theirs.

        a and b are single sequences of one length, such as `X[0]` or `X[:1]`; the first and the last of what comes
        are their reconstructions (fig. 4.10 of the thesis).
        """
        self._require_fitted()
        count, network = check_int(steps, "steps", 2), double_precision_copy(self.network_)
        ends = [self._validate_min_length(self._as_collection(one), name=name) for one, name in ((a, "a"), (b, "b"))]
        if any(len(end) != 1 for end in ends) or ends[0].lengths[0] != ends[1].lengths[0]:
            raise ValueError(
                f"a holds {format_count(len(ends[0]), 'sequence')} of {ends[0].lengths[0]} steps and b {len(ends[1])} "
                "of "
                f"{ends[1].lengths[0]}: expected one each, of one length; crop the longer one"
            )
        share = torch.linspace(0, 1, count, dtype=torch.float64)
        with torch.no_grad():
            sides = [self._encode_frames(network, self._double_frames(end)) for end in ends]
            states = self._interpolate_states(network, [codes for codes, _ in sides], share)
            one, other = (content_over_time(network, content, codes) for codes, content in sides)
            code = None
            if one.code is not None and other.code is not None:
                code = _interpolate(one.code, other.code, share)
            skips = [_interpolate(*pair, share) for pair in zip(one.skips, other.skips, strict=True)]
            rows = self._decode_rows(network, Content(code, skips), states, forecast_dtype(ends[0]))
        return Sequences(self.cells_.to_frames(rows), channel_names=self.channel_names_)

    def _interpolate_states(self, network: SRVPNetwork, codes: list[Tensor], share: Tensor) -> Tensor:
        """States of which the first, and what is random or was heard, lie on the lines between two."""
        firsts, heard = (
            [network.first_state_posterior(side).mean for side in codes],
            [compute_lstm_states(network, side) for side in codes],
        )
        y, randoms, z = (
            _interpolate(firsts[0], firsts[1], share),
            [network.random_posterior(side) for side in codes],
            None,
        )
        if heard[0] is not None and heard[1] is not None:
            return mean_delayed_states(network, y, _interpolate(heard[0], heard[1], share))
        if randoms[0] is not None and randoms[1] is not None:
            z = _interpolate(randoms[0].mean, randoms[1].mean, share)
        return self._advance_states(network, y, z, codes[0].shape[1])

    # --- parts -------------------------------------------------------------------------------------------------------

    def _validate_request(self, request: ForecastRequest) -> None:
        super()._validate_request(request)
        network, parts = self.network_, request.substeps or self.network_.substeps
        if network.delays is not None and request.substeps is None:
            return  # a state is defined at any time
        if network.delays is not None:
            raise ValueError(f"substeps={parts}: with delays=True the delays are the steps, expected None")
        if network.motion != "residual" and (request.frames_per_step > 1 or parts > 1):
            raise ValueError(
                f"frames_per_step={request.frames_per_step}, substeps={parts}: motion={network.motion!r} moves a whole "
                "step at a time, expected 1; motion='residual' can do so"
            )
        if parts % request.frames_per_step:
            raise ValueError(
                f"frames_per_step={request.frames_per_step} does not divide the {parts} substeps of a step: give "
                f"substeps={request.frames_per_step * parts}"
            )

    def _sample_futures(self, contents: Sequences, dynamics: Sequences, request: ForecastRequest) -> NDArray[Any]:
        """Samples in rows of cells, (sample, item, frame, cell), a few items at a time."""
        size = self._min_past_steps()
        rngs = self._past_generators(dynamics, request)
        n_frames, n_cells = request.n_frames, self.cells_.n_cells
        found = np.empty((request.n_samples, len(dynamics), n_frames, n_cells), forecast_dtype(dynamics))
        n_items = max(1, BLOCK_NUMBERS // (size * self.cells_.valid_mask.size))
        for start in range(0, len(dynamics), n_items):
            rows = slice(start, start + n_items)
            moved = self._double_frames(dynamics[rows].crop(-size))
            looked = moved if contents is dynamics else self._double_frames(contents[rows].crop(-size))
            inferred = self._infer_past(looked, moved)
            self._fill_samples(found[:, rows], inferred, rngs[rows], request)
        return found

    def _infer_past(self, looked: Tensor, moved: Tensor) -> InferredPast:
        network = double_precision_copy(self.network_)
        codes, content = self._encode_frames(network, looked)
        with torch.no_grad():
            drift = infer_drift(network, codes)
            if moved is not looked:
                codes = network.encode_frames(moved)[0]
            return InferredPast(
                content,
                network.first_state_posterior(codes),
                network.random_posterior(codes),
                compute_lstm_states(network, codes),
                drift,
            )

    def _fill_samples(
        self, found: NDArray[Any], inferred: InferredPast, draws: list[np.random.Generator], request: ForecastRequest
    ) -> None:
        """Samples of a few items: what is encoded serves all of them, what is drawn is drawn for each."""
        network, n_items = double_precision_copy(self.network_), found.shape[1]
        per_sample = n_items * request.n_frames * self.cells_.valid_mask.size
        at_once = max(1, BLOCK_NUMBERS // per_sample)
        steps = self._min_past_steps() - 1 + request.horizon
        for begin in range(0, request.n_samples, at_once):
            count = min(at_once, request.n_samples - begin)
            events = steps if network.delays is None else network.delays.max_events(steps)
            drift = steps * network.n_content if network.content_drift is not None else 0
            first, later, slow = _sample_noise(draws, count, [network.n_state, events * network.n_random, drift])
            z = later.reshape(len(first), events, -1) if network.n_random else None
            states, content = (
                self._sample_states(network, inferred, first, z, request),
                repeat_content(inferred.content, count),
            )
            if inferred.drift_posterior is not None:
                content = sample_content_drift(
                    network, content, inferred.drift_posterior, slow.reshape(len(first), steps, -1), request
                )
            frames = self._decode_rows(network, content, states, found.dtype)
            found[begin : begin + count] = frames.reshape(count, n_items, request.n_frames, -1)

    def _sample_states(
        self,
        network: SRVPNetwork,
        inferred: InferredPast,
        first: Tensor,
        later: Tensor | None,
        request: ForecastRequest,
    ) -> Tensor:
        """States (sample × item, frame, size): through the past at the step of training, then by the prior."""
        count, past = len(first) // len(inferred.first.mean), self._min_past_steps() - 1
        parts = request.substeps or network.substeps
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
            states = []
            for step in range(request.horizon):
                prior, z = network.random_prior(y), None
                if prior is not None and later is not None:
                    z = prior.sample(later[:, past + step])
                inner = network.advance_step(y, z, parts, request.frames_per_step)[0]
                states += inner
                y = inner[-1]
        return torch.stack(states, dim=1)


def _sample_noise(draws: list[np.random.Generator], count: int, sizes: list[int]) -> tuple[Tensor, ...]:
    """Noise of `count` samples of each item, (sample × item, size) for each size.

    Every sample has generators of its own, one for each size: neither how many are drawn at once nor a longer horizon
    changes what was drawn before.
    """
    seeds = np.stack([draw.integers(2**63, size=count) for draw in draws], axis=1).ravel()
    found = [np.empty((len(seeds), size)) for size in sizes]
    for row, seed in enumerate(seeds):
        for kind, noise in enumerate(found):
            if noise.shape[1]:
                bits = np.random.Philox(key=np.array([seed, kind], np.uint64))
                np.random.Generator(bits).standard_normal(out=noise[row])
    return tuple(torch.from_numpy(noise) for noise in found)


def _interpolate(one: Tensor, other: Tensor, share: Tensor) -> Tensor:
    weight = share.reshape(-1, *[1] * (one.ndim - 1))
    return one * (1 - weight) + other * weight
