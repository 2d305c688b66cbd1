"""How much memory a training step needs, and how much there is."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..align.matrix import memory

_STEPS = 32  # of the crop by which a network is measured, and twice as many


def kept(network: nn.Module, n_channels: int) -> float:
    """Bytes that torch keeps for the gradients, for every step of a crop (time, channel): as measured.

    >>> kept(nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)), 3)  # float32: the input, and what tanh gave
    32.0
    """
    few, more = (_kept(network, torch.zeros(1, steps, n_channels)) for steps in (_STEPS, 2 * _STEPS))
    return (more - few) / _STEPS


def _kept(network: nn.Module, x: Tensor) -> int:
    sizes: dict[int, int] = {}
    weights = {weight.data_ptr() for weight in network.parameters()}

    def noted(tensor: Tensor) -> Tensor:
        if tensor.data_ptr() not in weights:
            sizes[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    like = next(network.parameters())
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(noted, lambda tensor: tensor):
        found = network(x.to(like.device, like.dtype))
    del found  # not before: what is gone may lend its place to another
    return sum(sizes.values())


def available() -> float:
    """Bytes that are free, or can be freed, on this machine; without bounds where it does not tell."""
    try:
        with open("/proc/meminfo") as told:
            lines = dict(line.split(":", 1) for line in told)
        return int(lines["MemAvailable"].split()[0]) * 1024.0
    except (OSError, KeyError, ValueError):
        return memory() or math.inf
