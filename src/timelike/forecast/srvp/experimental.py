"""`Experimental`, extensions of SRVP from chapter 8: steps with delays, a drifting content, terms of Separation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...models import options
from ..codecs.base import Content
from ..codecs.mlp import MLPNetwork
from ..dynamics import RandomDynamics
from .gaussian import DiagonalGaussian

if TYPE_CHECKING:
    from .network import SRVPNetwork

MIN_DELAY = 0.25  # in frames: the thesis has no minimum, but memory would grow without bound as delays shrink
_INITIAL_BIAS = math.log(math.expm1(1 - MIN_DELAY))  # initial delays are about one frame
_SOFTPLUS_ONE = math.log(math.expm1(1.0))  # softplus of it is 1


@dataclass(frozen=True, kw_only=True)
class Experimental:
    """Experimental parts of `SRVP`, from the outlook of Franceschi's thesis (2022, chapter 8); all are off by default.

    Parameters
    ----------
    delays : bool
        Whether z is sampled anew after learned delays instead of at every frame (8.1.1); `SRVP.events(X)` returns the
        times. The thesis found no improvement. Frames in between need no substeps.
    delay_penalty : tuple of two floats
        λ₁ and λ₂ of the penalty λ₁ Σ 1/τ^λ₂ on short delays.
    drift : float
        Standard deviation of the change of the content per frame, such as 0.05; contents lie between -1 and 1
        (8.2.2.3). 0 keeps it constant.
    invariance_weight : float
        Weight of `Separation`'s penalty on the change of the content from the first window of a chunk to the last
        (8.2.2.1); start with 1.
    autoencoding_weight : float
        Weight of `Separation`'s autoencoding error, from the state of any window and the content of the first; start
        with 1.
    """

    delays: bool = False
    delay_penalty: tuple[float, float] = (1.0, 1.0)
    drift: float = 0.0
    invariance_weight: float = 0.0
    autoencoding_weight: float = 0.0

    def __post_init__(self) -> None:
        options.check_fields(
            self,
            delays=options.boolean(),
            delay_penalty=options.Option(_check_delay_penalty),
            drift=options.real(0),
            invariance_weight=options.real(0),
            autoencoding_weight=options.real(0),
        )
        for name in ("invariance_weight", "autoencoding_weight"):
            if self.drift and getattr(self, name):
                raise ValueError(
                    f"drift={self.drift:g} lets the content change, and {name}={getattr(self, name):g} keeps it "
                    "constant: set one of them to 0"
                )

    @property
    def is_used(self) -> bool:
        """Whether any extension is used."""
        return bool(self.delays or self.drift or self.invariance_weight or self.autoencoding_weight)

    @property
    def has_separation_terms(self) -> bool:
        """Whether the loss includes terms of Separation."""
        return bool(self.invariance_weight or self.autoencoding_weight)

    def refuse_conflicts(self, n_content: int, n_random: int, dynamics: RandomDynamics) -> None:
        """Raise an error if other options of SRVP are incompatible."""
        motion, substeps = dynamics.motion, dynamics.substeps
        if self.delays and (n_random == 0 or motion != "residual" or substeps > 1):
            raise ValueError(
                f"delays=True with n_random={n_random}, motion={motion!r}, substeps={substeps}: expected n_random of "
                "at least 1, motion='residual' and substeps=1, as z decides how long a step lasts"
            )
        for name in ("drift", "invariance_weight", "autoencoding_weight"):
            value = getattr(self, name)
            if value and n_content == 0:
                raise ValueError(f"{name}={value:g} needs a content, and n_content=0 leaves it out: use {name}=0")


def _check_delay_penalty(value: Any, name: str) -> tuple[float, float]:
    """Check λ₁ and λ₂ of eq. 8.7."""
    numbers = isinstance(value, tuple | list) and all(isinstance(one, int | float) for one in value)
    if not numbers or len(value) != 2 or not (0 <= value[0] < math.inf and 0 < value[1] < math.inf):
        raise ValueError(f"{name}={value!r}: expected a weight of at least 0 and a power above 0, such as (1.0, 1.0)")
    return float(value[0]), float(value[1])


class DelayedPath(NamedTuple):
    """A path: `states` (batch, time, size) at the requested times, and sums over its events, each (batch,).

    `divergence` sums the divergences of z from the prior; `length` is the path length of the state; `delay_penalty` is
    Σ 1/τ^power, eq. 8.7. `starts` (batch, event) is the time of each z, in frames since the first, NaN after the end.
    """

    states: Tensor
    divergence: Tensor
    length: Tensor
    delay_penalty: Tensor
    starts: Tensor


class DelayNetwork(nn.Module):
    """τ_i = d(y_{t_i}, z_{i+1}), t_{i+1} = t_i + τ_i, y_t = y_{t_i} + (t − t_i) f(y_{t_i}, z_{i+1}): eq. 8.2 and 8.3.

    z_{i+1} ~ q(z | h(t_i + 1), y_{t_i}) as long as frames are observed, and from the prior afterwards. h is the LSTM
    state up to a frame, interpolated linearly between frames, so that q is continuous in t_i. With delays of one frame
    these are the steps of `SRVP`.
    """

    def __init__(self, n_state: int, n_random: int, n_lstm: int, hidden: int, max_delay: float) -> None:
        super().__init__()
        self.max_delay = max(max_delay, 1.0)
        self.posterior_head = MLPNetwork([n_lstm + n_state, n_lstm, 2 * n_random])
        self.delay_head = MLPNetwork([n_state + n_random, hidden, 1])
        last = self.delay_head.layers[-1]
        assert isinstance(last, nn.Linear)
        nn.init.constant_(last.bias, _INITIAL_BIAS)

    def predict_delay(self, y: Tensor, z: Tensor) -> Tensor:
        """The duration of a step, (batch,), from a quarter of a frame to the length of a training chunk."""
        raw: Tensor = self.delay_head(torch.cat([y, z], dim=1))[:, 0]
        return (MIN_DELAY + F.softplus(raw)).clamp(max=self.max_delay)

    def random_posterior(self, lstm_states: Tensor, t: Tensor, y: Tensor) -> DiagonalGaussian:
        """The posterior of z in the step that begins at t, given LSTM states (batch, frame, size) and the state."""
        last = lstm_states.shape[1] - 1
        place = (t + 1).clamp(max=last)
        low = place.detach().floor().long()
        fraction, rows = (place - low)[:, None], torch.arange(len(lstm_states), device=lstm_states.device)
        now = lstm_states[rows, low] * (1 - fraction) + lstm_states[rows, (low + 1).clamp(max=last)] * fraction
        return DiagonalGaussian.from_parameters(self.posterior_head(torch.cat([now, y], dim=1)))

    def max_events(self, end: float) -> int:
        """The largest number of events in a path that ends at time `end`."""
        return math.ceil(end / MIN_DELAY) + 1  # plus one for rounding

    def sample_path(
        self,
        network: SRVPNetwork,
        y: Tensor,
        lstm_states: Tensor,
        times: Tensor,
        noise: Tensor | None,
        power: float = 1.0,
    ) -> DelayedPath:
        """States at `times` (frames since the first, ascending), from y at 0, with noise (batch, event, size) or means.

        Every item has its own clock; items that have reached the last time wait for the others (eq. 8.3 and below).
        """
        end, last_frame = float(times[-1]), lstm_states.shape[1] - 1
        t, nothing = y.new_zeros(len(y)), y.new_zeros(len(y))
        states = torch.where((times <= 0)[:, None], y[:, None], torch.nan)  # NaN until a state is computed
        divergence, length, haste, starts = nothing, nothing, nothing, []
        for event in range(self.max_events(end)):
            going = t < end
            if not bool(going.any()):
                break
            prior, posterior = network.random_prior(y), self.random_posterior(lstm_states, t, y)
            assert prior is not None
            is_observed = (t < last_frame)[:, None]
            source = DiagonalGaussian(
                *(torch.where(is_observed, one, other) for one, other in zip(posterior, prior, strict=True))
            )
            z = source.mean if noise is None else source.sample(noise[:, event])
            slope: Tensor = network.dynamics(torch.cat([y, z], dim=1))
            delay = self.predict_delay(y, z)
            until = t + delay  # exactly the next t, so that rounding leaves no frame between two steps
            here = (times > t[:, None]) & (times <= until[:, None]) & going[:, None]
            after = (times - t[:, None])[..., None]
            states = torch.where(here[..., None], y[:, None] + after * slope[:, None], states)
            divergence = divergence + torch.where(going, posterior.kl_divergence(prior), nothing)
            within = torch.minimum(delay, end - t)  # the part of a step before the last frame
            length = length + torch.where(going, within * slope.norm(dim=1), nothing)
            haste = haste + torch.where(going, delay.pow(-power), nothing)
            starts.append(torch.where(going, t, torch.nan).detach())
            y = torch.where(going[:, None], y + delay[:, None] * slope, y)
            t = torch.where(going, until, t)
        start_times = torch.stack(starts, dim=1) if starts else y.new_zeros(len(y), 0)
        return DelayedPath(states, divergence, length, haste, start_times)


class ContentDrift(nn.Module):
    """w_{t+1} = w_t + δ u_{t+1}, u_{t+1} ~ N(0, I), inferred as N(μ, σ) by an LSTM over the codes up to t + 1.

    The thesis proposes that w "evolve through time, although at a lesser rate than the state y via regularization
    strategies": here a random walk of a small deviation δ, regularized by its divergence, which is initialized to 0.
    """

    def __init__(self, n_code: int, n_content: int, hidden: int, deviation: float) -> None:
        super().__init__()
        self.deviation, self.n_content = deviation, n_content
        self.lstm = nn.LSTM(n_code, hidden, batch_first=True)
        self.posterior_head = nn.Linear(hidden, 2 * n_content)
        nn.init.zeros_(self.posterior_head.weight)
        with torch.no_grad():
            self.posterior_head.bias.copy_(torch.cat([torch.zeros(n_content), torch.full((n_content,), _SOFTPLUS_ONE)]))

    def posterior(self, codes: Tensor) -> DiagonalGaussian:
        """The posterior of u at every frame but the first, given the frames up to it: (batch, time − 1, size)."""
        return DiagonalGaussian.from_parameters(self.posterior_head(self.lstm(codes)[0][:, 1:]))

    def content_path(self, content: Content, u: Tensor) -> Content:
        """The content of every frame (batch, time, size), from that of the first (batch, size)."""
        assert content.code is not None
        first = content.code[:, None]
        return Content(torch.cat([first, first + self.deviation * u.cumsum(1)], dim=1), content.skips)

    def extend_path(self, content: Content, u: Tensor, n_frames: int) -> Content:
        """Extend a path of contents by steps u (batch, step, size), with `n_frames` frames per step.

        Contents between two steps are interpolated linearly.
        """
        assert content.code is not None
        parts = (self.deviation / n_frames * u).repeat_interleave(n_frames, dim=1)
        return Content(content.code[:, -1:] + parts.cumsum(1), content.skips)
