"""A training that ended in numbers no aligner can compare."""

from __future__ import annotations

import numpy as np
from torch import nn

from ..sequences import Sequences
from ..train import Diverged, History
from .ground import mapped_frames


def refuse_diverged(network: nn.Module, ready: Sequences, history: History) -> None:
    """After the last step, which no loss follows that would show it."""
    bad = np.flatnonzero(~np.isfinite(mapped_frames(network, ready)).all(axis=1))
    if len(bad):
        ids = np.unique(np.searchsorted(ready.offsets, bad, side="right") - 1).tolist()
        raise Diverged(
            f"the map makes NaN or infinity of frames of the sequence {ids[0]} after step {history.n_steps}, the last: "
            f"lower the learning rate (now {history.last('rate'):g}), or standardize the sequences first",
            history.n_steps,
            ids,
        )
