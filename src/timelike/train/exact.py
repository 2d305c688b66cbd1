"""A network in double precision beside the one that was trained, so that company changes no answer."""

from __future__ import annotations

import copy
from typing import TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

Network = TypeVar("Network", bound=nn.Module)

_twins: WeakKeyDictionary[nn.Module, tuple[list[Tensor], nn.Module]] = WeakKeyDictionary()


def exact(network: Network) -> Network:
    """A copy in double precision on the CPU, kept until a weight of the network changes.

    A product of matrices rounds each row as the number of rows suggests, and a sequence would not be quite itself in
    other company; what is computed in double precision and rounded is the same in any.

    >>> network = nn.Linear(2, 1)
    >>> exact(network) is exact(network)
    True
    >>> _ = network.weight.data.fill_(3.0)
    >>> exact(network).weight.tolist()
    [[3.0, 3.0]]
    """
    weights = [tensor.detach() for tensor in (*network.parameters(), *network.buffers())]
    known = _twins.get(network)
    # the numbers themselves are compared: torch counts no change that goes through `.data`
    if known is None or len(known[0]) != len(weights) or not all(map(torch.equal, known[0], weights)):
        twin = copy.deepcopy(network).double().cpu().eval()
        known = _twins[network] = [weight.clone() for weight in weights], twin
    found: Network = known[1]  # type: ignore[assignment]
    return found
