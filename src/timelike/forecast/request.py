"""ForecastRequest: the validated arguments of `predict`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.memory import refuse_beyond_memory
from ..core.parameters import format_count

SequenceSource = Callable[[np.random.Generator], Any]
"""What `fit` takes in place of sequences: called with a generator, it gives some."""


class ForecastRequest(NamedTuple):
    """How far, how often and how finely to forecast; `known_covariates` (item, horizon, channel) is known in advance,
    or None.
    """

    horizon: int
    n_samples: int
    frames_per_step: int
    substeps: int | None
    known_covariates: NDArray[Any] | None
    rng: np.random.Generator

    @property
    def n_frames(self) -> int:
        """How many frames are asked for."""
        return self.horizon * self.frames_per_step

    def refuse_large(self, n_items: int, n_cells: int, itemsize: int) -> None:
        """An error for more numbers than this machine can hold."""
        refuse_beyond_memory(
            self.n_samples * n_items * self.n_frames * n_cells * itemsize,
            f"horizon={self.horizon} with n_samples={self.n_samples} of {format_count(n_items, 'past')}",
            "ask for a shorter horizon or fewer samples, or for some pasts at a time",
        )


class Futures(NamedTuple):
    """What a method answers, in rows of cells: `center` (item, frame, cell), `samples` (sample, item, frame, cell).

    One of them may be None: without samples the center is the only future, without a center the mean of samples is.
    """

    center: NDArray[Any] | None
    samples: NDArray[Any] | None = None
