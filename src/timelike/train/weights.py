"""Loading the weights of a network: each is checked, and the size of the network is limited while it is built."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules import module as registration

_MODULES_PER_TENSOR = 64  # modules without weights allowed per tensor, plus this number for the whole network
_MAX_REGISTRATIONS = 4  # registrations allowed per weight: some layers replace weights of another


def load_weights(build: Callable[[], nn.Module], weights: Any) -> nn.Module:
    """The network of `build` with exactly these weights; the error names the first weight that does not fit.

    The options may come from an edited folder and describe a network of any size, so building stops as soon as the
    network has more numbers than the weights.

    >>> network = load_weights(lambda: nn.Linear(2, 1, bias=False), {"weight": np.ones((1, 2), np.float32)})
    >>> network.weight.tolist()
    [[1.0, 1.0]]
    >>> load_weights(lambda: nn.Linear(1000, 1000), {"weight": np.ones((1, 2), np.float32)})
    Traceback (most recent call last):
        ...
    ValueError: network_ has 2 numbers in 1 arrays: the options say that it is larger
    """
    if not isinstance(weights, dict) or not all(isinstance(one, np.ndarray) for one in weights.values()):
        raise ValueError(f"network_ is a {type(weights).__name__}: expected an array for every weight")
    with _limit_network_size(sum(one.size for one in weights.values()), len(weights)):
        network = build()
    own = network.state_dict()
    for name in sorted({str(name) for name in weights} ^ own.keys()):
        raise ValueError(f"network_.{name} is {'missing' if name in own else 'no weight of this network'}")
    for name, tensor in own.items():
        _check_weight(weights[name], tensor, f"network_.{name}")
    network.load_state_dict({name: torch.tensor(weights[name]) for name in own})
    return network


def _check_weight(weight: np.ndarray[Any, Any], tensor: torch.Tensor, name: str) -> None:
    shape, kind = tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")
    if weight.shape != shape or weight.dtype.name != kind:
        raise ValueError(f"{name} has shape {weight.shape} and dtype {weight.dtype}: expected {shape} and {kind}")
    if weight.dtype.kind == "f" and not np.isfinite(weight).all():
        raise ValueError(f"{name} holds {weight[~np.isfinite(weight)][0]}: expected finite numbers")


@contextmanager
def _limit_network_size(numbers: int, arrays: int) -> Iterator[None]:
    """Raise an error as soon as this thread registers far more parameters, buffers or modules than these."""
    thread, left = (
        threading.get_ident(),
        {"numbers": _MAX_REGISTRATIONS * numbers, "modules": _MODULES_PER_TENSOR * (arrays + 1)},
    )

    def count(kind: str, size: int) -> None:
        left[kind] -= size
        if left[kind] < 0:
            raise ValueError(f"network_ has {numbers} numbers in {arrays} arrays: the options say that it is larger")

    def count_tensor(module: nn.Module, name: str, tensor: Any) -> None:
        if tensor is not None and threading.get_ident() == thread:
            count("numbers", tensor.numel())

    def count_module(module: nn.Module, name: str, part: Any) -> None:
        if threading.get_ident() == thread:
            count("modules", 1)

    hooks = [
        registration.register_module_parameter_registration_hook(count_tensor),
        registration.register_module_buffer_registration_hook(count_tensor),
        registration.register_module_module_registration_hook(count_module),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
