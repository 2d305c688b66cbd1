"""`CropEncoder`: the base class of encoders trained on crops of series, with their losses, budgets and memory limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..core.memory import available_memory
from ..models import options
from ..sequences import Sequences
from ..train import Objective, Trainer
from .losses import TLoss, crop_loss_option
from .objectives.crop_objectives import CropObjective, CropPairObjective, TLossObjective
from .self_supervised import SelfSupervisedEncoder

# largest size of the activations of all crops at once; half of the free memory if that is less
_MAX_ACTIVATION_BYTES = 2 << 30
_MEASURED_STEPS = 32  # length of the crop that measures a network; a second one is twice as long
_MIN_STEPS = 100  # minimum number of training steps
_MAX_CROP_STEPS = 1e7  # time steps of all crops of a training: about a minute on one core

THESIS_TRAINER = Trainer(batch_size=10, learning_rate=1e-3, schedule="constant", validation=0.0)
THESIS_PRESET: Mapping[str, Any] = MappingProxyType(
    {"loss": "t_loss", "n_negatives": 10, "trainer": THESIS_TRAINER, "geometry": "euclidean", "vectors": "raw"}
)
"""The training options of the thesis (Franceschi, 2022, chapter 3), without the sizes of the network."""


class CropEncoder(SelfSupervisedEncoder):
    """An encoder trained so that a series is near its parts and far from others; a subclass defines the network."""

    loss = crop_loss_option()
    n_negatives = options.integer(1, "training", most=2**20)
    low_memory = options.nullable(options.boolean("free"))

    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"thesis": THESIS_PRESET})

    def _make_objective(self, ready: Sequences, targets: None) -> CropObjective:
        learned, held_out = self._split_validation(ready)
        is_low_memory = self._needs_low_memory(learned) if self.low_memory is None else self.low_memory
        how: dict[str, Any] = {"held_out": held_out, "is_low_memory": is_low_memory}
        loss = self._resolve_parameter("loss", self.loss)
        if isinstance(loss, TLoss):
            return TLossObjective(self.network_, learned, self.trainer_, loss, n_negatives=self.n_negatives, **how)
        return CropPairObjective(self.network_, learned, self.trainer_, loss, **how)

    def _needs_low_memory(self, ready: Sequences) -> bool:
        """Whether the activations of all crops at once would take too much memory; the kernels limit theirs."""
        if self._has_bounded_memory():
            return False
        batch_size, loss = self.trainer_.batch_size, self._resolve_parameter("loss", self.loss)
        assert batch_size is not None
        crops = 2 * batch_size
        if isinstance(loss, TLoss):
            crops += self.n_negatives * (1 if loss.shared_negatives else batch_size)
        need = crops * int(ready.lengths.max()) * activation_bytes_per_step(self.network_, math.prod(ready.frame))
        return need > min(_MAX_ACTIVATION_BYTES, available_memory() / 2)

    def _has_bounded_memory(self) -> bool:
        """Whether training uses the compiled kernels, whose memory is bounded."""
        on_cpu = self.trainer_.accelerator == "cpu" and self._precision() == "32-true"
        is_bounded = getattr(self.network_, "has_bounded_memory", None)
        return on_cpu and is_bounded is not None and bool(is_bounded())

    def _default_steps(self, objective: Objective) -> int:
        """The steps of the paper for the T-Loss; else a few passes through the data, fewer if a step takes long."""
        assert isinstance(objective, CropObjective)
        if isinstance(objective, TLossObjective):
            return 2000 if self.n_negatives >= 10 else 1500
        affordable = _MAX_CROP_STEPS / (1.5 * objective.batch_size * float(objective.sequences.lengths.mean()))
        return int(max(_MIN_STEPS, min(super()._default_steps(objective), affordable)))


def activation_bytes_per_step(network: nn.Module, n_channels: int) -> float:
    """The measured number of bytes that torch keeps for gradients per step of a crop (time, channel).

    >>> network = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    >>> activation_bytes_per_step(network, 3)  # float32: the input, and the output of tanh
    32.0
    """
    few, more = (
        _activation_bytes(network, torch.zeros(1, steps, n_channels))
        for steps in (_MEASURED_STEPS, 2 * _MEASURED_STEPS)
    )
    return (more - few) / _MEASURED_STEPS


def _activation_bytes(network: nn.Module, x: Tensor) -> int:
    sizes: dict[int, int] = {}
    weights = {weight.data_ptr() for weight in network.parameters()}

    def record_tensor(tensor: Tensor) -> Tensor:
        if tensor.data_ptr() not in weights:
            sizes[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    like = next(network.parameters())
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(record_tensor, lambda tensor: tensor):
        output = network(x.to(like.device, like.dtype))
    del output  # kept until here, because freed memory would be reused and counted once
    return sum(sizes.values())
