"""The maximum norm of a gradient: a number, or twice the median of recent steps."""

from __future__ import annotations

import math
import statistics
from typing import Any, Literal

from ..core.parameters import check_float
from .history import History

GradientClip = float | Literal["adaptive"]

_MEDIANS = 2.0  # maximum norm, in medians of recent norms
_N_RECENT, _MIN_RECENT = (100, 10)  # steps of the median, and how many must have a gradient before it is clipped


def check_gradient_clip(value: Any, name: str) -> GradientClip:
    """The checked option: a positive number, `math.inf` or "adaptive"."""
    if isinstance(value, str):
        if value != "adaptive":
            raise ValueError(f"{name}={value!r}: expected a number above 0, math.inf or 'adaptive'")
        return "adaptive"
    return math.inf if value == math.inf else check_float(value, name, above=0)


def max_gradient_norm(clip: GradientClip | None, history: History) -> float | None:
    """The norm to which the next gradient is clipped; None clips nothing.

    The median is that of positive norms before clipping, and a checkpoint keeps them, so that a resumed training clips
    alike.

    >>> history = History()
    >>> for step, norm in enumerate([0.0] * 12 + [1.0] * 10):
    ...     history.record("gradient_norm", step, norm)
    >>> max_gradient_norm("adaptive", history)
    2.0
    """
    if clip != "adaptive":
        return None if clip is None or clip == math.inf else float(clip)
    # a hinge has no gradient where the margin holds: with these zeros the maximum could be 0, and training would stand
    # still for good
    recent = [norm for norm in history.recent("gradient_norm", _N_RECENT) if norm > 0]
    return _MEDIANS * statistics.median(recent) if len(recent) >= _MIN_RECENT else None
