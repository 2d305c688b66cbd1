"""SRVPNetwork: inference of content and state, random steps of the state, and a decoder (thesis, chapter 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from ...core.parameters import check_int
from ...models import options
from ..codecs.base import Codec, Content, repeat_over_time, scale_size
from ..codecs.mlp import MLP, MLPNetwork
from ..dynamics import RandomDynamics, can_unroll, unroll_states
from .experimental import ContentDrift, DelayNetwork, Experimental
from .gaussian import DiagonalGaussian

# minimum if learned: the likelihood of perfectly decoded data is unbounded
MIN_OBSERVATION_STD = 1e-3
# initial value if learned: at 1 the states would have nothing to explain
_INITIAL_OBSERVATION_STD = 0.2


@dataclass(frozen=True, kw_only=True)
class Inference:
    """The inference of content and states from frame codes in `SRVP`.

    Parameters
    ----------
    n_code : int
        Size of the code of a frame.
    hidden : int
        Units of the LSTM that infers z, and of the layers that infer the first state and the content.
    shortcut : bool
        Whether a linear shortcut is added to the layers that infer the first state, which is not in the thesis.
    n_content_frames : int
        Number of frames that determine the content: random frames of the chunk in training, the last ones of the past
        in forecasts.
    reencode : bool or None
        Whether forecasts infer the state again from their own last frames each time it has evolved as far as in
        training: far beyond that, states leave the region that the decoder knows, and frames fade. None chooses as
        `Separation(reencode=None)` does; the thesis does not do it.
    """

    n_code: int = 64
    hidden: int = 128
    shortcut: bool = True
    n_content_frames: int = 5
    reencode: bool | None = None

    def __post_init__(self) -> None:
        options.check_fields(
            self,
            n_code=options.width(1),
            hidden=options.width(1),
            shortcut=options.boolean(),
            n_content_frames=options.width(1),
            reencode=options.nullable(options.boolean()),
        )

    def scale_widths(self, factor: float) -> Self:
        """A copy with the number of units multiplied by `factor`."""
        return replace(self, hidden=scale_size(self.hidden, factor))


class SRVPNetwork(nn.Module):
    """A state-space model with residual steps (Franceschi et al., "Stochastic latent residual video prediction", 2020).

    y_1 ~ N(0, I), z_{t+1} ~ N(μ(y_t), σ(y_t)), y_{t+Δ} = y_t + Δ f(y_t, z_{⌊t⌋+1}), x_t ~ N(g(y_t, w), ν), eq. 4.1–4.4.
    Frames are encoded one by one; y_1 is inferred from the first `conditioning` codes, z_t by an LSTM over the codes up
    to t, and w is a permutation-invariant function of some codes.

    Parameters
    ----------
    frame : int or sequence of int
        The shape of a frame.
    conditioning : int
        Number of frames from which the first state is inferred.
    n_state, n_random, n_content : int
        Sizes of y, z and w; 0 omits z or w.
    inference : Inference or None
        Sizes of the inference networks; None uses those of the thesis.
    codec : Codec or None
        Builds encoder and decoder; None is `codecs.MLP(hidden=256)`.
    dynamics : RandomDynamics or None
        Builds the dynamics of the state; None is that of the thesis, `RandomDynamics(hidden=512, gain=1.41)`.
    experimental : Experimental or None
        Enables delays of steps and drift of the content.
    max_delay : float
        The longest delay, in frames.
    use_sigmoid : bool
        Whether a sigmoid maps frames to (0, 1).
    observation_std : float or None
        √ν; None learns it.
    min_observation_std : float
        The minimum of √ν if it is learned.
    """

    def __init__(
        self,
        frame: int | Sequence[int],
        *,
        conditioning: int = 5,
        n_state: int = 20,
        n_random: int = 20,
        n_content: int = 256,
        inference: Inference | None = None,
        codec: Codec | None = None,
        dynamics: RandomDynamics | None = None,
        experimental: Experimental | None = None,
        max_delay: float = math.inf,
        use_sigmoid: bool = False,
        observation_std: float | None = 1.0,
        min_observation_std: float = MIN_OBSERVATION_STD,
    ) -> None:
        super().__init__()
        inference = Inference(n_code=128, hidden=256) if inference is None else inference
        codec = MLP(hidden=256) if codec is None else codec
        dynamics = RandomDynamics(hidden=512, gain=1.41) if dynamics is None else dynamics
        n_code, hidden = inference.n_code, inference.hidden
        self.frame = (frame,) if isinstance(frame, int) else tuple(frame)
        self.conditioning = check_int(conditioning, "conditioning", 1)
        self.motion, self.substeps = dynamics.motion, dynamics.substeps
        self.takes_images, self.use_sigmoid, self.skips = codec.takes_images, use_sigmoid, codec.skips and n_content > 0
        self.n_state, self.n_random, self.n_content = n_state, n_random, n_content
        self.encoder = codec.encoder(self.frame, n_code)
        self.decoder = codec.decoder(self.frame, n_state + n_content, n_content=n_content, use_sigmoid=use_sigmoid)
        codec.init_weights(self.encoder, self.decoder)
        self.content_frame_layer = nn.Sequential(nn.Linear(n_code, hidden), nn.ReLU()) if n_content else None
        self.content_layer = nn.Sequential(nn.Linear(hidden, n_content), nn.Tanh()) if n_content else None
        self.state_head = MLPNetwork([conditioning * n_code, hidden, hidden, 2 * n_state], shortcut=inference.shortcut)
        self.lstm = nn.LSTM(n_code, hidden, batch_first=True) if n_random else None
        self.random_head = nn.Linear(hidden, 2 * n_random) if n_random else None
        self.prior = dynamics.build_prior(n_state, n_random) if n_random else None
        self.dynamics = dynamics.build(n_state, n_random)
        self.delays: DelayNetwork | None = None
        self.content_drift: ContentDrift | None = None
        if experimental is not None and experimental.delays:
            self.delays = DelayNetwork(n_state, n_random, hidden, dynamics.hidden, max_delay)
            self.random_head = None  # with delays q also depends on the state, see `DelayNetwork`
        if experimental is not None and experimental.drift:
            self.content_drift = ContentDrift(n_code, n_content, hidden, experimental.drift)
        self.min_std = min_observation_std if observation_std is None else 0.0
        start = torch.tensor(float(observation_std or _INITIAL_OBSERVATION_STD) - self.min_std).log()
        self.log_std = nn.Parameter(start, requires_grad=observation_std is None)

    # --- inference ---------------------------------------------------------------------------------------------------

    def encode_frames(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Codes (batch, time, size) of all frames, and the feature maps of the stages (batch × time, …)."""
        rows, stage_maps = x.flatten(0, 1), []
        if self.takes_images:
            codes, stage_maps = self.encoder(rows.contiguous(memory_format=torch.channels_last))
        else:
            codes = self.encoder(rows)
        return codes.reshape(*x.shape[:2], -1), stage_maps

    def encode_content(self, codes: Tensor, chosen: Tensor, seen: list[Tensor], skip: Tensor) -> Content:
        """The content of the chosen frames (batch, k), with the skips of one frame per item (batch,)."""
        if self.content_frame_layer is None or self.content_layer is None:
            return Content(None, [])
        rows = torch.arange(len(codes), device=codes.device)
        some = codes[rows[:, None], chosen]
        code = self.content_layer(self.content_frame_layer(some).sum(1))
        at = rows * codes.shape[1] + skip
        return Content(code, [stage[at] for stage in seen] if self.skips else [])

    def first_state_posterior(self, codes: Tensor) -> DiagonalGaussian:
        """The posterior of the first state, given the first `conditioning` codes."""
        return DiagonalGaussian.from_parameters(self.state_head(codes[:, : self.conditioning].flatten(1)))

    def random_posterior(self, codes: Tensor) -> DiagonalGaussian | None:
        """The posterior of z at every frame but the first, given all frames up to it: (batch, time − 1, size)."""
        if self.lstm is None or self.random_head is None:
            return None
        return DiagonalGaussian.from_parameters(self.random_head(self.lstm(codes)[0][:, 1:]))

    def lstm_states(self, codes: Tensor) -> Tensor | None:
        """The LSTM states at every frame (batch, time, size), or None without delays."""
        if self.delays is None or self.lstm is None:
            return None
        states: Tensor = self.lstm(codes)[0]
        return states

    def random_prior(self, y: Tensor) -> DiagonalGaussian | None:
        """The prior of z in the step after a state."""
        return None if self.prior is None else DiagonalGaussian.from_parameters(self.prior(y))

    # --- generation --------------------------------------------------------------------------------------------------

    def advance_step(self, y: Tensor, z: Tensor | None, parts: int, frames: int = 1) -> tuple[list[Tensor], Tensor]:
        """The states at `frames` times of a step of `parts` substeps, and the path length (batch,)."""
        states, length = [], y.new_zeros(len(y))
        for part in range(parts):
            before, y = y, self._advance_substep(y, z, parts)
            length = length + (y - before).norm(dim=1)
            if (part + 1) % (parts // frames) == 0:
                states.append(y)
        return states, length

    def advance_steps(self, y: Tensor, z: Tensor | None, n_steps: int) -> Tensor:
        """The states after every substep, given z (batch, step, size): (batch, step × substeps, size)."""
        if n_steps and self.motion == "residual" and can_unroll([self.dynamics], y):
            spans, parts = y.new_ones(len(y), n_steps), self.substeps
            return unroll_states([self.dynamics], y, spans, z, parts, 1, parts)
        states: list[Tensor] = []
        for step in range(n_steps):
            inner = self.advance_step(y, None if z is None else z[:, step], self.substeps, self.substeps)[0]
            states, y = states + inner, inner[-1]
        return torch.stack(states, dim=1) if states else y[:, None][:, :0]

    def _advance_substep(self, y: Tensor, z: Tensor | None, parts: int) -> Tensor:
        if self.motion == "gru":
            next_state: Tensor = self.dynamics(y.new_zeros(len(y), 1) if z is None else z, y)
            return next_state
        update: Tensor = self.dynamics(y if z is None else torch.cat([y, z], dim=1))
        return update if self.motion == "perceptron" else y + update / parts

    def decode(self, content: Content, states: Tensor) -> Tensor:
        """Frames (batch, time, *frame) of states (batch, time, size); a drifting content has that shape too."""
        n_items, n_times = states.shape[:2]
        rows = states.flatten(0, 1)
        if content.code is not None:
            drifts = content.code.ndim == 3
            code = content.code.flatten(0, 1) if drifts else repeat_over_time(content.code, n_times)
            rows = torch.cat([code, rows], dim=1)
        frames: Tensor
        if self.takes_images:
            frames = self.decoder(rows, [repeat_over_time(one, n_times) for one in content.skips])
        else:
            frames = self.decoder(rows)
        if self.use_sigmoid:
            # vectorized and scalar sigmoids round differently in single precision, which would depend on the batch
            frames = torch.sigmoid(frames if torch.is_grad_enabled() else frames.double())
        return frames.reshape(n_items, n_times, *self.frame)

    @property
    def observation_std(self) -> Tensor:
        """The standard deviation of a frame around its decoded mean, √ν."""
        return self.min_std + self.log_std.exp()
