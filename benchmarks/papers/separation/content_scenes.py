"""Digits and waves with appearances that were trained on and others, and the true frames of their swaps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.papers.srvp.clips import FILE, SIZE, SPEED
from numpy.typing import NDArray

import timelike as tl
from timelike.sequences import generate

CONDITIONING = 5
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Scene:
    """Frames of a chunk after the conditioning ones, of a long forecast, and numbers of sequences."""

    trained: int
    horizon: int
    few: int
    many: int
    n_digits: int = 0  # none: waves

    @property
    def chunk(self) -> int:
        return CONDITIONING + self.trained


SCENES = {
    "one digit": Scene(10, 40, 100, 2000, n_digits=1),
    "two digits": Scene(10, 40, 100, 2000, n_digits=2),
    "waves": Scene(20, 60, 20, 240),
}
COUNTS = ("few", "many")
APPEARANCES = ("seen", "unseen")  # digits of the training clips, or test digits; trained celerities, or faster waves
TRAINED_CELERITY, FASTER = (300.0, 375.0), (375.0, 400.0)
N_PIXELS, LATEST_START = 100, 20  # of waves


@dataclass(frozen=True)
class Clips:
    """Pasts (clip, 5, *frame), their futures, and the true futures of swaps (order, clip, step, *frame).

    A swap has the content of a clip and the motion of the one before it. Two digits can take two paths in two orders.
    """

    past: Floats
    truth: Floats
    swaps: Floats


@dataclass(frozen=True)
class Problem:
    """Sequences to train on, and clips to forecast by appearance."""

    train: Floats
    asked: dict[str, Clips]


@lru_cache(maxsize=2)
def problem(data: Path, name: str, count: str, seed: int, n_asked: int) -> Problem:
    """The same for every method of a seed; clips that are asked about differ from the trained ones in their motion."""
    scene = SCENES[name]
    n_train: int = getattr(scene, count)
    return _digits(data, scene, n_train, seed, n_asked) if scene.n_digits else _waves(scene, n_train, seed, n_asked)


# --- digits


def _digits(data: Path, scene: Scene, n_train: int, seed: int, n_asked: int) -> Problem:
    given: dict[str, Any] = {"n_digits": scene.n_digits, "size": SIZE, "speed": SPEED, "digits": data / FILE}
    train = generate.moving_digits(n_train, scene.chunk, random_state=np.random.default_rng([seed, 0]), **given)
    length = CONDITIONING + scene.horizon
    unseen = generate.moving_digits(
        n_asked, length, split="test", random_state=np.random.default_rng([seed, 1]), **given
    )
    trained_digits = train.patches[np.arange(n_asked) % n_train]
    frames = generate.rasterize_digits(trained_digits, unseen.positions, size=SIZE)
    seen = unseen._replace(patches=trained_digits, sequences=tl.Sequences(frames))
    return Problem(_stack(train.sequences), {"seen": _digit_clips(seen), "unseen": _digit_clips(unseen)})


def _digit_clips(made: generate.MovingDigits) -> Clips:
    before = made._replace(positions=np.roll(made.positions, 1, axis=0))
    frames = _stack(made.sequences)
    return Clips(frames[:, :CONDITIONING], frames[:, CONDITIONING:], made.swap(before)[:, :, CONDITIONING:])


# --- waves


def _waves(scene: Scene, n_train: int, seed: int, n_asked: int) -> Problem:
    length = LATEST_START + CONDITIONING + scene.horizon
    given: dict[str, Any] = {"length": length, "border": "fixed"}
    rng = np.random.default_rng([seed, 2])
    train = generate.waves(n_train, celerity=TRAINED_CELERITY, pixels=N_PIXELS, random_state=rng, **given)
    asked = {}
    for appearance, celerity in zip(APPEARANCES, (TRAINED_CELERITY, FASTER), strict=True):
        made = generate.waves(n_asked, celerity=celerity, pixels=train.pixels, random_state=rng, **given)
        asked[appearance] = wave_clips(_stack(made.sequences), rng.integers(LATEST_START + 1, size=n_asked), scene)
    return Problem(_stack(train.sequences), asked)


def wave_clips(frames: Floats, starts: NDArray[np.int64], scene: Scene) -> Clips:
    """Clips that begin at `starts`: content is the celerity of a wave, and motion the time since it began."""
    rows, steps = np.arange(len(frames))[:, None], np.arange(CONDITIONING + scene.horizon)
    whole = frames[rows, starts[:, None] + steps]
    swaps = frames[rows, np.roll(starts, 1)[:, None] + steps]
    return Clips(whole[:, :CONDITIONING], whole[:, CONDITIONING:], swaps[None, :, CONDITIONING:])


def _stack(sequences: tl.Sequences) -> Floats:
    return np.stack(list(sequences)).astype(np.float32)
