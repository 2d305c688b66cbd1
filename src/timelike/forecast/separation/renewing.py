"""Whether a state that has been moved as far as in training is better read off the forecast itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...sequences import Sequences
from ..windows import after, cut, known_after

if TYPE_CHECKING:
    from .estimator import Separation

_TRIED = 64  # windows


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
