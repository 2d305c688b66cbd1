"""The Sinkhorn divergence: entropic transport between two point sets, without its bias."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...core.parameters import check_float, check_int
from ...core.warnings import find_stack_level
from ...train.torch_threads import torch_threads
from ..validation import refuse_unreadable_tensor
from .debiased_transport import DebiasedDivergence, solve_debiased
from .potentials import Annealing

Array = NDArray[Any] | Tensor
_MAX_SINGLE_THREAD_PAIRS = 1 << 20  # pairs of points, of which one thread is through before two have begun


def sinkhorn_divergence(
    x: Array,
    y: Array,
    *,
    power: int = 2,
    blur: float = 0.05,
    scaling: float = 0.5,
    x_weights: Array | None = None,
    y_weights: Array | None = None,
    max_rounds: int = 1000,
    tolerance: float | None = None,
) -> Any:
    """The cost of moving one point set onto another, blurred by entropy and without the bias of that.

    S = OT(x, y) − OT(x, x)/2 − OT(y, y)/2, with OT(x, y) = min ⟨T, C⟩ + ε KL(T ‖ a ⊗ b) over the plans T with
    marginals a and b, C = ‖x − y‖^p / p and ε = blur^p (Feydy et al., 2019, "Interpolating between Optimal Transport
    and MMD using Sinkhorn Divergences"). Between exact transport (blur → 0: W_p^p / p) and a kernel's
    discrepancy (blur → ∞); never negative, 0 for equal sets, the same when x and y change places or points their order.

    Use it where distance in space means something and the samples may lie apart, where a kernel's discrepancy is flat:
    to measure or to train generated points in few dimensions. For a test of equality in many dimensions `mmd` is
    cheaper, and says more. Time is n m for a round, and there are log(diameter / blur) / log(1 / scaling) of them.

    Parameters
    ----------
    x, y : array or tensor, (n, d) and (m, d)
        Points. NumPy gives a float; torch a scalar of the input's dtype, differentiable once by points and weights.
        All is computed in float64: what S resolves is about 1e-16 of diameter^p, or of ε.
    power : int
        1 or 2, the p of the cost.
    blur : float
        Details of the plan below this distance are smoothed away.
    scaling : float
        The blur is annealed from the diameter by this factor each round. Nearer to 1 is slower and more accurate.
    x_weights, y_weights : array or tensor, (n,) and (m,), optional
        Not negative; divided by their sum. None: all points weigh the same.
    max_rounds : int
        Rounds after the annealing at most, where there is a `tolerance`.
    tolerance : float, optional
        The share of mass that plans may have in a wrong place; a warning says if `max_rounds` did not reach it. None
        ends with the annealing, as geomloss does: numbers compare with published ones, and the time is known
        beforehand. S is then too small: by little where the sets lie apart, but where they are nearly alike, and S is
        small, by a large part of it at the defaults. Where
        the number itself counts, or the gradient must be its slope, tolerance=1e-3 is cheaper than a finer scaling. A
        blur far below the distances of neighbours takes thousands of rounds to get there.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import sinkhorn_divergence
    >>> x = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> round(sinkhorn_divergence(x, x + [3.0, 4.0]), 6)  # 5² / 2
    12.5
    """
    power = check_int(power, "power")
    if power not in (1, 2):
        raise ValueError(f"power={power}: expected 1 (distances) or 2 (halved squares of distances)")
    blur, scaling = check_float(blur, "blur", above=0.0), _check_scaling(scaling)
    check_int(max_rounds, "max_rounds", 0)
    tolerance = None if tolerance is None else check_float(tolerance, "tolerance", 0.0)
    points = _validate_points(x, "x"), _validate_points(y, "y")
    _refuse_mismatch(*points)
    weights = _validate_weights(x_weights, "x_weights", points[0]), _validate_weights(y_weights, "y_weights", points[1])
    heavy = torch.cat([side.detach()[share > 0] for side, share in zip(points, weights, strict=True)])
    how = Annealing(power, _diameter(heavy, power, blur), blur, scaling, tolerance, max_rounds)
    small = len(points[0]) * len(points[1]) <= _MAX_SINGLE_THREAD_PAIRS
    with torch_threads(1 if small else torch.get_num_threads()):
        value, miss = _compute_divergence(points, weights, how, (x, y, x_weights, y_weights))
    if tolerance is not None and miss > tolerance:
        _warn_unconverged(float(miss), tolerance, max_rounds)
    return value


def _compute_divergence(
    points: tuple[Tensor, Tensor], weights: tuple[Tensor, Tensor], annealing: Annealing, given: tuple[Any, ...]
) -> tuple[Any, float]:
    """S, as a tensor where one of what was given is, and the mass in a wrong place."""
    if any(isinstance(one, Tensor) for one in given):
        found, miss = DebiasedDivergence.apply(*points, *weights, annealing)  # type: ignore[no-untyped-call]
        return found.to(_output_dtype(*given[:2])), float(miss)
    with torch.no_grad():
        answer = solve_debiased(*points, *weights, annealing)
    return float(answer.value), float(answer.marginal_error)


def _validate_points(given: Any, name: str) -> Tensor:
    """Points (n, d) in float64, gradients kept."""
    points = _validate_numbers(given, name, "points, (item, feature)")
    if points.ndim != 2 or not points.numel():
        way = f"; use {name}[:, None] for points on a line" if points.ndim == 1 and points.numel() else ""
        raise ValueError(f"{name} has shape {tuple(points.shape)}: expected at least one point, (item, feature){way}")
    return points


def _validate_weights(given: Any, name: str, points: Tensor) -> Tensor:
    """Weights (n,) that sum to 1, in float64, gradients kept."""
    if given is None:
        return points.new_full((len(points),), 1 / len(points))
    weights = _validate_numbers(given, name, "numbers of at least 0, (item,)").to(points.device)
    if weights.shape != (len(points),):
        raise ValueError(f"{name} has shape {tuple(weights.shape)}: expected one weight for each point, {len(points)}")
    if bool((weights < 0).any()):
        raise ValueError(f"{name} has {weights.min().item():g} in it: expected numbers of at least 0")
    total = weights.sum()
    if not 0 < total.item() < math.inf:
        raise ValueError(f"{name} sums to {total.item():g}: expected at least one weight above 0, and a finite sum")
    return weights / total


def _validate_numbers(given: Any, name: str, what: str) -> Tensor:
    """A tensor in float64, on its device and with its gradient if it was one; finite."""
    refuse_unreadable_tensor(given, name)
    found = given if isinstance(given, Tensor) else torch.from_numpy(_to_array(given, name, what))
    if found.is_complex():
        raise TypeError(f"{name} is complex: expected {what}")
    if not bool(found.isfinite().all()):
        first = (~found.isfinite()).nonzero()[0].tolist()
        raise ValueError(
            f"{name}{first} is {found[tuple(first)].item()}: expected finite numbers; leave such items out"
        )
    return found.double()


def _to_array(given: Any, name: str, what: str) -> NDArray[Any]:
    try:
        array = np.asarray(given)
        return array if array.dtype.kind == "c" else array.astype(np.float64)  # a copy: it may be read-only
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is a {type(given).__name__} that is no array of numbers: expected {what}") from error


def _refuse_mismatch(x: Tensor, y: Tensor) -> None:
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"x has {x.shape[1]} features and y {y.shape[1]}: expected points of one space")
    if x.device != y.device:
        raise ValueError(f"x is on {x.device} and y on {y.device}: move one with .to()")


def _check_scaling(scaling: Any) -> float:
    if check_float(scaling, "scaling", 0.0, 1.0, above=0.0) == 1.0:
        raise ValueError(f"scaling={scaling}: expected less than 1, or the blur would never shrink")
    return float(scaling)


def _diameter(points: Tensor, power: int, blur: float) -> float:
    """The diagonal of the box around all points, or the blur if that is larger: where the annealing begins."""
    diameter = max(float((points.amax(0) - points.amin(0)).norm()), blur)
    if not (power * math.log(blur) > -700 and power * math.log(diameter) < 700):
        raise ValueError(
            f"points up to {diameter:.3g} apart and blur={blur:g}: expected both, to the power={power}, within the "
            "range of float64; divide points and blur by a common scale"
        )
    return diameter


def _output_dtype(*given: Any) -> torch.dtype:
    """The dtype of the tensors among the points; float64 where these are integers or arrays."""
    types = [side.dtype for side in given if isinstance(side, Tensor) and side.is_floating_point()]
    return torch.float64 if not types else types[0] if len(types) == 1 else torch.promote_types(*types)


def _warn_unconverged(miss: float, tolerance: float, max_rounds: int) -> None:
    warnings.warn(
        f"sinkhorn_divergence: plans have {miss:.1e} of their mass in a wrong place after max_rounds={max_rounds}, and "
        f"tolerance={tolerance:g} was required: use a larger max_rounds, tolerance or blur, or a scaling nearer to 1",
        RuntimeWarning,
        stacklevel=find_stack_level(),
    )
