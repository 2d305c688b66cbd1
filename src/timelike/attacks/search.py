"""The way up the loss inside a ball, and the strongest point on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from .ball import Ball
from .target import AttackTarget

LossName = Literal["cross-entropy", "margin"]


class BatchEvaluation(NamedTuple):
    """What a model says of a batch: loss (item,), whether the answer is wrong (item,), gradient of the loss or None."""

    loss: Tensor
    fooled: Tensor
    gradient: Tensor | None


class BatchEvaluator(Protocol):
    """Looks at a batch; `kept` are the positions of its items in the whole one."""

    def __call__(self, point: Tensor, kept: Tensor, *, steep: bool) -> BatchEvaluation: ...


def attack_losses(name: LossName, logits: Tensor, codes: Tensor) -> Tensor:
    """What an attack raises, (item,): −log softmax of the true class, or the lead of the best other class over it.

    The lead (Carlini and Wagner, 2017) is above 0 exactly where the answer is wrong, and its gradient does not fade
    where the model is certain.

    >>> logits, codes = torch.tensor([[3.0, 1.0, 0.5]]), torch.tensor([0])
    >>> attack_losses("margin", logits, codes)
    tensor([-2.])
    >>> attack_losses("cross-entropy", logits, codes)
    tensor([0.1967])
    """
    strange = codes[(codes < 0) | (codes >= logits.shape[1])]
    if len(strange):
        raise ValueError(
            f"y holds {int(strange[0])}, and the model gives logits of {logits.shape[1]} classes: expected columns of "
            f"these, 0 to {logits.shape[1] - 1}"
        )
    own = F.one_hot(codes, logits.shape[1]).bool()
    others = logits.masked_fill(own, -torch.inf)
    if name == "margin":
        return others.amax(dim=1) - logits[own]
    # log(1 + Σ_others e^z / e^z_y): torch's own takes softmax − 1, of which nothing but rounding is left when it is 1
    return F.softplus(others.logsumexp(dim=1) - logits[own])


def evaluate_batch(
    logits_of: Callable[[Tensor], Tensor], name: LossName, point: Tensor, codes: Tensor, steep: bool
) -> BatchEvaluation:
    """Loss and answer of a model, with the gradient where it is asked for."""
    point = point.detach().requires_grad_(steep)
    with torch.set_grad_enabled(steep):
        logits = logits_of(point)
        loss = attack_losses(name, logits, codes)
    gradient = input_gradient(loss, point) if steep else None
    return BatchEvaluation(loss.detach(), logits.detach().argmax(dim=1) != codes, gradient)


def make_evaluator(
    target: AttackTarget, source: AttackTarget | None, loss: LossName, lengths: Tensor, codes: Tensor
) -> BatchEvaluator:
    """The target judges; the way is that of the source, where there is one."""

    def judge(point: Tensor, kept: Tensor, *, steep: bool) -> BatchEvaluation:
        known, own = lengths[kept], codes[kept]
        found = evaluate_batch(lambda x: target(x, known), loss, point, own, steep and source is None)
        if source is None or not steep:
            return found
        other = evaluate_batch(lambda x: source(x, known), loss, point, own, True)
        return found._replace(gradient=other.gradient)

    return judge


def make_training_evaluator(
    logits_of: Callable[[Tensor, Tensor], Tensor | Sequence[Tensor]], loss: LossName, lengths: Tensor, codes: Tensor
) -> BatchEvaluator:
    """For training: the losses of all heads together, and nobody is fooled, so that the greatest loss is kept."""

    def judge(point: Tensor, kept: Tensor, *, steep: bool) -> BatchEvaluation:
        point = point.detach().requires_grad_(steep)
        with torch.set_grad_enabled(steep):
            found = _sum_heads(logits_of(point, lengths[kept]), codes[kept], loss)
        never = torch.zeros(len(point), dtype=torch.bool, device=point.device)
        return BatchEvaluation(found.detach(), never, input_gradient(found, point) if steep else None)

    return judge


def _sum_heads(logits: Tensor | Sequence[Tensor], codes: Tensor, loss: LossName) -> Tensor:
    heads = [logits] if isinstance(logits, Tensor) else list(logits)
    if not heads:
        raise ValueError("logits_of gave no logits: there is no head to attack; train with one, or without adversary")
    return torch.stack([attack_losses(loss, head, codes) for head in heads]).sum(dim=0)


def input_gradient(loss: Tensor, point: Tensor) -> Tensor:
    """The gradient of every item's loss, in double precision; an error where the loss does not depend on the input."""
    if not loss.requires_grad:
        raise ValueError(
            "the logits have no gradient with respect to the input, so there is nothing to attack by: expected a model "
            "that computes them from x by torch operations, without no_grad() or detach()"
        )
    (gradient,) = torch.autograd.grad(loss.sum(), point)
    return gradient.double()


class StrongestPoints:
    """The best point so far of every item: a wrong answer before a right one, then the greater loss."""

    def __init__(self, point: Tensor, found: BatchEvaluation) -> None:
        self.point, self.loss, self.fooled = point.clone(), found.loss.clone(), found.fooled.clone()

    def update(self, point: Tensor, found: BatchEvaluation, kept: Tensor) -> None:
        """Take the points that are stronger."""
        loss, fooled = self.loss[kept], self.fooled[kept]
        better = (found.fooled & ~fooled) | ((found.fooled == fooled) & (found.loss > loss))
        chosen = kept[better]
        self.point[chosen], self.loss[chosen] = point[better], found.loss[better]
        self.fooled[chosen] = found.fooled[better]


def find_strongest(
    ball: Ball, judge: BatchEvaluator, starts: Iterable[Tensor], *, steps: Sequence[float], stop: bool = False
) -> StrongestPoints:
    """The strongest of the data itself and of all points on the ways from the starts, of steps of these lengths.

    More steps and more starts are never weaker. With `stop`, items that are fooled are left alone: who is fooled is
    the same.
    """
    every = torch.arange(len(ball.center), device=ball.center.device)
    best = StrongestPoints(ball.center, judge(ball.center, every, steep=False))
    for start in starts:
        kept = every[~best.fooled] if stop else every
        if len(kept):
            _ascend(ball.take(kept), judge, start[kept], kept, best, steps, stop)
    return best


def _ascend(
    ball: Ball,
    judge: BatchEvaluator,
    point: Tensor,
    kept: Tensor,
    best: StrongestPoints,
    steps: Sequence[float],
    stop: bool,
) -> None:
    for step in (*steps, None):
        found = judge(point, kept, steep=step is not None)
        best.update(point, found, kept)
        if step is None or found.gradient is None:
            return
        gradient = found.gradient
        if stop:
            going = ~found.fooled
            if not going.any():
                return
            ball, point, kept, gradient = ball.take(going), point[going], kept[going], gradient[going]
        point = ball.project(point.double() + step * ball.direction(gradient))
