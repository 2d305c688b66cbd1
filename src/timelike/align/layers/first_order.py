"""A decorator for backward passes that are not differentiable: a second derivative raises an error."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch


def once_differentiable(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A backward pass that raises an error if it becomes part of a graph.

    torch's `once_differentiable` checks the incoming gradients only: if they are constant, a second derivative would
    treat the backward pass as constant and be silently wrong.
    """

    def decorate(backward: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(backward)
        def check_and_call(ctx: Any, *gradients: Any) -> Any:
            if torch.is_grad_enabled():
                raise RuntimeError(f"{what} has no further derivative: leave out create_graph=True")
            return backward(ctx, *gradients)

        return check_and_call

    return decorate
