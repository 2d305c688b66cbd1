"""The state of a training: what a checkpoint keeps, and what a callback sees."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from ..models import trees
from ..models.identity import Fingerprint
from ..sequences.arguments import real
from . import checkpoints
from .history import History
from .objective import Objective
from .processes import Processes


class Run:
    """Where a training is: its objective, its optimisers, `step` and `epoch` done, and the history."""

    def __init__(self, objective: Objective, processes: Processes, seed: int) -> None:
        self.objective, self.processes, self.seed = objective, processes, seed
        self.module: nn.Module = objective.module
        processes.place(self.module)
        self.optimizers = named_optimizers(objective)
        _refuse_rates(self.optimizers)
        self.rates = {name: [g["lr"] for g in one.param_groups] for name, one in self.optimizers.items()}
        self._options = {name: _options(one) for name, one in self.optimizers.items()}
        self.history = History(higher_is_better=objective.higher_is_better)
        self.step = 0
        self.epoch = 0
        self.position = 0  # batches of this epoch that are done
        self.best: dict[str, Tensor] | None = None
        self.stopping: str | None = None
        self._identity: dict[str, str | int] | None = None

    def identity(self) -> dict[str, str | int]:
        """Asked for once, and only where there is a checkpoint: a fingerprint reads all of the data."""
        if self._identity is None:
            found = dict(self.objective.identity())
            # the objective knows best what it learns from; a fingerprint of its owner's is of data before preparation
            settings = self.objective.settings.items()
            found |= {name: value for name, value in settings if name not in found or isinstance(value, Fingerprint)}
            self._identity = found
        return self._identity

    def stop(self, reason: str) -> None:
        """End the training after this step; the first reason counts."""
        self.stopping = self.stopping or reason

    def keep_as_best(self) -> None:
        """Remember the weights as they are."""
        self.best = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}

    def save(self, folder: Path) -> None:
        """Write a checkpoint, from the first process."""
        if self.processes.first:
            state = {
                "step": self.step,
                "epoch": self.epoch,
                "position": self.position,
                "seed": self.seed,
                "stopped": self.history.stopped,
                "identity": self.identity(),
                "optimizers": {name: self._optimizer_state(name) for name in self.optimizers},
                "objective": self.objective.state(),
            }
            tensors = trees.under("module", self.module.state_dict()) | trees.under("history", self.history.tensors())
            checkpoints.write(folder, self.step, self.epoch, state, tensors | trees.under("best", self.best or {}))
        self.processes.wait()

    def load(self, checkpoint: checkpoints.Checkpoint, folder: Path) -> None:
        """Go back to where a checkpoint was."""
        state, tensors = checkpoint
        _refuse_other(state.get("identity", {}), self.identity(), folder)
        self.step, self.epoch, self.position = state["step"], state["epoch"], state["position"]
        _load_weights(self.module, trees.below("module", tensors), folder)
        for name, one in self.optimizers.items():
            if name not in state["optimizers"]:
                raise ValueError(f"the checkpoint in {folder} has no optimizer {name!r}: {_OTHER}")
            _load_optimizer(one, state["optimizers"][name], folder)
        self.history.restore(trees.below("history", tensors))
        best = {name: tensor.to(self.processes.device) for name, tensor in trees.below("best", tensors).items()}
        self.best = best or None
        self.objective.restore(state["objective"])

    def _optimizer_state(self, name: str) -> dict[str, Any]:
        """The optimiser's memory, and those of its options that it changed itself (some keep estimates there)."""
        started = self._options[name]
        changed = [
            {key: value for key, value in now.items() if key not in before or before[key] != value}
            for before, now in zip(started, _options(self.optimizers[name]), strict=True)
        ]
        return {"state": self.optimizers[name].state_dict()["state"], "changed": changed}


_GREATEST_RATE = 1e30
_OTHER = "it is from another training, so give another folder, or remove this one to start anew"


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
    return found


def _refuse_rates(optimizers: Mapping[str, Optimizer]) -> None:
    """An optimiser divides its rate by small numbers before it makes a float32 of it."""
    for one in optimizers.values():
        for group in one.param_groups:
            real(float(group["lr"]), "learning_rate", most=_GREATEST_RATE)


def _options(optimizer: Optimizer) -> list[dict[str, Any]]:
    """Everything in its groups but the parameters, and the learning rate, which is the schedule's."""
    return [{k: v for k, v in group.items() if k not in ("params", "lr")} for group in optimizer.param_groups]


def _refuse_other(theirs: dict[str, Any], own: dict[str, Any], folder: Path) -> None:
    """Before anything is loaded; what only one of the two knows of itself says nothing."""
    for name, here in own.items():
        if str(there := theirs.get(name, here)) != str(here):
            letters = isinstance(here, Fingerprint)  # which tell nobody anything
            differ = f"other {name}" if letters else f"another {name}, {there} there and {here} here"
            raise ValueError(f"the checkpoint in {folder} has {differ}: {_OTHER}")


def _load_weights(module: nn.Module, weights: dict[str, Tensor], folder: Path) -> None:
    own = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    theirs = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if own != theirs:
        name = min(name for name in own.keys() | theirs.keys() if own.get(name) != theirs.get(name))
        raise ValueError(
            f"the checkpoint in {folder} does not fit the module: {name} has shape {theirs.get(name, 'none')} there "
            f"and {own.get(name, 'none')} here; {_OTHER}"
        )
    module.load_state_dict(weights)


def _load_optimizer(optimizer: Optimizer, saved: dict[str, Any], folder: Path) -> None:
    fresh = optimizer.state_dict()
    if len(fresh["param_groups"]) != len(saved["changed"]):
        raise ValueError(f"the checkpoint in {folder} has {len(saved['changed'])} parameter groups: {_OTHER}")
    groups = [group | changed for group, changed in zip(fresh["param_groups"], saved["changed"], strict=True)]
    optimizer.load_state_dict({"state": saved["state"], "param_groups": groups})
