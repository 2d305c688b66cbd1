"""Gradients of warps beside finite differences: one-sided, with two steps."""

from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import torch

import timelike as tl
from align.warp_coincidences import CONSTRAINTS, INPUTS
from timelike.align.layers import gdtw as gdtw_layer

STEPS = (1e-6, 4e-7)  # of the input's own unit
SIDES = (-STEPS[0], -STEPS[1], STEPS[1], STEPS[0])


@dataclass
class Compared:
    """What came out for one input of one problem; `sides` are differences with each of SIDES."""

    problem: Any
    name: str
    slope: float
    sides: list[float]

    @property
    def verdict(self):
        """In words; where the sides differ at both steps there is no derivative."""
        if not self.sides:
            return "no room"
        size = max(np.abs(self.sides).max(), 1e-3)
        wide, narrow = (abs(self.sides[i] - self.sides[-1 - i]) > 2e-4 * size for i in (0, 1))
        if wide and narrow:
            return "two slopes"
        if wide or narrow or np.ptp(self.sides) > 2e-4 * size:
            return "step too long"  # a corner between the two steps
        return "agree" if abs(self.slope - np.mean(self.sides)) <= 1e-3 * size else "wrong"

    @property
    def moves(self):
        return self.verdict == "agree" and abs(self.slope) > 1e-3


def tensors(p):
    """Inputs of the layer, as leaves."""
    return {name: torch.tensor(getattr(p, name), dtype=torch.float64) for name in INPUTS}


def layer(p, given):
    ends = {name: given[name] for name in CONSTRAINTS}
    return tl.nn.DecDTW(
        regularization=ends["regularization"],
        slope=(ends["slope_min"], ends["slope_max"]),
        bounds=(ends["bound_min"], ends["bound_max"]),
        subsequence=p.free,
        penalty=p.penalty,
        delta=0.7,
    )


def slopes(p, weights):
    """The gradient of a functional of φ and the objective, by every input."""
    given = {name: value.requires_grad_() for name, value in tensors(p).items()}
    times = {"x_times": torch.tensor(p.x_times), "y_times": torch.tensor(p.y_times)}
    phi, objective = layer(p, given)(given["x"][None], given["y"][None], **times)
    (phi[0] @ weights + 0.3 * objective[0]).backward()
    return {name: torch.zeros_like(value) if value.grad is None else value.grad for name, value in given.items()}


PINS = {1: "bound from below", 2: "bound from above", 3: "kink", 4: "end", 5: "x meets y"}
GLUES = {-1: "smallest slope", 1: "largest slope"}


def solved(p):
    """As the solver answers, with pins, ties and the KKT residual."""
    given, seen = tensors(p), []
    times = {"x_times": torch.tensor(p.x_times), "y_times": torch.tensor(p.y_times)}
    solve = gdtw_layer.warps.solve

    def watched(*arguments, **options):
        seen.append(solve(*arguments, **options))
        return seen[0]

    with mock.patch.object(gdtw_layer.warps, "solve", watched):
        layer(p, given)(given["x"][None], given["y"][None], **times)
    return seen[0]


def active(p):
    """Which kinds of constraints hold the warp, in words; and whether it runs along a bound."""
    found = solved(p)
    pins, glues = found.pins, found.glues[:-1]
    held = np.isin(pins, (1, 2))
    run = {"a run along a bound"} if ((glues != 0) & held[1:] & held[:-1]).any() else set()
    return {PINS[k] for k in pins if k} | {GLUES[k] for k in glues if k} | run


def values(some, weights):
    """The functional of many problems that differ in values only, solved in one batch."""
    given = {}
    for name in INPUTS:
        rows = [np.asarray(getattr(p, name), np.float64) for p in some]
        given[name] = torch.tensor(np.stack([row if row.ndim else row[None] for row in rows]))
    times = {"x_times": torch.tensor(some[0].x_times), "y_times": torch.tensor(some[0].y_times)}
    phi, objective = layer(some[0], given)(given["x"], given["y"], **times)
    return (phi @ weights + 0.3 * objective).numpy()


def direction(p, name, rng):
    """Along which an input is moved: numbers up, vectors anyhow; None for one that is not there to be moved."""
    start = np.asarray(getattr(p, name))
    along = rng.normal(size=start.shape) if start.ndim else np.array(1.0)
    if name == "regularization":
        return along * start
    if name == "slope_max":
        return None if np.isinf(start).all() else np.where(np.isinf(start), 0.0, along)
    if name.startswith("bound"):  # y's own ends bound the warp as well: a bound there has two slopes
        along = np.where((start <= p.y_times[0]) | (start >= p.y_times[-1]), 0.0, along) * p.span
        return along if along.any() else None
    return along


def compared(p, seed, names=INPUTS):
    """Inputs of a problem: slope and differences along one direction each."""
    rng = np.random.default_rng(seed)
    weights = torch.tensor(rng.normal(size=len(p.x)))
    ways = {name: direction(p, name, rng) for name in names}
    ways = {name: along for name, along in ways.items() if along is not None}
    moved = {name: [p.moved(name, step * along) for step in SIDES] for name, along in ways.items()}
    room = {name: all(one.feasible() for one in some) for name, some in moved.items()}
    batch = [p, *(one for name in ways if room[name] for one in moved[name])]
    found, gradient = values(batch, weights), slopes(p, weights)
    result, at = [], 1
    for name, along in ways.items():
        sides = []
        if room[name]:
            sides = [(found[at + i] - found[0]) / step for i, step in enumerate(SIDES)]
            at += len(SIDES)
        slope = float((gradient[name].numpy() * along).sum())
        result.append(Compared(p, name, slope, sides))
    return result
