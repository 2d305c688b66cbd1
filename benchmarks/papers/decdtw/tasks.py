"""The tasks of the DecDTW comparison: pairs with a true warp, and those that need no data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]


@dataclass(frozen=True)
class Pairs:
    """Sequences to be aligned: x and y (item, time, channel), the true warp (item, knot) in y's steps."""

    x: Tensor
    y: Tensor
    truth: Tensor
    scale: Tensor  # (item,): what one of y's steps is, in the unit that is reported
    group: Tensor  # (item,): what must not be shared between splits
    x_place: Tensor | None = None  # (item, time, 2): where x and y were, in metres
    y_place: Tensor | None = None
    kind: Tensor | None = None  # (item,): the condition

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, which: Any) -> Pairs:
        held = {f.name: getattr(self, f.name) for f in fields(self)}
        taken: dict[str, Any] = {name: None if v is None else v[which] for name, v in held.items()}
        return Pairs(**taken)


@dataclass(frozen=True)
class Task:
    name: str
    unit: str
    train: Pairs
    val: Pairs
    test: Pairs
    kinds: tuple[str, ...] = ()
    free_ends: bool = False  # x is somewhere inside y

    def __post_init__(self) -> None:
        parts = (self.train, self.val, self.test)
        held = [set(part.group.tolist()) for part in parts]
        assert len(set.union(*held)) == sum(map(len, held)), f"{self.name}: splits share a group"
        for part in parts:
            assert bool((part.truth.diff(dim=1) >= 0).all()), f"{self.name}: a true warp goes back in time"


def tensors(*arrays: Any) -> list[Tensor]:
    return [torch.tensor(np.asarray(a), dtype=torch.float32) for a in arrays]


def unit(frames: Array) -> Array:
    return np.asarray(frames / np.maximum(np.linalg.norm(frames, axis=-1, keepdims=True), 1e-6))


def smooth(rng: np.random.Generator, shape: tuple[int, ...], at: Array, length: float, terms: int = 48) -> Array:
    """Gaussian processes with a squared exponential covariance at the times `at`: (*shape, time), unit variance."""
    frequency = rng.standard_normal((*shape, terms)) / length
    phase = rng.uniform(0, 2 * np.pi, (*shape, terms))
    return np.asarray(np.cos(frequency[..., None] * at + phase[..., None]).sum(axis=-2) * np.sqrt(2 / terms))


# --- generated: warped signals under distractors


def warped_task(counts: tuple[int, int, int] = (480, 160, 320), *, steps: int = 64, informative: int = 4) -> Task:
    """Signals that are the same but for a warp, mixed with others that have nothing to do with each other.

    `informative` smooth channels s(t); y shows s(φ⁻¹(t)). Each side has twice as many channels of its own, as smooth
    and 0.8 times as strong. One fixed matrix mixes all, the same for x and y, and white noise is added. A warp has a
    smooth random slope between about 1/3 and 3.
    """
    rng = np.random.default_rng(71)
    mixing, _ = np.linalg.qr(rng.standard_normal((3 * informative,) * 2))
    grid = np.linspace(0, 1, steps)
    made = [_warped(rng, mixing, grid, informative) for _ in range(sum(counts))]
    x, y, truth = tensors(*(np.stack(v) for v in zip(*made, strict=True)))
    everything = Pairs(x, y, truth * (steps - 1), torch.full((len(x),), 100.0 / (steps - 1)), torch.arange(len(x)))
    first, second = counts[0], counts[0] + counts[1]
    return Task("generated", "% of y", everything[:first], everything[first:second], everything[second:])


def _warped(
    rng: np.random.Generator, mixing: Array, grid: Array, informative: int, strength: float = 0.8
) -> tuple[Array, Array, Array]:
    slope = np.exp(0.6 * smooth(rng, (), grid, 0.2))
    phi = np.concatenate([[0], np.cumsum((slope[1:] + slope[:-1]) / 2)])
    phi /= phi[-1]
    # one draw of the processes, looked at in x's time and where the warp comes from
    both = smooth(rng, (informative,), np.concatenate([grid, np.interp(grid, phi, grid)]), 0.08)
    sides = []
    for shown in np.split(both, 2, axis=1):
        other = strength * smooth(rng, (len(mixing) - informative,), grid, 0.08)
        frames = np.concatenate([shown, other]).T @ mixing
        sides.append(unit(frames + 0.15 * rng.standard_normal(frames.shape)))
    return sides[0], sides[1], phi


# --- generated: places


CONDITIONS = ("overcast", "sunny", "snow")
THRESHOLDS = (3, 5, 7, 10)  # metres, of a maximum error
QUERY, REFERENCE, SPACING = 10, 25, 5.0


def places_task(counts: tuple[int, int, int] = (1500, 300, 600)) -> Task:
    """A short drive to be found on a longer one of the same road, in other light: the shape of section 7.2.

    A reference is 25 frames about 5 m apart, a query 10 frames at one per second of a car whose speed changes, wholly
    inside. What is seen depends on the place through 16 smooth channels (about 12 m) and on the condition through 24
    others, which change with time on each drive and not with the place; a fixed matrix mixes them into 40 descriptors
    that saturate. Every pair is another road, so that train, validation and test are disjoint in space. A condition
    is stronger or weaker distraction: overcast, sunny, snow.
    """
    rng = np.random.default_rng(72)
    mixing = rng.standard_normal((40, 40)) / np.sqrt(12)
    made = [_drive(rng, mixing, i % len(CONDITIONS)) for i in range(sum(counts))]
    x, y, truth, x_place, y_place = tensors(*(np.stack(v) for v in zip(*made, strict=True)))
    number = torch.arange(len(x))
    everything = Pairs(x, y, truth, torch.full((len(x),), SPACING), number, x_place, y_place, number % len(CONDITIONS))
    first, second = counts[0], counts[0] + counts[1]
    parts = (everything[:first], everything[first:second], everything[second:])
    return Task("places", "m", *parts, kinds=CONDITIONS, free_ends=True)


def _drive(rng: np.random.Generator, mixing: Array, condition: int) -> tuple[Array, ...]:
    stops = SPACING * np.arange(REFERENCE) + rng.uniform(-1, 1, REFERENCE)
    speed = rng.uniform(3, 9) * np.exp(0.5 * smooth(rng, (), np.arange(QUERY - 1.0), 3.0))  # m/s, a frame per second
    speed *= min(1.0, 0.95 * (stops[-1] - stops[0]) / speed.sum())
    seen = np.concatenate([[0], np.cumsum(speed)])
    seen += rng.uniform(stops[0], stops[-1] - seen[-1])
    along = np.concatenate([seen, stops])
    place = smooth(rng, (16,), along, 12.0).T
    strength = (0.3, 0.45, 0.6)[condition]
    light = [_light(rng, n, strength) for n in (QUERY, REFERENCE)]
    frames = np.tanh(np.concatenate([place, np.concatenate(light)], axis=1) @ mixing)
    frames += 0.1 * rng.standard_normal(frames.shape)
    road = _road(rng, along)
    road[:QUERY] += rng.normal(0, 0.15, (QUERY, 2))  # metres: another lane position, and the receiver's error
    truth = np.interp(seen, stops, np.arange(REFERENCE))
    return unit(frames[:QUERY]), unit(frames[QUERY:]), truth, road[:QUERY], road[QUERY:]


def _light(rng: np.random.Generator, frames: int, strength: float) -> Array:
    """Of one drive: a constant for the condition, and what changes while driving."""
    constant = rng.standard_normal((24, 1))
    return np.asarray(strength * (constant + smooth(rng, (24,), np.arange(float(frames)), 4.0)).T)


def _road(rng: np.random.Generator, along: Array) -> Array:
    """A road with slow bends: places (time, 2) at the distances `along`."""
    fine = np.arange(along.min() - 1, along.max() + 1, 0.25)
    heading = rng.uniform(0, 2 * np.pi) + 0.6 * smooth(rng, (), fine, 60.0)
    line = np.cumsum(0.25 * np.stack([np.cos(heading), np.sin(heading)]), axis=1)
    return np.stack([np.interp(along, fine, one) for one in line], axis=1)
