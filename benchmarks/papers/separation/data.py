"""Waves in the three versions of the table: as in the thesis, with noise on what is seen, and faster than learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import timelike as tl
from timelike.sequences import generate

VERSIONS = ("noisy", "beyond", "thesis")  # the last is solved by memory
CONDITIONING, HORIZON = 5, 40
TRAINED = 20  # steps after the conditioning ones in a chunk of the thesis, and of the defaults
NOISE = 0.05
SPEEDS = {"beyond": ((300.0, 375.0), (375.0, 400.0))}
USUAL = ((300.0, 400.0), (300.0, 400.0))
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Problem:
    """Sequences to learn from, pasts as a forecaster sees them, (chunk, 5, *frame), and what came, (chunk, 40, *frame).

    `celerity` (sequence,) is that of the sequences to learn from.
    """

    train: tl.Sequences
    past: Floats
    truth: Floats
    celerity: NDArray[np.float64]


@dataclass(frozen=True)
class Size:
    """Sequences to learn from and to be asked about, steps of each, and every how many-th chunk is asked about.

    `pixels` at random, or None for whole pictures.
    """

    n_train: int = 240
    n_test: int = 60
    length: int = 150
    every: int = 5
    pixels: int | None = 100


def problem(version: str, seed: int, size: Size) -> Problem:
    """One draw of one version; pixels are the same for both halves."""
    if version not in VERSIONS:
        raise ValueError(f"version={version!r}: expected one of {', '.join(VERSIONS)}")
    fast = SPEEDS.get(version, USUAL)
    rng = np.random.default_rng([seed, VERSIONS.index(version)])
    given: dict[str, Any] = {"length": size.length, "border": "fixed", "random_state": rng}
    train = generate.waves(size.n_train, celerity=fast[0], pixels=size.pixels, **given)
    test = generate.waves(size.n_test, celerity=fast[1], pixels=train.pixels, **given)
    clean, shown = (np.stack(list(made.sequences)) for made in (test, train))
    past, truth = chunks(clean, size.every)
    if version == "noisy":
        past, shown = (one + NOISE * rng.standard_normal(one.shape).astype(np.float32) for one in (past, shown))
    return Problem(tl.Sequences(shown), past, truth, train.celerity)


def chunks(sequences: Floats, every: int) -> tuple[Floats, Floats]:
    """Every so many-th chunk of 45 steps in all sequences: the first five steps, and the others."""
    whole = CONDITIONING + HORIZON
    starts = range(0, sequences.shape[1] - whole + 1, every)
    cut = np.concatenate([sequences[:, start : start + whole] for start in starts])
    return cut[:, :CONDITIONING], cut[:, CONDITIONING:]


def held_out(given: Problem, version: str, every: int) -> Problem:
    """The same with a sixth of the training sequences in the place of those asked about, as they are seen.

    The fastest of them, where those asked about are faster than all: what is chosen is to be good beyond what is known.
    """
    count = max(1, len(given.train) // 6)
    order = np.argsort(given.celerity) if version == "beyond" else np.arange(len(given.train))
    kept, judged = np.sort(order[:-count]), np.sort(order[-count:])
    past, truth = chunks(np.stack([given.train[int(i)] for i in judged]), every)
    return Problem(given.train[kept], past, truth, given.celerity[kept])


def errors(forecast: NDArray[Any], truth: NDArray[Any]) -> dict[str, float]:
    """Mean squares over the steps that a chunk of the training has, over those after it, and over all."""
    squares = np.square(forecast.astype(np.float64) - truth).reshape(*truth.shape[:2], -1).mean(axis=(0, 2))
    return {
        "within": float(squares[:TRAINED].mean()),
        "after": float(squares[TRAINED:].mean()),
        "all": float(squares.mean()),
    }
