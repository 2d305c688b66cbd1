"""Elbo, the record of an evidence lower bound and its parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Elbo:
    """The evidence lower bound of every sequence and its parts, each (item,), in nats: a bound of log p(x).

    `likelihood` − `first` − `random` = `elbo`: of the frames given the states, and what the first state and the random
    steps cost, with `drift` those of the content too. In the units of the data, so that it can be compared with another
    model's.
    """

    elbo: NDArray[np.float64]
    likelihood: NDArray[np.float64]
    first: NDArray[np.float64]
    random: NDArray[np.float64]

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {value.mean():.4g}" for name, value in vars(self).items())
        return f"Elbo({len(self.elbo)} sequences; means: {means})"
