"""How good warps and their gradients are: every rival we know, and finite differences, on random problems.

    python -m benchmarks.accuracy.decdtw
    python -m benchmarks.accuracy.decdtw --problems 40 --gradients 240 --markdown docs/benchmarks/decdtw_accuracy.md

The problems have 3 to 12 knots, the longer ones 24 to 48, fixed or free ends, even or uneven clocks, and constraints
of every kind (see tests/align/warp_problems.py). A warp's objective is compared with the best of SciPy's SLSQP from our
warp, SLSQP from ten random feasible warps, and the optimum on a grid of 4096 values per knot with all moves tried.
Where these rivals would take hours, signals of up to 400 steps are solved again with 32768 values per knot. A gradient
is that of a random linear functional of the warp's values and the objective, along a random direction of one input,
compared with central differences; where differences at two steps, forward and backward, disagree among themselves, the
problem has a corner there and is counted as skipped. Runs in a quarter of an hour.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

import timelike as tl

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

decdtw: Any = import_module("align.test_decdtw")
gdtw: Any = import_module("align.test_gdtw")
drawn: Any = import_module("align.warp_problems")
naive: Any = import_module("naive.warps")


def objectives(some: list[Any], grid: int) -> list[str]:
    """How far the best rival is below us, relatively; negative where we are below it."""
    count = len(some)
    rng = np.random.default_rng(0)
    gaps, residuals, names = [], [], Counter[str]()
    began = time.perf_counter()
    for number, p in enumerate(some):
        found = drawn.solved(p)
        ours = found.objective[0]
        limits = p.s_min, p.s_max, *gdtw.least_and_greatest(p)
        rivals = {
            "SLSQP from our warp": gdtw.slsqp(p, found.phi),
            "SLSQP from ten random warps": min(gdtw.slsqp(p, gdtw.random_warp(p, rng)) for _ in range(10)),
            f"grid of {grid}": naive.discrete_optimum(p.x, p.y, p.t, p.tau, p.lam, *limits, grid)[0],
        }
        names[min(rivals, key=lambda name: rivals[name])] += 1
        gaps.append((ours - min(rivals.values())) / min(rivals.values()))
        residuals.append(found.residual[0])
        left = (time.perf_counter() - began) / (number + 1) * (count - number - 1)
        print(f"\robjectives: {number + 1} of {count}, {left:.0f} s left ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    knots = [len(p.t) for p in some]
    best = ", ".join(f"{name} {n}" for name, n in names.most_common())
    return [
        f"- {count} problems of {min(knots)} to {max(knots)} knots: our objective exceeds the best rival's by at most "
        f"{max(gaps):.1e} of it (bar 1e-6); it is lower by up to {-min(gaps):.1e}.",
        f"- The best rival was: {best}.",
        f"- Largest KKT residual: {max(residuals):.1e} (bar 1e-9).",
    ]


SIZES = (
    (128, 64, 8),
    (128, 128, 1),
    (256, 256, 9),
    (60, 200, 3),
    (300, 150, 2),
    (30, 30, 1),
    (50, 60, 2),
    (400, 400, 1),
)


def long_signals(seed: int) -> tuple[Any, Any]:
    """Random walks, noisy tones of which one is warped, or noise, in turn."""
    rng = np.random.default_rng(seed)
    m, n, channels = SIZES[seed % len(SIZES)]
    x, y = rng.standard_normal((m, channels)), rng.standard_normal((n, channels))
    kind = seed // len(SIZES) % 3
    if kind == 0:
        return x.cumsum(0) / 8, y.cumsum(0) / 8
    if kind == 1:
        pitch = 2 * np.pi * rng.uniform(2, 8, channels)
        t, u = np.linspace(0, 1, m)[:, None], np.linspace(0, 1, n)[:, None]
        return np.sin(pitch * t**1.3) + 0.3 * x, np.sin(pitch * u) + 0.3 * y
    return x, y


def basins(count: int) -> list[str]:
    """How often the usual grid ends in another basin than one of 32768 values per knot, the finest we can afford."""
    gaps = []
    for seed in range(count):
        x, y = long_signals(seed)
        strength = (0.1, 0.01, 1.0)[seed % 3]
        ours, fine = (tl.GDTW(regularization=strength, grid=grid).distance(x, y) for grid in (None, 32768))
        gaps.append((ours - fine) / fine)
        print(f"\rlong signals: {seed + 1} of {count} ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    worse = sorted(gap for gap in gaps if gap > 1e-6)
    shapes = ", ".join(f"{m} × {n} × {channels}" for m, n, channels in SIZES)
    lines = [
        f"- {count} pairs of {shapes} (knots × steps of y × channels; random walks, noisy tones, noise; λ 0.01 to 1) "
        f"solved with the usual grid and with 32768 values per knot: within 1e-6 in {count - len(worse)}, lower by "
        f"more in {sum(gap < -1e-6 for gap in gaps)}, higher by more in {len(worse)}"
    ]
    if worse:
        lines[0] += f" (median {np.median(worse):.1e}, at most {worse[-1]:.1e})"
    return [lines[0] + ". Between basins that are this close the grid decides; `grid=` makes it finer."]


def gradients(count: int) -> list[str]:
    """A table: input, problems, agreeing, disagreeing, skipped."""
    some = drawn.problems(2000, count)
    lines = [
        "| gradient of φ with respect to | problems | agree to 1e-3 | disagree | skipped |",
        "|---|---:|---:|---:|---:|",
    ]
    total: Counter[str] = Counter()
    for name in decdtw.INPUTS:
        rng = np.random.default_rng(decdtw.INPUTS.index(name))
        checks = [decdtw.Check(p, name, rng) for p in some if decdtw.tensors(p)[name].isfinite().all()]
        counts, wrong = decdtw.compared([check for check in checks if check.direction.any()])
        tried = sum(counts.values()) + len(wrong)
        total.update(counts | Counter(wrong=len(wrong)))
        lines.append(f"| {name} | {tried} | {counts['agree']} | {len(wrong)} | {counts['skipped']} |")
        print(lines[-1], file=sys.stderr, flush=True)
    tried = sum(total.values())
    share = f"{total['skipped']} ({total['skipped'] / tried:.1%})"
    lines.append(f"| together | {tried} | {total['agree']} | {total['wrong']} | {share} |")
    return [*lines, "", *kinds(some)]


def kinds(some: list[Any]) -> list[str]:
    seen: Counter[str] = Counter(free=sum(p.free for p in some), tied=sum(not p.free for p in some))
    for p in some:
        found = drawn.solved(p)
        seen.update({decdtw.PINS[k] for k in found.pins if k} | {decdtw.GLUES[k] for k in found.glues[:-1] if k})
    said = ", ".join(f"{name} {n}" for name, n in sorted(seen.items()))
    return [f"Problems in which a constraint of each kind is active, and ends free or tied: {said}."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=40)
    parser.add_argument("--longer", type=int, default=12)
    parser.add_argument("--basins", type=int, default=160)
    parser.add_argument("--grid", type=int, default=4096)
    parser.add_argument("--gradients", type=int, default=240)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = ["## The warp", "", *objectives(drawn.problems(1000, options.problems), options.grid)]
    lines += ["", *objectives(drawn.problems(3000, options.longer, 24, 48), options.grid)]
    lines += ["", *basins(options.basins), "", "## Its gradient", ""]
    lines += gradients(options.gradients)
    command = f"python -m benchmarks.accuracy.decdtw --problems {options.problems} --longer {options.longer} "
    command += f"--basins {options.basins} --gradients {options.gradients}"
    text = "\n".join(["# How good warps and their gradients are", "", "```console", command, "```", "", *lines, ""])
    print(text)
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
