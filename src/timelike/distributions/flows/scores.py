"""Scores along a flow: Sinkhorn divergence and squared MMD from the target, or the user's own functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_float
from ..discrepancy.mmd import mmd
from ..discrepancy.sinkhorn import sinkhorn_divergence
from ..kernels.base import Kernel
from .validation import FlowSamples

Floats = NDArray[np.float64]
Score = Callable[[Floats], float]
BLUR, SCALING = 1e-3, 0.95  # of the Sinkhorn divergence, as in the thesis's tables
_BUILTIN_SCORES = ("sinkhorn", "mmd")
RESERVED_NAMES = ("cost", "move", "step", "seconds")  # what a flow notes itself


def resolve_scores(scores: Any, cloud: FlowSamples, kernel: Kernel) -> dict[str, Score]:
    """Functions of particles, by name; None stands for those that fit what is moved."""
    if scores is None:
        scores = _BUILTIN_SCORES if cloud.is_vectors else ("mmd",)
    if isinstance(scores, Mapping):
        return {_check_name(name): _custom_score(name, score, cloud) for name, score in scores.items()}
    if isinstance(scores, str):
        raise TypeError(f"scores={scores!r}: expected several, such as ({scores!r},)")
    return {word: _builtin_score(word, cloud, kernel) for word in scores}


def _builtin_score(word: Any, cloud: FlowSamples, kernel: Kernel) -> Score:
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


def _check_name(name: Any) -> str:
    if not isinstance(name, str) or name in RESERVED_NAMES:
        raise ValueError(f"scores has the name {name!r:.40}: expected a word, and none of {', '.join(RESERVED_NAMES)}")
    return name


def _custom_score(name: str, score: Any, cloud: FlowSamples) -> Score:
    if not callable(score):
        raise TypeError(f"scores[{name!r}] is a {type(score).__name__}: expected a function of (particles, real)")
    return lambda particles: check_float(
        _to_python(score(cloud.to_input_type(particles), cloud.real_input)), f"what scores[{name!r}] gave"
    )


def _to_python(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
