"""The chapters of the demo in order, and running one: a failure is a result, and the others go on."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from ...core.extras import MissingExtraError, import_extra
from .section import Chapter, Section

CHAPTERS = (
    "data-overview",
    "comparison",
    "alignment",
    "embedding",
    "learned-metrics",
    "prototypes",
    "forecast",
    "futures",
    "drift",
    "particles",
)
"""Names of chapters; each is a module in `sections` that has its `CHAPTER`."""


@dataclass(frozen=True, kw_only=True)
class ChapterRun:
    """What came of a chapter: its section, or the reason why there is none."""

    name: str
    title: str
    seconds: float
    processor_seconds: float
    state: Literal["finished", "failed", "left out"]
    reason: str = ""
    section: Section | None = None
    needs: tuple[str, ...] = ()  # data sets

    def to_dict(self) -> dict[str, Any]:
        """The fields of the JSON."""
        scores = self.section.scores if self.section else ()
        return {
            "name": self.name,
            "title": self.title,
            "purpose": self.section.purpose if self.section else None,
            "state": self.state,
            "reason": self.reason or None,
            "seconds": self.seconds,
            "processor_seconds": self.processor_seconds,
            "scores": [vars(score) for score in scores],
        }


def load_chapter(name: str) -> Chapter:
    """The chapter of this name; its module is imported, and nothing heavy with it."""
    chapter: Chapter = import_module(f".sections.{name.replace('-', '_')}", __package__).CHAPTER
    return chapter


def run_chapter(name: str, *, debug: bool = False) -> ChapterRun:
    """Run a chapter; an error in it becomes the reason, and with `debug` its traceback is printed."""
    began, processor_began, title = time.perf_counter(), time.process_time(), name
    needs: tuple[str, ...] = ()
    section, reason, state = None, "", "finished"
    try:
        chapter = load_chapter(name)
        title, needs = chapter.name[:1].upper() + chapter.name[1:], chapter.needs
        if chapter.needs_torch:
            import_extra("torch", f"the section {name}")
        section = chapter.run()
        title = section.title
    except MissingExtraError as error:
        state, reason = "left out", str(error)
    except Exception as error:  # the other sections are shown all the same
        state, reason = "failed", f"{type(error).__name__}: {error}"
        if debug:
            traceback.print_exc()
    return ChapterRun(
        name=name,
        title=title,
        seconds=time.perf_counter() - began,
        processor_seconds=time.process_time() - processor_began,
        state=state,  # type: ignore[arg-type]
        reason=reason,
        section=section,
        needs=needs,
    )
