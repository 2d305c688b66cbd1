"""`RecurrentEncoder`: an LSTM or GRU trained with the T-Loss, for comparison with the causal network."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..core.parameters import check_choice, check_int, store_parameters
from ..core.validation.tensors import disable_autocast, validate_lengths, validate_network_input
from ..models import options
from ..native.machine import use_kernels
from ..native.recurrent import autograd as cells
from ..sequences.sampling import RandomState
from ..train import Trainer
from .base import Floats, Geometry, Length, StandardizedStream, Stream
from .crop_encoder import THESIS_TRAINER, CropEncoder
from .losses import CropLoss, CropLossName
from .onnx.graph import OnnxGraph
from .whitening import VectorScaling

CellName = Literal["lstm", "gru"]


class RecurrentNetwork(nn.Module):
    """Maps sequences to vectors: the last state of an LSTM or GRU and a linear map.

    Parameters
    ----------
    n_channels : int
        Channels of a sequence.
    n_features : int
        Size of a vector.
    hidden, n_layers : int
        Units of a layer, and layers.
    cell : {"lstm", "gru"}
        The recurrent cell.

    Examples
    --------
    >>> import torch
    >>> network = RecurrentNetwork(2, n_features=8, hidden=4)
    >>> network(torch.randn(3, 10, 2), torch.tensor([10, 1, 7])).shape
    torch.Size([3, 8])
    """

    def __init__(
        self, n_channels: int, *, n_features: int = 320, hidden: int = 256, n_layers: int = 2, cell: CellName = "lstm"
    ) -> None:
        super().__init__()
        kind = nn.LSTM if check_choice(cell, "cell", get_args(CellName)) == "lstm" else nn.GRU
        self.n_channels, size = check_int(n_channels, "n_channels", 1), check_int(hidden, "hidden", 1)
        self.cells = kind(self.n_channels, size, num_layers=check_int(n_layers, "n_layers", 1), batch_first=True)
        self.linear = nn.Linear(size, check_int(n_features, "n_features", 1))

    def forward(self, x: Tensor, lengths: Any = None) -> Tensor:
        """(item, time, channel) and lengths (item,) → (item, feature); padding is ignored."""
        steps = validate_network_input(self, x, "x", self.n_channels)
        item_lengths = None if lengths is None else validate_lengths(lengths, x.shape, "lengths")
        with disable_autocast(x.device):  # recurrent cells do not support mixed precision on CPUs
            last = cells.last_states(self.cells, steps, item_lengths)
        features: Tensor = self.linear(last)
        return features

    def has_bounded_memory(self) -> bool:
        """Whether the memory for gradients is bounded for sequences of any length, as with the compiled kernels."""
        weight = self.linear.weight
        return weight.device.type == "cpu" and weight.dtype in (torch.float32, torch.float64) and use_kernels()

    def state_features(self, state: Any) -> Tensor:
        """The vectors (item, feature) of a state of the cells."""
        hidden = state[0] if isinstance(state, tuple) else state
        features: Tensor = self.linear(hidden[-1])
        return features


class RecurrentEncoder(CropEncoder):
    """Vectors of sequences, learned without labels by an LSTM or GRU: `CausalEncoder` with another network.

    Two layers of 256 units with the T-Loss are the LSTM of the comparison in the thesis (Franceschi, 2022, table 3.3),
    where the causal network is better by a large margin: use it as a baseline, not instead of `CausalEncoder`.

    Parameters
    ----------
    cell : {"lstm", "gru"}
        The recurrent cell.
    hidden, n_layers : int
        Size of a state, and number of layers.
    n_features, loss, n_negatives, max_steps, max_time, standardize, length, vectors, geometry, low_memory, progress, \
random_state
        As in `CausalEncoder`, with the training of the thesis as default.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=10`, `learning_rate=1e-3`, `schedule="constant"`, `validation=0.0`.

    Examples
    --------
    >>> import timelike as tl
    >>> X = tl.Sequences([[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 2.0], [2.0, 1.0, 0.0, 0.0, 1.0]])
    >>> tl.RecurrentEncoder(n_features=8, hidden=4, max_steps=3, random_state=0).fit(X).encode(X).shape
    (3, 8)
    """

    cell = options.choice(*get_args(CellName))
    hidden = options.width(1)
    n_layers = options.depth(1)

    network_: RecurrentNetwork
    _own_trainer = THESIS_TRAINER

    def __init__(
        self,
        *,
        cell: CellName = "lstm",
        hidden: int = 256,
        n_layers: int = 2,
        n_features: int = 320,
        loss: CropLossName | CropLoss = "t_loss",
        n_negatives: int = 10,
        max_steps: int | None = None,
        max_time: float | None = None,
        standardize: bool = True,
        length: Length = None,
        vectors: VectorScaling = "raw",
        geometry: Geometry = "cosine",
        low_memory: bool | None = None,
        progress: bool | None = None,
        trainer: Trainer | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        return RecurrentNetwork(
            math.prod(frame), n_features=self.n_features, hidden=self.hidden, n_layers=self.n_layers, cell=self.cell
        )

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> str:
        from .onnx.layers import add_linear, add_recurrent, add_whitening

        states = add_recurrent(graph, self.network_.cells, graph.standardize(x, *self.scaler_))
        last = graph.add("Squeeze", graph.slice_axis(states, -1, None, 1), graph.integers([1]))
        return add_whitening(graph, add_linear(graph, self.network_.linear, last), getattr(self, "whitener_", None))

    def stream(self) -> Stream:
        """A stream that returns the vector of all samples so far, at constant cost per sample."""
        self._require_stream()
        return self._whiten_stream(RecurrentStream(self.network_, *self.scaler_))


class RecurrentStream(StandardizedStream):
    """A stream through recurrent cells, which keeps only their state."""

    def __init__(self, network: RecurrentNetwork, mean: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        super().__init__(mean, scale)
        self._network = network.eval()
        self._state: Any = None

    def _advance(self, x: Floats) -> Floats:
        with torch.no_grad():
            self._state = self._network.cells(torch.from_numpy(x.reshape(1, 1, -1)), self._state)[1]
            vector: Floats = self._network.state_features(self._state)[0].numpy()
        return vector
