"""Elbo, the record of an evidence lower bound and its parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import format_count


@dataclass(frozen=True, eq=False, kw_only=True)
class Elbo:
    """The evidence lower bound of every sequence and its parts, each (item,), in nats: a bound of log p(x | w).

    `likelihood` − `first_kl` − `random_kl` = `elbo`: of the frames given the states, and what the first state and the
    random steps cost, with `drift` those of the content too. In the units of the data. The content w is a function of
    some frames that costs nothing, as in the thesis, so that this can lie above log p(x); only with n_content=0 it is a
    bound of log p(x) that can be compared with that of other models.
    """

    elbo: NDArray[np.float64]
    likelihood: NDArray[np.float64]
    first_kl: NDArray[np.float64]
    random_kl: NDArray[np.float64]

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {value.mean():.4g}" for name, value in vars(self).items())
        return f"Elbo({format_count(len(self.elbo), 'sequence')}; means: {means})"
