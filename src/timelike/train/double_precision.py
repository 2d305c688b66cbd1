"""Networks in double precision, with which trained models answer."""

from __future__ import annotations

import copy
from typing import TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

Network = TypeVar("Network", bound=nn.Module)

_double_copies: WeakKeyDictionary[nn.Module, tuple[list[Tensor], nn.Module]] = WeakKeyDictionary()


def double_precision_copy(network: Network) -> Network:
    """A double-precision copy on the CPU, cached until a weight of the network changes.

    A matrix product rounds each row depending on the number of rows, so the result for a sequence would depend on the
    other items in the batch; a result computed in double precision and then rounded does not.

    >>> network = nn.Linear(2, 1)
    >>> double_precision_copy(network) is double_precision_copy(network)
    True
    >>> _ = network.weight.data.fill_(3.0)
    >>> double_precision_copy(network).weight.tolist()
    [[3.0, 3.0]]
    """
    weights = [tensor.detach() for tensor in (*network.parameters(), *network.buffers())]
    entry = _double_copies.get(network)
    # values are compared, because torch's version counter misses changes through `.data`
    if entry is None or len(entry[0]) != len(weights) or not all(map(torch.equal, entry[0], weights)):
        double = copy.deepcopy(network).double().cpu().eval()
        entry = _double_copies[network] = [weight.clone() for weight in weights], double
    network_copy: Network = entry[1]  # type: ignore[assignment]
    return network_copy
