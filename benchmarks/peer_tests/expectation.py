"""`Expectation`: a number that a test of another library expects, and the call of ours that should give it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Why(NamedTuple):
    """Why the two differ, and who is right: "ours", or "both" where they are two conventions."""

    reason: str
    right: str


class Expectation(NamedTuple):
    """One assertion of a test of theirs, and what we call; `within` is the difference their test allows."""

    test: str
    expected: Any
    ours: str
    within: float = 1e-6
    why: Why | None = None
