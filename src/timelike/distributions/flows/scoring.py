"""Scores along a flow: Sinkhorn divergence and squared MMD from the target, or functions of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sequences.arguments import real
from ..discrepancy.means import mmd
from ..discrepancy.transport import sinkhorn_divergence
from ..kernels.base import Kernel
from .reading import Cloud

Floats = NDArray[np.float64]
Score = Callable[[Floats], float]
BLUR, SCALING = 1e-3, 0.95  # of the Sinkhorn divergence, as in the thesis's tables
_WORDS = ("sinkhorn", "mmd")
TAKEN = ("cost", "move", "step", "seconds")  # what a flow notes itself


def read_scores(scores: Any, cloud: Cloud, kernel: Kernel) -> dict[str, Score]:
    """Functions of particles, by name; None stands for those that fit what is moved."""
    if scores is None:
        scores = _WORDS if cloud.vectors else ("mmd",)
    if isinstance(scores, Mapping):
        return {_name(name): _own(name, score, cloud) for name, score in scores.items()}
    if isinstance(scores, str):
        raise TypeError(f"scores={scores!r}: expected several, such as ({scores!r},)")
    return {word: _known(word, cloud, kernel) for word in scores}


def _known(word: Any, cloud: Cloud, kernel: Kernel) -> Score:
    if word == "mmd":
        return lambda particles: float(mmd(particles, cloud.real, kernel))
    if word != "sinkhorn":
        raise ValueError(f"scores has {word!r:.40}: expected 'sinkhorn' and 'mmd', or a dict of functions by name")
    if cloud.start.shape[1:] != cloud.real.shape[1:]:
        raise ValueError(
            f"scores has 'sinkhorn', which compares vectors: start has {cloud.start.shape[1]} time steps and real "
            f"{cloud.real.shape[1]}; leave it out, or resample(length=...) first"
        )
    target = cloud.real.reshape(len(cloud.real), -1)
    return lambda particles: float(
        sinkhorn_divergence(particles.reshape(len(particles), -1), target, blur=BLUR, scaling=SCALING)
    )


def _name(name: Any) -> str:
    if not isinstance(name, str) or name in TAKEN:
        raise ValueError(f"scores has the name {name!r:.40}: expected a word, and none of {', '.join(TAKEN)}")
    return name


def _own(name: str, score: Any, cloud: Cloud) -> Score:
    if not callable(score):
        raise TypeError(f"scores[{name!r}] is a {type(score).__name__}: expected a function of (particles, real)")
    return lambda particles: real(_plain(score(cloud.back(particles), cloud.target)), f"what scores[{name!r}] gave")


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
