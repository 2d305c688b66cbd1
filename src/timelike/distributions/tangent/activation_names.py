"""Names of activations, and which of them have kernels in closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...native.tangent import SIGMOID, SINE, SLOPE

Activation = str | Callable[..., Any] | tuple[str | Callable[..., Any], ...]

_CLOSED_FORMS = {
    "relu": (SLOPE, 0.0),
    "leaky_relu": (SLOPE, 0.01),
    "abs": (SLOPE, -1.0),
    "sigmoid": (SIGMOID, 0.0),
    "sine": (SINE, 0.0),
}
ACTIVATION_NAMES = (*_CLOSED_FORMS, "gelu")


def activation_branches(activation: Activation) -> tuple[str | Callable[..., Any], ...]:
    """The activations of every layer, side by side.

    >>> activation_branches("relu"), activation_branches(("relu", "sine"))
    (('relu',), ('relu', 'sine'))
    """
    return activation if isinstance(activation, tuple) else (activation,)


def closed_form_families(activation: Activation) -> tuple[tuple[int, float], ...] | None:
    """The families of activations in `native.tangent`, or None where one of them needs quadrature."""
    found = tuple(_CLOSED_FORMS.get(one) if isinstance(one, str) else None for one in activation_branches(activation))
    return None if None in found else found  # type: ignore[return-value]


def refuse_unknown_activation(activation: Any) -> None:
    """An error for what is neither a name, nor a function, nor a tuple of these."""
    known = ", ".join(f'"{name}"' for name in ACTIVATION_NAMES)
    if isinstance(activation, list) or (isinstance(activation, tuple) and not activation):
        raise TypeError(f"activation={activation!r}: expected a tuple of names for branches, such as ('relu', 'sine')")
    for one in activation_branches(activation):
        if isinstance(one, str) and one not in ACTIVATION_NAMES:
            raise ValueError(f"activation={one!r}: expected one of {known}, a function, or a tuple of them")
        if not isinstance(one, str) and not callable(one):
            raise TypeError(f"activation={one!r}: expected one of {known}, a function, or a tuple of them")
