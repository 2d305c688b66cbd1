"""The loss of SRVP: the negative evidence lower bound, with a penalty on the path length of the state."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...train import Batch
from ..chunks import N_STATISTICS_BATCHES, STATISTICS_TIME_SHARE, ChunkObjective, gather_windows, noise_generator
from ..codecs.base import Content
from .experimental import Experimental
from .gaussian import DiagonalGaussian, standard_normal_noise
from .network import SRVPNetwork

_MIN_EXCESS_STD = 1e-6  # smallest excess over the minimum standard deviation


class EvidenceBound(NamedTuple):
    """The parts of the evidence lower bound, each (batch,), in nats: log p(x) ≥ likelihood − first_kl − random_kl.

    `likelihood` is that of the frames; `first_kl` and `random_kl` are the divergences of y_1 and of all z from their
    priors; `path_length` is the path length of the state, which is not part of the bound.
    """

    likelihood: Tensor
    first_kl: Tensor
    random_kl: Tensor
    path_length: Tensor

    @property
    def elbo(self) -> Tensor:
        """The bound itself."""
        return self.likelihood - self.first_kl - self.random_kl


class SRVPObjective(ChunkObjective):
    """Eq. 4.9 and 4.10: sums over pixels and time, means over the batch; `beta` weighs the divergences of z.

    Experimental extensions add the penalty on short delays and terms of Separation in nats. `invariance` weighs
    ½‖w − w'‖², where w comes from `n_content_frames` random frames of the first window of a chunk and w' from its last
    `n_content_frames` frames: d/2 times eq. 5.14, without its factor 1/d, because the other terms are sums. The term
    `autoencoding` weighs −log p(x) of the first frame of a random window, given the mean state of that window and w:
    m/(2ν) times eq. 5.12, plus the constant of the normal density. Eq. 5.15, the size of the first state, needs no
    separate term: ½‖y‖² is part of the divergence of y_1 from N(0, I). With either term, or with drift, w comes from
    frames of the first window only.
    """

    module: SRVPNetwork

    def __init__(
        self,
        *args: Any,
        n_content_frames: int,
        beta: float,
        motion_penalty: float,
        experimental: Experimental | None = None,
        valid_mask: Tensor | None = None,
        scaler: tuple[Tensor, Tensor] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.beta, self.motion_penalty, self.valid_mask, self.scaler = beta, motion_penalty, valid_mask, scaler
        self.experimental = experimental or Experimental()
        self.sees_first_window = self.experimental.has_separation_terms or self.module.content_drift is not None
        most = self.module.conditioning if self.sees_first_window else n_content_frames
        self.n_content_frames = min(n_content_frames, most)

    def _sample_extras(self, n_items: int, rng: np.random.Generator) -> dict[str, Any]:
        extras = {"chosen": self._sample_frames(self.length, n_items, rng)}
        extras["skip"] = rng.integers(0, self.length, size=n_items)
        if not self.experimental.is_used:
            return extras
        window = self.module.conditioning
        if self.sees_first_window:
            extras["chosen"] = self._sample_frames(window, n_items, rng)
        return extras | {"at": rng.integers(0, self.length - window + 1, size=n_items)}

    def _sample_frames(self, length: int, n_items: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Different frames of the first `length` for every item."""
        order = rng.permuted(np.tile(np.arange(length), (n_items, 1)), axis=1)
        return np.ascontiguousarray(order[:, : self.n_content_frames])

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The weighted sum, and its parts for the history."""
        codes, content, stage_maps = self._encode_batch(batch)
        bound, delay_penalty = self._compute_bound(batch, codes, content)
        means = {name: part.mean() for name, part in bound._asdict().items()}
        loss = (
            means["first_kl"]
            + self.beta * means["random_kl"]
            - means["likelihood"]
            + self.motion_penalty * means["path_length"]
        )
        for name, weight in self._extra_weights().items():
            if name == "delay_penalty":
                means[name] = delay_penalty.mean()
            elif name == "invariance":
                means[name] = self._content_change(codes, content, stage_maps, batch["skip"])
            else:
                means[name] = self._autoencoding_error(batch["x"], codes, content, batch["at"])
            loss = loss + weight * means[name]
        return {"loss": loss, **{name: part.detach() for name, part in means.items()}}

    def _extra_weights(self) -> dict[str, float]:
        """The weights of the experimental terms in use."""
        experimental = self.experimental
        terms = {"invariance": experimental.invariance_weight, "autoencoding": experimental.autoencoding_weight}
        delays = {"delay_penalty": experimental.delay_penalty[0]} if self.module.delays is not None else {}
        return delays | {name: weight for name, weight in terms.items() if weight}

    def update_statistics(self) -> None:
        """Also set a learned standard deviation of frames to that of the residuals, which maximizes the bound.

        The optimizer approaches this value only slowly from a distant start.
        """
        super().update_statistics()
        network = self.module
        if not network.log_std.requires_grad:
            return
        network.eval()
        with torch.no_grad():
            variances = [
                self._residual_variance(batch.match_module(network))
                for batch in self.statistics_batches(STATISTICS_TIME_SHARE)
            ]
            deviation = math.sqrt(max(0.0, float(np.mean(variances))))
            network.log_std.fill_(math.log(max(deviation - network.min_std, _MIN_EXCESS_STD)))

    def _statistics_time_share(self) -> float:
        return STATISTICS_TIME_SHARE / (2 if self.module.log_std.requires_grad else 1)

    def n_statistics_passes(self) -> int:
        """Includes the passes for the standard deviation."""
        batches = min(N_STATISTICS_BATCHES, math.ceil(self.n_batches()))
        return super().n_statistics_passes() + (batches if self.module.log_std.requires_grad else 0)

    def _residual_variance(self, batch: Batch) -> float:
        """The mean squared difference between frames and decoded frames."""
        scale, numbers = float(self.module.observation_std), float(batch["x"][0].numel())
        if self.valid_mask is not None:
            numbers *= float(self.valid_mask.double().mean())
        likely = float(self.evidence_bound(batch).likelihood.double().mean())
        return scale**2 * (-2 * likely / numbers - math.log(2 * math.pi * scale**2))

    def validation_loss(self, batch: Batch) -> float:
        """The negative bound."""
        return float(-self.evidence_bound(batch).elbo.mean())

    def evidence_bound(self, batch: Batch) -> EvidenceBound:
        """The bound of each chunk, from one posterior sample."""
        codes, content, _ = self._encode_batch(batch)
        return self._compute_bound(batch, codes, content)[0]

    def _encode_batch(self, batch: Batch) -> tuple[Tensor, Content, list[Tensor]]:
        codes, stage_maps = self.module.encode_frames(batch["x"])
        return codes, self.module.encode_content(codes, batch["chosen"], stage_maps, batch["skip"]), stage_maps

    def _compute_bound(self, batch: Batch, codes: Tensor, content: Content) -> tuple[EvidenceBound, Tensor]:
        power = self.experimental.delay_penalty[1]
        bound_arguments = self.valid_mask, self.scaler, power, noise_generator(batch)
        return compute_bound(self.module, batch["x"], codes, content, *bound_arguments)

    def _content_change(self, codes: Tensor, content: Content, stage_maps: list[Tensor], skip: Tensor) -> Tensor:
        """½‖w − w'‖² of the first and the last window, without skips, which belong to one frame."""
        last = torch.arange(self.length - self.n_content_frames, self.length, device=codes.device)
        other = self.module.encode_content(codes, last.expand(len(codes), -1), stage_maps, skip)
        assert content.code is not None
        assert other.code is not None
        return (content.code - other.code).square().sum(1).mean() / 2

    def _autoencoding_error(self, x: Tensor, codes: Tensor, content: Content, at: Tensor) -> Tensor:
        state = self.module.first_state_posterior(gather_windows(codes, at, self.module.conditioning)).mean
        decoded, truth = self.module.decode(content, state[:, None]), gather_windows(x, at, 1)
        return -log_likelihood(decoded, truth, self.module.observation_std, self.valid_mask, self.scaler).mean()


def compute_bound(
    network: SRVPNetwork,
    x: Tensor,
    codes: Tensor,
    content: Content,
    valid_mask: Tensor | None = None,
    scaler: tuple[Tensor, Tensor] | None = None,
    power: float = 1.0,
    generator: torch.Generator | None = None,
) -> tuple[EvidenceBound, Tensor]:
    """The bound of frames (batch, time, *frame), from one posterior sample, and Σ 1/τ^power over the delays.

    `random_kl` includes the divergence of the content's drift. With delays the bound is eq. 8.6.
    """
    drift_kl = None
    if network.content_drift is not None:
        u = network.content_drift.posterior(codes)
        content = network.content_drift.content_path(
            content, u.sample(standard_normal_noise(u.mean.shape, x, generator))
        )
        drift_kl = u.kl_from_standard().sum(1)
    first = network.first_state_posterior(codes)
    path = _sample_delayed_path if network.delays is not None else _sample_path
    states, random_kl, length, delay_penalty = path(network, codes, first, x, power, generator)
    decoded = network.decode(content, states)
    likelihood = log_likelihood(decoded, x, network.observation_std, valid_mask, scaler)
    random_kl = random_kl if drift_kl is None else random_kl + drift_kl
    return EvidenceBound(likelihood, first.kl_from_standard(), random_kl, length), delay_penalty


def _sample_path(
    network: SRVPNetwork,
    codes: Tensor,
    first: DiagonalGaussian,
    x: Tensor,
    power: float,
    generator: torch.Generator | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """States, divergence of z, path length and a zero delay penalty, with z sampled at every frame."""
    random = network.random_posterior(codes)
    y = first.sample(standard_normal_noise(first.mean.shape, x, generator))
    states, length = sample_states(network, y, random, x.shape[1], generator)
    nothing = x.new_zeros(len(x))
    if random is None:
        return states, nothing, length, nothing
    prior = network.random_prior(states[:, :-1])  # all steps at once: training does not sample from the prior
    assert prior is not None
    return states, random.kl_divergence(prior).sum(1), length, nothing


def _sample_delayed_path(
    network: SRVPNetwork,
    codes: Tensor,
    first: DiagonalGaussian,
    x: Tensor,
    power: float,
    generator: torch.Generator | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """States, divergence of z, path length and delay penalty, with z sampled after delays."""
    lstm_states, end = network.lstm_states(codes), x.shape[1] - 1
    assert network.delays is not None
    assert lstm_states is not None
    y = first.sample(standard_normal_noise(first.mean.shape, x, generator))
    noise = standard_normal_noise((len(x), network.delays.max_events(end), network.n_random), x, generator)
    times = torch.arange(x.shape[1], dtype=x.dtype, device=x.device)
    path = network.delays.sample_path(network, y, lstm_states, times, noise, power)
    return path.states, path.divergence, path.length, path.delay_penalty


def sample_states(
    network: SRVPNetwork,
    y: Tensor,
    random: DiagonalGaussian | None,
    n_frames: int,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """States at all frames, with sampled z, and their path length."""
    z = None if random is None else random.sample(standard_normal_noise(random.mean.shape, y, generator))
    # a sum of many small moves needs full precision, even in mixed-precision training
    with torch.autocast(y.device.type, enabled=False):
        y, z = y.to(network.log_std), None if z is None else z.to(network.log_std)
        every = torch.cat([y[:, None], network.advance_steps(y, z, n_frames - 1)], dim=1)
        length = (every[:, 1:] - every[:, :-1]).norm(dim=2).sum(1)
        return every[:, :: network.substeps], length


def log_likelihood(
    decoded: Tensor, x: Tensor, scale: Tensor, valid_mask: Tensor | None, scaler: tuple[Tensor, Tensor] | None
) -> Tensor:
    """log N(x; decoded, ν), summed over time and valid cells; outputs of a sigmoid are in data units."""
    if scaler is not None:
        mean, deviation = (moment.to(x) for moment in scaler)
        x = torch.addcmul(mean, x, deviation)
    flat = (x - decoded).flatten(2)
    flat = flat if valid_mask is None else flat[..., valid_mask.flatten()]
    constant = math.log(2 * math.pi) + 2 * scale.log()
    # divide after summing, once instead of per pixel
    return -0.5 * (flat.square().sum((1, 2)) / scale.square() + constant * flat.shape[1] * flat.shape[2])
