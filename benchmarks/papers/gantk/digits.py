"""Noise that becomes digits: figure 6.5 of the thesis, particles moved onto as many pictures of MNIST.

    python -m benchmarks.papers.gantk.digits --data DIR --figures docs/images

Pictures of 28 × 28 are padded to 32 × 32 and scaled to 1.999 (x − ½); the IPM of infinite width with ητ / N = 97.7, as
in the thesis, which made 50 000 steps of 1 024 particles on four graphics cards. Ours are fewer, and the table says how
many; 64 particles onto 64 digits, or 256 onto 256, go farther in the same time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.papers.gantk import digits_figures as figures, digits_report as report, problems, settings
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program
from scipy.spatial.distance import cdist

from timelike.distributions import IPM, descend, mmd

FILE, STEP = "mnist.npz", 100 * 1000 / 1024
STEPS = {"64 digits": 20000, "256 digits": 1500, "1024 digits": 250}
KERNELS = ("ReLU", "RBF", "ReLU without bias")


class Digits(Program[Trial]):
    """How near particles come to pictures, and to how many of them."""

    paper, table, holds, draws, seeds = "gantk", "digits", FILE, True, 1
    subject = ("gantk",)
    title = "GAN(TK)²: noise that becomes digits"

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            yield from (Trial(size, name, seed) for size in STEPS for name in KERNELS)

    def lacks(self, row: Trial) -> str:
        return "" if (self.data / FILE).exists() else f"{FILE} is not in {self.data}"

    def systems(self, row: Trial) -> Iterable[str]:
        return ("gantk",)

    def work(self, row: Trial) -> Found:
        n, steps = (20, 3) if self.quick else (int(row.dataset.split()[0]), STEPS[row.dataset])
        with np.load(self.data / FILE) as held:
            points = problems.digits(held["X_train"], n, random_state=row.seed)
        kernel = settings.thesis_kernel(row.method, points.real.shape[1])
        scores: dict[str, Any] = {
            "nearest": lambda particles, real: nearest(particles, real)["distance"],
            "mmd": lambda particles, real: mmd(particles, real, kernel),
        }
        flow = descend(
            points.start,
            points.real,
            IPM(kernel),
            steps=steps,
            step=STEP,
            record_every=max(steps // 8, 1),
            scores=scores,
            progress=False,
        )
        self.scratch.mkdir(parents=True, exist_ok=True)
        np.save(particles_file(self.scratch, row), flow.particles.astype(np.float32))
        found: Found = {name: flow.history[name].tolist() for name in scores}
        found |= {f"final {name}": value for name, value in nearest(flow.particles, points.real).items()}
        found["apart"] = float(np.mean(np.sort(cdist(points.real, points.real), axis=1)[:, 1]))
        return found | {"steps": flow.frame_steps.tolist(), "step": STEP, "n": n}

    def seconds(self, row: Trial) -> float:
        return STEPS[row.dataset] * 0.5 * (int(row.dataset.split()[0]) / 1024) ** 2

    def kind(self, row: Trial) -> str:
        return row.key.rpartition("/")[0]

    def said(self, found: Found) -> str:
        return f"{found['final distance']:.3g} from the nearest digit, {found['final reached']:.0%} of digits reached"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats()

    def draw(self, folder: Path) -> None:
        first = [row for row in self.planned() if row.seed == 0 and row.dataset == next(iter(STEPS))]
        kept = {row.method: particles_file(self.scratch, row) for row in first}
        figures.draw({name: np.load(file) for name, file in kept.items() if file.exists()}, folder)


def particles_file(scratch: Path, row: Trial) -> Path:
    """Where the particles of a row are kept for the figure."""
    return scratch / f"{row.key.replace('/', '-').replace(' ', '-')}.npy"


def nearest(particles: np.ndarray[Any, Any], real: np.ndarray[Any, Any]) -> Found:
    """The mean distance of a particle to the nearest target, and the share of targets that are nearest to some."""
    distances = cdist(particles, real)
    return {"distance": float(distances.min(axis=1).mean()), "reached": len(set(distances.argmin(axis=1))) / len(real)}


if __name__ == "__main__":
    sys.exit(Digits.main())
