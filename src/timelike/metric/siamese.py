"""The siamese GRU: two sequences are as far apart as the last states of a network that read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from ..models import options
from ..sequences.arguments import store
from ..sequences.sampling import RandomState
from ..train.processes import Accelerator, Precision
from .base import LearnedMetric
from .comparer import Comparer
from .siamese_network import SiameseNetwork


class SiameseGRU(LearnedMetric):
    """The distance ‖h_T − h'_T‖₂ of the last states of one recurrent network that reads both sequences.

    Trained from classes or pairs (Mueller and Thyagarajan, 2016, with a GRU; the baseline of the coupled GRU).

    Parameters
    ----------
    hidden : int
        Units.
    cell : {"gru", "lstm"}
        The network.
    loss : str or loss of `timelike.metric.losses`
        What is minimised over all pairs of a batch.
    per_class : int
        Members of each class in a batch.
    learning_rate, weight_decay : float
        Of Adam; the rate is halved after 10 epochs in which the loss does not fall.
    max_epochs : int or None
        None for 60.
    patience : int or None
        Validations without a better score before training stops.
    validation : float
        Share of the sequences, or of their groups, by which the weights to keep are chosen; 0 keeps the last.
    standardize : bool
        Whether channels are brought to mean 0 and deviation 1, as they are in the sequences fitted on.
    checkpoint : path or None
        A folder to continue from after a pause. A training that is at its end there is returned as it is, also if
        `learning_rate` is another now or `max_epochs` smaller.
    progress : bool
        Whether a bar shows how far the training is.
    accelerator, devices, precision
        Where and how training computes, as for `timelike.train.fit`; distances are computed on the CPU, in float32.
    random_state : int, Generator or None
        Repeats initial weights and training.

    Attributes
    ----------
    network_ : SiameseNetwork
        The torch module.
    history_ : History
        Losses and validation scores.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.arange(20) * np.repeat([0.5, 1.5], 8)[:, None]) + 0.1 * rng.standard_normal((16, 20))
    >>> metric = tl.SiameseGRU(hidden=4, max_epochs=3, random_state=0).fit(X, np.repeat([0, 1], 8))
    >>> metric.distance(X[0], X[0])
    0.0
    """

    hidden = options.whole(1)
    cell = options.one_of("gru", "lstm")

    def __init__(
        self,
        *,
        hidden: int = 20,
        cell: Literal["gru", "lstm"] = "gru",
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
        return SiameseNetwork(n_channels, hidden=self.hidden, cell=self.cell)
