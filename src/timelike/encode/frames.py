"""`FrameEncoder`: vectors of image sequences, from a network for single frames and a causal network over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..core.parameters import check_int, store_parameters
from ..core.validation.tensors import valid_mask, validate_lengths, validate_network_input
from ..models import options
from ..sequences import Sequences
from ..sequences.moments import ChannelScaler
from ..sequences.sampling import RandomState
from ..train import Trainer
from .base import Floats, Geometry, Length, StandardizedStream, Stream
from .causal.network import CausalNetwork
from .causal.onnx_graph import add_causal_network
from .causal.stream import CausalStream
from .crop_encoder import THESIS_PRESET, THESIS_TRAINER, CropEncoder
from .losses import CropLoss, CropLossName
from .onnx.graph import OnnxGraph
from .whitening import VectorScaling


class FrameNetwork(nn.Module):
    """Maps image sequences to vectors: two strided convolutions and a linear map per frame, then a causal network.

    Parameters
    ----------
    frame : tuple of int
        (channel, height, width) of an image.
    filters : int
        Filters of the first convolution; the second has twice as many.
    n_frame_features : int
        Size of the vector of one frame, the number of channels of the causal network.
    causal
        Options of `CausalNetwork`.

    Examples
    --------
    >>> import torch
    >>> network = FrameNetwork((1, 8, 8), n_frame_features=6, n_features=4, channels=5, depth=2, reduced_size=5)
    >>> network(torch.randn(3, 10, 64), torch.tensor([10, 1, 7])).shape
    torch.Size([3, 4])
    """

    def __init__(
        self, frame: tuple[int, int, int], *, filters: int = 16, n_frame_features: int = 32, **causal: Any
    ) -> None:
        super().__init__()
        self.frame = frame = _check_image_frame(frame)
        self.n_frame_features = n_frame_features = check_int(n_frame_features, "n_frame_features", 1)
        check_int(filters, "filters", 1)
        self.backbone = nn.Sequential(
            nn.Conv2d(frame[0], filters, 3, stride=2, padding=1),
            nn.LeakyReLU(),
            nn.Conv2d(filters, 2 * filters, 3, stride=2, padding=1),
            nn.LeakyReLU(),
            nn.Flatten(),
            nn.Linear(2 * filters * -(-frame[1] // 4) * -(-frame[2] // 4), n_frame_features),
        )
        self.causal = CausalNetwork(n_frame_features, **causal)

    def frame_features(self, x: Tensor) -> Tensor:
        """(item, time, pixel) → (item, time, frame feature)."""
        features: Tensor = self.backbone(x.reshape(-1, *self.frame))
        return features.reshape(*x.shape[:2], -1)

    def forward(self, x: Tensor, lengths: Any = None) -> Tensor:
        """(item, time, pixel) or (item, time, *frame), lengths (item,) → (item, feature); padding is ignored."""
        if isinstance(x, Tensor) and x.ndim == 5 and x.shape[2:] == self.frame:
            x = x.flatten(2)
        x = validate_network_input(self, x, "x", math.prod(self.frame))
        if lengths is not None:
            lengths = validate_lengths(lengths, x.shape, "lengths")
            x = x.masked_fill(~valid_mask(lengths, x.shape[1], x.device)[..., None], 0.0)
        features: Tensor = self.causal(self.frame_features(x), lengths)
        return features


def _check_image_frame(frame: Any) -> tuple[int, int, int]:
    if not isinstance(frame, tuple | list) or len(frame) != 3:
        raise ValueError(f"frame={frame!r}: expected (channel, height, width)")
    channels, height, width = (check_int(size, f"frame[{axis}]", 1) for axis, size in enumerate(frame))
    return channels, height, width


class FrameEncoder(CropEncoder):
    """Vectors of image sequences (frames (channel, height, width)), learned without labels by the T-Loss.

    A small convolutional network encodes every frame, and the network of `CausalEncoder` the sequence of these vectors;
    both are trained together (Franceschi, Dieuleveut and Jaggi, 2019). For frames with one axis use `CausalEncoder`.

    Parameters
    ----------
    filters, n_frame_features : int
        Filters of the first of two convolutions, and the size of the vector of a frame.
    channels, depth, reduced_size, kernel_size, n_features, loss, n_negatives, max_steps, max_time, vectors, geometry, \
low_memory, progress, random_state
        As in `CausalEncoder`, with the training of the thesis as default.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=10`, `learning_rate=1e-3`, `schedule="constant"`, `validation=0.0`.
    standardize : bool
        Whether colour channels are scaled to mean 0 and deviation 1 over all pixels.
    length : int, "mean" or None
        Resample sequences to this number of steps first, or to the mean training length. None keeps their lengths.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = tl.Sequences(np.random.default_rng(0).random((3, 5, 1, 8, 8)))
    >>> tl.encode.FrameEncoder(n_features=4, depth=1, max_steps=2, random_state=0).fit(X).encode(X).shape
    (3, 4)
    """

    filters = options.width(1)
    n_frame_features = options.width(1)
    channels = options.width(1)
    depth = options.depth(0)
    reduced_size = options.width(1)
    kernel_size = options.width(1)

    network_: FrameNetwork
    _own_trainer = THESIS_TRAINER
    _n_frame_axes = 3
    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"thesis": {**THESIS_PRESET, "n_negatives": 5}}
    )
    _batch_steps = 1 << 11  # a step is an image

    def __init__(
        self,
        *,
        filters: int = 16,
        n_frame_features: int = 32,
        channels: int = 40,
        depth: int = 6,
        reduced_size: int = 80,
        kernel_size: int = 3,
        n_features: int = 160,
        loss: CropLossName | CropLoss = "t_loss",
        n_negatives: int = 5,
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
        channels, height, width = frame
        return FrameNetwork(
            (channels, height, width),
            filters=self.filters,
            n_frame_features=self.n_frame_features,
            n_features=self.n_features,
            channels=self.channels,
            depth=self.depth,
            reduced_size=self.reduced_size,
            kernel_size=self.kernel_size,
        )

    def _fit_scaler(self, sequences: Sequences) -> ChannelScaler:
        """One mean and deviation per channel, because single pixels, as at the border, may be constant."""
        return ChannelScaler.per_channel(sequences)

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> str:
        from .onnx.layers import add_layers

        network, ready = self.network_, graph.standardize(x, *self.scaler_)
        frames = graph.add("Reshape", ready, graph.integers([-1, *network.frame]))
        frame_vectors = add_layers(graph, network.backbone, frames, torch.zeros(1, *network.frame))
        leading_shape = graph.slice_axis(graph.add("Shape", x), 0, 2, 0)
        shape = graph.add("Concat", leading_shape, graph.integers([network.n_frame_features]), axis=0)
        return add_causal_network(
            graph, graph.add("Reshape", frame_vectors, shape), network.causal, getattr(self, "whitener_", None)
        )

    def stream(self) -> Stream:
        """A stream that returns the vector of all frames so far, at constant cost per frame."""
        self._require_stream()
        return self._whiten_stream(FrameStream(self.network_, *self.scaler_))


class FrameStream(StandardizedStream):
    """A stream of images: the vector of each frame goes through a stream of the causal network."""

    def __init__(self, network: FrameNetwork, mean: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        super().__init__(mean, scale)
        self._network = network.eval()
        self._causal = CausalStream(
            network.causal, np.zeros(network.n_frame_features), np.ones(network.n_frame_features)
        )

    def _advance(self, x: Floats) -> Floats:
        with torch.no_grad():
            features = self._network.frame_features(torch.from_numpy(x.reshape(1, 1, -1)))[0, 0]
        return self._causal.push(features.numpy())
