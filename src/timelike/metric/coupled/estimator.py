"""CoupledGRU: two sequences are as far apart as two coupled networks that read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ...models import options
from ...sequences import as_one
from ...sequences.arguments import store
from ...sequences.sampling import RandomState
from ...train.processes import Accelerator, Precision
from ..base import LearnedMetric
from ..comparer import Comparer
from .network import CoupledNetwork


class CoupledGRU(LearnedMetric):
    """The distance ‖h_T − h'_T‖₂ of the last states of two GRUs that read one sequence each and are coupled.

    Both share their weights and a gate c_t = σ(W_hc (h_{t−1} + h'_{t−1}) + b_hc), by which each takes over some of
    what is new in the other: (1 − c_t) n_t + c_t n'_t in place of a GRU's n_t. Sequences that are alike synchronise,
    also when they look different at first (CGRU, under review at ICLR 2021). A pair has to be read together, so a
    distance costs more than with `SiameseGRU`.

    Parameters
    ----------
    hidden : int
        Units.
    coupling_bias : float
        b_hc at the start: 0 is the strongest coupling (c ≈ ½), large negative values none.
    coupling_penalty : float
        Weight of ‖W_hc‖ in the loss.
    sync : {"last", "mean"}
        Whether the distance is that of the last states or the mean over time.
    loss, per_class, learning_rate, weight_decay, max_epochs, patience, validation, standardize, checkpoint, \
progress, accelerator, devices, precision, random_state
        As for `SiameseGRU`.

    Attributes
    ----------
    network_ : CoupledNetwork
        The torch module.
    history_ : History
        Losses, validation scores, and the norm of the coupling (`history_["coupling"]`).

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.arange(20) * np.repeat([0.5, 1.5], 8)[:, None]) + 0.1 * rng.standard_normal((16, 20))
    >>> metric = tl.CoupledGRU(hidden=4, max_epochs=2, random_state=0).fit(X, np.repeat([0, 1], 8))
    >>> metric.distance(X[0], X[0])
    0.0
    >>> metric.synchronization(X[0], X[9]).shape
    (20,)
    """

    hidden = options.whole(1)
    coupling_bias = options.real()
    coupling_penalty = options.real(0)
    sync = options.one_of("last", "mean")

    network_: CoupledNetwork

    def __init__(
        self,
        *,
        hidden: int = 20,
        coupling_bias: float = 0.0,
        coupling_penalty: float = 0.01,
        sync: Literal["last", "mean"] = "last",
        loss: Any = "structural",
        per_class: int = 6,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
        max_epochs: int | None = None,
        patience: int | None = 20,
        validation: float = 0.2,
        standardize: bool = True,
        checkpoint: str | Path | None = None,
        progress: bool = False,
        accelerator: Accelerator = "cpu",
        devices: int = 1,
        precision: Precision = "32-true",
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    def _comparer(self, n_channels: int) -> Comparer:
        return CoupledNetwork(
            n_channels,
            hidden=self.hidden,
            coupling_bias=self.coupling_bias,
            coupling_penalty=self.coupling_penalty,
            sync=self.sync,
        )

    def synchronization(self, x: Any, y: Any) -> NDArray[np.float64]:
        """How far the two states are from each other at every time, up to the end of the longer one."""
        first, second = as_one(x, "x"), as_one(y, "y")
        self._refuse(first, second, ("x", "y"))
        (a, a_lengths), (b, b_lengths) = (self._ready(side).tensor() for side in (first, second))
        with torch.no_grad():
            found = self.network_.synchronization(a, b, a_lengths, b_lengths)[0]
        return np.asarray(found.numpy(), np.float64)

    def lyapunov(self, *, steps: int = 1000, random_state: RandomState = 0) -> float:
        """The largest Lyapunov exponent of the map that the network makes without input; above 0 it is chaotic.

        Two coupled systems synchronise where the coupling exceeds half of it (Fujisaka and Yamada, 1983).
        """
        self._require_fitted()
        return self.network_.lyapunov(steps=steps, random_state=random_state)
