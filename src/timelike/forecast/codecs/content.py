"""The content of a sequence: what stays the same while the state moves, as `Separation` and `SRVP` encode it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Content(NamedTuple):
    """What stays: a code (batch, …), or None, and the feature maps of the encoder's stages, for a codec with skips."""

    code: Tensor | None
    skips: list[Tensor]

    def to(self, dtype: torch.dtype) -> Content:
        """The same in another precision."""
        code = None if self.code is None else self.code.to(dtype)
        return Content(code, [stage.to(dtype) for stage in self.skips])


def repeat_over_time(code: Tensor, n_times: int) -> Tensor:
    """A code of each item for all its times, (batch × time, …)."""
    if n_times == 1:
        return code
    shape = code.shape
    return code[:, None].expand(shape[0], n_times, *shape[1:]).reshape(shape[0] * n_times, *shape[1:])
