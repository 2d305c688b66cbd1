"""One line of the table of elastic distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.speed.timing import Job


@dataclass
class Work:
    """One line of the table: the same work for everybody."""

    title: str
    bar: str
    peers: dict[str, Job]
    ours: Job | None
    cells: float = 0  # of the dynamic program, without pruning
    operations: float = 0  # per cell; 0 where a share of the hardware limit means nothing
    itemsize: int = 8
    least: float | None = None  # the ratio to the fastest peer that is asked for
    notes: list[str] = field(default_factory=list)
    agree: Callable[[Any, Any], bool] | None = None  # (theirs, ours) → the same answer
