"""The machine under all kernels: whether they are compiled, for which instruction set, on how many processors."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable

from ...sequences.callers import outside
from .processors import cores, threads
from .steps import COSTS, Cost, Steps, refuse_mismatch

try:
    from .. import _kernels as kernels
except ImportError:  # a pure wheel: built without a compiler
    kernels = None  # type: ignore[assignment]

__all__ = [
    "COSTS",
    "Cost",
    "Report",
    "Steps",
    "compiled",
    "cores",
    "isa",
    "kernels",
    "refuse_mismatch",
    "threads",
    "use_kernels",
]

Report = Callable[[int, int], None] | None
"""Told now and then how much of the work is done, and how much there is; what it raises ends the work."""

_warned: list[bool] = []
_wish_heard: list[str] = []  # the kernels read TIMELIKE_ISA once, so it is checked once


def compiled() -> bool:
    """Whether the compiled kernels are in use; `TIMELIKE_NATIVE=0` switches them off.

    >>> compiled() in (True, False)
    True
    """
    return kernels is not None and os.environ.get("TIMELIKE_NATIVE") != "0"


def use_kernels() -> bool:
    """Whether a door takes the kernels or the twin; says once what is missing where nobody chose the twin.

    Doors ask at every call and not when they are imported: tests and users switch the kernels off in between.
    """
    if compiled():
        if not _wish_heard:
            _wish_heard.append(isa())
        return True
    if kernels is None and not _warned:
        _warned.append(True)
        warnings.warn(
            "timelike runs on its torch executor (same numbers, much slower) because this installation has no compiled "
            "kernels: install a C++17 compiler (g++ or clang++), then pip install --force-reinstall --no-deps timelike",
            RuntimeWarning,
            stacklevel=outside(),
        )
    return False


def isa() -> str:
    """The instruction set of the kernels in use (`TIMELIKE_ISA` may ask for a lesser one), or "torch".

    >>> isa() in ("v4", "v3", "v2", "generic", "torch")
    True
    """
    if not compiled():
        return "torch"
    wish = os.environ.get("TIMELIKE_ISA")
    if wish and wish not in kernels.isas():
        raise ValueError(f"TIMELIKE_ISA={wish!r}: this build and processor have {', '.join(kernels.isas())}")
    return kernels.isa()
