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
from statistics import mean
from typing import Any

import numpy as np
from benchmarks.papers import markdown
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.gantk import digits_figures as figures, problems, settings
from benchmarks.papers.results import Found, Rows, Trial, having
from scipy.spatial.distance import cdist

from timelike.distributions import IPM, descend, mmd

FILE, STEP = "mnist.npz", 100 * 1000 / 1024
STEPS = {"64 digits": 20000, "256 digits": 1500, "1024 digits": 250}
KERNELS = ("ReLU", "RBF", "ReLU without bias")


class Digits(Experiment[Trial]):
    """How near particles come to pictures, and to how many of them."""

    paper, table, holds, draws, seeds = "gantk", "digits", FILE, True, 1
    subject = ("gantk",)
    title = "GAN(TK)²: noise that becomes digits"
    question = "how near particles come to 64 digits under each kernel"

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


# --- the page

SHARP = 0.5  # of the distance between neighbouring digits: nearer than this, a particle shows a digit
THESIS = {"RBF": "blurry", "ReLU": "sharp", "ReLU without bias": "mostly sharp"}


def headline(rows: Rows) -> str:
    """How near particles come to 64 digits, kernel by kernel, beside the thesis's pictures."""
    ends = {name: row for name in THESIS for row in having(rows, dataset="64 digits", method=name, seed=0)}
    apart = mean(row["apart"] for row in ends.values())
    sharp = {name: row["final distance"] < SHARP * row["apart"] for name, row in ends.items()}
    agrees = all(sharp[name] == (THESIS[name] != "blurry") for name in ends)
    shown = markdown.join_words([f"{name} {row['final distance']:.2g}" for name, row in ends.items()])
    theirs = markdown.join_words([f"{name} {THESIS[name]}" for name in ends])
    return (
        f"64 particles moved onto 64 digits end at these mean distances from the nearest digit: {shown} (digits are "
        f"{apart:.1f} apart). The thesis shows pictures only ({theirs}), and this "
        f"{'agrees with' if agrees else 'contradicts'} them."
    )


def distances(rows: Rows) -> str:
    """Where particles start and end, row by row."""
    head = [
        "particles onto",
        "kernel",
        "steps",
        "distance at the start",
        "at the end",
        "digits reached",
        "digits apart",
    ]
    return markdown.table([*head, "MMD² start → end", "seconds"], [_line(row) for row in rows.values()])


def _line(row: Found) -> list[str]:
    moved = f"{row['mmd'][0]:.2e} → {row['mmd'][-1]:.2e}"
    ends = [f"{row['nearest'][0]:.2f}", f"{row['final distance']:.3g}", f"{row['final reached']:.0%}"]
    return [
        row["dataset"],
        row["method"],
        str(row["steps"][-1]),
        *ends,
        f"{row['apart']:.2f}",
        moved,
        f"{row['seconds']:.0f}",
    ]


if __name__ == "__main__":
    sys.exit(Digits.main())
