"""Digits that move in 32 × 32: clips that are drawn anew for training, held out of it, or asked about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import timelike as tl
from timelike.sequences import generate

FILE = "mnist.npz"
SIZE, SPEED = 32, (1.0, 2.5)  # half of the thesis's frame, and of the generator's usual speed there
CONDITIONING, SHOWN = 5, 15  # frames of a past, and of a chunk of the training, as in the thesis
DRAWN = 2048  # clips at a time: a second, while a training looks at them for minutes
VERSIONS: dict[str, dict[str, Any]] = {
    "one digit": {"n_digits": 1},
    "two digits": {"n_digits": 2},
    "one digit, stochastic": {"n_digits": 1, "stochastic": True},
    "two digits, stochastic": {"n_digits": 2, "stochastic": True},
}
SHORT, MIDDLE = 10, 20
LONG = {False: 95, True: 20}  # frames ahead of deterministic and of stochastic clips, as in the thesis
TESTED = 200  # clips
Floats = NDArray[np.float32]
Part = Literal["train", "test", "fitting", "held out"]
"""All training pictures of MNIST and all test pictures; the first four fifths of the former, and the rest of them."""


@dataclass(frozen=True)
class Clips:
    """Clips that are asked about: `past` (clip, 5, 1, 32, 32), what came, and what they are made of.

    `positions` (clip, frame, digit, 2) are those of what came, `patches` (clip, digit, height, width) the pictures.
    """

    past: Floats
    truth: Floats
    positions: NDArray[np.float64]
    patches: Floats


def stochastic(version: str) -> bool:
    """Whether digits bounce off in directions that nobody knows."""
    return bool(VERSIONS[version].get("stochastic", False))


def horizons(version: str) -> tuple[int, ...]:
    """Steps over which scores are averaged, the longest last."""
    return (SHORT, MIDDLE) if stochastic(version) else (SHORT, MIDDLE, LONG[False])


@lru_cache(maxsize=1)
def asked(
    data: Path, version: str, horizon: int, n: int = TESTED, part: Part = "test", frames_per_step: int = 1
) -> Clips:
    """Clips of pictures that nothing was learned from, always the same ones.

    With several frames for a step what came has all of them, and the past one of each: a path does not depend on how
    often it is looked at.
    """
    n_frames = (CONDITIONING - 1 + horizon) * frames_per_step + 1
    made = _made(data, version, part, n, n_frames, 1 / frames_per_step, 1000 + list(VERSIONS).index(version))
    frames, seen = np.stack(list(made.sequences)), (CONDITIONING - 1) * frames_per_step + 1
    return Clips(frames[:, :seen:frames_per_step], frames[:, seen:], made.positions[:, seen:], made.patches)


def source(data: Path, version: str, part: Part = "train", n: int = DRAWN) -> Callable[[Any], tl.Sequences]:
    """Clips to learn from, drawn anew each time."""

    def draw(rng: np.random.Generator) -> tl.Sequences:
        found: tl.Sequences = _made(data, version, part, n, SHOWN, 1.0, rng).sequences
        return found

    return draw


def library(data: Path, version: str, n: int, length: int) -> tl.Sequences:
    """Clips to look pasts up in, or to take the mean of."""
    found: tl.Sequences = _made(data, version, "train", n, length, 1.0, 7).sequences
    return found


def _made(data: Path, version: str, part: Part, n: int, length: int, interval: float, seed: Any) -> Any:
    given: dict[str, Any] = VERSIONS[version] | {"size": SIZE, "speed": SPEED, "interval": interval}
    if part in ("train", "test"):
        given |= {"digits": data / FILE, "split": part}
    else:  # of pictures that are given the last fifth is for testing
        given |= {"digits": _training_pictures(data), "split": "train" if part == "fitting" else "test"}
    return generate.moving_digits(n, length, random_state=seed, **given)


@lru_cache(maxsize=1)
def _training_pictures(data: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    with np.load(data / FILE) as held:
        return held["X_train"], held["y_train"]
