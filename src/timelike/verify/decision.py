"""`Decision`: accepted or not, with the score and the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Decision:
    """Whether a claim is accepted, its score (higher is more similar), and the lowest score that is accepted.

    For collections each is an array. A stream that has not decided yet has `accepted=None`. `bool(decision)` is True if
    it was accepted, and False if it was rejected or is still open.

    >>> bool(Decision(False, -3.0, -1.5))
    False
    """

    accepted: Any
    score: Any
    threshold: Any
    identity: Any = None
    """The accepted identity, of `accepts` and `identify`; None if rejected, and for `verify`."""

    def __bool__(self) -> bool:
        if isinstance(self.accepted, np.ndarray):
            raise ValueError(f"{self.accepted.size} decisions have no single truth value: use the array `accepted`")
        return self.accepted is True

    @property
    def is_certain(self) -> bool:
        """Whether it is decided; a stream may still be open."""
        return self.accepted is not None


def make_decision(scores: Any, threshold: Any, identity: Any = None) -> Decision:
    """The `Decision` for one score, or for many; `identity` is that of accepted claims."""
    if np.ndim(scores) == 0:
        is_accepted = bool(scores >= threshold)
        return Decision(is_accepted, float(scores), float(threshold), identity if is_accepted else None)
    accepted = scores >= threshold
    identities = (
        None
        if identity is None
        else np.array([identity if is_accepted else None for is_accepted in accepted], dtype=object)
    )
    return Decision(accepted, scores, np.broadcast_to(threshold, scores.shape).copy(), identities)
