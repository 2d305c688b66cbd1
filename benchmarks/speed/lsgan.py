"""How fast an infinitely wide LSGAN is trained by products with its kernel matrix, beside a decomposition of it.

    python -m benchmarks.speed.distributions --only lsgan

500 and 500 points of the 8 Gaussians of the thesis, in double precision, with several kernels and times. Once with the
kernel matrix in hand, which both are given, and once from points to a critic. How far the values of f at 200 other
points are from those of `eigh`, relative to the largest of them, stands beside, with what the bound of the error says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.table import Row, against, milliseconds
from benchmarks.speed.timing import fastest
from timelike import distributions as ds
from timelike.distributions.discriminators.base import validate_problem
from timelike.distributions.discriminators.solvers import BlockedGram

BAR, N = 5.0, 500
KERNELS = {
    "RBF": ds.RBF(width=2**0.5),
    "ReLU": ds.NTK(),
    "sigmoid": ds.NTK(activation="sigmoid", bias=0.2),
    "Laplace": ds.Laplacian(width=1.0),
}
TIMES = (1.0, 100.0)
Floats = NDArray[np.float64]


def gaussians(n: int) -> tuple[Floats, Floats, Floats]:
    """Fake points about 0, real ones about eight places on a circle of radius 5, and some to look at f."""
    rng = np.random.default_rng(0)
    angles = rng.integers(0, 8, n) * np.pi / 4
    real = 5 * np.stack([np.cos(angles), np.sin(angles)], axis=1) + 0.5 * rng.standard_normal((n, 2))
    return rng.standard_normal((n, 2)), real, rng.uniform(-7, 7, (200, 2))


def rows(effort: Any) -> Iterator[Row]:
    n = effort.size(N)
    fake, real, z = gaussians(n)
    for name, kernel in KERNELS.items():
        for time in TIMES:
            yield from compared(name, kernel, time, (fake, real, z), effort.turns)


def compared(name: str, kernel: Any, time: float, points: tuple[Floats, Floats, Floats], turns: int) -> Iterator[Row]:
    fake, real, z = points
    both = {solver: ds.LSGAN(kernel, time=time, solver=solver) for solver in ("krylov", "eigh")}
    game = validate_problem(fake, real, kernel)
    gram = BlockedGram(game)
    assert np.isfinite(gram.matrix).all()  # it is made now, and kept
    critics = {solver: kind.train_critic(fake, real) for solver, kind in both.items()}
    exact, found = critics["eigh"](z), critics["krylov"](z)
    off = np.abs(found - exact).max() / np.abs(exact).max()
    assert off < 1e-6, f"values differ by {off}: nothing is compared"
    trained = critics["krylov"].solution
    said = f"f off by {off:.0e}, bound {trained.error:.0e}, {trained.n_products} products"
    work = f"LSGAN of {name}, τ = {time:g}, {len(fake)} + {len(real)} points"
    bar = BAR if len(fake) >= N else None  # small matrices are decomposed in no time
    spent = fastest(turns, **{solver: lambda kind=kind: kind._solve_gram(gram, game) for solver, kind in both.items()})
    yield against(f"{work}, matrix given ({said})", "`eigh`", spent["eigh"], spent["krylov"], bar, milliseconds)
    spent = fastest(turns, **{solver: lambda kind=kind: kind.train_critic(fake, real) for solver, kind in both.items()})
    yield against(f"{work}, from points", "`eigh`", spent["eigh"], spent["krylov"], None, milliseconds)
