"""Gradient ascent on the loss inside a ball, and the strongest point on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from .ball import Ball
from .target import AttackTarget

LossName = Literal["cross-entropy", "margin"]
_MIN_GAIN = 1e-12  # of a loss in double precision, relative to it where it is above 1


class BatchEvaluation(NamedTuple):
    """Loss (item,), whether the answer is wrong (item,), and the gradient of the loss or None."""

    loss: Tensor
    fooled: Tensor
    gradient: Tensor | None


class BatchEvaluator(Protocol):
    """Evaluates a part of a batch; `positions` are those of its items in the whole batch."""

    def __call__(self, point: Tensor, positions: Tensor, *, with_gradient: bool) -> BatchEvaluation: ...


def attack_losses(name: LossName, logits: Tensor, codes: Tensor) -> Tensor:
    """The loss that an attack increases, (item,): −log softmax of the true class, or the best other class's margin.

    The margin (Carlini and Wagner, 2017) is above 0 exactly where the answer is wrong, and its gradient does not vanish
    where the model is certain.

    >>> logits, codes = torch.tensor([[3.0, 1.0, 0.5]]), torch.tensor([0])
    >>> attack_losses("margin", logits, codes)
    tensor([-2.])
    >>> attack_losses("cross-entropy", logits, codes)
    tensor([0.1967])
    """
    invalid_codes = codes[(codes < 0) | (codes >= logits.shape[1])]
    if len(invalid_codes):
        raise ValueError(
            f"y holds {int(invalid_codes[0])}, and the model gives logits of {logits.shape[1]} classes: expected "
            f"columns of these, 0 to {logits.shape[1] - 1}"
        )
    own = F.one_hot(codes, logits.shape[1]).bool()
    others = logits.masked_fill(own, -torch.inf)
    if name == "margin":
        return others.amax(dim=1) - logits[own]
    # log(1 + Σ_others e^z / e^z_y): the gradient of torch's cross-entropy is softmax − 1, only rounding near 1
    return F.softplus(others.logsumexp(dim=1) - logits[own])


def evaluate_batch(
    logits_of: Callable[[Tensor], Tensor], name: LossName, point: Tensor, codes: Tensor, with_gradient: bool
) -> BatchEvaluation:
    """Loss and answer of a model, with the gradient if requested."""
    point = point.detach().requires_grad_(with_gradient)
    with torch.set_grad_enabled(with_gradient):
        logits = logits_of(point)
        loss = attack_losses(name, logits, codes)
    gradient = input_gradient(loss, point) if with_gradient else None
    return BatchEvaluation(loss.detach(), logits.detach().argmax(dim=1) != codes, gradient)


def make_evaluator(
    target: AttackTarget, source: AttackTarget | None, loss: LossName, lengths: Tensor, codes: Tensor
) -> BatchEvaluator:
    """An evaluator by the target; gradients are those of the source, if there is one."""

    def evaluate(point: Tensor, positions: Tensor, *, with_gradient: bool) -> BatchEvaluation:
        item_lengths, own = lengths[positions], codes[positions]
        evaluation = evaluate_batch(
            lambda x: target(x, item_lengths), loss, point, own, with_gradient and source is None
        )
        if source is None or not with_gradient:
            return evaluation
        other = evaluate_batch(lambda x: source(x, item_lengths), loss, point, own, True)
        return evaluation._replace(gradient=other.gradient)

    return evaluate


def make_training_evaluator(
    logits_of: Callable[[Tensor, Tensor], Tensor | Sequence[Tensor]], loss: LossName, lengths: Tensor, codes: Tensor
) -> BatchEvaluator:
    """An evaluator for training: the sum of the losses of all heads; no item counts as fooled, so the loss decides."""

    def evaluate(point: Tensor, positions: Tensor, *, with_gradient: bool) -> BatchEvaluation:
        point = point.detach().requires_grad_(with_gradient)
        with torch.set_grad_enabled(with_gradient):
            losses = _sum_heads(logits_of(point, lengths[positions]), codes[positions], loss)
        never = torch.zeros(len(point), dtype=torch.bool, device=point.device)
        return BatchEvaluation(losses.detach(), never, input_gradient(losses, point) if with_gradient else None)

    return evaluate


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
    """The strongest point so far of every item: a wrong answer beats a right one, then the larger loss."""

    def __init__(self, point: Tensor, evaluation: BatchEvaluation) -> None:
        self.point, self.loss, self.fooled = point.clone(), evaluation.loss.clone(), evaluation.fooled.clone()

    def update(self, point: Tensor, evaluation: BatchEvaluation, positions: Tensor) -> None:
        """Replace points by stronger ones."""
        loss, fooled = self.loss[positions], self.fooled[positions]
        # a gain by rounding alone would choose among steps around an optimum by the other items of the batch
        is_larger = evaluation.loss > loss + _MIN_GAIN * (1 + loss.abs())
        is_stronger = (evaluation.fooled & ~fooled) | ((evaluation.fooled == fooled) & is_larger)
        chosen = positions[is_stronger]
        self.point[chosen], self.loss[chosen] = point[is_stronger], evaluation.loss[is_stronger]
        self.fooled[chosen] = evaluation.fooled[is_stronger]


def find_strongest(
    ball: Ball, evaluate: BatchEvaluator, starts: Iterable[Tensor], *, steps: Sequence[float], stop: bool = False
) -> StrongestPoints:
    """The strongest among the data itself and all points on the paths from the starts, with these step lengths.

    More steps and more starts are never weaker. With `stop`, fooled items are not moved further, which does not change
    which items are fooled.
    """
    every = torch.arange(len(ball.center), device=ball.center.device)
    best = StrongestPoints(ball.center, evaluate(ball.center, every, with_gradient=False))
    for start in starts:
        positions = every[~best.fooled] if stop else every
        if len(positions):
            _ascend(ball.take(positions), evaluate, start[positions], positions, best, steps, stop)
    return best


def _ascend(
    ball: Ball,
    evaluate: BatchEvaluator,
    point: Tensor,
    positions: Tensor,
    best: StrongestPoints,
    steps: Sequence[float],
    stop: bool,
) -> None:
    for step in (*steps, None):
        evaluation = evaluate(point, positions, with_gradient=step is not None)
        best.update(point, evaluation, positions)
        if step is None or evaluation.gradient is None:
            return
        gradient = evaluation.gradient
        if stop:
            is_active = ~evaluation.fooled
            if not is_active.any():
                return
            ball, point, positions, gradient = (
                ball.take(is_active),
                point[is_active],
                positions[is_active],
                gradient[is_active],
            )
        point = ball.project(point.double() + step * ball.direction(gradient))
