"""The state of an optimizer as a checkpoint stores it, and how it is restored."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ..models import schema
from .optimizer_step import optimizer_options

OPTIMIZER_SCHEMA = schema.typed_dict(
    state=schema.dict_of(schema.integer(), schema.dict_of(schema.string(), schema.any_value())),
    changed=schema.list_of(schema.dict_of(schema.string(), schema.any_value()), least=1),
)


def optimizer_state(optimizer: Optimizer, started: list[dict[str, Any]]) -> dict[str, Any]:
    """The optimiser's state, and the options that it changed itself (some keep estimates there)."""
    changed = [
        {key: value for key, value in now.items() if key not in before or before[key] != value}
        for before, now in zip(started, optimizer_options(optimizer), strict=True)
    ]
    return {"state": optimizer.state_dict()["state"], "changed": changed}


def load_optimizer(optimizer: Optimizer, saved: dict[str, Any]) -> None:
    """Restore an optimiser from `optimizer_state`; raises an error if it cannot make a step with this state.

    The state of optimisers has no common schema, so it is tested by one step with zero gradients, which is undone.
    """
    fresh = optimizer.state_dict()
    if len(fresh["param_groups"]) != len(saved["changed"]):
        raise ValueError(
            f"the state has {len(saved['changed'])} parameter groups: the optimizer has {len(fresh['param_groups'])}"
        )
    positions = {place for group in fresh["param_groups"] for place in group["params"]}
    for place in saved["state"].keys() - positions:
        raise ValueError(f"state[{place}] belongs to no parameter: there are {len(positions)}")
    for changed in saved["changed"]:
        for name in changed.keys() & {"params", "lr"}:
            raise ValueError(f"changed holds {name!r}, which no optimizer changes itself")
    groups = [group | changed for group, changed in zip(fresh["param_groups"], saved["changed"], strict=True)]
    words = {"state": saved["state"], "param_groups": groups}
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    if closure is None or closure.default is None:  # one that evaluates the loss, such as L-BFGS, cannot be tested
        optimizer.load_state_dict(copy.deepcopy(words))  # the step changes tensors in place
        _try_step(optimizer)
    optimizer.load_state_dict(words)


def _try_step(optimizer: Optimizer) -> None:
    """Make one step with zero gradients for all parameters that have a state, then restore them."""
    tried = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    tried = [parameter for parameter in tried if optimizer.state.get(parameter)]
    before: list[tuple[Tensor, Tensor | None]] = [(one.detach().clone(), one.grad) for one in tried]
    try:
        for one in tried:
            one.grad = torch.zeros_like(one)
        optimizer.step()
        if not all(bool(one.isfinite().all()) for one, (old, _) in zip(tried, before, strict=True) if _is_finite(old)):
            raise ValueError("a step with this state makes weights that are not finite")
    finally:
        for one, (old, gradient) in zip(tried, before, strict=True):
            one.data.copy_(old)
            one.grad = gradient


def _is_finite(tensor: Tensor) -> bool:
    return bool(tensor.isfinite().all())
