"""Base classes of networks and encoders of items without time: single images and vectors."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..core.validation.tensors import validate_lengths, validate_network_input
from ..models import options
from ..sequences import Sequences
from ..train import Trainer
from ..train.double_precision import double_precision_copy
from .base import Floats, StandardizedStream, Stream
from .losses import VICReg
from .objectives.crop_objectives import CropObjective, CropPairObjective
from .objectives.crops import CropTransform
from .onnx.graph import OnnxGraph
from .self_supervised import SelfSupervisedEncoder


class ItemNetwork(nn.Module):
    """Maps each frame to a vector; the vector of an item with several frames is their mean.

    A subclass sets `backbone`, which maps frames (frame, *shape) to vectors (frame, feature).
    """

    backbone: nn.Module

    def __init__(self, frame: Sequence[int]) -> None:
        super().__init__()
        self.frame = tuple(frame)

    def forward(self, x: Tensor, lengths: Any = None) -> Tensor:
        """(item, time, *frame), or with frames flattened, and lengths (item,) → (item, feature)."""
        if isinstance(x, Tensor) and x.ndim == 2 + len(self.frame) and x.shape[2:] == self.frame:
            x = x.flatten(2)
        x = validate_network_input(self, x, "x", math.prod(self.frame))
        item_lengths = validate_lengths(lengths, x.shape, "lengths")
        if x.shape[1] == 1:
            vectors: Tensor = self.backbone(x.reshape(-1, *self.frame))
            return vectors
        return self._mean_vectors(x, item_lengths)

    def has_padding_cost(self) -> bool:
        """Whether padding costs time; it is left out."""
        return False

    def _mean_vectors(self, x: Tensor, lengths: Tensor) -> Tensor:
        item = torch.arange(len(x)).repeat_interleave(lengths)
        step = torch.arange(len(item)) - (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
        vectors = self.backbone(x[item, step].reshape(-1, *self.frame))
        sums = vectors.new_zeros(len(x), vectors.shape[1]).index_add(0, item.to(x.device), vectors)
        means: Tensor = sums / lengths.to(x.device)[:, None]
        return means


class ItemEncoder(SelfSupervisedEncoder):
    """Vectors of items without time, learned from two views of each; a subclass defines the network and the views."""

    jitter = options.real(0, role="training")

    network_: ItemNetwork

    _is_single_frame: ClassVar[bool] = True  # every item is one frame
    _item_kind: ClassVar[tuple[str, str]]  # the word for an item, and the layout of arrays of items
    _own_trainer = Trainer(batch_size=64, learning_rate=3e-3, schedule="cosine", validation=0.0)
    _batch_numbers: ClassVar[int] = 1 << 19  # numbers per batch to encode

    @abstractmethod
    def _make_views(self) -> CropTransform:
        """The transform that makes a view of an item."""

    @property
    def _batch_steps(self) -> int:  # type: ignore[override]
        return max(1, self._batch_numbers // math.prod(self.frame_))

    def _make_objective(self, ready: Sequences, targets: None) -> CropObjective:
        learned, held_out = self._split_validation(ready)
        views = VICReg(min_crop=1.0, augment=False)
        return CropPairObjective(
            self.network_, learned, self.trainer_, views, held_out=held_out, augmentation=self._make_views()
        )

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> str:
        from .onnx.layers import add_layers, add_whitening

        ready = graph.standardize(x, *self.scaler_)
        frames = graph.add("Reshape", ready, graph.integers([-1, *self.frame_]))
        layers = self.network_.backbone
        assert isinstance(layers, nn.Sequential)
        vectors = add_layers(graph, layers, frames, torch.zeros(1, *self.frame_))
        return add_whitening(graph, vectors, getattr(self, "whitener_", None))

    def stream(self) -> Stream:
        """A stream whose samples are whole items; each vector is independent of earlier items."""
        self._require_fitted()
        return self._whiten_stream(ItemStream(self.network_, *self.scaler_))

    def _refuse_unsupported(self, sequences: Sequences) -> None:
        if self._n_frame_axes is not None and len(sequences.frame) != self._n_frame_axes:
            raise ValueError(
                f"X has frames of shape {sequences.frame}: {type(self).__name__} expected (channel, height, width); "
                f"{self._layout_hint('X')}"
            )
        self._refuse_series(sequences, "X")

    def _refuse_series(self, sequences: Sequences, name: str) -> None:
        """Raise an error for series; an array of items without a layout would be read as such."""
        longest = sequences.shape[1]
        if longest > 1:
            raise ValueError(
                f"{name} has sequences of {'up to ' * (not sequences.has_equal_lengths)}{longest} steps: "
                f"{type(self).__name__} takes single {self._item_kind[0]}s, sequences of one step; "
                f"{self._layout_hint(name)}"
            )

    def _refuse_frame(self, frame: tuple[int, ...], name: str) -> None:
        expected = self._expected_frame()
        if expected is not None and frame != expected:
            raise ValueError(
                f"{name} has frames of shape {frame}: this {type(self).__name__} was fitted on {expected}; "
                f"resize {self._item_kind[0]}s of another size first; "
                f"{self._layout_hint(name)}"
            )

    def _validate_sides(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        super()._validate_sides(x, y, names)
        for side, name in zip((x, y), names, strict=True):
            if side is not None:
                self._refuse_series(side, name)

    def _layout_hint(self, name: str) -> str:
        what, layout = self._item_kind
        axes = "(item, channel, height, width) or (item, height, width)" if layout == "nchw" else "(item, channel)"
        return f'an array of {what}s {axes} needs Sequences({name}, layout="{layout}"), and one alone {name}[None]'


class ItemStream(StandardizedStream):
    """A stream of single items without memory."""

    def __init__(self, network: ItemNetwork, mean: Any, scale: Any) -> None:
        super().__init__(mean, scale)
        self._network = double_precision_copy(network)

    def _advance(self, x: Floats) -> Floats:
        with torch.no_grad():
            vector: Floats = self._network(torch.from_numpy(x.reshape(1, 1, -1)).double())[0].float().numpy()
        return vector
