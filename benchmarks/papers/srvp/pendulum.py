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
from typing import Any

import numpy as np
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program
from benchmarks.papers.srvp import pendulum_report as report
from benchmarks.papers.srvp.linear import autoregressive

import timelike as tl
from timelike.sequences import generate

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


class Pendulums(Program[Trial]):
    """Nats of sequences of pictures."""

    paper, table, holds, without_data = "srvp", "pendulum", "nothing: pendulums are made", True
    subject = ("srvp",)
    title = "SRVP: a pendulum with a hidden torque"

    def planned(self) -> Iterator[Trial]:
        yield from (Trial(SET, name, 0) for name in (report.KNOWN, *REGRESSIONS))
        yield from (Trial(SET, "SRVP", seed) for seed in range(self.given.seeds))
        yield from (Trial(SET, name, 0) for name in list(NETWORKS)[1:])

    def systems(self, row: Trial) -> Iterable[str]:
        return *(["srvp"] if row.method in NETWORKS else []), "generators", "score_intervals"

    def work(self, row: Trial) -> Found:
        train, test, clean = swings(row.seed)
        began, found = time.process_time(), dict[str, Any]()
        if row.method == report.KNOWN:
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
        model = tl.SRVP(**NETWORKS[row.method], max_steps=steps, progress=False, random_state=row.seed).fit(train)
        parts = model.elbo(test[:4] if self.quick else test, n_samples=DRAWS, random_state=row.seed)
        terms = zip(report.PARTS, (parts.likelihood, parts.first_kl, parts.random_kl), strict=True)
        told: Found = {name: float(nats.mean()) for name, nats in terms}
        deviation = float(model.network_.observation_std.detach()) * float(np.mean(model.scaler_.scale))
        return parts.elbo, told | {"steps": steps, "deviation": deviation}

    def seconds(self, row: Trial) -> float:
        return 120.0 if row.method in NETWORKS else 5.0

    def kind(self, row: Trial) -> str:
        return "network" if row.method in NETWORKS else "exact"

    def said(self, found: Found) -> str:
        return f"{found['nats'][0]:.1f} nats"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats()


def noise_alone(seen: Any, clean: Any) -> Any:
    """log p of every sequence for one who knows the pictures without noise, (item,)."""
    left = (seen.astype(np.float64) - clean).reshape(len(seen), -1)
    return -0.5 * (np.square(left / NOISE) + np.log(2 * np.pi * NOISE**2)).sum(axis=1)


if __name__ == "__main__":
    sys.exit(Pendulums.main())
