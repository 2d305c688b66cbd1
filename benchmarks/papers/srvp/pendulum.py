"""A pendulum pushed by a torque that nobody sees, in noisy pictures of 16 × 16: evidence in nats, by SRVP and rivals.

    python -m benchmarks.papers.srvp.pendulum

Table B.4's shape: SRVP without w and with perceptrons, as in the thesis, and its ablations. 500 sequences of 15
pictures to learn from, 200 others are asked about. How the torque is drawn and how strong the noise is the papers do
not say, and nats depend on it: here the noise has the deviation 0.1, and what is known if all pictures were known
without it is a row, which nothing can pass.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from statistics import mean
from typing import Any

import numpy as np
from benchmarks.model_options import build_model
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial, having
from benchmarks.papers.srvp.linear import autoregressive
from benchmarks.papers.srvp.page_parts import are_apart

import timelike as tl
from timelike.sequences import generate

KNOWN = "pictures known, noise alone"
PARTS = ("likelihood", "first", "random")

N_TRAIN, N_TEST, LENGTH, SIZE, NOISE = 500, 200, 15, 16, 0.1
STEPS, DRAWS = 3000, 20
SET = "pendulum"
REGRESSIONS = {"independent pictures": 0, "regression on 1 picture": 1, "regression on 2 pictures": 2}
_PENDULUM: dict[str, Any] = {
    "rod": 1.0,
    "angle": (0.0, np.pi),
    "velocity": (0.0, 4.0),
    "damping": 0.5,
    "torque": 2.0,
    "observe": "picture",
    "size": SIZE,
}
_SRVP: dict[str, Any] = {
    "codec": "perceptron",
    "n_content": 0,
    "n_state": 12,
    "n_random": 6,
    "chunk": LENGTH,
    "motion_penalty": 0.0,
    "learning_rate": 2e-3,
    "beta": 1.0,  # the bound itself, whose nats are compared
    "precision": "32-true",
}
NETWORKS: dict[str, dict[str, Any]] = {
    "SRVP": _SRVP,
    "SRVP, MLP": _SRVP | {"motion": "perceptron"},
    "SRVP, GRU": _SRVP | {"motion": "gru"},
    "SRVP, without z": _SRVP | {"n_random": 0},
}


def swings(seed: int) -> tuple[Any, Any, Any]:
    """Pictures to learn from, pictures asked about, and the latter without noise, each (item, time, 1, 16, 16)."""
    n = N_TRAIN + N_TEST
    seen, clean = (
        np.stack(list(generate.pendulum(n, LENGTH, **_PENDULUM, noise=noise, random_state=20 + seed).sequences))
        for noise in (NOISE, 0.0)
    )
    return seen[:N_TRAIN], seen[N_TRAIN:], clean[N_TRAIN:]


class Pendulums(Experiment[Trial]):
    """Nats of sequences of pictures."""

    paper, table, holds, without_data = "srvp", "pendulum", "nothing: pendulums are made", True
    subject = ("srvp",)
    title = "SRVP: a pendulum with a hidden torque"
    question = "SRVP on a pendulum with a hidden torque"

    def planned(self) -> Iterator[Trial]:
        yield from (Trial(SET, name, 0) for name in (KNOWN, *REGRESSIONS))
        yield from (Trial(SET, "SRVP", seed) for seed in range(self.given.seeds))
        yield from (Trial(SET, name, 0) for name in list(NETWORKS)[1:])

    def systems(self, row: Trial) -> Iterable[str]:
        return *(["srvp"] if row.method in NETWORKS else []), "generators", "score_intervals"

    def work(self, row: Trial) -> Found:
        train, test, clean = swings(row.seed)
        began, found = time.process_time(), dict[str, Any]()
        if row.method == KNOWN:
            nats = noise_alone(test, clean)
        elif row.method in REGRESSIONS:
            flat = [one.reshape(*one.shape[:2], -1).astype(np.float64) for one in (train, test)]
            nats = autoregressive(flat[0], flat[1], REGRESSIONS[row.method])
        else:
            nats, found = self._bound(row, train, test)
        mean = tl.score.bootstrap(nats, random_state=row.seed)
        found |= {"nats": [mean.mean, mean.low, mean.high], "processor seconds": time.process_time() - began}
        return found

    def _bound(self, row: Trial, train: Any, test: Any) -> tuple[Any, Found]:
        steps = 3 if self.quick else STEPS
        model = build_model("SRVP", **NETWORKS[row.method], max_steps=steps, progress=False, random_state=row.seed).fit(
            train
        )
        parts = model.elbo(test[:4] if self.quick else test, n_samples=DRAWS, random_state=row.seed)
        terms = zip(PARTS, (parts.likelihood, parts.first_kl, parts.random_kl), strict=True)
        told: Found = {name: float(nats.mean()) for name, nats in terms}
        deviation = float(model.network_.observation_std.detach()) * float(np.mean(model.scaler_.scale))
        return parts.elbo, told | {"steps": steps, "deviation": deviation}

    def seconds(self, row: Trial) -> float:
        return 120.0 if row.method in NETWORKS else 5.0

    def kind(self, row: Trial) -> str:
        return "network" if row.method in NETWORKS else "exact"

    def said(self, found: Found) -> str:
        return f"{found['nats'][0]:.1f} nats"


def noise_alone(seen: Any, clean: Any) -> Any:
    """log p of every sequence for one who knows the pictures without noise, (item,)."""
    left = (seen.astype(np.float64) - clean).reshape(len(seen), -1)
    return -0.5 * (np.square(left / NOISE) + np.log(2 * np.pi * NOISE**2)).sum(axis=1)


# --- the page

THESIS = {"DVBF": 798.56, "KVAE": 807.02, "SRVP": 806.12}


def headline(rows: Rows) -> str:
    """SRVP's bound beside the best exact rival and beside what noise alone allows."""
    ours = [row["nats"][0] for row in page.need(rows, method="SRVP")]
    exact = [row for row in rows.values() if row["method"].startswith(("independent", "regression"))]
    beside = ""
    if exact:
        best = max(exact, key=lambda row: float(row["nats"][0]))
        gap = mean(ours) - best["nats"][0]
        word = "above" if gap > 0 else "below"
        beside = f", {abs(gap):.1f} {word} {best['method']}, the best cheap rival, whose likelihood is exact"
    most = page.clause(lambda: f"; nothing can pass {_most(rows):.1f}, where only the noise is left")
    return (
        f"SRVP has an evidence lower bound of {mean(ours):.1f} nats ({markdown.count_of(len(ours), 'seed')}) on a "
        f"pendulum{beside}{most}. The thesis has {THESIS['SRVP']} for SRVP and {THESIS['KVAE']} for KVAE, but says "
        "neither how strong the noise is nor how the torque is drawn, so this neither agrees with it nor contradicts "
        "it."
    )


def _most(rows: Rows) -> float:
    return float(page.need(rows, method=KNOWN)[0]["nats"][0])


def nats(rows: Rows) -> str:
    """Nats of every method, row by row."""
    lines = [_line(row, rows) for group in page.group_by(rows).values() for row in group]
    lines += [[f"the thesis, {name}", "–", f"{value:.2f}", *["–"] * 6] for name, value in THESIS.items()]
    head = ["method", "seed", "nats of a sequence", "below what noise alone leaves", "pictures given states"]
    return markdown.table([*head, "− first", "− random", "deviation", "processor seconds"], lines)


def _line(row: Found, rows: Rows) -> list[str]:
    nats = "{:.1f} [{:.1f}, {:.1f}]".format(*row["nats"])
    below = "" if row["seed"] else page.clause(lambda: f"{_most(rows) - row['nats'][0]:.1f}")
    parts = [f"{row[name]:.1f}" if name in row else "–" for name in PARTS]
    parts.append(f"{row['deviation']:.4f}" if "deviation" in row else "–")
    return [row["method"], str(row["seed"]), nats, below or "–", *parts, f"{row['processor seconds']:.0f}"]


def over_seeds(rows: Rows) -> str:
    """The mean of several seeds."""
    nats = [row["nats"][0] for row in having(rows, method="SRVP")]
    return f"Over {len(nats)} seeds its mean is {mean(nats):.1f}." if len(nats) > 1 else ""


def beside_rivals(rows: Rows) -> str:
    """Who is ahead of whom, seed 0."""
    ours = page.need(rows, seed=0, method="SRVP")[0]["nats"]
    others = [row for row in having(rows, seed=0) if row["method"] not in (KNOWN, "SRVP")]
    return page.bullets(_beside(ours, row["nats"], row["method"]) for row in others)


def _beside(ours: list[float], other: list[float], name: str) -> str:
    how = "above" if ours[0] > other[0] else "**below**"
    overlap = "" if are_apart(ours, other) else ", and the intervals overlap"
    return f"SRVP is {abs(ours[0] - other[0]):.1f} nats {how} {name}{overlap}."


if __name__ == "__main__":
    sys.exit(Pendulums.main())
