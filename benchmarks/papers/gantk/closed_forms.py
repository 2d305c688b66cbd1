"""Closed forms checked by other means: IPM, LSGAN, tangent kernels of infinite width.

    python -m benchmarks.papers.gantk.closed_forms

`IPM`: beside the witness of MMD. `LSGAN`: beside the integrated equation 6.9, by an explicit Runge-Kutta method of
order 8 that knows neither exponentials nor eigenvalues. `neural-tangents`: values of another library. `networks`:
beside the empirical tangent kernel of random networks, whose error falls like 1 / √width.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.papers.gantk import closed_forms_report as report, settings
from benchmarks.papers.gantk.networks import network
from benchmarks.papers.results import Found, Row
from benchmarks.papers.resumable import Program
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from timelike.distributions import IPM, LSGAN, NTK, empirical_ntk, witness

WIDTHS = (32, 128, 512, 2048)
NETWORKS = {"ReLU": ("relu", 1.0), "ReLU without bias": ("relu", 0.0), "sigmoid": ("sigmoid", 0.2)}
# of neural-tangents 0.6.5, x = default_rng(0).normal(size=(6, 3)), depth 3, the first three of row 0
PEER = {
    "ReLU": (("relu", 1.0), (2.32390016, 2.22224103, 1.99179763)),
    "ReLU without bias": (("relu", 0.0), (0.07390016, 0.04147421, 0.03957234)),
    "sigmoid": (("sigmoid", 0.2), (0.28130673, 0.28128456, 0.28114455)),
    "sine": (("sine", 1.0), (1.82652743, 1.7724609, 1.32557025)),
}
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Check(Row):
    """One comparison."""

    part: str
    architecture: str
    setting: str
    seed: int


class ClosedForms(Program[Check]):
    """Differences from what was found in another way."""

    paper, table, holds, without_data = "gantk", "closed_forms", "nothing: points are drawn", True
    subject = ("gantk",)
    title = "GAN(TK)²: closed forms and other ways to the same numbers"

    def planned(self) -> Iterator[Check]:
        yield from (Check("neural-tangents", name, "6 points", 0) for name in PEER)
        for seed in range(self.given.seeds):
            for name in ("RBF", *NETWORKS):
                yield Check("IPM", name, "time 1", seed)
                yield from (Check("LSGAN", name, f"time {time:g}", seed) for time in (0.1, 1.0, 10.0))
            yield from (Check("networks", name, f"width {width}", seed) for width in WIDTHS for name in NETWORKS)

    def systems(self, row: Check) -> Iterable[str]:
        return ("gantk",)

    def work(self, row: Check) -> Found:
        return {"IPM": self._ipm, "LSGAN": self._lsgan, "neural-tangents": self._peer, "networks": self._networks}[
            row.part
        ](row)

    def _ipm(self, row: Check) -> Found:
        fake, real, asked = _points(row.seed)
        kernel = settings.thesis_kernel(row.architecture)
        ours, theirs = IPM(kernel).train_critic(fake, real)(asked), witness(fake, real, kernel)(asked)
        return {"error": _relative(ours, theirs)}

    def _lsgan(self, row: Check) -> Found:
        fake, real, asked = _points(row.seed)
        kernel, time = settings.thesis_kernel(row.architecture), float(row.setting.split()[1])
        ours = LSGAN(kernel, time=time).train_critic(fake, real)(asked)
        return {"error": _relative(ours, integrated(kernel, fake, real, asked, time))}

    def _peer(self, row: Check) -> Found:
        (activation, bias), values = PEER[row.architecture]
        x = np.random.default_rng(0).normal(size=(6, 3))
        ours = NTK(activation=activation, bias=bias, depth=3)(x)[0, :3]
        return {"error": float(np.abs(ours - values).max())}

    def _networks(self, row: Check) -> Found:
        activation, bias = NETWORKS[row.architecture]
        width = 8 if self.quick else int(row.setting.split()[1])
        x = np.random.default_rng(row.seed).normal(size=(8, 3))
        exact = NTK(activation=activation, bias=bias, depth=3)(x)
        n = min(32, 8192 // width)  # kernels of narrow networks scatter more
        drawn = [empirical_ntk(network(3, width, activation, bias, 100 * row.seed + i), x) for i in range(n)]
        errors = [_relative(np.asarray(one), exact) for one in drawn]
        return {"error": float(np.mean(errors)), "width": width, "networks": n}

    def seconds(self, row: Check) -> float:
        return 2.0 if row.setting == "width 2048" else 0.5

    def said(self, found: Found) -> str:
        return f"error {found['error']:.2g}"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)


def _points(seed: int) -> tuple[Floats, Floats, Floats]:
    """Generated, real and other points: unequally many."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(20, 2)), rng.normal(size=(30, 2)) + 2, 2 * rng.normal(size=(50, 2))


def integrated(kernel: Any, fake: Floats, real: Floats, asked: Floats, time: float) -> Floats:
    """f of LSGAN by eq. 6.9 of the thesis: ∂_t f = mean of −2(f + 1) k over fake − mean of 2(f − 1) k over real."""
    items, n, m = np.concatenate([fake, real, asked]), len(fake), len(real)
    pull = kernel(items, items[: n + m])

    def slope(_: float, f: Floats) -> Floats:
        weights = np.concatenate([-2 * (f[:n] + 1) / n, -2 * (f[n : n + m] - 1) / m])
        return np.asarray(pull @ weights)

    done = solve_ivp(slope, (0.0, time), np.zeros(len(items)), method="DOP853", rtol=1e-12, atol=1e-13)
    return np.asarray(done.y[n + m :, -1])


def _relative(ours: Floats, theirs: Floats) -> float:
    return float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))


if __name__ == "__main__":
    sys.exit(ClosedForms.main())
