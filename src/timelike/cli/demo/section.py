"""`Section`, what a part of the demo finds, and `Score`, a line of its summary table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Score:
    """A number of one of our methods beside that of its cheap rival, measured in this run."""

    method: str
    measure: str  # what is measured, in words: "accuracy", "error of the mean, t+1…t+20"
    value: float
    rival: str
    rival_value: float
    better: Literal["higher", "lower"]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the demo: a heading, what it is good for, its scores, and HTML of words and figures."""

    title: str
    purpose: str  # one sentence: when somebody would use it
    scores: tuple[Score, ...] = ()
    parts: tuple[str, ...] = ()  # HTML, as the functions of `report.sections` make it
    code: str = ""  # the few lines of Python that do the same with one's own data


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """A section that can be run: its name for the progress line, what it needs, and the function."""

    name: str
    run: Callable[[], Section]
    needs_torch: bool = False
    needs: tuple[str, ...] = field(default=())  # names of data sets, as `data.load_or_generate` takes them
