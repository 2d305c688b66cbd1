"""The loss of SRVP: the negative evidence lower bound, with a penalty on how far states move."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...train import Batch
from ..chunks import N_STATISTICS_BATCHES, STATISTICS_TIME_SHARE, ChunkObjective, noise_generator
from ..codecs.content import Content
from .network import DiagonalGaussian, SRVPNetwork, standard_normal_noise

_MIN_EXCESS_STD = 1e-6  # beyond the least deviation, where no more is left


class EvidenceBound(NamedTuple):
    """The parts of the evidence lower bound, each (batch,), in nats: log p(x) ≥ likelihood − first_kl − random_kl.

    `likelihood` is of the frames; `first_kl` and `random_kl` the divergences of y_1 and of all z from their priors;
    `path_length` how far the state moves, which is no part of the bound.
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
    """Eq. 4.9 and 4.10: sums over pixels and time, means over the batch; `beta` weighs the divergences of z."""

    module: SRVPNetwork

    def __init__(
        self,
        *given: Any,
        n_content_frames: int,
        beta: float,
        motion_penalty: float,
        valid_mask: Tensor | None = None,
        scaler: tuple[Tensor, Tensor] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*given, **more)
        self.n_content_frames, self.beta, self.motion_penalty, self.valid_mask, self.scaler = (
            n_content_frames,
            beta,
            motion_penalty,
            valid_mask,
            scaler,
        )

    def _sample_extras(self, n_items: int, rng: np.random.Generator) -> dict[str, Any]:
        order = rng.permuted(np.tile(np.arange(self.length), (n_items, 1)), axis=1)[:, : self.n_content_frames]
        return {"chosen": np.ascontiguousarray(order), "skip": rng.integers(0, self.length, size=n_items)}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The weighted sum, and its parts for the history."""
        found = self.evidence_bound(batch)
        means = {name: part.mean() for name, part in found._asdict().items()}
        loss = (
            means["first_kl"]
            + self.beta * means["random_kl"]
            - means["likelihood"]
            + self.motion_penalty * means["path_length"]
        )
        return {"loss": loss, **{name: part.detach() for name, part in means.items()}}

    def update_statistics(self) -> None:
        """Also the deviation of frames, where it is learned: the bound is largest where it is that of what is left.

        Steps of the optimiser come near it only slowly where it began far away.
        """
        super().update_statistics()
        network = self.module
        if not network.log_std.requires_grad:
            return
        network.eval()
        with torch.no_grad():
            left = [
                self._residual_variance(batch.match_module(network))
                for batch in self.statistics_batches(STATISTICS_TIME_SHARE)
            ]
            deviation = math.sqrt(max(0.0, float(np.mean(left))))
            network.log_std.fill_(math.log(max(deviation - network.min_std, _MIN_EXCESS_STD)))

    def _statistics_time_share(self) -> float:
        return STATISTICS_TIME_SHARE / (2 if self.module.log_std.requires_grad else 1)

    def n_statistics_passes(self) -> int:
        """Those of the deviation too."""
        batches = min(N_STATISTICS_BATCHES, -(-len(self.packed_frames.chunk_starts(self.length)) // self.batch_size))
        return super().n_statistics_passes() + (batches if self.module.log_std.requires_grad else 0)

    def _residual_variance(self, batch: Batch) -> float:
        """The mean square of what frames differ by from those that are drawn."""
        scale, numbers = float(self.module.observation_std), float(batch["x"][0].numel())
        if self.valid_mask is not None:
            numbers *= float(self.valid_mask.double().mean())
        likely = float(self.evidence_bound(batch).likelihood.double().mean())
        return scale**2 * (-2 * likely / numbers - math.log(2 * math.pi * scale**2))

    def validation_loss(self, batch: Batch) -> float:
        """The negative bound."""
        return float(-self.evidence_bound(batch).elbo.mean())

    def evidence_bound(self, batch: Batch) -> EvidenceBound:
        """The bound of every chunk, by one draw from the posterior."""
        network, x = self.module, batch["x"]
        codes, seen = network.encode_frames(x)
        content = network.encode_content(codes, batch["chosen"], seen, batch["skip"])
        return compute_bound(network, x, codes, content, self.valid_mask, self.scaler, noise_generator(batch))


def compute_bound(
    network: SRVPNetwork,
    x: Tensor,
    codes: Tensor,
    content: Content,
    there: Tensor | None = None,
    undone: tuple[Tensor, Tensor] | None = None,
    generator: torch.Generator | None = None,
) -> EvidenceBound:
    """The bound of frames (batch, time, *frame), by one draw of the first state and of what is random."""
    first, random = network.first_state_posterior(codes), network.random_posterior(codes)
    y = first.sample(standard_normal_noise(first.mean.shape, x, generator))
    states, length = sample_states(network, y, random, x.shape[1], generator)
    divergence = x.new_zeros(len(x))
    if random is not None:
        prior = network.random_prior(states[:, :-1])  # of all steps at once: in training nothing is drawn from it
        assert prior is not None
        divergence = random.kl_divergence(prior).sum(1)
    drawn = network.decode(content, states)
    return EvidenceBound(
        log_likelihood(drawn, x, network.observation_std, there, undone), first.kl_from_standard(), divergence, length
    )


def sample_states(
    network: SRVPNetwork,
    y: Tensor,
    random: DiagonalGaussian | None,
    n_frames: int,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """States at all frames, with draws of what is random, and how far they moved."""
    z = None if random is None else random.sample(standard_normal_noise(random.mean.shape, y, generator))
    # a sum of many small moves: in mixed precision too it is made of numbers that are not rounded to 8 bits
    with torch.autocast(y.device.type, enabled=False):
        y, z = y.to(network.log_std), None if z is None else z.to(network.log_std)
        every = torch.cat([y[:, None], network.advance_steps(y, z, n_frames - 1)], dim=1)
        length = (every[:, 1:] - every[:, :-1]).norm(dim=2).sum(1)
        return every[:, :: network.substeps], length


def log_likelihood(
    drawn: Tensor, x: Tensor, scale: Tensor, there: Tensor | None, undone: tuple[Tensor, Tensor] | None
) -> Tensor:
    """log N(x; drawn, ν), summed over time and cells that are there; squashed frames are in the units of the data."""
    if undone is not None:
        mean, deviation = (moment.to(x) for moment in undone)
        x = torch.addcmul(mean, x, deviation)
    flat = (x - drawn).flatten(2)
    flat = flat if there is None else flat[..., there.flatten()]
    constant = math.log(2 * math.pi) + 2 * scale.log()
    # divided once they are summed up: there are as many as pixels
    return -0.5 * (flat.square().sum((1, 2)) / scale.square() + constant * flat.shape[1] * flat.shape[2])
