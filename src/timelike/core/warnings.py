"""The line outside this library from which it was called, for warnings."""

from __future__ import annotations

import inspect

_PACKAGE = __name__.partition(".")[0]


def find_stack_level() -> int:
    """The `stacklevel` with which a warning, made by the caller of this function, names the user's line.

    Verbs reach a warning by different ways, so no number written down is right for all of them.
    """
    level, frame = 1, inspect.currentframe()
    frame = frame.f_back if frame is not None else None  # whoever warns
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    return level
