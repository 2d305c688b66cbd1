"""The siamese GRU: two sequences are as far apart as the last states of a network that read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ..align.layers.costs import frame_costs
from ..models import options
from ..native.recurrent import graded as recurrent
from ..sequences.arguments import one_of, store, whole
from ..sequences.sampling import RandomState
from ..train.processes import Accelerator, Precision
from .base import LearnedMetric
from .comparer import Comparer, Features
from .frames import exact_enough

RecurrentCell = Literal["gru", "lstm"]


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


class SiameseNetwork(Comparer):
    """The Euclidean distance of the last states of a GRU or LSTM, each at the end of its own sequence.

        d(x, y) = ‖h_T(x) − h_T'(y)‖₂

    The two copies share their weights, so d(x, x) = 0 and d(x, y) = d(y, x); each sequence is run through once.
    Mueller and Thyagarajan, "Siamese recurrent architectures for learning sentence similarity", AAAI 2016; the GRU is
    the baseline of the coupled GRU's paper (see `CoupledNetwork`).

    >>> import torch
    >>> network = SiameseNetwork(3, hidden=8)
    >>> walks = network.features(torch.randn(4, 10, 3).cumsum(1), torch.tensor([10, 7, 1, 9]))
    >>> network.matrix(walks, walks).shape
    torch.Size([4, 4])
    """

    def __init__(self, n_channels: int, *, hidden: int = 20, cell: RecurrentCell = "gru", n_layers: int = 1) -> None:
        super().__init__()
        one_of(cell, "cell", ("gru", "lstm"))
        self.n_channels = whole(n_channels, "n_channels", 1)
        sizes = self.n_channels, whole(hidden, "hidden", 1)
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        self.cells = kind(*sizes, num_layers=whole(n_layers, "n_layers", 1), batch_first=True)

    def features(self, x: Tensor, lengths: Tensor) -> Features:
        """The last states of sequences (item, time, channel) with lengths (item,), as one step of `hidden` features."""
        last = recurrent.last_states(self.cells, x, lengths)
        return Features(last[:, None], torch.ones_like(lengths, device=x.device))

    def rows(self, x: Features, y: Features) -> Tensor:
        """The distances of x[0] and y[0], x[1] and y[1] and so on, (item,)."""
        distances: Tensor = torch.linalg.vector_norm(x.values[:, 0] - y.values[:, 0], dim=-1)
        return distances

    def matrix(self, x: Features, y: Features) -> Tensor:
        """The distances of all pairs, (item of x, item of y); where one is zero, so is its gradient."""
        first, second = (exact_enough(side.values[:, 0]) for side in (x, y))
        return frame_costs("euclidean", first, second)

    def footprint(self, x_time: int, y_time: int) -> int:
        """One number for a pair, and as much for its gradient."""
        return 2
