"""`OptimizerStep`: backward, average over processes, check, clip, update; errors for losses that are not finite."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import Optimizer

from ..core.parameters import check_float
from . import clock
from .batches import Batch
from .exceptions import DivergenceError, NotFiniteError
from .processes import Processes

if TYPE_CHECKING:
    from .loop import TrainingRun
    from .objective import Objective


# seconds of a forward pass from which the backward pass, about twice as long, must be interruptible
_LONG_FORWARD_SECONDS = 0.2
_MAX_LISTED = 20  # ids shown in a message
_MAX_RATE = 1e30  # Adam divides the rate by down to 1e-8, and the quotient must fit into a float32


class OptimizerStep:
    """A callable that minimizes a loss by one update of all optimisers, or of the named one.

    Gradients of other parameters are discarded, for example those that a generator's loss leaves in its critic.
    """

    def __init__(self, module: nn.Module, optimizers: Mapping[str, Optimizer], processes: Processes) -> None:
        self._module, self._optimizers, self._processes = module, optimizers, processes
        self.clip: float | None = None
        """Maximum norm of the gradient."""
        self.weight = 1.0
        """The weight of this process, if the parts of a batch differ in size."""
        self.norm = 0.0
        """Norm of the gradient at the last update, before clipping."""
        self.started_at = clock.now()
        """The time at which the step began, or its last backward pass ended."""
        self.n_started = 0
        """The number of started updates; the module is unchanged before the first of a step."""
        self.n_updates = 0
        """The number of completed updates."""

    def __call__(self, loss: Any, optimizer: str | None = None) -> None:
        """Update once with the gradients of the loss."""
        self.backward(loss)
        self.step(optimizer)

    def backward(self, loss: Any) -> None:
        """Add the gradients of one term of the loss to those already there."""
        if not isinstance(loss, Tensor) or loss.numel() != 1 or not loss.requires_grad:
            raise TypeError(
                f"the loss is {_describe_loss(loss)}: expected a tensor of one number that depends on the module"
            )
        # averaged first, so that all processes see the same value and stop together
        value = float(self._processes.mean(loss.detach() * self.weight))
        if not math.isfinite(value):
            self._module.zero_grad()
            raise NotFiniteError(f"the loss is {value}")
        # autocast is for forward passes only
        long = clock.now() - self.started_at > _LONG_FORWARD_SECONDS
        ears = interruptible_backward(self._module) if long else nullcontext()
        with ears, torch.autocast(loss.device.type, enabled=False):
            (loss if self.weight == 1 else loss * self.weight).sum().backward()  # type: ignore[no-untyped-call]
        self.started_at = clock.now()

    def step(self, optimizer: str | None = None) -> None:
        """Update with the accumulated gradients, and discard them."""
        chosen = self._select_optimizers(optimizer)
        parameters = [p for one in chosen for group in one.param_groups for p in group["params"]]
        # before the norm, since the mean gradient is clipped, equally in all processes
        self._processes.average_gradients(parameters)
        self.norm = self._clip_gradients(parameters)
        self.n_started += 1
        for one in chosen:
            one.step()
        self._module.zero_grad()
        self.n_updates += 1

    def _select_optimizers(self, name: str | None) -> list[Optimizer]:
        if name is None:
            return list(self._optimizers.values())
        if name not in self._optimizers:
            raise ValueError(f"optimizer={name!r}: expected one of {', '.join(map(repr, self._optimizers))}")
        return [self._optimizers[name]]

    def _clip_gradients(self, parameters: list[nn.Parameter]) -> float:
        gradients = [p.grad for p in parameters if p.grad is not None]
        norm = get_total_norm(gradients)
        if not torch.isfinite(norm):  # squares of large numbers overflow float32 before the numbers do
            norm = get_total_norm([gradient.double() for gradient in gradients])
        if not torch.isfinite(norm):
            self._module.zero_grad()
            raise NotFiniteError(f"the gradient's norm is {float(norm)}")
        if self.clip is not None:
            clip_grads_with_norm_(parameters, self.clip, norm)
        return float(norm)


def named_optimizers(objective: Objective) -> dict[str, Optimizer]:
    """The objective's optimisers by name; their parameters must be in the module, which checkpoints store."""
    optimizers = objective.optimizers()
    by_name = dict(optimizers) if isinstance(optimizers, Mapping) else {"optimizer": optimizers}
    parameter_ids = {id(parameter) for parameter in objective.module.parameters()}
    for name, one in by_name.items():
        if not isinstance(one, Optimizer):
            raise TypeError(
                f"optimizers() returned a {type(one).__name__}: expected a torch optimizer, or a dict of them"
            )
        if any(id(parameter) not in parameter_ids for group in one.param_groups for parameter in group["params"]):
            raise ValueError(
                f"the optimizer {name!r} of {type(objective).__name__} has parameters that are not in its module: "
                "make them part of it, so that checkpoints store them"
            )
    if not by_name:
        raise ValueError(f"optimizers() of {type(objective).__name__} returned none: expected at least one")
    _refuse_large_rates(by_name)
    return by_name


def _refuse_large_rates(optimizers: Mapping[str, Optimizer]) -> None:
    """Raise an error for rates that overflow float32 once the optimiser has divided them by small numbers."""
    for one in optimizers.values():
        for group in one.param_groups:
            check_float(float(group["lr"]), "learning_rate", most=_MAX_RATE)


def optimizer_options(optimizer: Optimizer) -> list[dict[str, Any]]:
    """The options of all parameter groups, without the learning rate, which the schedule sets."""
    return [{k: v for k, v in group.items() if k not in ("params", "lr")} for group in optimizer.param_groups]


def divergence_error(
    error: NotFiniteError, batch: Batch, run: TrainingRun, rate: float, clip: float | None
) -> DivergenceError:
    """The error with the step, the sequences and remedies."""
    item, step = run.objective.item, run.step + 1
    clipping = f"clip the gradient ({'gradient_clip=1.0' if clip is None else f'a gradient_clip below {clip:g}'}), "
    message = (
        f"{error} at step {step}, in the batch of the {item}s {format_ids(batch)}: {_describe_bad_input(batch, item)}"
        f"{run.objective.divergence_hint}lower the learning rate (now {rate:g}), "
        f"{'' if run.objective.owner else clipping}or standardize the sequences first. "
        "The module keeps the weights it had before"
    )
    return DivergenceError(message, step, _distinct_ids(batch))


def format_ids(batch: Batch) -> str:
    """The ids of a batch, each once, for a message.

    >>> format_ids(Batch(range(50)))[-20:]
    '8, 19, … (50 in all)'
    """
    ids = _distinct_ids(batch)
    return ", ".join(map(str, ids[:_MAX_LISTED])) + (f", … ({len(ids)} in all)" if len(ids) > _MAX_LISTED else "")


def _distinct_ids(batch: Batch) -> list[int]:
    return list(dict.fromkeys(batch.ids.tolist()))


def _describe_bad_input(batch: Batch, item: str) -> str:
    """A hint that names the first input sequence that is not finite, if there is one."""
    for name, tensor in batch.tensors.items():
        if tensor.is_floating_point() and tensor.ndim and len(tensor) == len(batch):
            bad = (~torch.isfinite(tensor)).reshape(len(batch), -1).any(1).nonzero()
            if len(bad):
                return f"{name} of the {item} {batch.ids[int(bad[0])]} holds NaN or infinity, repair it first; else "
    return ""


def _describe_loss(loss: Any) -> str:
    if not isinstance(loss, Tensor):
        return f"a {type(loss).__name__}"
    return f"a tensor of shape {tuple(loss.shape)}" + ("" if loss.requires_grad else " without a gradient")


@contextmanager
def interruptible_backward(module: nn.Module) -> Iterator[None]:
    """Let Ctrl-C be handled during a backward pass, which is one call from Python and may take many seconds.

    A hook on every parameter runs a line of Python when its gradient is ready. Hooks on inner nodes would make torch
    free the graph by recursion, which overflows the stack for the long graph of a recurrent network.
    """
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    ears = [parameter.register_hook(lambda _: None) for parameter in parameters]  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for ear in ears:
            ear.remove()
