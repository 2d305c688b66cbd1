"""`Decision`: accepted or not, the score it goes by, and the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Decision:
    """Whether something is accepted, how alike it is (higher is more), and the score from which on it is accepted.

    For collections each is an array. A stream that is not sure yet has `accepted=None`. In an `if`, a decision counts
    as what was accepted; one that is not sure counts as not.

    >>> bool(Decision(False, -3.0, -1.5))
    False
    """

    accepted: Any
    score: Any
    threshold: Any
    identity: Any = None
    """Who was accepted, by `accepts` and `identify`; None for nobody, and for two sequences that are compared."""

    def __bool__(self) -> bool:
        if isinstance(self.accepted, np.ndarray):
            raise ValueError(
                f"{self.accepted.size} decisions at once are not one: look at `accepted`, an array of them"
            )
        return self.accepted is True

    @property
    def is_certain(self) -> bool:
        """Whether it is decided; a stream may still be waiting."""
        return self.accepted is not None
