"""`SiameseNetwork`: the distance of two sequences encoded by one recurrent network, and its readout."""

from __future__ import annotations

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...align.layers.costs import frame_costs
from ...core.parameters import check_bool, check_choice, check_int
from ...core.validation.tensors import valid_mask, validate_lengths, validate_network_input
from ...native.recurrent import autograd as recurrent
from ..distance_network import DistanceNetwork, Features
from ..frame_transform import to_full_precision
from ..strided_convolutions import make_front

RecurrentCellName = Literal["gru", "lstm"]
Pooling = Literal["last", "mean", "max", "mean+max", "attention"]
POOLINGS = "last", "mean", "max", "mean+max", "attention"


class SiameseNetwork(DistanceNetwork):
    """The Euclidean distance between the states of a GRU or LSTM for two sequences, by default the last states.

        d(x, y) = ‖f(x) − f(y)‖₂,   f = h_T

    Both sequences use the same weights, so d(x, x) = 0 and d(x, y) = d(y, x); each sequence is encoded once.
    Mueller and Thyagarajan, "Siamese recurrent architectures for learning sentence similarity", AAAI 2016; the GRU is
    the baseline of the coupled GRU's paper (see `CoupledNetwork`). `front="strided"` puts convolutions before it (see
    `StridedConvolutions`), `readout` takes more than the last state, `n_outputs` maps it, and `normalize` gives it
    length 1.

    Parameters
    ----------
    n_channels : int
        Channels of a sequence.
    hidden, n_layers : int
        Units of a layer, and layers.
    cell : {"gru", "lstm"}
        The recurrent cell.
    front : "strided" or None
        Convolutions before the cells.
    strides : tuple of two int
        Steps between two outputs of each convolution.
    readout : {"last", "mean", "max", "mean+max", "attention"}
        How the states over time become one vector.
    n_outputs : int or None
        Size of the vectors, by a linear map; None for the readout itself.
    normalize : bool
        Whether vectors have length 1.

    Examples
    --------
    >>> import torch
    >>> network = SiameseNetwork(3, hidden=8)
    >>> walks = network.features(torch.randn(4, 10, 3).cumsum(1), torch.tensor([10, 7, 1, 9]))
    >>> network.distance_matrix(walks, walks).shape
    torch.Size([4, 4])
    """

    is_vector_distance = True

    def __init__(
        self,
        n_channels: int,
        *,
        hidden: int = 20,
        cell: RecurrentCellName = "gru",
        n_layers: int = 1,
        front: Literal["strided"] | None = None,
        strides: tuple[int, int] = (2, 2),
        readout: Pooling = "last",
        n_outputs: int | None = None,
        normalize: bool = False,
    ) -> None:
        super().__init__()
        check_choice(cell, "cell", ("gru", "lstm"))
        check_choice(readout, "readout", POOLINGS)
        self.n_channels, hidden = check_int(n_channels, "n_channels", 1), check_int(hidden, "hidden", 1)
        self.front = make_front(front, self.n_channels, strides)
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        n_inputs = self.n_channels if self.front is None else self.front.n_outputs
        self.cells = kind(n_inputs, hidden, num_layers=check_int(n_layers, "n_layers", 1), batch_first=True)
        self.readout = Readout(readout, hidden)
        size = None if n_outputs is None else check_int(n_outputs, "n_outputs", 1)
        self.projection = None if size is None else nn.Linear(self.readout.n_outputs, size)
        self.normalize = check_bool(normalize, "normalize")

    def features(self, x: Tensor, lengths: Tensor) -> Features:
        """The vectors of sequences (item, time, channel) with lengths (item,), as one step of many features."""
        vectors = self.project_readout(self._read_out(x, lengths))
        return Features(vectors[:, None], torch.ones_like(lengths, device=x.device))

    def project_readout(self, found: Tensor) -> Tensor:
        """From the readout (item, feature) to what is compared, (item, output)."""
        if self.projection is not None:
            found = self.projection(found)
        return F.normalize(found, dim=-1) if self.normalize else found

    def _read_out(self, x: Tensor, lengths: Tensor) -> Tensor:
        if self.front is not None:
            x, lengths = self.front(x, lengths)
        if self.readout.pooling == "last":
            return recurrent.last_states(self.cells, x, lengths)
        # a state depends on none that comes later, so padding changes no value; but NaN would reach the gradient
        states = self.cells(torch.where(valid_mask(lengths, x.shape[1], x.device)[..., None], x, 0))[0]
        vectors: Tensor = self.readout(states, lengths)
        return vectors

    def pair_distances(self, x: Features, y: Features) -> Tensor:
        """The distances of x[0] and y[0], x[1] and y[1] and so on, (item,)."""
        distances: Tensor = torch.linalg.vector_norm(x.values[:, 0] - y.values[:, 0], dim=-1)
        return distances

    def distance_matrix(self, x: Features, y: Features) -> Tensor:
        """The distances of all pairs, (item of x, item of y); where one is zero, so is its gradient."""
        first, second = (to_full_precision(side.values[:, 0]) for side in (x, y))
        return frame_costs("euclidean", first, second)

    def numbers_per_pair(self, x_time: int, y_time: int) -> int:
        """One number for a pair and one for its gradient."""
        return 2


class Readout(nn.Module):
    """Pool the states of each sequence to one vector: the last, mean, maximum, both, or a learned weighted mean.

    The last state of a small network mainly reflects the last steps of a long sequence; mean and maximum reflect all
    steps. States past a length are ignored.

    >>> states = torch.tensor([[[1.0], [3.0], [9.0]]])
    >>> Readout("mean+max", 1)(states, torch.tensor([2]))
    tensor([[2., 3.]])
    """

    def __init__(self, pooling: Pooling, hidden: int) -> None:
        super().__init__()
        self.pooling: str = check_choice(pooling, "pooling", POOLINGS)
        hidden = check_int(hidden, "hidden", 1)
        self.n_outputs = 2 * hidden if pooling == "mean+max" else hidden
        if pooling == "attention":
            self.weigh = nn.Linear(hidden, 1)

    def forward(self, states: Tensor, lengths: Tensor) -> Tensor:
        """(item, time, hidden) and lengths (item,) → (item, output)."""
        own = lengths.to(states.device)
        if self.pooling == "last":
            return states[torch.arange(len(states), device=states.device), own - 1]
        inside = valid_mask(own, states.shape[1], states.device)[..., None]
        if self.pooling == "attention":
            weights = self.weigh(states).masked_fill(~inside, -torch.inf).softmax(1)
            weighted_sum: Tensor = (weights * torch.where(inside, states, 0)).sum(1)
            return weighted_sum
        parts = []
        if self.pooling != "max":
            parts.append(torch.where(inside, states, 0).sum(1) / own[:, None])
        if self.pooling != "mean":
            parts.append(states.masked_fill(~inside, -torch.inf).amax(1))
        return torch.cat(parts, -1)


class SiameseBranch(nn.Module):
    """One branch of a siamese network: maps sequences to the vectors that are compared.

    >>> import torch
    >>> vectors = SiameseBranch(SiameseNetwork(3, hidden=8))
    >>> vectors(torch.randn(4, 10, 3), torch.tensor([10, 7, 1, 9])).shape
    torch.Size([4, 8])
    """

    def __init__(self, siamese: SiameseNetwork) -> None:
        super().__init__()
        self.siamese = siamese

    def forward(self, x: Tensor, lengths: Any = None) -> Tensor:
        """(item, time, channel) and lengths (item,) → (item, feature); steps past a length are ignored."""
        x = validate_network_input(self, x, "x", self.siamese.n_channels)
        return self.siamese.features(x, validate_lengths(lengths, x.shape, "lengths")).values[:, 0]
