"""How fast kernels of wide networks are, beside autograd through their recursion in torch. Rows of `distributions`.

    python -m benchmarks.speed.distributions --only tangent

The recursion is as one would write it: a dozen operations of torch for every layer, each with a matrix of its own. It
loses its digits where points are close; *by differences* it does not, its angles being those of ours, from ‖x − y‖. A
step of an IPM is the gradient at 500 generated points of the sum over these and 500 real ones, in the plane; the matrix
is of 1,000 and 1,000 points, with its gradient by the first ones. Values must be the same.

In many dimensions both sides spend most of their time in the same two products of matrices, in double precision and at
the speed of the processor: twice 32 of 215 ms in 784 dimensions on the machine this was written on, so that nothing
could be more than 3.3 times as fast as the plain recursion there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.speed.table import Row, against, milliseconds
from benchmarks.speed.timing import fastest
from timelike import distributions as ds

STEP, DEPTH = 0.015, 3  # seconds of a step at most; hidden layers
Floats = NDArray[np.float64]
Recursion = Callable[[Tensor, Tensor], Tensor]


def recursion(x: Tensor, y: Tensor, depth: int = DEPTH, bias: float = 1.0) -> Tensor:
    """The tangent kernel of ReLU, layer after layer (Cho and Saul, 2009; Jacot et al., 2018)."""
    a = (x * x).sum(1)[:, None] / x.shape[1] + bias**2
    b = (y * y).sum(1) / y.shape[1] + bias**2
    c = x @ y.T / x.shape[1] + bias**2
    kernel = c
    for layer in range(depth):
        more = bias**2 if layer < depth - 1 else 0.0
        norms = torch.sqrt(a * b)
        cosine = (c / norms).clamp(-1 + 1e-12, 1 - 1e-12)
        angle = torch.acos(cosine)
        c = norms * (torch.sqrt(1 - cosine * cosine) + (pi - angle) * cosine) / (2 * pi) + more
        kernel = c + kernel * (pi - angle) / (2 * pi)
        a, b = a / 2 + more, b / 2 + more
    return kernel


def by_differences(x: Tensor, y: Tensor, depth: int = DEPTH, bias: float = 1.0) -> Tensor:
    """The same from D = a + b − 2c, which begins as ‖x − y‖² / d: 1 − cos θ = (D − (√a − √b)²) / 2√(ab)."""
    a = (x * x).sum(1)[:, None] / x.shape[1] + bias**2
    b = (y * y).sum(1) / y.shape[1] + bias**2
    apart = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist").square() / x.shape[1]
    kernel = (a + b - apart) / 2
    for layer in range(depth):
        more = bias**2 if layer < depth - 1 else 0.0
        norms, change = torch.sqrt(a * b), torch.sqrt(a) - torch.sqrt(b)
        angle = 2 * torch.asin(torch.sqrt((apart - change * change) / (4 * norms)))
        bend = torch.sin(angle) - angle * torch.cos(angle)
        apart = apart / 2 - norms * bend / pi
        a, b = a / 2 + more, b / 2 + more
        kernel = (a + b - apart) / 2 + kernel * (pi - angle) / (2 * pi)
    return kernel


def graded(kernel: Recursion, x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The matrix, and the gradient by x of its weighted sum."""
    points = torch.tensor(x, requires_grad=True)
    matrix = kernel(points, torch.from_numpy(y))
    (gradient,) = torch.autograd.grad((matrix * torch.from_numpy(weights)).sum(), points)
    return matrix.detach().numpy(), gradient.numpy()


def apart(one: Floats, other: Floats) -> float:
    return float(np.abs(one - other).max() / np.abs(other).max())


def step(effort: Any) -> Row:
    """∇ of f = Σ_j w_j k(·, z_j) at the generated points, z being both samples."""
    n, rng = effort.size(500), np.random.default_rng(0)
    fake, real = rng.standard_normal((n, 2)), 3 * rng.standard_normal((n, 2))
    both, signs = np.concatenate([fake, real]), np.repeat([1.0, -1.0], n) / n
    kernel = ds.NTK(depth=DEPTH)
    jobs = {
        "theirs": lambda: graded(recursion, fake, both, signs),
        "ours": lambda: kernel._weighted_sums(fake, both, signs),
    }
    times = fastest(4 * effort.turns, **jobs)
    # autograd has garbage where a point meets itself, whose part of the gradient is 0: others are compared
    gradients = kernel._weighted_sums(fake, real, signs[n:])[1], graded(recursion, fake, real, signs[n:])[1]
    beside = f"autograd through the recursion (gradients differ by {apart(*gradients):.1e})"
    row = against(
        f"a step of an IPM, {n} + {n} points in 2 dimensions",
        beside,
        times["theirs"],
        times["ours"],
        None,
        milliseconds,
    )
    row.bar, row.met = f"≤ {1000 * STEP:g} ms", times["ours"] <= STEP
    return row


def matrix(effort: Any, features: int, plain: Recursion, told: str) -> Row:
    kernel, n, rng = ds.NTK(depth=DEPTH), effort.size(1000), np.random.default_rng(1)
    x, y, weights = (rng.standard_normal(shape) for shape in ((n, features), (n, features), (n, n)))
    jobs = {"theirs": lambda: graded(plain, x, y, weights), "ours": lambda: graded(kernel, x, y, weights)}
    found, expected = jobs["ours"](), jobs["theirs"]()
    values, gradients = (apart(one, two) for one, two in zip(found, expected, strict=True))
    times = fastest(effort.turns, **jobs)
    beside = f"autograd through the recursion{told} (values differ by {values:.1e}, gradients by {gradients:.1e})"
    work = f"`NTK` matrix and gradient, {n} × {n} points in {features} dimensions"
    return against(work, beside, times["theirs"], times["ours"], 5, milliseconds)


def rows(effort: Any) -> Iterator[Row]:
    """A step, and matrices of points in few and in many dimensions."""
    yield step(effort)
    for features in (2, 784):
        yield matrix(effort, features, recursion, "")
        yield matrix(effort, features, by_differences, " by differences")
