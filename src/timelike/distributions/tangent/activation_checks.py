"""Which functions may be activations: those of torch, of single numbers, with a derivative; and their kink at 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

_TEST_RANGE = 3.0  # between −3 and 3 a function is tried


def values_and_slopes(function: Callable[[Tensor], Any], z: Tensor) -> tuple[Tensor, Tensor]:
    """φ(z) and φ′(z), by autograd, of any number of axes."""
    with torch.enable_grad():
        leaf = z.detach().clone().requires_grad_()
        found = function(leaf)
        _refuse_non_tensor(function, found, z)
        (slopes,) = torch.autograd.grad(found.sum(), leaf)
    values = found.detach().double()
    if not (values.isfinite().all() and slopes.isfinite().all()):
        worst = z[~(values.isfinite() & slopes.isfinite())][0].item()
        raise ValueError(f"activation={function_name(function)} or its derivative is nan or infinite at {worst:.6g}")
    return values, slopes


def validate_activation(function: Callable[[Tensor], Any]) -> float:
    """How much the derivative jumps at 0; an error for a function that is no activation.

    >>> validate_activation(torch.tanh), validate_activation(torch.relu)
    (0.0, 1.0)
    """
    name = function_name(function)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges = np.linspace(-_TEST_RANGE, _TEST_RANGE, 97)
    middles, half = (edges[1:] + edges[:-1]) / 2, (edges[1] - edges[0]) / 2
    points = torch.from_numpy((middles[:, None] + half * nodes).ravel())
    values, slopes = _evaluate(function, points)
    alone, _ = _evaluate(function, points[::50])
    if not torch.allclose(alone, values[::50], rtol=1e-9, atol=1e-12):
        raise ValueError(
            f"activation={name} gives values that depend on the batch: expected a function of single numbers"
        )
    ends, _ = _evaluate(function, torch.from_numpy(edges))
    risen = (slopes.reshape(-1, 16) @ torch.from_numpy(weights)) * half
    off = (risen - ends.diff()).abs()
    if not slopes.any() and not ends.diff().any():
        raise ValueError(f"activation={name} is constant between −3 and 3: its units would have nothing to tell")
    if off.max() > 1e-2 * max(1.0, float(values.abs().max())) * half:
        where = middles[int(off.argmax())]
        raise ValueError(
            f"activation={name} has no derivative near {where:.2g}: there it rises by "
            f"{float(ends.diff()[off.argmax()]):.3g}, and by its derivative by {float(risen[off.argmax()]):.3g}; "
            "expected a continuous function with its own derivative, such as torch.tanh for torch.sign"
        )
    return _derivative_jump(function)


def function_name(function: Any) -> str:
    """What to call it in a message."""
    return str(getattr(function, "__name__", repr(function)))


def _evaluate(function: Callable[[Tensor], Any], points: Tensor) -> tuple[Tensor, Tensor]:
    """Values and derivatives, with whatever goes wrong in the function told as that of an activation."""
    try:
        return values_and_slopes(function, points)
    except (ValueError, TypeError) as error:
        if str(error).startswith("activation="):
            raise
        raise _activation_error(function, error) from error
    except (RuntimeError, AttributeError, NotImplementedError) as error:
        raise _activation_error(function, error) from error


def _activation_error(function: Any, error: Exception) -> TypeError:
    return TypeError(
        f"activation={function_name(function)} cannot be called with a tensor in double precision and differentiated "
        "by "
        f"autograd ({str(error).splitlines()[0][:120]}): expected a function of torch, such as torch.tanh; "
        "a module with parameters needs .double()"
    )


def _refuse_non_tensor(function: Any, found: Any, z: Tensor) -> None:
    name = function_name(function)
    if not isinstance(found, Tensor):
        raise TypeError(f"activation={name} gave a {type(found).__name__}: expected a tensor, from torch functions")
    if found.shape != z.shape:
        raise ValueError(f"activation={name} gave shape {tuple(found.shape)} of {tuple(z.shape)}: expected the same")
    if found.grad_fn is None:
        raise ValueError(
            f"activation={name} has no derivative by autograd: expected a differentiable function of torch"
        )


def _derivative_jump(function: Callable[[Tensor], Any]) -> float:
    """φ′(0+) − φ′(0−), from two steps away so that a bend does not count."""
    steps = torch.tensor([1e-7, 2e-7], dtype=torch.float64)
    _, slopes = _evaluate(function, torch.cat([steps, -steps]))
    near, far = (slopes[:2] - slopes[2:]).tolist()
    found = 2 * near - far
    return float(found) if abs(found) > 1e-9 else 0.0
