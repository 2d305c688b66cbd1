"""TAP, and the same network for frames with soft-DTW in the place of the alignment that TAP predicts."""

from __future__ import annotations

from typing import Any

from benchmarks.model_options import build_preset
from benchmarks.papers.tap.data import Plan

import timelike as tl
from timelike.metric import losses
from timelike.metric.base import AlignmentMetric
from timelike.metric.supervision import ConsistencyWeight

UNJUDGED: dict[str, Any] = {"validation": 0.0, "patience": None}  # where the paper holds nothing out
SMALLER: dict[str, Any] = {  # where a program says no more: in minutes what takes the paper hours
    "n_per_class": 4,
    "batch_size": 16,
    "max_epochs": 30,
    "patience": 10,
    "gradient_clip": 6.0,
    "schedule": "plateau",
}
LOSSES = ("triplet", "lifted", "binomial")


def aligned_by(name: str, **options: Any) -> AlignmentMetric:
    """`TAP`, or what an aligner of that name makes of learned frames."""
    if name == "TAP":
        return tap(**options)
    metric: AlignmentMetric = build_preset("AlignedFrames", "paper", aligner=name.lower(), **SMALLER | options)
    return metric


def tap(**options: Any) -> tl.TAP:
    """TAP as the paper has it, trained in less time."""
    metric: tl.TAP = build_preset("TAP", "paper", **SMALLER | options)
    return metric


def from_classes(name: str, plan: Plan, seed: int, *, quick: bool, **options: Any) -> AlignmentMetric:
    """The same as a plan has it learn from classes, in batches of 4 sequences of each of 4 classes."""
    return aligned_by(
        name,
        n_per_class=4,
        batch_size=16,
        max_epochs=1 if quick else plan.epochs,
        validation=plan.validation,
        standardize=False,
        random_state=seed,
        **({"hidden": 16} if quick else {}),
        **options,
    )


def consistency_of(metric: tl.TAP) -> ConsistencyWeight:
    """The weight of eq. 10 that it learns with."""
    weight: ConsistencyWeight | None = metric.get_params()["supervision__consistency"]
    return "paper" if weight is None else weight


def loss_for(name: str, aligner: str) -> Any:
    """With soft-DTW the paper takes α = 2 and β = 1, for a large α makes its losses infinite."""
    if aligner == "TAP" or name == "triplet":
        return name
    return {"lifted": losses.Lifted, "binomial": losses.Binomial}[name](alpha=2.0, beta=1.0)
