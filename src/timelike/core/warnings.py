"""The `stacklevel` of warnings, so that they name the user's line."""

from __future__ import annotations

import inspect

_PACKAGE = __name__.partition(".")[0]


def find_stack_level() -> int:
    """The `stacklevel` with which a warning issued by the calling function names the user's line.

    Public functions reach a warning through different numbers of calls, so no constant is right for all of them.
    """
    level, frame = 1, inspect.currentframe()
    frame = frame.f_back if frame is not None else None  # the function that warns
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    return level
