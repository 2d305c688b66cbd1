"""Systems that share their parameters but not their starts, and GRUs that begin chaotic."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from benchmarks.papers.cgru.equals import METHODS, Parts, judged, plain, tuned
from numpy.typing import NDArray
from torch import nn

import timelike as tl
from timelike.metric import CoupledNetwork
from timelike.sequences.generate import pendulum

Floats = NDArray[np.float64]
STEPS, NOISE = 48, 0.1
LEARNED, CHOOSING, ASKED = 20, 20, 40  # of every class
GAINS, LEAST = (4.0, 16.0), 0.05  # of the gates' and of the new state's recurrent weights; a chaotic exponent
UNITS = (4, 8)
STARTS = ("chaotic", "usual")


# --- systems: a class is a parameter, a sequence begins anywhere


def pendulums(rod: float, n: int, rng: np.random.Generator) -> Floats:
    """Angle and velocity of pendulums of one rod, from any swing and any moment of it."""
    made = pendulum(n, 2 * STEPS, rod=rod, angle=(0.5, 2.0), interval=0.15, random_state=rng)
    begins = rng.integers(STEPS, size=n)
    return np.stack([one[begin : begin + STEPS] for one, begin in zip(made.states, begins, strict=True)])


def limit_cycles(stiffness: float, n: int, rng: np.random.Generator) -> Floats:
    """Van der Pol's oscillator x″ = μ (1 − x²) x′ − x, from any state, driven a little by noise."""
    x, v = rng.uniform(-2, 2, (2, n))
    out, h = np.empty((n, STEPS, 2)), 0.02
    for t in range(STEPS):
        out[:, t] = np.stack([x, v], -1)
        for _ in range(12):
            x, v = x + h * v, v + h * (stiffness * (1 - x * x) * v - x) + 0.1 * h**0.5 * rng.standard_normal(n)
    return out


def chaotic_maps(height: float, n: int, rng: np.random.Generator) -> Floats:
    """The logistic map x → r x (1 − x): two with one r are unlike after some steps, wherever they began."""
    x = rng.uniform(0.1, 0.9, n)
    for _ in range(50):
        x = height * x * (1 - x)
    out = np.empty((n, STEPS, 1))
    for t in range(STEPS):
        out[:, t, 0] = x
        x = height * x * (1 - x)
    return out


SYSTEMS: dict[str, tuple[Callable[[float, int, np.random.Generator], Floats], tuple[float, ...]]] = {
    "pendulums": (pendulums, (0.5, 0.7, 1.0, 1.4)),
    "cycles": (limit_cycles, (0.2, 1.0, 2.5, 5.0)),
    "maps": (chaotic_maps, (3.6, 3.7, 3.8, 3.9)),
}
CASES = [f"{system}-{units}-{start}" for start in STARTS for system in SYSTEMS for units in UNITS]


@cache
def drawn(system: str, seed: int, sizes: tuple[int, int, int] = (LEARNED, CHOOSING, ASKED)) -> Parts:
    """Three parts of new sequences, so many of every class, with noise of a tenth of the channels' deviations."""
    made, parameters = SYSTEMS[system]
    rng, total = np.random.default_rng(seed), sum(sizes)
    values = np.stack([made(parameter, total, rng) for parameter in parameters])
    values += NOISE * values.std(axis=(0, 1, 2)) * rng.standard_normal(values.shape)
    return Parts(*(_labelled(part) for part in np.split(values, np.cumsum(sizes[:-1]), axis=1)))


def _labelled(values: Floats) -> tl.Sequences:
    """(class, item, time, channel) as sequences."""
    flat = values.reshape(-1, *values.shape[2:]).astype(np.float32)
    return tl.Sequences(flat, labels=np.repeat(np.arange(len(values)), values.shape[1]))


# --- networks that start from the same GRU


class SiameseFrom(tl.SiameseGRU):
    """Starts from a GRU that is given."""

    start: nn.GRU

    def _build_distance_network(self, n_channels: int) -> Any:
        network: Any = super()._build_distance_network(n_channels)
        network.cells.load_state_dict(self.start.state_dict())
        return network


class CoupledFrom(tl.CoupledGRU):
    """The same, coupled."""

    start: nn.GRU

    def _build_distance_network(self, n_channels: int) -> Any:
        network: Any = super()._build_distance_network(n_channels)
        network.load_state_dict(CoupledNetwork.from_gru(self.start).state_dict() | _coupling(network))
        return network


def _coupling(network: nn.Module) -> dict[str, Any]:
    return {name: value for name, value in network.state_dict().items() if name.endswith("_hc")}


def begun(n_channels: int, hidden: int, seed: int, *, chaotic: bool) -> nn.GRU:
    """A GRU as torch makes it; or one of larger recurrent weights, drawn until its largest exponent is positive."""
    torch.manual_seed(seed)
    while True:
        gru = nn.GRU(n_channels, hidden, batch_first=True)
        if not chaotic:
            return gru
        gains = torch.tensor(GAINS).repeat_interleave(torch.tensor([2 * hidden, hidden]))
        with torch.no_grad():
            gru.get_parameter("weight_hh_l0").mul_(gains[:, None])
        if exponent(gru, steps=100, starts=2) > LEAST and exponent(gru) > LEAST:
            return gru


def exponent(gru: nn.GRU, steps: int = 500, starts: int = 8) -> float:
    """The largest Lyapunov exponent of a GRU without input."""
    return CoupledNetwork.from_gru(gru).lyapunov_exponent(steps=steps, starts=starts, random_state=0)


# --- a row


def work(case: str, method: str, seed: int, *, quick: bool) -> dict[str, Any]:
    """The network with the best learning rate, scored on new sequences, and its exponents before and after."""
    system, units, start = case.split("-")
    parts = drawn(system, seed, (6, 2, 2)) if quick else drawn(system, seed)
    gru = begun(parts.learned.frame[0], int(units), seed, chaotic=start == "chaotic")
    kind = SiameseFrom if METHODS[method][0] == "SiameseGRU" else CoupledFrom

    def make(rate: float) -> Any:
        given = plain(method, rate=rate, hidden=int(units), random_state=seed, quick=quick).get_params(deep=False)
        metric: Any = kind(**given)
        metric.start = gru
        return metric

    metric, found = tuned(make, parts)
    network = metric.network_
    after = (
        exponent(network.cells)
        if kind is SiameseFrom
        else network.lyapunov_exponent(steps=500, starts=8, random_state=0)
    )
    return found | judged(metric, parts.asked, parts.learned) | {"exponent before": exponent(gru), "exponent": after}
