"""The loss of SRVP: the negative evidence lower bound, with a penalty on how far states move."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...train import Batch
from ..chunks import FOR_SETTLING, SETTLING, Chunks, noise_generator
from .network import Content, Gaussian, SRVPNetwork, noise

_TINY = 1e-6  # beyond the least deviation, where no more is left


class Bound(NamedTuple):
    """The parts of the evidence lower bound, each (batch,), in nats: log p(x) ≥ likelihood − first − random.

    `likelihood` is of the frames; `first` and `random` the divergences of y_1 and of all z from their priors; `length`
    how far the state moves, which is no part of the bound.
    """

    likelihood: Tensor
    first: Tensor
    random: Tensor
    length: Tensor

    @property
    def elbo(self) -> Tensor:
        """The bound itself."""
        return self.likelihood - self.first - self.random


class Evidence(Chunks):
    """Eq. 4.9 and 4.10: sums over pixels and time, means over the batch; `beta` weighs the divergences of z."""

    module: SRVPNetwork

    def __init__(
        self,
        *given: Any,
        n_seen: int,
        beta: float,
        stillness: float,
        there: Tensor | None = None,
        undone: tuple[Tensor, Tensor] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*given, **more)
        self.n_seen, self.beta, self.stillness, self.there, self.undone = n_seen, beta, stillness, there, undone

    def _drawn(self, n_items: int, rng: np.random.Generator) -> dict[str, Any]:
        order = rng.permuted(np.tile(np.arange(self.length), (n_items, 1)), axis=1)[:, : self.n_seen]
        return {"chosen": np.ascontiguousarray(order), "skip": rng.integers(0, self.length, size=n_items)}

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """The weighted sum, and its parts for the history."""
        found = self.bound(batch)
        means = {name: part.mean() for name, part in found._asdict().items()}
        loss = means["first"] + self.beta * means["random"] - means["likelihood"] + self.stillness * means["length"]
        return {"loss": loss, **{name: part.detach() for name, part in means.items()}}

    def settle(self) -> None:
        """Also the deviation of frames, where it is learned: the bound is largest where it is that of what is left.

        Steps of the optimiser come near it only slowly where it began far away.
        """
        super().settle()
        network = self.module
        if not network.log_scale.requires_grad:
            return
        network.eval()
        with torch.no_grad():
            left = [self._left(batch.like(network)) for batch in self.settling_batches(FOR_SETTLING)]
            deviation = math.sqrt(max(0.0, float(np.mean(left))))
            network.log_scale.fill_(math.log(max(deviation - network.least, _TINY)))

    def _share(self) -> float:
        return FOR_SETTLING / (2 if self.module.log_scale.requires_grad else 1)

    def n_settled(self) -> int:
        """Those of the deviation too."""
        batches = min(SETTLING, -(-len(self.material.places(self.length)) // self.batch_size))
        return super().n_settled() + (batches if self.module.log_scale.requires_grad else 0)

    def _left(self, batch: Batch) -> float:
        """The mean square of what frames differ by from those that are drawn."""
        scale, numbers = float(self.module.observed), float(batch["x"][0].numel())
        if self.there is not None:
            numbers *= float(self.there.double().mean())
        likely = float(self.bound(batch).likelihood.double().mean())
        return scale**2 * (-2 * likely / numbers - math.log(2 * math.pi * scale**2))

    def judged(self, batch: Batch) -> float:
        """The negative bound."""
        return float(-self.bound(batch).elbo.mean())

    def bound(self, batch: Batch) -> Bound:
        """The bound of every chunk, by one draw from the posterior."""
        network, x = self.module, batch["x"]
        codes, seen = network.encoded(x)
        content = network.content_of(codes, batch["chosen"], seen, batch["skip"])
        return bound_of(network, x, codes, content, self.there, self.undone, noise_generator(batch))


def bound_of(
    network: SRVPNetwork,
    x: Tensor,
    codes: Tensor,
    content: Content,
    there: Tensor | None = None,
    undone: tuple[Tensor, Tensor] | None = None,
    generator: torch.Generator | None = None,
) -> Bound:
    """The bound of frames (batch, time, *frame), by one draw of the first state and of what is random."""
    first, random = network.state_of(codes), network.random_of(codes)
    y = first.drawn(noise(first.mean.shape, x, generator))
    states, length = rolled(network, y, random, x.shape[1], generator)
    divergence = x.new_zeros(len(x))
    if random is not None:
        prior = network.prior_of(states[:, :-1])  # of all steps at once: in training nothing is drawn from it
        assert prior is not None
        divergence = random.divergence(prior).sum(1)
    drawn = network.drawn(content, states)
    return Bound(likelihood(drawn, x, network.observed, there, undone), first.from_standard(), divergence, length)


def rolled(
    network: SRVPNetwork, y: Tensor, random: Gaussian | None, n_frames: int, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """States at all frames, with draws of what is random, and how far they moved."""
    z = None if random is None else random.drawn(noise(random.mean.shape, y, generator))
    # a sum of many small moves: in mixed precision too it is made of numbers that are not rounded to 8 bits
    with torch.autocast(y.device.type, enabled=False):
        y, z = y.to(network.log_scale), None if z is None else z.to(network.log_scale)
        every = torch.cat([y[:, None], network.moves(y, z, n_frames - 1)], dim=1)
        length = (every[:, 1:] - every[:, :-1]).norm(dim=2).sum(1)
        return every[:, :: network.substeps], length


def likelihood(
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
