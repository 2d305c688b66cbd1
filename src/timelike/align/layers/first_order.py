"""A decorator for backward passes that have no derivative of their own: they refuse to be differentiated again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch


def once_differentiable(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A backward pass that refuses to be part of a graph.

    torch's `once_differentiable` looks at the incoming gradients only: with a constant one, a further derivative would
    be taken as if the backward pass were constant, and be wrong without a word.
    """

    def decorate(backward: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(backward)
        def checked(ctx: Any, *gradients: Any) -> Any:
            if torch.is_grad_enabled():
                raise RuntimeError(f"{what} has no further derivative: leave out create_graph=True")
            return backward(ctx, *gradients)

        return checked

    return decorate
