"""A training step of the siamese and the coupled GRU and of TAP, beside the same step without kernels of our own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from benchmarks.speed.kernels_off import without_kernels
from benchmarks.speed.random_walks import float_walks
from benchmarks.speed.table import Row, against, milliseconds
from benchmarks.speed.timing import best
from torch import Tensor

from timelike.metric import CoupledNetwork, DistanceNetwork, SiameseNetwork, TAPNetwork


def step(network: DistanceNetwork, x: Tensor) -> list[Tensor]:
    """Distances of all pairs, and the gradients of a loss by the weights."""
    features = network.features(x, torch.full((len(x),), x.shape[1]))
    distances = network.distance_matrix(features, features)
    loss = distances.square().mean() + network.penalty()
    return [distances.detach(), *torch.autograd.grad(loss, list(network.parameters()))]


def beside_torch(name: str, peer: str, make: Callable[[], DistanceNetwork], x: Tensor, repeats: int = 5) -> Row:
    torch.manual_seed(0)
    network = make()

    def theirs() -> list[Tensor]:
        with without_kernels():
            return step(network, x)

    for ours, other in zip(step(network, x), theirs(), strict=True):
        torch.testing.assert_close(ours, other, rtol=1e-3, atol=1e-5)
    # ours as often in any case: the first steps also wait for the memory that later ones find
    their, our = best(theirs, repeats), best(partial(step, network, x))
    work = f"{name}, a training step of {len(x)} sequences × {x.shape[1]} steps, all pairs, without the optimiser"
    return against(work, peer, their, our, None, said=milliseconds)


JOBS: dict[str, Callable[[], Row]] = {
    "tap-training": lambda: beside_torch(
        "TAP", "the same with the convolutions of torch", lambda: TAPNetwork(20), float_walks(0, 16, 40, 20)
    ),
    "tap-training-206": lambda: beside_torch(
        "TAP", "the same with the convolutions of torch", lambda: TAPNetwork(20), float_walks(0, 16, 206, 20), 1
    ),
    "coupled-training": lambda: beside_torch(
        "CoupledGRU", "the same with the rollout in torch", lambda: CoupledNetwork(9), float_walks(0, 36, 128, 9)
    ),
    "siamese-training": lambda: beside_torch(
        "SiameseGRU", "the same with the GRU of torch", lambda: SiameseNetwork(9), float_walks(0, 36, 128, 9)
    ),
}
