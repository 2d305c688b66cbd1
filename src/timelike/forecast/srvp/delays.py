"""Delays: random steps that last as long as a network says, instead of one frame each (thesis, 8.1.1; experimental)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..codecs.mlp import MLPNetwork
from .network import DiagonalGaussian

if TYPE_CHECKING:
    from .network import SRVPNetwork

MIN_DELAY = 0.25  # of a frame: the text has no least delay, and memory would grow without end as delays shrink
_INITIAL_BIAS = math.log(math.expm1(1 - MIN_DELAY))  # softplus of it makes the first delays about one frame


class DelayedPath(NamedTuple):
    """A walk: `states` (batch, time, size) where they were asked for, and sums over its events, each (batch,).

    `divergence` is of every z from its prior; `length` how far the state moved; `delay_penalty` Σ 1/τ^power, eq. 8.7.
    `starts` (batch, event) is when each z was drawn, in frames since the first, NaN after the end.
    """

    states: Tensor
    divergence: Tensor
    length: Tensor
    delay_penalty: Tensor
    starts: Tensor


class DelayNetwork(nn.Module):
    """τ_i = d(y_{t_i}, z_{i+1}), t_{i+1} = t_i + τ_i, y_t = y_{t_i} + (t − t_i) f(y_{t_i}, z_{i+1}): eq. 8.2 and 8.3.

    z_{i+1} ~ q(z | h(t_i + 1), y_{t_i}) as long as frames are known, and from the prior afterwards. h is what an LSTM
    has heard up to a frame; between frames it is on the line from one to the next, so that q changes with t_i without
    a jump. With delays of one frame these are the steps of `SRVP`.
    """

    def __init__(self, n_state: int, n_random: int, n_heard: int, hidden: int, max_delay: float) -> None:
        super().__init__()
        self.max_delay = max(max_delay, 1.0)
        self.posterior_head = MLPNetwork([n_heard + n_state, n_heard, 2 * n_random])
        self.delay_head = MLPNetwork([n_state + n_random, hidden, 1])
        last = self.delay_head.layers[-1]
        assert isinstance(last, nn.Linear)
        nn.init.constant_(last.bias, _INITIAL_BIAS)

    def predict_delay(self, y: Tensor, z: Tensor) -> Tensor:
        """How long a step lasts, (batch,): between a quarter of a frame and as long as anything in training."""
        raw: Tensor = self.delay_head(torch.cat([y, z], dim=1))[:, 0]
        return (MIN_DELAY + F.softplus(raw)).clamp(max=self.max_delay)

    def random_posterior(self, heard: Tensor, t: Tensor, y: Tensor) -> DiagonalGaussian:
        """What is random in the step that begins at t, given what was heard (batch, frame, size) and the state."""
        last = heard.shape[1] - 1
        place = (t + 1).clamp(max=last)
        low = place.detach().floor().long()
        share, rows = (place - low)[:, None], torch.arange(len(heard), device=heard.device)
        now = heard[rows, low] * (1 - share) + heard[rows, (low + 1).clamp(max=last)] * share
        return DiagonalGaussian.from_parameters(self.posterior_head(torch.cat([now, y], dim=1)))

    def max_events(self, end: float) -> int:
        """Events that a walk of so many frames may have."""
        return math.ceil(end / MIN_DELAY) + 1  # one more for rounding

    def sample_path(
        self,
        network: SRVPNetwork,
        y: Tensor,
        heard: Tensor,
        times: Tensor,
        noise: Tensor | None,
        power: float = 1.0,
    ) -> DelayedPath:
        """States at `times` (frames since the first, ascending), from y at 0, with noise (batch, event, size) or means.

        Every item has its own clock; those that have come to the last time wait for the others (eq. 8.3 and below).
        """
        end, known = float(times[-1]), heard.shape[1] - 1
        t, nothing = y.new_zeros(len(y)), y.new_zeros(len(y))
        states = torch.where((times <= 0)[:, None], y[:, None], torch.nan)  # what stays NaN was never reached
        divergence, length, haste, starts = nothing, nothing, nothing, []
        for event in range(self.max_events(end)):
            going = t < end
            if not bool(going.any()):
                break
            prior, posterior = network.random_prior(y), self.random_posterior(heard, t, y)
            assert prior is not None
            seen = (t < known)[:, None]
            source = DiagonalGaussian(
                *(torch.where(seen, one, other) for one, other in zip(posterior, prior, strict=True))
            )
            z = source.mean if noise is None else source.sample(noise[:, event])
            slope: Tensor = network.dynamics(torch.cat([y, z], dim=1))
            delay = self.predict_delay(y, z)
            until = t + delay  # the same number as the next t: no frame falls between two steps by rounding
            here = (times > t[:, None]) & (times <= until[:, None]) & going[:, None]
            after = (times - t[:, None])[..., None]
            states = torch.where(here[..., None], y[:, None] + after * slope[:, None], states)
            divergence = divergence + torch.where(going, posterior.kl_divergence(prior), nothing)
            within = torch.minimum(delay, end - t)  # of a step that outlasts the frames
            length = length + torch.where(going, within * slope.norm(dim=1), nothing)
            haste = haste + torch.where(going, delay.pow(-power), nothing)
            starts.append(torch.where(going, t, torch.nan).detach())
            y = torch.where(going[:, None], y + delay[:, None] * slope, y)
            t = torch.where(going, until, t)
        found = torch.stack(starts, dim=1) if starts else y.new_zeros(len(y), 0)
        return DelayedPath(states, divergence, length, haste, found)
