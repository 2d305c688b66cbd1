"""Two copies of one recurrent network, and how far apart their last states are."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from ..sequences.arguments import one_of, whole
from .comparer import Comparer, Prepared
from .frame_distances import exact_enough

RecurrentCell = Literal["gru", "lstm"]


class SiameseNetwork(Comparer):
    """The Euclidean distance of the last states of a GRU or LSTM, each at the end of its own sequence.

        d(x, y) = ‖h_T(x) − h_T'(y)‖₂

    The two copies share their weights, so d(x, x) = 0 and d(x, y) = d(y, x); each sequence is run through once.
    Mueller and Thyagarajan, "Siamese recurrent architectures for learning sentence similarity", AAAI 2016; the GRU is
    the baseline of the coupled GRU's paper (see `CoupledNetwork`).

    >>> import torch
    >>> network = SiameseNetwork(3, hidden=8)
    >>> walks = network.prepare(torch.randn(4, 10, 3).cumsum(1), torch.tensor([10, 7, 1, 9]))
    >>> network.matrix(walks, walks).shape
    torch.Size([4, 4])
    """

    def __init__(self, n_channels: int, *, hidden: int = 20, cell: RecurrentCell = "gru", n_layers: int = 1) -> None:
        super().__init__()
        one_of(cell, "cell", ("gru", "lstm"))
        sizes = whole(n_channels, "n_channels", 1), whole(hidden, "hidden", 1)
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        self.cells = kind(*sizes, num_layers=whole(n_layers, "n_layers", 1), batch_first=True)

    def prepare(self, x: Tensor, lengths: Tensor) -> Prepared:
        """The last states of sequences (item, time, channel) with lengths (item,), as one step of `hidden` features."""
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, state = self.cells(packed)
        last = (state[0] if isinstance(state, tuple) else state)[-1]
        return Prepared(last[:, None], torch.ones_like(lengths))

    def rows(self, x: Prepared, y: Prepared) -> Tensor:
        """The distances of x[0] and y[0], x[1] and y[1] and so on, (item,)."""
        distances: Tensor = torch.linalg.vector_norm(x.values[:, 0] - y.values[:, 0], dim=-1)
        return distances

    def matrix(self, x: Prepared, y: Prepared) -> Tensor:
        """The distances of all pairs, (item of x, item of y); where one is zero, so is its gradient."""
        # the other mode loses the small distances in large products
        first, second = (exact_enough(side.values[:, 0]) for side in (x, y))
        return torch.cdist(first, second, compute_mode="donot_use_mm_for_euclid_dist")

    def room(self, x_time: int, y_time: int) -> int:
        """One number for a pair, and as much for its gradient."""
        return 2
