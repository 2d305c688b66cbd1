"""The series that the causal encoder is timed with, how often, and what should be reached on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import timelike as tl


@dataclass(frozen=True)
class Effort:
    """How often things are timed."""

    turns: int = 8
    encoded: int = 100  # series
    long: int = 100_000  # steps of the long series


def series(rng: np.random.Generator, lengths: list[int], n_channels: int) -> tl.Sequences:
    return tl.Sequences([rng.standard_normal((length, n_channels)).astype(np.float32) for length in lengths])


@dataclass(frozen=True)
class Kind:
    """What it is called, the series, and by what the peers should be beaten: the authors' in training, ours before."""

    said: str
    series: tl.Sequences
    training: float | None = None
    encoding: float | None = None
    whole: bool = False  # crops of training as long as the series


def kinds(many: int) -> dict[str, Kind]:
    rng = np.random.default_rng(0)
    ragged = rng.integers(10, 201, many).tolist()
    long = series(rng, [2000] * many, 1)
    return {
        "equal": Kind("length 128 × 9 channels", series(rng, [128] * many, 9), 5.0, 2.0),
        "long": Kind("length 2000, univariate", long, 5.0, 5.0),
        "whole": Kind("length 2000, univariate, crops of the whole length", long, 5.0, whole=True),
        "ragged": Kind("lengths 10 to 200, univariate", series(rng, ragged, 1)),
    }
