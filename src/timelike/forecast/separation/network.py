"""SeparationNetwork: two encoders, the dynamics of the state, and a decoder (Franceschi's thesis, 2022, chapter 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from ...core.parameters import check_choice, check_int
from ..codecs.base import Codec, Content, repeat_over_time
from ..codecs.mlp import MLP
from ..dynamics import StateDynamics

CombineRule = Literal["concatenate", "multiply"]


class SeparationNetwork(nn.Module):
    """Encodes windows of frames as a content w and a state y, advances states, and decodes frames.

    x̂_t = g(w, y_t), dy/dt = f(y), w = e_S(window), y_0 = e_T(window) (eq. 5.8–5.11). A window is (batch, conditioning,
    *frame).

    Parameters
    ----------
    frame : int or sequence of int
        The shape of a frame.
    conditioning : int
        Frames per window.
    n_content, n_state : int
        Sizes of w and y, or numbers of channels if the codec has `maps`.
    content : bool
        False omits w, and y has the size of both.
    combine : {"concatenate", "multiply"}
        How the decoder combines w and y.
    codec : Codec or None
        Builds encoders and decoder; None is `codecs.MLP()`.
    dynamics : StateDynamics or None
        Builds the dynamics of the state; None is `StateDynamics()`.
    offset : bool
        Whether the state represents the frame after the window instead of its first.
    use_sigmoid : bool
        Whether a sigmoid maps frames to (0, 1).
    n_known : int
        Number of known channels, which are additional inputs of the encoders, f and g.
    n_clock : int
        Number of time spans of a window, which are additional inputs of the encoders.

    Examples
    --------
    >>> network = SeparationNetwork(3, conditioning=2, codec=MLP(hidden=8))
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
        codec: Codec | None = None,
        dynamics: StateDynamics | None = None,
        offset: bool = False,
        use_sigmoid: bool = False,
        n_known: int = 0,
        n_clock: int = 0,
    ) -> None:
        super().__init__()
        codec = MLP() if codec is None else codec
        self.frame = (frame,) if isinstance(frame, int) else tuple(frame)
        self.conditioning = check_int(conditioning, "conditioning", 1)
        self.combine = check_choice(combine, "combine", ("concatenate", "multiply"))
        self.offset, self.use_sigmoid, self.n_clock = offset, use_sigmoid, n_clock
        self.takes_images, self.maps = codec.takes_images, codec.maps
        self.has_content, self.skips = content, codec.skips and content
        self.n_state = n_state if content else n_state + n_content
        joined = (n_content + n_state if combine == "concatenate" else n_state) if content else self.n_state
        input_shape = (self.conditioning * (self.frame[0] + n_known) + n_clock, *self.frame[1:])
        self.content_encoder = codec.encoder(input_shape, n_content) if content else None
        self.state_encoder = codec.encoder(input_shape, self.n_state)
        self.decoder = codec.decoder(
            self.frame, joined + n_known, n_content=n_content if content else 0, use_sigmoid=use_sigmoid
        )
        codec.init_weights(self.content_encoder, self.state_encoder, self.decoder)
        self.dynamics = (dynamics or StateDynamics()).build(self.n_state, n_known, maps=self.maps)

    # --- parts -------------------------------------------------------------------------------------------------------

    def encode_content(self, window: Tensor, known: Tensor | None = None, clock: Tensor | None = None) -> Content:
        """The content of windows (batch, conditioning, *frame)."""
        if self.content_encoder is None:
            return Content(None, [])
        output = self.content_encoder(self._encoder_input(window, known, clock))
        if not self.takes_images:
            return Content(output, [])
        return Content(output[0], output[1] if self.skips else [])

    def encode_state(self, window: Tensor, known: Tensor | None = None, clock: Tensor | None = None) -> Tensor:
        """The state at the first frame of windows, or with `offset` one step after their last."""
        output = self.state_encoder(self._encoder_input(window, known, clock))
        state: Tensor = output[0] if self.takes_images else output
        return state

    def decode(self, content: Content, states: Tensor, known: Tensor | None = None) -> Tensor:
        """Frames (batch, time, *frame) of states (batch, time, …), in (0, 1) with `use_sigmoid`."""
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
        if self.takes_images:
            frames = self.decoder(rows, [repeat_over_time(one, n_times) for one in content.skips])
        else:
            frames = self.decoder(rows)
        return (torch.sigmoid(frames) if self.use_sigmoid else frames).reshape(n_items, n_times, *self.frame)

    def _encoder_input(self, window: Tensor, known: Tensor | None, clock: Tensor | None) -> Tensor:
        """Concatenate the frames in one row, or in the channels of one image (C.5.2)."""
        inputs = window.flatten(1, 2) if self.takes_images else window.flatten(1)
        for more in (known, clock):
            if more is not None:
                flat = more.flatten(1)
                if inputs.ndim > 2:
                    flat = flat[:, :, None, None].expand(-1, -1, *inputs.shape[2:])
                inputs = torch.cat([inputs, flat], dim=1)
        return inputs

    # --- whole -------------------------------------------------------------------------------------------------------

    def forward(self, window: Tensor, horizon: int) -> Tensor:
        """Forecast the frames after windows with even time steps, (batch, horizon, *frame)."""
        content, y = self.encode_content(window), self.encode_state(window)
        before = 0 if self.offset else self.conditioning - 1
        steps = before + horizon - (1 if self.offset else 0)
        spans = window.new_ones(len(window), steps)
        states = torch.cat([y[:, None], self.dynamics(y, spans)], dim=1)
        return self.decode(content, states[:, -horizon:])
