"""How good warps and their gradients are: every rival we know, and finite differences, on random problems.

    python -m benchmarks.accuracy.decdtw
    python -m benchmarks.accuracy.decdtw --problems 40 --gradients 600 --markdown benchmarks/results/decdtw_accuracy.md

The problems have 3 to 12 knots, the longer ones 24 to 48, fixed or free ends, even or uneven clocks, and constraints
of every kind (tests/align/warp_problems.py). A warp's objective is compared with the best of SciPy's SLSQP from our
warp, SLSQP from ten random feasible warps, and the optimum on a grid of 4096 values per knot with all moves tried.
Where these rivals would take hours, signals of up to 400 steps are solved again with 32768 values per knot. A gradient
is that of a random linear functional of the warp's values and the objective, with respect to a number or along a random
direction of a vector, on problems drawn so that constraints meet (tests/align/warp_coincidences.py), and compared with
one-sided differences at two steps: where the two sides differ at both steps there is no derivative, and where they
differ at one of them the step was too long to tell. Seeds other than the first were never looked at before they were
run. Runs in twenty minutes.
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
from benchmarks.accuracy.decdtw_report import page

import timelike as tl

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

coincidences: Any = import_module("align.warp_coincidences")
differences: Any = import_module("align.warp_differences")
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
        limits = p.s_min, p.s_max, *p.reach()
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


VERDICTS = ("agree", "wrong", "two slopes", "step too long", "no room")
HEAD = [
    "| with respect to | tried | agree to 1e-3 | of these not 0 | disagree | two slopes | step too long | no room |",
    "|---|---:|---:|---:|---:|---:|---:|---:|",
]


def counted(label: str, some: list[Any]) -> str:
    """A row: how many of these comparisons came out which way."""
    verdicts = Counter(one.verdict for one in some)
    agree, *rest = (str(verdicts[name]) for name in VERDICTS)
    row = [label, str(len(some)), agree, str(sum(one.moves for one in some)), *rest]
    return f"| {' | '.join(row)} |"


def compared(problems: list[Any], label: str) -> list[Any]:
    """Every input of every problem."""
    found = []
    for number, p in enumerate(problems):
        found += differences.compared(p, number)
        print(f"\r{label}: {number + 1} of {len(problems)} ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def gradients(count: int, unseen: list[int]) -> list[str]:
    """A table by input, how many problems of each kind there were, and the seeds that nobody looked at."""
    found = compared(coincidences.drawn(0, count), "gradients")
    rows = [counted(name, [one for one in found if one.name == name]) for name in coincidences.INPUTS]
    lines = [f"{count} problems in which constraints meet:", "", *HEAD, *rows, counted("together", found)]
    lines += ["", *kinds(count, found)]
    if unseen:
        lines += ["", f"{count} more from each of {len(unseen)} seeds:", "", HEAD[0].replace("with respect to", "seed")]
        lines.append(HEAD[1])
        others = [compared(coincidences.drawn(seed, count), f"seed {seed}") for seed in unseen]
        lines += [counted(str(seed), some) for seed, some in zip(unseen, others, strict=True)]
        lines += ["", *unsolved([one for some in others for one in some])]
    return lines


def unsolved(found: list[Any]) -> list[str]:
    """What disagrees, with the KKT residual of its warp: a gradient is that of an optimum."""
    wrong = [one for one in found if one.verdict == "wrong"]
    if not wrong:
        return []
    said = ", ".join(f"{one.name} {differences.solved(one.problem).residual[0]:.1e}" for one in wrong)
    return [f"KKT residuals of the warps whose gradients disagree (the bar for a warp is 1e-9): {said}."]


def kinds(count: int, found: list[Any]) -> list[str]:
    """A table: kind of problem, problems, comparisons that agree, that disagree."""
    seen = Counter(kind for p in coincidences.drawn(0, count) for kind in p.kinds)
    active = Counter(kind for p in coincidences.drawn(0, count) for kind in differences.active(p))
    lines = ["| kind of problem | problems | agree | disagree |", "|---|---:|---:|---:|"]
    for kind, n in sorted(seen.items()):
        verdicts = Counter(one.verdict for one in found if kind in one.problem.kinds)
        lines.append(f"| {kind} | {n} | {verdicts['agree']} | {verdicts['wrong']} |")
    said = ", ".join(f"{name} {n}" for name, n in sorted(active.items()))
    return [*lines, "", f"Problems in which this is active: {said}."]


SETTINGS = (((0.0, 3.0), (1.3, 6.6)), ((0.5, 3.0), (1.0, 7.0)), ((0.513, 3.0), (1.113, 6.887)))


def settings(count: int) -> list[str]:
    """The four settings in which gradients of constraints were wrong: numbers for all knots, 9 × 9 steps, free ends."""
    lines = list(HEAD)
    for slope, bounds in SETTINGS:
        rng = np.random.default_rng(0)
        some = [coincidences.plain(*rng.normal(size=(2, 9, 1)).cumsum(1), slope, bounds) for _ in range(count)]
        found = compared(some, f"slope {slope}, bounds {bounds}")
        for name in coincidences.INPUTS[3:]:
            label = f"{name}; slope {slope}, bounds {bounds}"
            lines.append(counted(label, [one for one in found if one.name == name]))
    parabola = coincidences.plain(np.zeros((5, 1)), np.arange(9.0)[:, None] ** 2, (0.0, 3.0), (2.1, 6.0))
    found = compared([parabola], "parabola")
    for name in ("bound_min", "bound_max"):
        label = f"{name}; y = t², x = 0, slope (0, 3), bounds (2.1, 6)"
        lines.append(counted(label, [one for one in found if one.name == name]))
    return lines


def the_warp(options: Any) -> list[str]:
    """How good the warps themselves are."""
    lines = ["## The warp", "", *objectives(drawn.problems(1000, options.problems), options.grid)]
    lines += ["", *objectives(drawn.problems(3000, options.longer, 24, 48), options.grid)]
    return [*lines, "", *basins(options.basins), ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=40)
    parser.add_argument("--longer", type=int, default=12)
    parser.add_argument("--basins", type=int, default=160)
    parser.add_argument("--grid", type=int, default=4096)
    parser.add_argument("--gradients", type=int, default=600)
    parser.add_argument("--unseen", type=int, nargs="*", default=[11, 12, 13])
    parser.add_argument("--only-gradients", action="store_true")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = [] if options.only_gradients else the_warp(options)
    lines += ["## Its gradient", "", *gradients(options.gradients, options.unseen), "", *settings(100)]
    command = f"python -m benchmarks.accuracy.decdtw --problems {options.problems} --longer {options.longer} "
    command += f"--basins {options.basins} --gradients {options.gradients}"
    text = page(lines, command)
    print(text)
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
