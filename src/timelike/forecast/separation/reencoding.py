"""Reencoding: states read off the forecast's own last frames, and whether that improves forecasts beyond a chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...sequences import Sequences
from ..chunks import PackedFrames
from ..windows import futures_after, known_futures_after, select_windows

if TYPE_CHECKING:
    from .estimator import Separation

_N_WINDOWS = 64  # windows


class RecentFrames(NamedTuple):
    """The last frames of every item, (item, time, …), as encoders see them, with what is known."""

    frames: Tensor
    known: Tensor | None

    @classmethod
    def from_packed(cls, material: PackedFrames, n_items: int, size: int) -> RecentFrames:
        """Those of sequences of `size` steps."""
        known = None if material.known is None else material.known.reshape(n_items, size, -1)
        return cls(material.frames.reshape(n_items, size, *material.frames.shape[1:]), known)

    def append_frames(self, frames: Tensor, known: Tensor | None, size: int) -> RecentFrames:
        """The last ones when these have come."""
        both = None if known is None or self.known is None else torch.cat([self.known, known], dim=1)[:, -size:]
        return RecentFrames(torch.cat([self.frames, frames], dim=1)[:, -size:], both)


def is_reencoding_better(model: Separation, sequences: Sequences) -> bool:
    """Whether forecasts of twice the trained length are nearer to these sequences if states are reencoded on the way.

    True where they are too short to tell: a forecast that leaves the data is worse than one that is a little off. The
    model is asked in both ways, and is left to answer in the second.
    """
    need, reach = model._min_past_steps(), model.chunk_ - model._min_past_steps()
    horizon = min(2 * reach, int(sequences.lengths.max()) - need)
    if horizon <= reach:
        return True
    windows = select_windows(sequences, need, horizon, _N_WINDOWS)
    truth = futures_after(model.cells_.target_frames(sequences), windows, horizon)[:, reach:]
    known = known_futures_after(model.cells_, sequences, windows, horizon)
    errors = []
    for model.reencode_ in (True, False):
        try:
            found = model.predict(windows.pasts, horizon, known_covariates=known).mean[:, reach:]
            errors.append(float(np.nanmean(np.square(found - truth))))
        except ArithmeticError:  # it has blown up
            errors.append(np.inf)
    return errors[0] <= errors[1]
