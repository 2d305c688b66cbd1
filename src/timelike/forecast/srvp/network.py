"""SRVPNetwork: frames to a content and a state, random steps of the state, and frames of both (thesis, chapter 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...core.parameters import check_choice, check_int
from ..codecs.codec_names import CodecName
from ..codecs.content import Content, repeat_over_time
from ..codecs.convolutions import ConvCodecName, ConvDecoder, ConvEncoder, DownsamplingPlan
from ..codecs.mlp import MLPNetwork, init_normal, init_orthogonal
from ..codecs.sprites import SpriteDecoder
from ..unrolled_dynamics import can_unroll, unroll_states

if TYPE_CHECKING:
    from .content_drift import ContentDrift
    from .delays import DelayNetwork

DynamicsName = Literal["residual", "perceptron", "gru"]

_MIN_STD = 1e-8  # deviation
MIN_OBSERVATION_STD = 1e-3  # that is learned: of what can be drawn without error the likelihood has no greatest value
_INITIAL_OBSERVATION_STD = (
    0.2  # the deviation of observations that is learned: at 1 the states would have nothing to explain
)


class DiagonalGaussian(NamedTuple):
    """Independent normal distributions: means and deviations, of one shape."""

    mean: Tensor
    scale: Tensor

    @classmethod
    def from_parameters(cls, numbers: Tensor) -> DiagonalGaussian:
        """The first half of the last axis are means, softplus of the second deviations."""
        mean, raw = numbers.chunk(2, dim=-1)
        return cls(mean, F.softplus(raw) + _MIN_STD)

    def sample(self, noise: Tensor) -> Tensor:
        """A draw with standard normal noise, through which gradients pass."""
        return self.mean + self.scale * noise

    def kl_divergence(self, prior: DiagonalGaussian) -> Tensor:
        """KL divergence from a prior, (batch, …) without the last axis."""
        ratio = (self.scale / prior.scale).square()
        apart = ((self.mean - prior.mean) / prior.scale).square()
        return 0.5 * (ratio + apart - 1 - ratio.log()).sum(-1)

    def kl_from_standard(self) -> Tensor:
        """KL divergence from the standard normal distribution."""
        return 0.5 * (self.scale.square() + self.mean.square() - 1 - 2 * self.scale.log()).sum(-1)


class SRVPNetwork(nn.Module):
    """A state-space model with residual steps (Franceschi et al., "Stochastic latent residual video prediction", 2020).

    y_1 ~ N(0, I), z_{t+1} ~ N(μ(y_t), σ(y_t)), y_{t+Δ} = y_t + Δ f(y_t, z_{⌊t⌋+1}), x_t ~ N(g(y_t, w), ν), eq. 4.1–4.4.
    Frames are encoded one by one; y_1 is inferred from the first `conditioning` codes, z_t by an LSTM over the codes up
    to t, and w is a function of the sum of some codes, whatever their order.
    """

    def __init__(
        self,
        frame: int | Sequence[int],
        *,
        conditioning: int = 5,
        n_state: int = 20,
        n_random: int = 20,
        n_content: int = 256,
        n_code: int = 128,
        codec: CodecName = "perceptron",
        hidden: int = 256,
        layers: int = 2,
        filters: int = 64,
        n_sprites: int = 2,
        skips: bool = False,
        shortcut: bool = True,
        motion: DynamicsName = "residual",
        motion_hidden: int = 512,
        substeps: int = 1,
        gain: float = 1.41,
        use_sigmoid: bool = False,
        observation_std: float | None = 1.0,
        initialization: Literal["torch", "thesis"] = "torch",
    ) -> None:
        super().__init__()
        self.frame = (frame,) if isinstance(frame, int) else tuple(frame)
        self.conditioning, self.substeps = (
            check_int(conditioning, "conditioning", 1),
            check_int(substeps, "substeps", 1),
        )
        self.codec, self.use_sigmoid, self.skips = codec, use_sigmoid, skips and n_content > 0 and codec != "sprites"
        self.n_state, self.n_random, self.n_content = n_state, n_random, n_content
        self.motion = check_choice(motion, "motion", ("residual", "perceptron", "gru"))
        if codec == "perceptron":
            size = self.frame[0]
            self.encoder: nn.Module = MLPNetwork([size, *[hidden] * layers, n_code], shortcut=shortcut)
            self.decoder: nn.Module = MLPNetwork([n_state + n_content, *[hidden] * layers, size], shortcut=shortcut)
        else:
            channels, height, width = self.frame
            shape = DownsamplingPlan(height, width, maps=False)
            pictures: ConvCodecName = "dcgan" if codec == "sprites" else codec
            self.encoder = ConvEncoder(pictures, channels, shape, n_code, filters=filters)
            if codec == "sprites":
                sizes = {"n_content": n_content, "n_state": n_state, "n_sprites": n_sprites, "hidden": hidden}
                self.decoder = SpriteDecoder(channels, height, width, use_sigmoid=use_sigmoid, **sizes)
            else:
                self.decoder = ConvDecoder(
                    pictures, channels, shape, n_state + n_content, filters=filters, skips=self.skips
                )
        if initialization == "thesis":
            init_normal(self.encoder)
            if codec != "sprites":  # of which the thesis says nothing
                init_normal(self.decoder)
        self.content_frame_layer = nn.Sequential(nn.Linear(n_code, hidden), nn.ReLU()) if n_content else None
        self.content_layer = nn.Sequential(nn.Linear(hidden, n_content), nn.Tanh()) if n_content else None
        self.state_head = MLPNetwork([conditioning * n_code, hidden, hidden, 2 * n_state], shortcut=shortcut)
        self.lstm = nn.LSTM(n_code, hidden, batch_first=True) if n_random else None
        self.random_head = nn.Linear(hidden, 2 * n_random) if n_random else None
        inner = [motion_hidden] * 3
        self.prior = MLPNetwork([n_state, *inner, 2 * n_random]) if n_random else None
        if motion == "gru":
            self.dynamics: nn.Module = nn.GRUCell(max(1, n_random), n_state)
        else:
            self.dynamics = init_orthogonal(MLPNetwork([n_state + n_random, *inner, n_state]), gain)
        self.delays: DelayNetwork | None = None  # both experimental, see experimental.py
        self.content_drift: ContentDrift | None = None
        self.min_std = MIN_OBSERVATION_STD if observation_std is None else 0.0
        start = torch.tensor(float(observation_std or _INITIAL_OBSERVATION_STD) - self.min_std).log()
        self.log_std = nn.Parameter(start, requires_grad=observation_std is None)

    # --- inference ---------------------------------------------------------------------------------------------------

    def encode_frames(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Codes (batch, time, size) of all frames at once, and what stages saw (batch × time, …)."""
        rows = x.flatten(0, 1)
        found = self.encoder(rows if self.codec == "perceptron" else rows.contiguous(memory_format=torch.channels_last))
        codes, seen = (found, []) if self.codec == "perceptron" else found
        return codes.reshape(*x.shape[:2], -1), seen

    def encode_content(self, codes: Tensor, chosen: Tensor, seen: list[Tensor], skip: Tensor) -> Content:
        """The content of the chosen frames (batch, k), in any order, with the skips of one frame each (batch,)."""
        if self.content_frame_layer is None or self.content_layer is None:
            return Content(None, [])
        rows = torch.arange(len(codes), device=codes.device)
        some = codes[rows[:, None], chosen]
        code = self.content_layer(self.content_frame_layer(some).sum(1))
        at = rows * codes.shape[1] + skip
        return Content(code, [stage[at] for stage in seen] if self.skips else [])

    def first_state_posterior(self, codes: Tensor) -> DiagonalGaussian:
        """The first state, given codes of which the first `conditioning` are looked at."""
        return DiagonalGaussian.from_parameters(self.state_head(codes[:, : self.conditioning].flatten(1)))

    def random_posterior(self, codes: Tensor) -> DiagonalGaussian | None:
        """What is random in every step but the first, given all frames up to it: (batch, time − 1, size)."""
        if self.lstm is None or self.random_head is None:
            return None
        return DiagonalGaussian.from_parameters(self.random_head(self.lstm(codes)[0][:, 1:]))

    def random_prior(self, y: Tensor) -> DiagonalGaussian | None:
        """What is random in the step after a state."""
        return None if self.prior is None else DiagonalGaussian.from_parameters(self.prior(y))

    # --- generation --------------------------------------------------------------------------------------------------

    def advance_step(self, y: Tensor, z: Tensor | None, parts: int, frames: int = 1) -> tuple[list[Tensor], Tensor]:
        """The states at `frames` places of a step, moved in `parts`, and the sum of norms of the moves (batch,)."""
        found, length = [], y.new_zeros(len(y))
        for part in range(parts):
            before, y = y, self._advance_substep(y, z, parts)
            length = length + (y - before).norm(dim=1)
            if (part + 1) % (parts // frames) == 0:
                found.append(y)
        return found, length

    def advance_steps(self, y: Tensor, z: Tensor | None, n_steps: int) -> Tensor:
        """The states after every part of steps with given z (batch, step, size): (batch, step × substeps, size)."""
        if n_steps and self.motion == "residual" and can_unroll([self.dynamics], y):
            spans, parts = y.new_ones(len(y), n_steps), self.substeps
            return unroll_states([self.dynamics], y, spans, z, parts, 1, parts)
        found: list[Tensor] = []
        for step in range(n_steps):
            inner = self.advance_step(y, None if z is None else z[:, step], self.substeps, self.substeps)[0]
            found, y = found + inner, inner[-1]
        return torch.stack(found, dim=1) if found else y[:, None][:, :0]

    def _advance_substep(self, y: Tensor, z: Tensor | None, parts: int) -> Tensor:
        if self.motion == "gru":
            moved: Tensor = self.dynamics(y.new_zeros(len(y), 1) if z is None else z, y)
            return moved
        update: Tensor = self.dynamics(y if z is None else torch.cat([y, z], dim=1))
        return update if self.motion == "perceptron" else y + update / parts

    def decode(self, content: Content, states: Tensor) -> Tensor:
        """Frames (batch, time, *frame) of states (batch, time, size)."""
        n_items, n_times = states.shape[:2]
        rows = states.flatten(0, 1)
        if content.code is not None:
            rows = torch.cat([repeat_over_time(content.code, n_times), rows], dim=1)
        frames: Tensor
        if self.codec == "perceptron":
            frames = self.decoder(rows)
        else:
            frames = self.decoder(rows, [repeat_over_time(one, n_times) for one in content.skips])
        if self.use_sigmoid:
            # the last numbers of a loop are computed one by one, and in single precision rounded in another way
            frames = torch.sigmoid(frames if torch.is_grad_enabled() else frames.double())
        return frames.reshape(n_items, n_times, *self.frame)

    @property
    def observation_std(self) -> Tensor:
        """The deviation of a frame from what is drawn, √ν."""
        return self.min_std + self.log_std.exp()


def standard_normal_noise(shape: Sequence[int], like: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Standard normal noise."""
    return torch.randn(*shape, dtype=like.dtype, device=like.device, generator=generator)
