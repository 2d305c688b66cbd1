"""Renewing states: the frames they are read off, and whether that is better once a state is moved as in training."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...sequences import Sequences
from ..chunks import Material
from ..windows import after, cut, known_after

if TYPE_CHECKING:
    from .estimator import Separation

_TRIED = 64  # windows


class Recent(NamedTuple):
    """The last frames of every item, (item, time, …), as encoders see them, with what is known."""

    frames: Tensor
    known: Tensor | None

    @classmethod
    def of(cls, material: Material, n_items: int, size: int) -> Recent:
        """Those of sequences of `size` steps."""
        known = None if material.known is None else material.known.reshape(n_items, size, -1)
        return cls(material.frames.reshape(n_items, size, *material.frames.shape[1:]), known)

    def followed(self, frames: Tensor, known: Tensor | None, size: int) -> Recent:
        """The last ones when these have come."""
        both = None if known is None or self.known is None else torch.cat([self.known, known], dim=1)[:, -size:]
        return Recent(torch.cat([self.frames, frames], dim=1)[:, -size:], both)


def better_renewed(model: Separation, sequences: Sequences) -> bool:
    """Whether forecasts of twice the trained length are nearer to these sequences if states are renewed on the way.

    True where they are too short to tell: a forecast that leaves the data is worse than one that is a little off. The
    model is asked in both ways, and is left to answer in the second.
    """
    need, reach = model._conditioning(), model.chunk_ - model._conditioning()
    horizon = min(2 * reach, int(sequences.lengths.max()) - need)
    if horizon <= reach:
        return True
    windows = cut(sequences, need, horizon, _TRIED)
    truth = after(model.cells_.frames(sequences), windows, horizon)[:, reach:]
    known = known_after(model.cells_, sequences, windows, horizon)
    errors = []
    for model.renewed_ in (True, False):
        try:
            found = model.predict(windows.pasts, horizon, known=known).mean[:, reach:]
            errors.append(float(np.nanmean(np.square(found - truth))))
        except ArithmeticError:  # it has blown up
            errors.append(np.inf)
    return errors[0] <= errors[1]
