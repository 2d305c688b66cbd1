"""One training step of the T-Loss, as its authors compute it and as we do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.speed.encode.padded_network import PaddedNetwork

import timelike as tl
from timelike.encode.objectives.crop_objectives import TLossObjective
from timelike.train import Batch

K, BATCH = 10, 10


def padded_step(network: PaddedNetwork, optimizer: torch.optim.Optimizer, batch: Batch) -> float:
    """The loss as the original computes it: anchors, positives, then one negative after another."""
    optimizer.zero_grad()
    anchor = network.each(batch["anchor"], batch["anchor_lengths"])
    positive = network.each(batch["positive"], batch["positive_lengths"])
    loss = -F.logsigmoid((anchor * positive).sum(1)).mean()
    for k in range(K):
        negative = network.each(batch["negative"][:, k], batch["negative_lengths"][:, k])
        loss = loss - F.logsigmoid(-(anchor * negative).sum(1)).mean() / K
    torch.autograd.backward(loss)
    optimizer.step()
    return float(loss.detach())


def our_step(objective: TLossObjective, optimizer: torch.optim.Optimizer, batch: Batch) -> float:
    optimizer.zero_grad()
    loss = objective.loss(batch)
    torch.autograd.backward(loss)
    optimizer.step()
    return float(loss.detach())


def contrast(series: tl.Sequences, network: tl.encode.CausalNetwork) -> TLossObjective:
    trainer = tl.Trainer(batch_size=BATCH, learning_rate=1e-3)
    return TLossObjective(network, series, trainer, tl.encode.TLoss(), n_negatives=K, is_low_memory=False)


def endless(objective: TLossObjective) -> Iterator[Batch]:
    rng = np.random.default_rng(0)
    while True:
        yield from objective.batches(0, rng)


def whole_crops(length: int, n_channels: int) -> Batch:
    """Crops as long as the series, the most that a step can take."""
    sides: dict[str, object] = {}
    for name, shape in (("anchor", (BATCH,)), ("positive", (BATCH,)), ("negative", (BATCH, K))):
        sides[name], sides[f"{name}_lengths"] = torch.randn(*shape, length, n_channels), torch.full(shape, length)
    return Batch(np.arange(BATCH), **sides)
