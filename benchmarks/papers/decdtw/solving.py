"""What GDTW's solver costs and gives: time against length, refinement by refinement, and one problem pass by pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from benchmarks.papers.decdtw.tasks import Pairs, smooth
from numpy.typing import NDArray
from torch import Tensor

from timelike.align import DTW, layers  # not `timelike.nn`, which loads every network
from timelike.align.layers import TimeErr

CHANNELS, BATCH = 8, 4
LAMBDA = 0.4  # of the base features, chosen on validation by the comparison of methods
KINDS = {"polished": True, "grid alone": False}
Floats = NDArray[np.float64]
Loss = Callable[[Tensor, Tensor], Tensor]


def grid_of(steps: int) -> int:
    """M of the paper."""
    return max(50, steps)


def layer(*, refinements: int = 3, polish: bool = True, **options: Any) -> layers.DecDTW:
    """The solver; without its polish it is the paper's dynamic program alone."""
    found = layers.DecDTW(refinements=refinements, **options)
    found.search = replace(found.search, polish=polish)
    return found


# --- figures 5 and 7: time against length


def signals(steps: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Pairs (item, time, channel) of smooth signals that are the same but for a warp and noise."""
    rng, t = np.random.default_rng(seed), np.linspace(0, 1, steps)
    sides = []
    for _ in range(BATCH):
        both = smooth(rng, (CHANNELS,), np.concatenate([t, t ** rng.uniform(0.7, 1.4)]), 0.08)
        sides.append(both.reshape(CHANNELS, 2, steps) + 0.1 * rng.standard_normal((CHANNELS, 2, steps)))
    made = torch.tensor(np.stack(sides)).permute(2, 0, 3, 1).contiguous()
    return made[0], made[1]


def inference(steps: int) -> dict[str, float]:
    """Seconds of one pair: the path of DTW; the paper's dynamic program alone; GDTW, with its grid or the usual one."""
    x, y = signals(steps)
    arrays = list(zip(x.numpy(), y.numpy(), strict=True))
    ours = partial(layer, regularization=LAMBDA)
    solvers = {
        "grid alone, not refined": ours(grid=grid_of(steps), polish=False, refinements=0),
        "grid alone": ours(grid=grid_of(steps), polish=False),
        "GDTW": ours(grid=grid_of(steps)),
        "GDTW, usual grid": ours(),
    }
    with torch.no_grad():
        times = {name: timed(partial(solve, x, y)) for name, solve in solvers.items()}
    return {"DTW": timed(lambda: [DTW().align(a, b).path for a, b in arrays])} | times


def training(steps: int) -> dict[str, float]:
    """Seconds of one pair: forward and backward through a layer, float32 as in training."""
    x, y = (side.float() for side in signals(steps))
    at = torch.arange(steps, dtype=torch.float32)
    omega = (at - at[:, None]).abs().expand(BATCH, -1, -1).contiguous()
    decdtw, soft, dilate = layer(regularization=LAMBDA, grid=grid_of(steps)), layers.SoftDTW(), layers.DILATE(alpha=0.0)
    losses: dict[str, Loss] = {
        "DecDTW": lambda x, y: decdtw(x, y).phi.sum(),
        "Soft-DTW": lambda x, y: soft(x, y).sum(),
        "DILATE": lambda x, y: dilate(x, y, omega=omega).sum(),
    }
    with torch.no_grad():
        forward = timed(lambda: decdtw(x, y))
    return {name: timed(partial(_stepped, loss, x, y)) for name, loss in losses.items()} | {"forward": forward}


def _stepped(loss: Loss, x: Tensor, y: Tensor) -> None:
    x, y = (side.clone().requires_grad_() for side in (x, y))
    torch.autograd.backward(loss(x, y))


def timed(work: Callable[[], Any], budget: float = 0.5, most: int = 30) -> float:
    """Seconds of the processor for one pair, the least of several runs: other programs do not count."""
    work()
    found: list[float] = []
    while len(found) < 3 or (sum(found) < budget and len(found) < most):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found) / BATCH


# --- the refinement trade-off


def refined(pairs: Pairs, refinements: int) -> dict[str, dict[str, float]]:
    """Error of the warps, objective above that of the usual search, and seconds of a pair, with and without polish."""
    x, y, truth = pairs.x.double(), pairs.y.double(), pairs.truth.double()
    with torch.no_grad():
        usual = torch.cat([layer(regularization=LAMBDA)(*part).objective for part in _parts(x, y)])
    found = {}
    for kind, polish in KINDS.items():
        solve = layer(regularization=LAMBDA, grid=grid_of(y.shape[1]), refinements=refinements, polish=polish)
        began = time.process_time()
        with torch.no_grad():
            phi, objective = (torch.cat(side) for side in zip(*(solve(*part) for part in _parts(x, y)), strict=True))
        found[kind] = {
            "TimeErr": float((TimeErr()(phi, truth) * pairs.scale).mean()),
            "excess": float(((objective - usual) / usual).mean()),
            "time": (time.process_time() - began) / len(x),
        }
    return found


def _parts(x: Tensor, y: Tensor, size: int = 32) -> list[tuple[Tensor, Tensor]]:
    return [(x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]


# --- figure 6: one problem, pass by pass

QUERY, STREAM, STIFF = 24, 60, 0.01


def subsequence_pair() -> tuple[Floats, Floats]:
    """A smooth signal, and a stretch of it seen at another speed, with noise."""
    rng, t = np.random.default_rng(6), np.linspace(0, 1, STREAM)
    inside = 0.2 + 0.55 * np.linspace(0, 1, QUERY) ** 1.5
    both = smooth(rng, (), np.concatenate([inside, t]), 0.1)
    both[:QUERY] += 0.1 * rng.standard_normal(QUERY)
    return both[:QUERY], both[QUERY:]


def passes(grid: int, most: int = 3) -> dict[str, Any]:
    """The best warp after every pass of the dynamic program, after the polish, and by SciPy's SLSQP from the last."""
    x, y = subsequence_pair()
    given = [torch.tensor(side)[None, :, None] for side in (x, y)]
    options: dict[str, Any] = {"regularization": STIFF, "subsequence": True, "grid": grid}
    solvers = [layer(refinements=turn, polish=False, **options) for turn in range(most + 1)] + [layer(**options)]
    with torch.no_grad():
        solved = [solve(*given) for solve in solvers]
    warps = [one.phi[0].tolist() for one in solved]
    by_slsqp, lowest = slsqp(np.array(warps[most]) / (STREAM - 1), x, y)
    return {
        "warps": warps,
        "objectives": [one.objective.item() for one in solved],
        "slsqp": (by_slsqp * (STREAM - 1)).tolist(),
        "slsqp objective": lowest,
    }


def objective(phi: Floats, x: Floats, y: Floats, weight: float = STIFF) -> float:
    """Σ w_i (x_i − y(φ_i))² + λ Σ Δ_i ((φ_{i+1} − φ_i)/Δ_i − 1)² on clocks from 0 to 1, w the trapezoid rule's."""
    gap = 1 / (len(x) - 1)
    w = np.full(len(x), gap)
    w[[0, -1]] /= 2
    off = x - np.interp(phi, np.linspace(0, 1, len(y)), y)
    return float(w @ off**2 + weight * gap * ((np.diff(phi) / gap - 1) ** 2).sum())


def slsqp(start: Floats, x: Floats, y: Floats) -> tuple[Floats, float]:
    """The warp and the objective that a general solver ends with."""
    from scipy.optimize import minimize

    rising: Any = {"type": "ineq", "fun": np.diff}
    limits: Any = [(0, 1)] * len(x)
    found: Any = minimize(objective, start, args=(x, y), method="SLSQP", bounds=limits, constraints=rising)
    return np.asarray(found.x), float(found.fun)
