"""Expectations of activations, for kernels of wide networks, in closed form or by quadrature.

Every activation is the sum of a smooth function and a fold: φ(z) = s(z) + f |z|. The product of the fold with itself
has a cusp where points meet; `FoldExpectation` computes it, and the classes of activations the smooth rest.
"""

from __future__ import annotations

import abc
import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ...native.tangent.fallback_layers import SIGMOID_SCALE
from .hermite import HermiteCross, HermiteMoments, HermiteTable, diagonal_moments, safe_inverse, tabulate_coefficients

_TEST_RANGE = 3.0  # functions are tested between −3 and 3
TensorPair = tuple[Tensor, Tensor]
_MAX_SILENT_LOSS, _MAX_LOSS = 1e-3, 0.1  # fractions of E[φ′²] that may be lost without a warning, and at most
_OPPOSITE_ANGLE = 1e-7  # from π: closer angles are noise, because D cannot resolve nearly opposite points


def values_and_slopes(function: Callable[[Tensor], Any], z: Tensor) -> tuple[Tensor, Tensor]:
    """φ(z) and φ′(z), by autograd, of any number of axes."""
    with torch.enable_grad():
        leaf = z.detach().clone().requires_grad_()
        outputs = function(leaf)
        _refuse_non_tensor(function, outputs, z)
        (slopes,) = torch.autograd.grad(outputs.sum(), leaf)
    values = outputs.detach().double()
    if not (values.isfinite().all() and slopes.isfinite().all()):
        worst = z[~(values.isfinite() & slopes.isfinite())][0].item()
        raise ValueError(f"activation={function_name(function)} or its derivative is nan or infinite at {worst:.6g}")
    return values, slopes


def validate_activation(function: Callable[[Tensor], Any]) -> float:
    """The jump of the derivative at 0; an error for a function that is no activation.

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
    rises = (slopes.reshape(-1, 16) @ torch.from_numpy(weights)) * half
    errors = (rises - ends.diff()).abs()
    if not slopes.any() and not ends.diff().any():
        raise ValueError(f"activation={name} is constant between −3 and 3: its units would carry no information")
    if errors.max() > 1e-2 * max(1.0, float(values.abs().max())) * half:
        where = middles[int(errors.argmax())]
        raise ValueError(
            f"activation={name} has no derivative near {where:.2g}: it rises there by "
            f"{float(ends.diff()[errors.argmax()]):.3g}, but its derivative integrates to "
            f"{float(rises[errors.argmax()]):.3g}; "
            "expected a continuous function with its own derivative, such as torch.tanh for torch.sign"
        )
    return _derivative_jump(function)


def function_name(function: Any) -> str:
    """The name of a function in messages."""
    return str(getattr(function, "__name__", repr(function)))


def _evaluate(function: Callable[[Tensor], Any], points: Tensor) -> tuple[Tensor, Tensor]:
    """Values and derivatives; errors of the function are reported as errors of the activation."""
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
        f"by autograd ({str(error).splitlines()[0][:120]}): expected a function of torch, such as torch.tanh; a module "
        "with parameters needs .double()"
    )


def _refuse_non_tensor(function: Any, outputs: Any, z: Tensor) -> None:
    name = function_name(function)
    if not isinstance(outputs, Tensor):
        raise TypeError(f"activation={name} gave a {type(outputs).__name__}: expected a tensor, from torch functions")
    if outputs.shape != z.shape:
        raise ValueError(f"activation={name} gave shape {tuple(outputs.shape)} of {tuple(z.shape)}: expected the same")
    if outputs.grad_fn is None:
        raise ValueError(
            f"activation={name} has no derivative by autograd: expected a differentiable function of torch"
        )


def _derivative_jump(function: Callable[[Tensor], Any]) -> float:
    """φ′(0+) − φ′(0−), extrapolated from two points so that curvature does not count."""
    steps = torch.tensor([1e-7, 2e-7], dtype=torch.float64)
    _, slopes = _evaluate(function, torch.cat([steps, -steps]))
    near, far = (slopes[:2] - slopes[2:]).tolist()
    jump = 2 * near - far
    return float(jump) if abs(jump) > 1e-9 else 0.0


class ActivationExpectation(abc.ABC):
    """E[φ(u) φ(v)] and E[φ′(u) φ′(v)] of Gaussian u, v, without f² E[|u| |v|] and f² E[sign u sign v] of the fold."""

    fold: float = 0.0

    def precompute(self, variances: Tensor) -> Any:
        """Tables for the points of one side, beyond their variances (item,)."""
        return None

    @abc.abstractmethod
    def diagonal(self, a: Tensor, tables: Any) -> TensorPair:
        """Both expectations for u = v, from variances (item,)."""

    @abc.abstractmethod
    def cross_moments(self, a: Tensor, b: Tensor, c: Tensor, tables: tuple[Any, Any]) -> TensorPair:
        """Both expectations, from variances (item of x,) and (item of y,) and covariances (item of x, item of y)."""

    def slope_derivative(self, a: Tensor, tables: Any) -> Tensor:
        """The derivative of E[φ′(u)²] by the variance, without gradients."""
        with torch.enable_grad():
            leaf = a.detach().requires_grad_()
            (derivative,) = torch.autograd.grad(self.diagonal(leaf, tables)[1].sum(), leaf, allow_unused=True)
        return torch.zeros_like(a) if derivative is None else derivative


class SlopeExpectation(ActivationExpectation):
    """z above 0 and s z below it: (1 + s)/2 · z + (1 − s)/2 · |z|. Its odd and even parts are orthogonal."""

    def __init__(self, slope: float) -> None:
        self.fold, self.line = (1 - slope) / 2, (1 + slope) / 2

    def diagonal(self, a: Tensor, tables: Any) -> TensorPair:
        """Those of a line."""
        return self.line**2 * a, self.line**2 + 0 * a

    def cross_moments(self, a: Tensor, b: Tensor, c: Tensor, tables: tuple[Any, Any]) -> TensorPair:
        """Those of a line."""
        return self.line**2 * c, self.line**2 + 0 * c


class ClosedFormExpectation(ActivationExpectation):
    """A smooth activation in closed form; a subclass computes it from broadcast variances and covariances."""

    @abc.abstractmethod
    def moments(self, a: Tensor, b: Tensor, c: Tensor) -> TensorPair:
        """Both expectations."""

    def diagonal(self, a: Tensor, tables: Any) -> TensorPair:
        """With c = a = b."""
        return self.moments(a, a, a)

    def cross_moments(self, a: Tensor, b: Tensor, c: Tensor, tables: tuple[Any, Any]) -> TensorPair:
        """Row against column."""
        return self.moments(a[:, None], b, c)


class SineExpectation(ClosedFormExpectation):
    """From E[cos(u ± v)] = exp(−(a + b ± 2c) / 2)."""

    def moments(self, a: Tensor, b: Tensor, c: Tensor) -> TensorPair:
        """Half the difference, and half the sum."""
        negative = c < 0
        m = torch.where(negative, -c, c)
        near, less = (-(a + b - 2 * m) / 2).exp(), torch.expm1(-2 * m)  # a plain difference would cancel for small c
        return near * torch.where(negative, less, -less) / 2, near * (2 + less) / 2


class SigmoidExpectation(ClosedFormExpectation):
    """½ + ½ erf(z / 2.402…), the closest to the logistic function (thesis, D.146; Williams, 1998, for erf)."""

    scale: ClassVar[float] = 2 / SIGMOID_SCALE**2

    def moments(self, a: Tensor, b: Tensor, c: Tensor) -> TensorPair:
        """The arc sine of a cosine that is below 1 at any variance."""
        k = self.scale
        spread = (1 + k * a) * (1 + k * b)
        value = 0.25 + (k * c * spread.rsqrt()).asin() / (2 * math.pi)
        return value, k / (2 * math.pi) * (spread - (k * c) ** 2).rsqrt()


class GELUExpectation(ClosedFormExpectation):
    """z Φ(z), with Φ the normal distribution. With P = (1 + a)(1 + b) and R = P − c²,

        E[φ φ] = c/4 + c asin(c / √P) / 2π + (ab − m c²) / (2π √R),      m = (ab − 1) / P,

    from E[u g(u, v)] = a E[∂g/∂u] + c E[∂g/∂v], used twice; E[φ′ φ′] is its derivative by c (Price's theorem).
    """

    def moments(self, a: Tensor, b: Tensor, c: Tensor) -> TensorPair:
        """R is at least 1, as c² ≤ ab."""
        whole = (1 + a) * (1 + b)
        rest = 1 + a + b + (a * b - c**2).clamp(min=0)
        m = (a * b - 1) / whole
        angle = 0.25 + (c * whole.rsqrt()).asin() / (2 * math.pi)
        top = a * b - m * c**2
        value = c * angle + top * rest.rsqrt() / (2 * math.pi)
        return value, angle + c * ((1 - 2 * m) * rest.rsqrt() + top * rest**-1.5) / (2 * math.pi)


class HermiteExpectation(ActivationExpectation):
    """Any function of torch with a derivative, by quadrature; a fold at 0 is detected and treated separately."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:

        self.function = function
        self.fold = validate_activation(function) / 2

    def precompute(self, variances: Tensor) -> list[HermiteTable]:
        """The coefficients of the smooth part, and those of the fold if there is one."""
        with torch.no_grad():
            detached_variances = variances.detach()
            tables = [tabulate_coefficients(self._smooth_part, detached_variances)]
            self._warn_if_truncated(tables[0], detached_variances)
            return [*tables, tabulate_coefficients(self._fold_part, detached_variances)] if self.fold else tables

    def diagonal(self, a: Tensor, tables: list[HermiteTable]) -> TensorPair:
        """The series at ρ = 1."""
        smooth, folds = tables[0], tables[1:]
        moments = [diagonal_moments(smooth)] + [diagonal_moments(smooth, fold) for fold in folds for _ in range(2)]
        moment_sums = HermiteMoments(*(torch.stack(one).sum(0) for one in zip(*moments, strict=True)))
        values, slopes = _HermiteDiagonal.apply(a, moment_sums)  # type: ignore[no-untyped-call]
        return values, slopes

    def slope_derivative(self, a: Tensor, tables: list[HermiteTable]) -> Tensor:
        """By its own series."""
        return diagonal_moments(tables[0]).slopes_derivative + sum(
            2 * diagonal_moments(tables[0], fold).slopes_derivative for fold in tables[1:]
        )

    def cross_moments(
        self, a: Tensor, b: Tensor, c: Tensor, tables: tuple[list[HermiteTable], list[HermiteTable]]
    ) -> TensorPair:
        """The series of the smooth part with itself, and with the fold."""
        (x, *folds_x), (y, *folds_y) = tables
        pairs = [(x, y)] + [(x, fold) for fold in folds_y] + [(fold, y) for fold in folds_x]
        values, slopes = HermiteCross.apply(a, b, c, pairs)  # type: ignore[no-untyped-call]
        return values, slopes

    def _smooth_part(self, z: Tensor) -> TensorPair:

        values, slopes = values_and_slopes(self.function, z)
        return values - self.fold * z.abs(), slopes - self.fold * z.sign()

    def _fold_part(self, z: Tensor) -> TensorPair:
        return self.fold * z.abs(), self.fold * z.sign()

    def _warn_if_truncated(self, table: HermiteTable, variances: Tensor) -> None:
        """Warn if the truncated series lose accuracy; an error if they are useless."""
        values, slopes = table.truncation_loss
        if slopes <= _MAX_SILENT_LOSS:
            return
        name = getattr(self.function, "__name__", repr(self.function))
        message = (
            f"activation={name}: of units whose input has a variance up to {float(variances.max()):.3g} quadrature "
            f"loses {max(values, 0.0):.1e} of E[φ²] and {slopes:.1e} of E[φ′²]"
        )
        if not slopes <= _MAX_LOSS:
            raise ValueError(
                f"{message}: too steep, or not smooth; use smaller inputs or weight, or a name such as 'relu'"
            )
        warnings.warn(f"{message}, where points nearly coincide; it is less for others", stacklevel=2)


class _HermiteDiagonal(torch.autograd.Function):
    """E[φ²] and E[φ′²], with derivatives by the variance."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, moments: HermiteMoments) -> TensorPair:
        ctx.save_for_backward(moments.values_derivative, moments.slopes_derivative)
        return moments.values, moments.slopes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, values: Tensor, slopes: Tensor) -> tuple[Tensor, None]:
        first, second = ctx.saved_tensors
        return values * first + slopes * second, None


class FoldExpectation(torch.autograd.Function):
    """E[|u| |v|], E[sign u sign v] and E[|u| |v|] − c, of variances a, b and D = a + b − 2c.

    With θ the angle between u and v they are 2/π √(ab) (sin θ + (π/2 − θ) cos θ), 1 − 2θ/π and 2/π √(ab) (sin θ − θ cos
    θ) (Cho and Saul, "Kernel methods for deep learning", 2009). θ is computed from D, which is accurate where points
    nearly meet. Where points coincide or are opposite, θ has no derivative; it is defined as 0 there, the mean of those
    around it.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, distance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        p, q = a.sqrt()[:, None], b.sqrt()
        product = p * q
        apart = (distance - ((a[:, None] - b) * safe_inverse(p + q)) ** 2).clamp(min=0)
        half = torch.atan2(apart.sqrt(), ((p + q) ** 2 - distance).clamp(min=0).sqrt())
        theta = torch.where(product > 0, 2 * half, math.pi / 2)
        sine = theta.sin()
        left = _sine_minus_cosine_term(theta, sine)
        ctx.save_for_backward(a, b, distance, theta, sine, product)
        cosine = theta.cos()
        values = 2 / math.pi * product * (sine + (math.pi / 2 - theta) * cosine)
        return values, 1 - 2 / math.pi * theta, 2 / math.pi * product * left

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, values: Tensor, signs: Tensor, rest: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a, b, distance, theta, sine, product = ctx.saved_tensors
        a, b = a[:, None], b[None]
        turns = torch.where(math.pi - theta > _OPPOSITE_ANGLE, product * sine, 0.0)
        steep = safe_inverse(turns) / math.pi  # −½ of the derivative of the signs' mean by c
        agree = 1 - 2 / math.pi * theta

        def gradient_by(own: Tensor, other: Tensor) -> Tensor:
            leaning = (other.sqrt() * safe_inverse(own.sqrt())) * sine / math.pi
            sign_slopes = steep * (own - other + distance) * safe_inverse(own) / 2
            gradient: Tensor = values * (leaning + agree / 2) + signs * sign_slopes + rest * (leaning - theta / math.pi)
            return gradient

        by_distance = -values * agree / 2 - signs * steep + rest * theta / math.pi
        return gradient_by(a, b).sum(1), gradient_by(b, a).sum(0), by_distance


def _sine_minus_cosine_term(theta: Tensor, sine: Tensor) -> Tensor:
    """sin θ − θ cos θ, by its series where the difference would cancel."""
    square = theta**2
    small = theta * square * (1 / 3 - square * (1 / 30 - square * (1 / 840 - square * (1 / 45360 - square / 3991680))))
    return torch.where(theta < 0.3, small, sine - theta * theta.cos())
