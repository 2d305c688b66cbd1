"""SeparationNetwork: two encoders, what moves the state, and a decoder (Franceschi's thesis, 2022, chapter 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ...core.parameters import check_choice, check_int
from ..codecs.codec_names import CodecName
from ..codecs.content import Content, repeat_over_time
from ..codecs.convolutions import ConvCodecName, ConvDecoder, ConvEncoder, DownsamplingPlan
from ..codecs.mlp import MLPNetwork, init_normal, init_orthogonal
from ..dynamics import SOLVERS, Dynamics, GRUDynamics, ODEDynamics, ResidualDynamics

CombineRule = Literal["concatenate", "multiply"]
_MAX_BLOCKS = 2**10  # of a step, as in the option of the estimator; the thesis has three


class SeparationNetwork(nn.Module):
    """Windows of frames to a content w and a state y, states over time, and frames of both.

    x̂_t = g(w, y_t), dy/dt = f(y), w = e_S(window), y_0 = e_T(window) (eq. 5.8–5.11). A window is (batch, conditioning,
    *frame); `n_known` further channels are known at every time and join what encoders, f and g see; `n_clock` numbers
    tell when the frames of a window were.

    >>> network = SeparationNetwork(3, conditioning=2, hidden=8)
    >>> network(torch.zeros(5, 2, 3), horizon=4).shape
    torch.Size([5, 4, 3])
    """

    def __init__(
        self,
        frame: int | Sequence[int],
        *,
        conditioning: int = 5,
        n_content: int = 32,
        n_state: int = 32,
        content: bool = True,
        combine: CombineRule = "concatenate",
        codec: CodecName = "perceptron",
        hidden: int = 128,
        layers: int = 2,
        decoder_hidden: int | None = None,
        decoder_layers: int | None = None,
        filters: int = 64,
        skips: bool = False,
        maps: bool = False,
        shortcut: bool = True,
        solver: str = "residual",
        blocks: int = 1,
        tied: bool = False,
        dynamics_hidden: int = 128,
        gain: float = 0.71,
        offset: bool = False,
        use_sigmoid: bool = False,
        n_known: int = 0,
        n_clock: int = 0,
        initialization: Literal["torch", "thesis"] = "torch",
    ) -> None:
        super().__init__()
        self.frame = (frame,) if isinstance(frame, int) else tuple(frame)
        self.conditioning, self.offset, self.use_sigmoid = (
            check_int(conditioning, "conditioning", 1),
            offset,
            use_sigmoid,
        )
        self.n_clock = n_clock
        self.codec, self.combine, self.maps = codec, check_choice(combine, "combine", ("concatenate", "multiply")), maps
        self.has_content, self.skips = content, skips and content
        self.n_state = n_state if content else n_state + n_content
        joined = (n_content + n_state if combine == "concatenate" else n_state) if content else self.n_state
        if codec == "perceptron":
            inputs = self.conditioning * (self.frame[0] + n_known) + n_clock
            middle, end = (
                [hidden] * layers,
                [decoder_hidden or hidden] * (layers if decoder_layers is None else decoder_layers),
            )
            self.content_encoder: nn.Module | None = (
                MLPNetwork([inputs, *middle, n_content], shortcut=shortcut) if content else None
            )
            self.state_encoder: nn.Module = MLPNetwork([inputs, *middle, self.n_state], shortcut=shortcut)
            self.decoder: nn.Module = MLPNetwork([joined + n_known, *end, self.frame[0]], shortcut=shortcut)
        else:
            channels, height, width = self.frame
            shape = DownsamplingPlan(height, width, maps=maps)
            assert codec != "sprites"  # not among its options
            pictures: ConvCodecName = codec
            inputs = self.conditioning * (channels + n_known) + n_clock
            given: dict[str, Any] = {"filters": filters, "maps": maps}
            self.content_encoder = ConvEncoder(pictures, inputs, shape, n_content, **given) if content else None
            self.state_encoder = ConvEncoder(pictures, inputs, shape, self.n_state, **given)
            self.decoder = ConvDecoder(pictures, channels, shape, joined + n_known, skips=self.skips, **given)
        if initialization == "thesis":
            for part in (self.content_encoder, self.state_encoder, self.decoder):
                if part is not None:
                    init_normal(part)
        self.dynamics = _make_dynamics(self.n_state, n_known, solver, blocks, tied, dynamics_hidden, gain, maps)

    # --- parts -------------------------------------------------------------------------------------------------------

    def encode_content(self, window: Tensor, known: Tensor | None = None, clock: Tensor | None = None) -> Content:
        """What stays, of windows (batch, conditioning, *frame)."""
        if self.content_encoder is None:
            return Content(None, [])
        found = self.content_encoder(self._encoder_input(window, known, clock))
        if self.codec == "perceptron":
            return Content(found, [])
        return Content(found[0], found[1] if self.skips else [])

    def encode_state(self, window: Tensor, known: Tensor | None = None, clock: Tensor | None = None) -> Tensor:
        """The state at the first frame of windows, or with `offset` one step after their last."""
        found = self.state_encoder(self._encoder_input(window, known, clock))
        state: Tensor = found if self.codec == "perceptron" else found[0]
        return state

    def decode(self, content: Content, states: Tensor, known: Tensor | None = None) -> Tensor:
        """Frames (batch, time, *frame) of states (batch, time, …); squashed to (0, 1) where the data lie there."""
        n_items, n_times = states.shape[:2]
        rows = states.flatten(0, 1)
        if content.code is not None:
            code = repeat_over_time(content.code, n_times)
            rows = code * rows if self.combine == "multiply" else torch.cat([code, rows], dim=1)
        if known is not None:
            flat = known.flatten(0, 1)
            if rows.ndim > 2:
                flat = flat[:, :, None, None].expand(-1, -1, *rows.shape[2:])
            rows = torch.cat([rows, flat], dim=1)
        if self.codec == "perceptron":
            frames = self.decoder(rows)
        else:
            frames = self.decoder(rows, [repeat_over_time(one, n_times) for one in content.skips])
        return (torch.sigmoid(frames) if self.use_sigmoid else frames).reshape(n_items, n_times, *self.frame)

    def _encoder_input(self, window: Tensor, known: Tensor | None, clock: Tensor | None) -> Tensor:
        """Frames side by side, in one row or in the channels of one picture (C.5.2)."""
        seen = window.flatten(1) if self.codec == "perceptron" else window.flatten(1, 2)
        for more in (known, clock):
            if more is not None:
                flat = more.flatten(1)
                if seen.ndim > 2:
                    flat = flat[:, :, None, None].expand(-1, -1, *seen.shape[2:])
                seen = torch.cat([seen, flat], dim=1)
        return seen

    # --- whole -------------------------------------------------------------------------------------------------------

    def forward(self, window: Tensor, horizon: int) -> Tensor:
        """What follows a window of an even clock, (batch, horizon, *frame)."""
        content, y = self.encode_content(window), self.encode_state(window)
        before = 0 if self.offset else self.conditioning - 1
        steps = before + horizon - (1 if self.offset else 0)
        spans = window.new_ones(len(window), steps)
        states = torch.cat([y[:, None], self.dynamics(y, spans)], dim=1)
        return self.decode(content, states[:, -horizon:])


def _make_dynamics(
    n_state: int, n_known: int, solver: str, blocks: int, tied: bool, hidden: int, gain: float, maps: bool
) -> Dynamics:
    check_choice(solver, "solver", SOLVERS)
    check_int(blocks, "blocks", 1, most=_MAX_BLOCKS)
    if solver == "gru":
        return GRUDynamics(n_state, n_known)

    def block() -> nn.Module:
        if maps:
            return init_orthogonal(_conv_dynamics_block(n_state + n_known, hidden, n_state), gain)
        return init_orthogonal(MLPNetwork([n_state + n_known, hidden, hidden, n_state]), gain)

    if solver == "residual":
        return ResidualDynamics([block() for _ in range(1 if tied else blocks)], blocks)
    return ODEDynamics(block(), blocks, solver)


def _conv_dynamics_block(before: int, hidden: int, after: int) -> nn.Module:
    """Three convolutions; normalized, then leaky, in between (C.5.2)."""
    return nn.Sequential(
        nn.Conv2d(before, hidden, 3, padding=1),
        nn.BatchNorm2d(hidden),
        nn.LeakyReLU(),
        nn.Conv2d(hidden, hidden, 3, padding=1),
        nn.BatchNorm2d(hidden),
        nn.LeakyReLU(),
        nn.Conv2d(hidden, after, 3, padding=1),
    )
