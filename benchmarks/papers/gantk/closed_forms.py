"""Closed forms checked by other means: IPM, LSGAN, tangent kernels of infinite width.

    python -m benchmarks.papers.gantk.closed_forms

`IPM`: beside the witness of MMD. `LSGAN`: beside the integrated equation 6.9, by an explicit Runge-Kutta method of
order 8 that knows neither exponentials nor eigenvalues. `neural-tangents`: values of another library. `networks`:
beside the empirical tangent kernel of random networks, whose error falls like 1 / √width.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import linear_regression, mean
from typing import Any

import numpy as np
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.gantk import settings
from benchmarks.papers.gantk.networks import network
from benchmarks.papers.results import Found, Row, Rows, having
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


class ClosedForms(Experiment[Check]):
    """Differences from what was found in another way."""

    paper, table, holds, without_data = "gantk", "closed_forms", "nothing: points are drawn", True
    subject = ("gantk",)
    title = "GAN(TK)²: closed forms and other ways to the same numbers"
    question = "the closed forms of infinitely wide discriminators"

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


# --- the page

MOST = {"IPM": 1e-12, "LSGAN": 1e-9, "neural-tangents": 1e-8}
WORDS = {
    "IPM": "IPM against the witness function of MMD, relative",
    "LSGAN": "LSGAN against Runge-Kutta of order 8 (its own tolerance is 1e-12), relative",
    "neural-tangents": "NTK against neural-tangents 0.6.5 (eight digits), absolute",
}
SHORT = {
    "IPM": "IPM with the witness function of MMD",
    "LSGAN": "LSGAN with numerical integration",
    "neural-tangents": "tangent kernels with another library",
}
SLOPES = (-0.65, -0.35)  # powers of the width: −½ in theory


def headline(rows: Rows) -> str:
    """The largest errors of the closed forms, and how finite networks approach them."""
    return page.sentences(lambda: _errors_sentence(worst_errors(rows)), lambda: _widths_sentence(fit_widths(rows)))


def _errors_sentence(errors: dict[str, float]) -> str:
    if not errors:
        return ""
    shown = markdown.join_words([f"{SHORT[part]} to {error:.0e}" for part, error in errors.items()])
    agree = "agree" if all(error <= MOST[part] for part, error in errors.items()) else "do NOT all agree"
    return f"The closed forms of infinitely wide discriminators {agree} with independent results: {shown}."


def _widths_sentence(slopes: dict[str, float]) -> str:
    if not slopes:
        return ""
    agrees = "agrees with" if _follow_theory(slopes) else "contradicts"
    powers = markdown.format_range(slopes.values(), ".2f").replace("-", "−")
    return (
        f"The tangent kernel of random networks approaches the exact one like width^{powers} (theory: −0.5), which "
        f"{agrees} the thesis."
    )


def _follow_theory(slopes: dict[str, float]) -> bool:
    return all(SLOPES[0] <= slope <= SLOPES[1] for slope in slopes.values())


def worst_errors(rows: Rows) -> dict[str, float]:
    """The largest error of every comparison that has rows."""
    return {part: max(row["error"] for row in found) for part in WORDS if (found := having(rows, part=part))}


def fit_widths(rows: Rows) -> dict[str, float]:
    """For every network, the power of the width that its error is proportional to; of two widths at least."""
    means = {name: _mean_errors(found) for name, found in _networks(rows).items()}
    return {name: _power(errors) for name, errors in means.items() if len(errors) > 1}


def _networks(rows: Rows) -> dict[str, list[Found]]:
    return page.group_by(having(rows, part="networks"), "architecture")


def _mean_errors(found: list[Found]) -> dict[int, float]:
    return {int(width): mean(row["error"] for row in some) for width, some in page.group_by(found, "width").items()}


def _power(errors: dict[int, float]) -> float:
    return linear_regression([*map(math.log, errors)], [*map(math.log, errors.values())]).slope


def exact(rows: Rows) -> str:
    """The largest error of every comparison, and whether it is small enough."""
    lines = []
    for part, error in worst_errors(rows).items():
        found = having(rows, part=part)
        worst = next(row for row in found if row["error"] == error)
        met = "met" if error <= MOST[part] else "NOT MET"
        where = f"{worst['architecture']}, {worst['setting']}"
        lines.append([WORDS[part], str(len(found)), f"{error:.1e}", where, f"{MOST[part]:g}", f"**{met}**"])
    return markdown.table(["comparison", "rows", "largest error", "where", "target", ""], lines) if lines else ""


def widths(rows: Rows) -> str:
    """The error of finite networks by their width."""
    powers = fit_widths(rows)
    columns = {f"width {width}": _width_cell(width) for width in page.names(having(rows, part="networks"), "width")}
    columns["power"] = lambda found: f"{powers.get(found[0]['architecture'], math.nan):.2f}"
    return page.tabulate("network", _networks(rows), columns)


def _width_cell(width: Any) -> page.Cell:
    return lambda found: f"{mean(row['error'] for row in found if row['width'] == width):.1e}"


def width_target(rows: Rows) -> str:
    """Whether errors fall as they should."""
    return "met" if _follow_theory(fit_widths(rows)) else "NOT MET"


if __name__ == "__main__":
    sys.exit(ClosedForms.main())
