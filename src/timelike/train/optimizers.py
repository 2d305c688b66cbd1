"""The optimizer that a `Trainer` describes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.optim import Optimizer

from .trainer import Trainer


def make_optimizer(parameters: Iterable[Any], trainer: Trainer, *, fused: bool | None = None) -> Optimizer:
    """The optimizer of a trainer with all fields set, over parameters or parameter groups.

    `fused` makes a whole step in one loop over each parameter, which is faster and rounds differently.

    >>> weights = [torch.nn.Parameter(torch.zeros(2))]
    >>> type(make_optimizer(weights, Trainer(optimizer="adamw", learning_rate=1e-3, weight_decay=0.01))).__name__
    'AdamW'
    """
    assert trainer.learning_rate is not None
    rates: dict[str, Any] = {"lr": trainer.learning_rate, "weight_decay": trainer.weight_decay or 0.0, "fused": fused}
    if trainer.optimizer == "sgd":
        return torch.optim.SGD(parameters, **rates)
    kind = torch.optim.AdamW if trainer.optimizer == "adamw" else torch.optim.Adam
    return kind(parameters, betas=trainer.betas or (0.9, 0.999), **rates)
