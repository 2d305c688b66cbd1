"""Descent, one step down a loss (backward, average over processes, check, clip, update), and what it says on NaN."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import Optimizer

from ..sequences.arguments import real
from . import clock
from .batches import Batch
from .ctrl_c import heard_in_backward
from .processes import Processes

if TYPE_CHECKING:
    from .loop import Run
    from .objective import Objective

_LONG = 0.2  # seconds of a forward pass, after which somebody may press Ctrl-C in the backward pass, twice as long
_SHOWN = 20  # ids in a message
_GREATEST_RATE = 1e30  # Adam divides it by a denominator of 1e-8, and the quotient has to fit a float32


class Diverged(ArithmeticError):
    """A loss or a gradient that is no finite number; `step` (counted from 1) and `ids` say where it came up."""

    def __init__(self, message: str, step: int, ids: list[int]) -> None:
        super().__init__(message)
        self.step, self.ids = step, ids


class NotFinite(ArithmeticError):
    """What was not finite; the loop knows where and says it with `diverged`."""


class Descent:
    """Called with a loss, it updates the parameters of all optimisers, or of the one that is named.

    Gradients left in other parameters are thrown away: what a generator's loss leaves in its critic does no harm.
    """

    def __init__(
        self, module: nn.Module, optimizers: Mapping[str, Optimizer], processes: Processes, clip: float | None
    ) -> None:
        self._module, self._optimizers, self._processes, self._clip = module, optimizers, processes, clip
        self.weight = 1.0
        """What the part of this process counts, where processes have parts of different sizes."""
        self.norm = 0.0
        """Norm of the gradient at the last update, before clipping."""
        self.since = clock.now()
        """When this step, or what came after its last backward pass, began."""
        self.begun = 0
        """Updates begun so far: until one is, the module is as it was before the step."""
        self.updates = 0
        """Updates so far: a step that makes none has learned nothing."""

    def __call__(self, loss: Any, optimizer: str | None = None) -> None:
        """Descend the loss once."""
        self.backward(loss)
        self.step(optimizer)

    def backward(self, loss: Any) -> None:
        """Add the gradients of one term of the loss to those already there."""
        if not isinstance(loss, Tensor) or loss.numel() != 1 or not loss.requires_grad:
            raise TypeError(f"the loss is {_words(loss)}: expected a tensor of one number that depends on the module")
        # averaged first, so that all processes see the same number and stop together
        value = float(self._processes.mean(loss.detach() * self.weight))
        if not math.isfinite(value):
            self._module.zero_grad()
            raise NotFinite(f"the loss is {value}")
        # the step runs inside the autocast of mixed precision, which is for forward passes only
        long = clock.now() - self.since > _LONG
        ears = heard_in_backward(self._module) if long else nullcontext()
        with ears, torch.autocast(loss.device.type, enabled=False):
            (loss if self.weight == 1 else loss * self.weight).sum().backward()  # type: ignore[no-untyped-call]
        self.since = clock.now()

    def step(self, optimizer: str | None = None) -> None:
        """Update with the gradients that are there, and throw them away."""
        chosen = self._chosen(optimizer)
        parameters = [p for one in chosen for group in one.param_groups for p in group["params"]]
        # before the norm: it is the mean gradient that is clipped, and one process must not clip more than another
        self._processes.average_gradients(parameters)
        self.norm = self._checked_norm(parameters)
        self.begun += 1
        for one in chosen:
            one.step()
        self._module.zero_grad()
        self.updates += 1

    def _chosen(self, name: str | None) -> list[Optimizer]:
        if name is None:
            return list(self._optimizers.values())
        if name not in self._optimizers:
            raise ValueError(f"optimizer={name!r}: expected one of {', '.join(map(repr, self._optimizers))}")
        return [self._optimizers[name]]

    def _checked_norm(self, parameters: list[nn.Parameter]) -> float:
        gradients = [p.grad for p in parameters if p.grad is not None]
        norm = get_total_norm(gradients)
        if not torch.isfinite(norm):  # the squares of great numbers overflow in float32 where the numbers do not
            norm = get_total_norm([gradient.double() for gradient in gradients])
        if not torch.isfinite(norm):
            self._module.zero_grad()
            raise NotFinite(f"the gradient's norm is {float(norm)}")
        if self._clip is not None:
            clip_grads_with_norm_(parameters, self._clip, norm)
        return float(norm)


def named_optimizers(objective: Objective) -> dict[str, Optimizer]:
    """The objective's optimisers by name; their parameters must be the module's, or no checkpoint would keep them."""
    given = objective.optimizers()
    found = dict(given) if isinstance(given, Mapping) else {"optimizer": given}
    known = {id(parameter) for parameter in objective.module.parameters()}
    for name, one in found.items():
        if not isinstance(one, Optimizer):
            raise TypeError(f"optimizers() gave a {type(one).__name__}: expected a torch optimizer, or a dict of them")
        if any(id(parameter) not in known for group in one.param_groups for parameter in group["params"]):
            raise ValueError(
                f"the optimizer {name!r} of {type(objective).__name__} has parameters that are not in its module: "
                "make them part of it, or a checkpoint cannot keep them"
            )
    if not found:
        raise ValueError(f"optimizers() of {type(objective).__name__} gave none: expected at least one")
    _refuse_rates(found)
    return found


def _refuse_rates(optimizers: Mapping[str, Optimizer]) -> None:
    """An optimiser divides its rate by small numbers before it makes a float32 of it."""
    for one in optimizers.values():
        for group in one.param_groups:
            real(float(group["lr"]), "learning_rate", most=_GREATEST_RATE)


def own_options(optimizer: Optimizer) -> list[dict[str, Any]]:
    """Everything in its groups but the parameters, and the learning rate, which is the schedule's."""
    return [{k: v for k, v in group.items() if k not in ("params", "lr")} for group in optimizer.param_groups]


def diverged(error: NotFinite, batch: Batch, run: Run, rate: float, clip: float | None) -> Diverged:
    """The error in words: where, which sequences, what to do."""
    item, step = run.objective.item, run.step + 1
    clipping = f"clip the gradient ({'gradient_clip=1.0' if clip is None else f'a gradient_clip below {clip:g}'}), "
    message = (
        f"{error} at step {step}, in the batch of the {item}s {listed(batch)}: {_blame(batch, item)}"
        f"{run.objective.suspect}lower the learning rate (now {rate:g}), "
        f"{'' if run.objective.owner else clipping}or standardize the sequences first. "
        "The module keeps the weights it had before"
    )
    return Diverged(message, step, _distinct(batch))


def listed(batch: Batch) -> str:
    """The ids of a batch, each once, for a message.

    >>> listed(Batch(range(50)))[-20:]
    '8, 19, … (50 in all)'
    """
    ids = _distinct(batch)
    return ", ".join(map(str, ids[:_SHOWN])) + (f", … ({len(ids)} in all)" if len(ids) > _SHOWN else "")


def _distinct(batch: Batch) -> list[int]:
    return list(dict.fromkeys(batch.ids.tolist()))


def _blame(batch: Batch, item: str) -> str:
    """The first sequence that was not finite to begin with, if there is one."""
    for name, tensor in batch.tensors.items():
        if tensor.is_floating_point() and tensor.ndim and len(tensor) == len(batch):
            bad = (~torch.isfinite(tensor)).reshape(len(batch), -1).any(1).nonzero()
            if len(bad):
                return f"{name} of the {item} {batch.ids[int(bad[0])]} holds NaN or infinity, mend that first; else "
    return ""


def _words(loss: Any) -> str:
    if not isinstance(loss, Tensor):
        return f"a {type(loss).__name__}"
    return f"a tensor of shape {tuple(loss.shape)}" + ("" if loss.requires_grad else " without a gradient")
