"""SeparationNetwork: two encoders, what moves the state, and a decoder (Franceschi's thesis, 2022, chapter 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from ...sequences.arguments import one_of, whole
from ..codecs.convolutional import Draw, Look, Pictures, Shape
from ..codecs.naming import Codec
from ..codecs.perceptron import Perceptron, normal, orthogonal
from ..dynamics import SOLVERS, Dynamics, Gated, Residual, Solved

Combine = Literal["concatenate", "multiply"]
_MOST_BLOCKS = 2**10  # of a step, as in the option of the estimator; the thesis has three


class Content(NamedTuple):
    """What stays: a code (batch, …), and what the stages of a codec with skips saw."""

    code: Tensor | None
    skips: list[Tensor]


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
        combine: Combine = "concatenate",
        codec: Codec = "perceptron",
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
        squash: bool = False,
        n_known: int = 0,
        n_clock: int = 0,
        drawn: Literal["torch", "thesis"] = "torch",
    ) -> None:
        super().__init__()
        self.frame = (frame,) if isinstance(frame, int) else tuple(frame)
        self.conditioning, self.offset, self.squash = whole(conditioning, "conditioning", 1), offset, squash
        self.n_clock = n_clock
        self.codec, self.combine, self.maps = codec, one_of(combine, "combine", ("concatenate", "multiply")), maps
        self.has_content, self.skips = content, skips and content
        self.n_state = n_state if content else n_state + n_content
        joined = (n_content + n_state if combine == "concatenate" else n_state) if content else self.n_state
        if codec == "perceptron":
            inputs = self.conditioning * (self.frame[0] + n_known) + n_clock
            middle, end = (
                [hidden] * layers,
                [decoder_hidden or hidden] * (layers if decoder_layers is None else decoder_layers),
            )
            self.look_at_content: nn.Module | None = (
                Perceptron([inputs, *middle, n_content], shortcut=shortcut) if content else None
            )
            self.look_at_state: nn.Module = Perceptron([inputs, *middle, self.n_state], shortcut=shortcut)
            self.draw: nn.Module = Perceptron([joined + n_known, *end, self.frame[0]], shortcut=shortcut)
        else:
            channels, height, width = self.frame
            shape = Shape(height, width, maps=maps)
            assert codec != "sprites"  # not among its options
            pictures: Pictures = codec
            inputs = self.conditioning * (channels + n_known) + n_clock
            given: dict[str, Any] = {"filters": filters, "maps": maps}
            self.look_at_content = Look(pictures, inputs, shape, n_content, **given) if content else None
            self.look_at_state = Look(pictures, inputs, shape, self.n_state, **given)
            self.draw = Draw(pictures, channels, shape, joined + n_known, skips=self.skips, **given)
        if drawn == "thesis":
            for part in (self.look_at_content, self.look_at_state, self.draw):
                if part is not None:
                    normal(part)
        self.move = _dynamics(self.n_state, n_known, solver, blocks, tied, dynamics_hidden, gain, maps)

    # --- parts -------------------------------------------------------------------------------------------------------

    def content_of(self, window: Tensor, known: Tensor | None = None, clock: Tensor | None = None) -> Content:
        """What stays, of windows (batch, conditioning, *frame)."""
        if self.look_at_content is None:
            return Content(None, [])
        found = self.look_at_content(self._seen(window, known, clock))
        if self.codec == "perceptron":
            return Content(found, [])
        return Content(found[0], found[1] if self.skips else [])

    def state_of(self, window: Tensor, known: Tensor | None = None, clock: Tensor | None = None) -> Tensor:
        """The state at the first frame of windows, or with `offset` one step after their last."""
        found = self.look_at_state(self._seen(window, known, clock))
        state: Tensor = found if self.codec == "perceptron" else found[0]
        return state

    def drawn(self, content: Content, states: Tensor, known: Tensor | None = None) -> Tensor:
        """Frames (batch, time, *frame) of states (batch, time, …); squashed to (0, 1) where the data lie there."""
        n_items, n_times = states.shape[:2]
        rows = states.flatten(0, 1)
        if content.code is not None:
            code = _repeated(content.code, n_times)
            rows = code * rows if self.combine == "multiply" else torch.cat([code, rows], dim=1)
        if known is not None:
            flat = known.flatten(0, 1)
            if rows.ndim > 2:
                flat = flat[:, :, None, None].expand(-1, -1, *rows.shape[2:])
            rows = torch.cat([rows, flat], dim=1)
        if self.codec == "perceptron":
            frames = self.draw(rows)
        else:
            frames = self.draw(rows, [_repeated(one, n_times) for one in content.skips])
        return (torch.sigmoid(frames) if self.squash else frames).reshape(n_items, n_times, *self.frame)

    def _seen(self, window: Tensor, known: Tensor | None, clock: Tensor | None) -> Tensor:
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
        content, y = self.content_of(window), self.state_of(window)
        before = 0 if self.offset else self.conditioning - 1
        steps = before + horizon - (1 if self.offset else 0)
        spans = window.new_ones(len(window), steps)
        states = torch.cat([y[:, None], self.move(y, spans)], dim=1)
        return self.drawn(content, states[:, -horizon:])


def _dynamics(
    n_state: int, n_known: int, solver: str, blocks: int, tied: bool, hidden: int, gain: float, maps: bool
) -> Dynamics:
    one_of(solver, "solver", SOLVERS)
    whole(blocks, "blocks", 1, most=_MOST_BLOCKS)
    if solver == "gru":
        return Gated(n_state, n_known)

    def block() -> nn.Module:
        if maps:
            return orthogonal(_convolved(n_state + n_known, hidden, n_state), gain)
        return orthogonal(Perceptron([n_state + n_known, hidden, hidden, n_state]), gain)

    if solver == "residual":
        return Residual([block() for _ in range(1 if tied else blocks)], blocks)
    return Solved(block(), blocks, solver)


def _convolved(before: int, hidden: int, after: int) -> nn.Module:
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


def _repeated(code: Tensor, n_times: int) -> Tensor:
    """A code of each item for all its times, (batch × time, …)."""
    if n_times == 1:
        return code
    shape = code.shape
    return code[:, None].expand(shape[0], n_times, *shape[1:]).reshape(shape[0] * n_times, *shape[1:])
