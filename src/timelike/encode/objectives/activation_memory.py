"""How much memory a training step needs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_MEASURED_STEPS = 32  # of the crop by which a network is measured, and twice as many


def activation_bytes_per_step(network: nn.Module, n_channels: int) -> float:
    """Bytes that torch keeps for the gradients, for every step of a crop (time, channel): as measured.

    >>> network = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    >>> activation_bytes_per_step(network, 3)  # float32: the input, and what tanh gave
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
        found = network(x.to(like.device, like.dtype))
    del found  # not before: what is gone may lend its place to another
    return sum(sizes.values())
