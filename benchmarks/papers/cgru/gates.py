"""A trained coupled GRU that answers with other gates than its own: shut, constant, or those of another pair."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.model_options import build_model
from benchmarks.papers.cgru.data import Problem, positions
from benchmarks.papers.cgru.equals import budget, judged, plain, scored
from benchmarks.papers.cgru.few_users import drawn
from numpy.typing import NDArray
from torch import Tensor

import timelike as tl
from timelike.metric.distance_network import Features

SETS = ("HAR", "NATOPS", "JapaneseVowels", "ArticularyWordRecognition")
NETWORKS = ("plain", "front")
GATES = ("own", "zero", "mean", "shuffled")
CONDITIONS = ("clean", "noise ½", "noise 1", "crop", "shift")
SEARCHED, ASKED = 60, 90  # sequences, so that a rollout in torch takes a second
RATE, KEPT = 3e-2, 0.7  # of the plain networks; of a crop
LABELS = 100  # of every class of UCI HAR


# --- a rollout in torch


class CoupledRollout(NamedTuple):
    """Distances (pair,) of all x with all y, row by row, and the gates (step, pair, unit)."""

    distances: Tensor
    gates: Tensor


def rolled(network: Any, x: Features, y: Features, gates: Tensor | None = None) -> CoupledRollout:
    """Equations 8 to 13 of the paper, pair by pair, with the network's own gates or with those given."""
    n, m = len(x), len(y)
    sides = (x.take(torch.arange(n).repeat_interleave(m)), y.take(torch.arange(m).repeat(n)))
    (one, own), (two, other) = ((side.values.unbind(1), side.lengths[:, None]) for side in sides)
    first = second = one[0].new_zeros(n * m, network.hidden)
    used = []
    for t in range(int(torch.maximum(own, other).max())):
        couple = _gate(network, first + second) if gates is None else gates[t]
        used.append(couple)
        update, new = _proposed(network, one[min(t, len(one) - 1)], first)
        other_update, other_new = _proposed(network, two[min(t, len(two) - 1)], second)
        shared = couple * ((t < own) & (t < other))
        after = torch.lerp(torch.lerp(new, other_new, shared), first, update)
        other_after = torch.lerp(torch.lerp(other_new, new, shared), second, other_update)
        first, second = torch.where(t < own, after, first), torch.where(t < other, other_after, second)
    return CoupledRollout(torch.linalg.vector_norm(first - second, dim=1), torch.stack(used))


def _gate(network: Any, both: Tensor) -> Tensor:
    return torch.sigmoid(F.linear(both, network.weight_hc, network.bias_hc))


def _proposed(network: Any, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Update gate and new state of one of the two GRUs; the inputs have all biases but that inside the reset."""
    hidden = network.hidden
    turned = F.linear(state, network.weight_hh)
    reset, update = torch.sigmoid(inputs[:, : 2 * hidden] + turned[:, : 2 * hidden]).chunk(2, -1)
    inner = turned[:, 2 * hidden :] + network.bias_hh[2 * hidden :]
    return update, torch.tanh(inputs[:, 2 * hidden :] + reset * inner)


# --- answers with other gates


def constant(metric: Any, gate: Tensor) -> Any:
    """The same metric with a gate (unit,) that never changes: W_hc = 0, and b_hc its logit."""
    new = copy.deepcopy(metric)
    with torch.no_grad():
        new.network_.weight_hc.zero_()
        new.network_.bias_hc.copy_(torch.logit(gate).clamp(-100, 100))
    return new


def shuffled(metric: Any, asked: tl.Sequences, searched: tl.Sequences, seed: int) -> NDArray[Any]:
    """Distances (query, item) by rollouts in which every pair has the gates of another."""
    with torch.no_grad():
        sides = features(metric, asked), features(metric, searched)
        gates = rolled(metric.network_, *sides).gates
        found = rolled(metric.network_, *sides, gates[:, another(gates.shape[1], seed)]).distances
    return np.asarray(found.reshape(len(asked), len(searched)))


def another(count: int, seed: int) -> NDArray[np.int64]:
    """For each of so many another one, at random, each taken once.

    >>> bool((another(5, 0) != np.arange(5)).all()), sorted(another(5, 0).tolist())
    (True, [0, 1, 2, 3, 4])
    """
    order = np.random.default_rng(seed).permutation(count)
    found = np.empty(count, np.int64)
    found[order] = np.roll(order, 1)
    return found


def features(metric: Any, sequences: tl.Sequences) -> Features:
    """What the network makes of each sequence alone."""
    found: Features = metric.network_.features(*metric._standardize(sequences).to_tensor())
    return found


# --- changed queries


def changed(sequences: tl.Sequences, condition: str, scale: NDArray[Any], seed: int) -> tl.Sequences:
    """The sequences with noise (in deviations of the channels), without a part, or with another beginning."""
    rng = np.random.default_rng(seed)
    ones = [_changed(np.asarray(one), condition, scale, rng) for one in sequences]
    return tl.Sequences(ones, labels=sequences.labels)


def _changed(one: NDArray[Any], condition: str, scale: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    kind, _, level = condition.partition(" ")
    if kind == "noise":
        noise = rng.standard_normal(one.shape) * scale * {"½": 0.5, "1": 1.0}[level]
        return np.asarray(one + noise, one.dtype)
    if kind == "crop":
        left = max(2, round(KEPT * len(one)))
        begin = int(rng.integers(len(one) - left + 1))
        return one[begin : begin + left]
    return np.roll(one, int(rng.integers(len(one))), axis=0) if kind == "shift" else one


# --- a row


def problem(data: Path, whole: Any, name: str, seed: int) -> tuple[tl.Sequences, Problem]:
    """What is learned from, and samples to search and to ask for. HAR: a fifth of the users, and the test users."""
    if name == "HAR":
        parts = drawn(whole(), LABELS, seed)
        learned, asked = parts.learned, parts.asked
    else:
        learned, asked = tl.load(str(data / f"uea/{name}.npz"))
    n_classes = len(np.unique(np.asarray(learned.labels)))
    some = [side[positions(side, seed, most // n_classes)] for side, most in ((learned, SEARCHED), (asked, ASKED))]
    return learned, Problem(*some)


def trained(network: str, learned: tl.Sequences, seed: int, *, quick: bool) -> dict[str, Any]:
    """Both kinds, with the paper's networks or with those of the library's defaults, and the same steps."""
    if network == "plain":
        made = {name: plain(name, rate=RATE, quick=quick, random_state=seed) for name in ("siamese", "coupled")}
    else:
        given = budget(quick) | {"random_state": seed}
        made = {
            "siamese": build_model("SiameseGRU", **given),
            "coupled": build_model("CoupledGRU", coupling_bias=-2.0, **given),
        }
    return {name: metric.fit(learned) for name, metric in made.items()}


def work(data: Path, whole: Any, name: str, network: str, seed: int, *, quick: bool) -> dict[str, Any]:
    """Scores by gate and condition, those of the siamese network beside them, and how much the gate varies."""
    learned, some = problem(data, whole, name, seed)
    if quick:
        some = Problem(*(side[positions(side, 0, 2)] for side in some))
    metrics = trained(network, learned, seed, quick=quick)
    coupled, scale = metrics["coupled"], learned.values.std(axis=0)
    with torch.no_grad():
        gates = rolled(coupled.network_, *(features(coupled, some.gallery),) * 2).gates
    others = {"zero": constant(coupled, torch.zeros(gates.shape[2])), "mean": constant(coupled, gates.mean((0, 1)))}
    by_gate = {"siamese": metrics["siamese"], "own": coupled, **others}
    found: dict[str, dict[str, dict[str, float]]] = {gate: {} for gate in ("siamese", *GATES)}
    for condition in CONDITIONS:
        asked = changed(some.queries, condition, scale, seed)
        for gate, metric in by_gate.items():
            found[gate][condition] = judged(metric, asked, some.gallery)
        distances = shuffled(coupled, asked, some.gallery, seed)
        found["shuffled"][condition] = scored(distances, asked, some.gallery)
    moved = {"gate": float(gates.mean()), "gate deviation": float(gates.flatten(0, 1).std(0).mean())}
    return {"scores": found, "n_learned": len(learned), **moved}
