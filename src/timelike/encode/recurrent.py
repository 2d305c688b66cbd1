"""RecurrentEncoder: an LSTM or GRU trained by the T-Loss, to compare with the causal network."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..models import options
from ..native.machine import use_kernels
from ..native.recurrent import graded as cells
from ..sequences.arguments import one_of, store, whole
from ..sequences.padding import for_network, own_precision, read_lengths
from ..sequences.sampling import RandomState
from ..train.processes import Accelerator, Precision
from .base import Floats, Geometry, Length, StandardizedStream, Stream
from .onnx_graph import Graph
from .spread import Vectors
from .tloss import Losses, Schedules, TLossEncoder

Cell = Literal["lstm", "gru"]


class RecurrentNetwork(nn.Module):
    """Sequences to vectors: the last state of an LSTM or GRU and a linear map.

    >>> import torch
    >>> network = RecurrentNetwork(2, n_features=8, hidden=4)
    >>> network(torch.randn(3, 10, 2), torch.tensor([10, 1, 7])).shape
    torch.Size([3, 8])
    """

    def __init__(
        self, n_channels: int, *, n_features: int = 320, hidden: int = 256, layers: int = 2, cell: Cell = "lstm"
    ) -> None:
        super().__init__()
        kind = nn.LSTM if one_of(cell, "cell", get_args(Cell)) == "lstm" else nn.GRU
        self.n_channels, size = whole(n_channels, "n_channels", 1), whole(hidden, "hidden", 1)
        self.cells = kind(self.n_channels, size, num_layers=whole(layers, "layers", 1), batch_first=True)
        self.linear = nn.Linear(size, whole(n_features, "n_features", 1))

    def forward(self, x: Tensor, lengths: Any = None) -> Tensor:
        """(item, time, channel) and lengths (item,) → (item, feature); steps past a length take no part."""
        steps = for_network(self, x, "x", self.n_channels)
        known = None if lengths is None else read_lengths(lengths, x.shape, "lengths")
        with own_precision(x.device):  # CPUs have no cells of mixed precision
            last = cells.last_states(self.cells, steps, known)
        features: Tensor = self.linear(last)
        return features

    def bounded(self) -> bool:
        """Whether what is kept for the gradients is bounded, however long a sequence is: by the kernels it is."""
        weight = self.linear.weight
        return weight.device.type == "cpu" and weight.dtype in (torch.float32, torch.float64) and use_kernels()

    def read(self, state: Any) -> Tensor:
        """The representation (item, feature) that a state of the cells stands for."""
        hidden = state[0] if isinstance(state, tuple) else state
        features: Tensor = self.linear(hidden[-1])
        return features


class RecurrentEncoder(TLossEncoder):
    """Vectors of sequences, learned without labels by an LSTM or GRU: `CausalEncoder` with another network.

    Two layers of 256, and the loss of the T-Loss, are the LSTM of the comparison in the thesis (Franceschi, 2022, table
    3.3), where the causal network is better by a large margin: use it to compare, not in place of `CausalEncoder`.

    Parameters
    ----------
    cell : {"lstm", "gru"}
        What the network is made of.
    hidden, layers : int
        Size of a state, and how many cells are on top of each other.
    n_features, loss, temperature, min_crop, augment, n_negatives, shared_negatives, batch_size, learning_rate, \
schedule, max_steps, max_time, validation, patience, standardize, length, vectors, geometry, by_terms, checkpoint, \
progress, accelerator, devices, precision, random_state
        As in `CausalEncoder`, but trained as in the thesis unless told otherwise.

    Examples
    --------
    >>> import timelike as tl
    >>> X = tl.Sequences([[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 2.0], [2.0, 1.0, 0.0, 0.0, 1.0]])
    >>> tl.RecurrentEncoder(n_features=8, hidden=4, max_steps=3, random_state=0).fit(X).encode(X).shape
    (3, 8)
    """

    cell = options.one_of(*get_args(Cell))
    hidden = options.width(1)
    layers = options.depth(1)

    network_: RecurrentNetwork

    def __init__(
        self,
        *,
        cell: Cell = "lstm",
        hidden: int = 256,
        layers: int = 2,
        n_features: int = 320,
        loss: Losses = "logistic",
        temperature: float = 0.2,
        min_crop: float = 0.5,
        augment: bool = True,
        n_negatives: int = 10,
        shared_negatives: bool = False,
        batch_size: int = 10,
        learning_rate: float = 1e-3,
        schedule: Schedules = "constant",
        max_steps: int | None = None,
        max_time: float | None = None,
        validation: float = 0.0,
        patience: int | None = None,
        standardize: bool = True,
        length: Length = None,
        vectors: Vectors = "plain",
        geometry: Geometry = "cosine",
        by_terms: bool | None = None,
        checkpoint: str | Path | None = None,
        progress: bool | None = None,
        accelerator: Accelerator = "cpu",
        devices: int = 1,
        precision: Precision = "32-true",
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    def _network(self, frame: tuple[int, ...]) -> nn.Module:
        return RecurrentNetwork(
            math.prod(frame), n_features=self.n_features, hidden=self.hidden, layers=self.layers, cell=self.cell
        )

    def _onnx(self, graph: Graph, x: str) -> str:
        from .onnx_layers import linear, recurrent, spread_out

        states = recurrent(graph, self.network_.cells, graph.standardized(x, *self.moments_))
        last = graph.add("Squeeze", graph.between(states, -1, None, 1), graph.whole([1]))
        return spread_out(graph, linear(graph, self.network_.linear, last), getattr(self, "spread_", None))

    def stream(self) -> Stream:
        """One new sample in, the representation of everything so far out, at a cost that does not grow."""
        self._require_stream()
        return self._streamed(RecurrentStream(self.network_, *self.moments_))


class RecurrentStream(StandardizedStream):
    """A stream through recurrent cells: the state is all it keeps."""

    def __init__(self, network: RecurrentNetwork, mean: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        super().__init__(mean, scale)
        self._network = network.eval()
        self._state: Any = None

    def _advance(self, x: Floats) -> Floats:
        with torch.no_grad():
            self._state = self._network.cells(torch.from_numpy(x.reshape(1, 1, -1)), self._state)[1]
            vector: Floats = self._network.read(self._state)[0].numpy()
        return vector
