"""Whether MMD falls at every step (proposition 4), for smooth kernels and for ReLU's.

    python -m benchmarks.papers.gantk.monotone

Under the IPM particles descend MMD², so that with a smooth kernel it falls at every step that is small enough. 8
Gaussians, 100 particles onto 100, 3 000 steps of several sizes; a rise is one beyond rounding.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import mean

import numpy as np
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.gantk import problems, settings
from benchmarks.papers.results import Found, Row, Rows, having

from timelike.distributions import IPM, descend, mmd

N, STEPS = 100, 3000
SHARES = (1.0, 0.1, 0.01)  # of the thesis's step
KERNELS = ("RBF", "sigmoid", "ReLU", "ReLU without bias")
ROUNDING = 64 * np.finfo(np.float64).eps  # of the largest similarity: what sums of them may be wrong by


@dataclass(frozen=True)
class Falling(Row):
    """One flow."""

    architecture: str
    share: float
    seed: int


class Monotone(Experiment[Falling]):
    """Rises of MMD² along the way."""

    paper, table, holds, without_data = "gantk", "monotone", "nothing: points are drawn", True
    subject = ("gantk",)
    title = "GAN(TK)²: does MMD fall at every step?"
    question = "whether MMD² falls at every step"

    def planned(self) -> Iterator[Falling]:
        for seed in range(self.given.seeds):
            yield from (Falling(name, share, seed) for share in SHARES for name in KERNELS)

    def systems(self, row: Falling) -> Iterable[str]:
        return ("gantk",)

    def work(self, row: Falling) -> Found:
        n, steps = (20, 5) if self.quick else (N, STEPS)
        points = problems.eight_gaussians(n, random_state=row.seed)
        kernel = settings.thesis_kernel(row.architecture)
        step = row.share * settings.thesis_step("IPM", row.architecture)
        scores = {"mmd": lambda particles, real: mmd(particles, real, kernel)}
        flow = descend(
            points.start,
            points.real,
            IPM(kernel),
            steps=steps,
            step=step,
            record_every=1,
            scores=scores,
            progress=False,
        )
        values = flow.history["mmd"]
        largest = float(np.abs(kernel(np.concatenate([points.real, flow.particles]))).max())
        rises = np.diff(values)
        up = rises > ROUNDING * largest
        return {
            "step": step,
            "steps": steps,
            "rises": int(up.sum()),
            "first": int(np.flatnonzero(up)[0]) + 1 if up.any() else None,
            "largest": float(rises.max()),
            "rounding": ROUNDING * largest,
            "start": float(values[0]),
            "end": float(values[-1]),
        }

    def seconds(self, row: Falling) -> float:
        return STEPS * 0.005

    def said(self, found: Found) -> str:
        return f"{found['rises']} rises, MMD² {found['start']:.3g} → {found['end']:.3g}"


# --- the page

SMOOTH = ("RBF", "sigmoid")


def headline(rows: Rows) -> str:
    """Where MMD² falls at every step, and where it does not."""
    if not rows:
        raise page.MissingRows("kernels")
    rises = {name: [row["rises"] for row in some] for name, some in page.group_by(rows, "architecture").items()}
    falling, rising = ([name for name in rises if any(rises[name]) == rose] for rose in (False, True))
    parts = []
    if falling:
        parts.append(f"MMD² falls at every step, for every step size tried, with {markdown.join_words(falling)}")
    if rising:
        counts = [n for name in rising for n in rises[name] if n]
        parts.append(
            f"MMD² rises at {markdown.format_range(counts, '.0f')} of 3 000 steps with {markdown.join_words(rising)}"
        )
    smooth = [name for name in rises if name in SMOOTH]
    verdict = (
        "proposition 4 of the thesis, which is about smooth kernels, is not tested by these rows"
        if not smooth
        else "this agrees with proposition 4 of the thesis, which is about smooth kernels only; ReLU's has a cusp"
        if all(name in falling for name in smooth)
        else "this contradicts proposition 4 of the thesis"
    )
    return f"{'; '.join(parts)}: {verdict}."


def rises(rows: Rows) -> str:
    """Rises by kernel and step."""
    lines = [
        _line(found)
        for name in page.names(rows, "architecture")
        for share in SHARES
        if (found := having(rows, architecture=name, share=share))
    ]
    head = ["kernel", "step", "rises, each seed", "largest rise", "rounding", "MMD² at the start", "at the end"]
    return markdown.table(head, lines)


def _line(found: list[Found]) -> list[str]:
    counts = " · ".join(str(row["rises"]) for row in found)
    most = [f"{max(row[key] for row in found):.1e}" for key in ("largest", "rounding")]
    ends = [f"{mean(row[key] for row in found):.2e}" for key in ("start", "end")]
    return [found[0]["architecture"], f"{found[0]['step']:g}", counts, *most, *ends]


def proposition(rows: Rows) -> str:
    """Up to which step MMD² falls always, of smooth kernels."""
    lines = []
    for name in SMOOTH:
        if found := having(rows, architecture=name):
            steps = sorted({row["step"] for row in found})
            good = [step for step in steps if not any(row["rises"] for row in found if row["step"] <= step)]
            most = f"at every step up to {max(good):g}" if good else "at no step tried"
            met = "met" if good else "NOT MET"
            lines.append(f"{name}: MMD² falls {most} (tried: {', '.join(f'{one:g}' for one in steps)}): **{met}**")
    return page.bullets(lines)


if __name__ == "__main__":
    sys.exit(Monotone.main())
