"""Hermite coefficients of an activation by quadrature, and the series of its expectations in them.

For u, v Gaussian of variances a, b and correlation ρ, and orthonormal Hermite polynomials H_n (Mehler's formula):

    E[φ(u) φ(v)] = Σ_n ρⁿ h_n(a) h_n(b),      h_n(a) = E[φ(√a z) H_n(z)],  z standard normal,

and the same of φ′ with coefficients h′_n. Integration by parts gives all derivatives from these two tables, with
neither second derivatives of φ nor differences:

    ½ E[φ″(u) φ(v)]  = ½ Σ ρⁿ √(n+1) h′_{n+1}(a) / √a · h_n(b)          the derivative of E[φ φ] by a, c held
    ½ E[φ‴(u) φ′(v)] = ½ Σ ρⁿ √((n+1)(n+2)) h′_{n+2}(a) / a · h′_n(b)   that of E[φ′ φ′]
    E[φ″(u) φ″(v)]   = Σ ρⁿ (n+1) h′_{n+1}(a) h′_{n+1}(b) / √(ab)       that of E[φ′ φ′] by the covariance c
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# terms of a series: tanh has 12 digits at variance 1; the loss by truncation is measured and reported
SERIES_ORDER = 160
_INTEGRATION_LIMIT = 13.0  # H_n(z) exp(−z²/2) ≤ exp(−z²/4), which is below 1e-18 there
_PANEL_NODES = 24  # nodes of a panel, in which H_160 swings three times
_MAX_VALUES = 1 << 21  # values of φ computed at a time: 16 MiB


class HermiteTable(NamedTuple):
    """Coefficients of φ (item, order), those of φ′ (item, order + 2), and the roots of the variances (item,).

    `truncation_loss` is the loss of the series at ρ = 1, as fractions of E[φ²] and E[φ′²]: the largest of all items.
    """

    values: Tensor
    slopes: Tensor
    roots: Tensor
    truncation_loss: tuple[float, float]


class HermiteMoments(NamedTuple):
    """E[φ²], E[φ′²] and their derivatives by the variance, each (item,)."""

    values: Tensor
    slopes: Tensor
    values_derivative: Tensor
    slopes_derivative: Tensor


@cache
def quadrature_rule() -> tuple[Tensor, Tensor]:
    """Nodes and weights of Gauss and Legendre in panels that meet at 0 and are short there.

    A kink at 0 then costs no accuracy, and an activation that is steep relative to the spread of its argument little.
    """
    edges = np.concatenate([[0.0], 0.5 ** np.arange(6, 0, -1), np.arange(1.0, _INTEGRATION_LIMIT + 1)])
    nodes, weights = np.polynomial.legendre.leggauss(_PANEL_NODES)
    middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    right = (middles[:, None] + halves[:, None] * nodes).ravel()
    mass = (halves[:, None] * weights).ravel() * np.exp(-(right**2) / 2) / np.sqrt(2 * np.pi)
    return torch.from_numpy(np.r_[-right[::-1], right]), torch.from_numpy(np.r_[mass[::-1], mass])


@cache
def hermite_projection() -> Tensor:
    """The matrix that maps values at the nodes to coefficients, (node, order + 2)."""
    z, mass = quadrature_rule()
    polynomials = [torch.ones_like(z), z]
    for n in range(1, SERIES_ORDER + 1):
        polynomials.append((z * polynomials[-1] - n**0.5 * polynomials[-2]) / (n + 1) ** 0.5)
    return torch.stack(polynomials, 1) * mass[:, None]


def tabulate_coefficients(function: Callable[[Tensor], tuple[Tensor, Tensor]], variances: Tensor) -> HermiteTable:
    """The table of an activation; `function` returns its values and derivatives."""
    z, mass = quadrature_rule()
    roots = variances.sqrt()
    parts: list[tuple[Tensor, ...]] = []
    at_once = max(1, _MAX_VALUES // len(z))
    for begin in range(0, max(1, len(roots)), at_once):
        some = roots[begin : begin + at_once]
        values, slopes = function(some[:, None] * z)
        coefficients = values @ hermite_projection()[:, :SERIES_ORDER], slopes @ hermite_projection()
        parts.append((*coefficients, values.square() @ mass, slopes.square() @ mass))
    values, slopes, power, steepness = (torch.cat(one) for one in zip(*parts, strict=True))
    return HermiteTable(values, slopes, roots, (_truncation_loss(power, values), _truncation_loss(steepness, slopes)))


def _truncation_loss(whole: Tensor, coefficients: Tensor) -> float:
    return float(((whole - coefficients.square().sum(1)) * safe_inverse(whole)).amax())


def differentiate_coefficients(slopes: Tensor, by: int) -> Tensor:
    """Coefficients of φ″ √a (by = 1) or φ‴ a (by = 2), from those of φ′ and integration by parts."""
    n = torch.arange(slopes.shape[1] - by, dtype=slopes.dtype)
    factors = n + 1 if by == 1 else (n + 1) * (n + 2)
    return slopes[:, by:] * factors.sqrt()


def diagonal_moments(table: HermiteTable, other: HermiteTable | None = None) -> HermiteMoments:
    """The series at ρ = 1 and equal variances; for two tables of the same variances, that of their product."""
    other = table if other is None else other
    over = safe_inverse(table.roots)
    curvature = (differentiate_coefficients(table.slopes, 1) * differentiate_coefficients(other.slopes, 1)).sum(
        1
    ) * over**2
    return HermiteMoments(
        values=(table.values * other.values).sum(1),
        slopes=(table.slopes * other.slopes).sum(1),
        values_derivative=(_derivative_series(table, other, 1) + _derivative_series(other, table, 1)) / 2
        + (table.slopes * other.slopes).sum(1),
        slopes_derivative=(_derivative_series(table, other, 2) + _derivative_series(other, table, 2)) / 2 + curvature,
    )


def _derivative_series(table: HermiteTable, other: HermiteTable, by: int) -> Tensor:
    """E[φ″ ψ] (by = 1) or E[φ‴ ψ′] (by = 2) at equal variances."""
    high, low = differentiate_coefficients(table.slopes, by), other.values if by == 1 else other.slopes
    n = min(high.shape[1], low.shape[1])
    return (high[:, :n] * low[:, :n]).sum(1) * safe_inverse(table.roots) ** by


def safe_inverse(values: Tensor) -> Tensor:
    """1 / values, and 0 for 0, where the other factor vanishes at least as fast."""
    return torch.where(values > 0, 1 / values, 0.0)


def sum_series(correlations: Tensor, pairs: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Σ_n ρⁿ Σ f_n(i) g_n(j) over pairs (f, g) of tables, (item, item), by Horner's rule."""
    total = torch.zeros_like(correlations)
    for n in range(min(table.shape[1] for pair in pairs for table in pair) - 1, -1, -1):
        total.mul_(correlations)
        for f, g in pairs:
            total.addr_(f[:, n], g[:, n])
    return total


class HermiteCross(torch.autograd.Function):
    """E[φ(u) ψ(v)] and E[φ′(u) ψ′(v)], summed over pairs of tables (φ of x, ψ of y), with derivatives by a, b and c."""

    @staticmethod
    def forward(
        ctx: Any, a: Tensor, b: Tensor, c: Tensor, pairs: list[tuple[HermiteTable, HermiteTable]]
    ) -> tuple[Tensor, Tensor]:
        over = safe_inverse(pairs[0][0].roots)[:, None] * safe_inverse(pairs[0][1].roots)
        rho = (c * over).clamp(-1, 1)
        values = sum_series(rho, [(f.values, g.values) for f, g in pairs])
        slopes = sum_series(rho, [(f.slopes, g.slopes) for f, g in pairs])
        if any(ctx.needs_input_grad[:3]):
            ctx.save_for_backward(slopes, *_series_derivatives(rho, over, pairs))
        return values, slopes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, values: Tensor, slopes: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        dot, first, second, dot_first, dot_second, curvature = ctx.saved_tensors
        by_a = (values * first + slopes * dot_first).sum(1)
        by_b = (values * second + slopes * dot_second).sum(0)
        return by_a, by_b, values * dot + slopes * curvature, None


def _series_derivatives(rho: Tensor, over: Tensor, pairs: list[tuple[HermiteTable, HermiteTable]]) -> list[Tensor]:
    """The derivatives of E[φ ψ] by a and b, and of E[φ′ ψ′] by a, b and c."""
    x, y = safe_inverse(pairs[0][0].roots)[:, None], safe_inverse(pairs[0][1].roots)
    return [
        sum_series(rho, [(differentiate_coefficients(f.slopes, 1), g.values) for f, g in pairs]).mul_(x / 2),
        sum_series(rho, [(f.values, differentiate_coefficients(g.slopes, 1)) for f, g in pairs]).mul_(y / 2),
        sum_series(rho, [(differentiate_coefficients(f.slopes, 2), g.slopes) for f, g in pairs]).mul_(x**2 / 2),
        sum_series(rho, [(f.slopes, differentiate_coefficients(g.slopes, 2)) for f, g in pairs]).mul_(y**2 / 2),
        sum_series(
            rho, [(differentiate_coefficients(f.slopes, 1), differentiate_coefficients(g.slopes, 1)) for f, g in pairs]
        ).mul_(over),
    ]
