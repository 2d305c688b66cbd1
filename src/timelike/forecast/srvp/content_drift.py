"""ContentDrift: a content that changes a little from frame to frame (thesis, 8.2.2.3; experimental)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..codecs.content import Content
from .network import DiagonalGaussian

_SOFTPLUS_ONE = math.log(math.expm1(1.0))  # softplus of it is 1


class ContentDrift(nn.Module):
    """w_{t+1} = w_t + δ u_{t+1}, u_{t+1} ~ N(0, I), inferred as N(μ, σ) by an LSTM over the codes up to t + 1.

    The thesis proposes that w "evolve through time, although at a lesser rate than the state y via regularization
    strategies": here a random walk of a small deviation δ, whose divergence regularizes. It begins where that is 0.
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
        """u of every frame but the first, given the frames up to it: (batch, time − 1, size)."""
        return DiagonalGaussian.from_parameters(self.posterior_head(self.lstm(codes)[0][:, 1:]))

    def content_path(self, content: Content, u: Tensor) -> Content:
        """The content of every frame (batch, time, size), from that of the first (batch, size) on."""
        assert content.code is not None
        first = content.code[:, None]
        return Content(torch.cat([first, first + self.deviation * u.cumsum(1)], dim=1), content.skips)

    def extend_path(self, content: Content, u: Tensor, n_frames: int) -> Content:
        """What follows the last content of a path, by steps u (batch, step, size), with `n_frames` of every step.

        Between two steps it is on the line from one to the next.
        """
        assert content.code is not None
        parts = (self.deviation / n_frames * u).repeat_interleave(n_frames, dim=1)
        return Content(content.code[:, -1:] + parts.cumsum(1), content.skips)
