"""The training of features and of constraints, and the selection of λ: everything is chosen on validation."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from benchmarks.papers.decdtw.methods import Base, Frames, Method, Recurrent, Weight, dtw_warps, gdtw_warps, metrics
from benchmarks.papers.decdtw.tasks import Pairs, Task
from numpy.typing import NDArray
from torch import Tensor, nn

WEIGHTS = (0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0, 2.0, 4.0, 8.0)  # λ, tried on validation
Say = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    epochs: int = 20
    batch: int = 8
    width: int = 64
    patience: int = 6  # epochs without a better validation error


@dataclass
class Trained:
    net: nn.Module
    history: list[float] = field(default_factory=list)  # validation error after each epoch; first before any
    weight: float | None = None  # λ, where it was learned

    @property
    def best(self) -> int:
        return int(np.argmin(self.history)) if self.history else 0


def feature_pair(net: nn.Module, pairs: Pairs) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        done = [net(pairs[i : i + 64].x, pairs[i : i + 64].y) for i in range(0, len(pairs), 64)]
    return torch.cat([x for x, _ in done]), torch.cat([y for _, y in done])


def errors(net: nn.Module, pairs: Pairs, task: Task, aligner: str, weight: float) -> dict[str, list[float]]:
    """Per pair, of the warps that an alignment finds on the features."""
    x, y = feature_pair(net, pairs)
    phi = dtw_warps(x, y, task.free_ends) if aligner == "DTW" else gdtw_warps(x, y, task.free_ends, weight)
    return metrics(phi, pairs, task)


def first_metric(found: dict[str, list[float]]) -> float:
    return float(np.mean(next(iter(found.values()))))


def select_weight(
    net: nn.Module, pairs: Pairs, task: Task, tried: tuple[float, ...] = WEIGHTS, start: float | None = None
) -> tuple[float, float]:
    """The λ with the least error on these pairs, which are those of validation, and that error.

    Downhill from `start`, looking two steps of the grid to either side.
    """
    known: dict[int, float] = {}

    def error(i: int) -> float:
        if i not in known:
            known[i] = first_metric(errors(net, pairs, task, "GDTW", tried[i]))
        return known[i]

    at = len(tried) // 2 if start is None else int(np.argmin(np.abs(np.log(tried) - np.log(start))))
    while True:
        around = [i for i in (at - 1, at, at + 1, at - 2, at + 2) if 0 <= i < len(tried)]
        best = min(around, key=error)
        if best == at:
            return tried[at], error(at)
        at = best


def train(task: Task, method: Method, seed: int, weight: float, settings: Settings, say: Say) -> Trained:
    """Adam on the method's loss; validated under the method's own alignment.

    Under GDTW that is the error at the λ which is best for the features of that epoch, as it is when they are scored:
    λ weighs the regularity of a warp against distances between features, and these grow while they are learned.
    """
    if method.loss is None:
        return Trained(Base())
    torch.manual_seed(seed)
    make = Frames if task.free_ends else Recurrent
    net: nn.Module = make(task.train, settings.width)
    strength = Weight(weight, method.learns_weight)
    loss, at = method.loss(task, strength), weight
    slow = {"params": net.parameters(), "lr": method.rate}
    optimizer = torch.optim.Adam([slow, {"params": strength.parameters(), "lr": 10 * method.rate}])

    def lost(some: Pairs) -> Tensor:
        x, y = net(some.x, some.y)
        return loss(x, y, some)

    def validate() -> float:
        nonlocal at
        error, at = _validated(net, task, method.aligner, at)
        return error

    both = nn.ModuleList([net, strength])
    trained = descended(both, net, lost, optimizer, validate, task, seed, settings, say)
    trained.weight = float(strength) if method.learns_weight else None
    return trained


def descended(
    learned: nn.Module,
    net: nn.Module,
    loss: Callable[[Pairs], Tensor],
    optimizer: torch.optim.Optimizer,
    validate: Callable[[], float],
    task: Task,
    seed: int,
    settings: Settings,
    say: Say,
) -> Trained:
    """Epoch after epoch; all that is learned ends as it was after the one with the least validation error."""
    order, began = np.random.default_rng(seed), time.perf_counter()
    trained = Trained(net, [validate()])
    kept: dict[str, Any] = copy.deepcopy(learned.state_dict())
    say(f"before: validation {trained.history[0]:.4g} {task.unit}")
    for epoch in range(1, settings.epochs + 1):
        mean = _epoch(net, task.train, loss, optimizer, order.permutation(len(task.train)), settings.batch)
        trained.history.append(validate())
        if trained.best == epoch:
            kept = copy.deepcopy(learned.state_dict())
        left = (time.perf_counter() - began) / epoch * (settings.epochs - epoch)
        say(f"epoch {epoch}: loss {mean:.4g}, validation {trained.history[-1]:.4g} {task.unit}, {left:.0f} s left")
        if epoch - trained.best >= settings.patience:
            break
    learned.load_state_dict(kept)
    return trained


def _validated(net: nn.Module, task: Task, aligner: str, weight: float) -> tuple[float, float]:
    """The validation error, and the λ at which it is that."""
    if aligner == "DTW":
        return first_metric(errors(net, task.val, task, aligner, weight)), weight
    best, error = select_weight(net, task.val, task, start=weight)
    return error, best


def _epoch(
    net: nn.Module,
    pairs: Pairs,
    loss: Callable[[Pairs], Tensor],
    optimizer: torch.optim.Optimizer,
    order: NDArray[np.int64],
    batch: int,
) -> float:
    total = 0.0
    for part in np.array_split(order, max(1, len(order) // batch)):
        value = loss(pairs[torch.as_tensor(part)]).mean()
        optimizer.zero_grad()
        torch.autograd.backward(value)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        total += value.item() * len(part)
    return total / len(order)
