"""The runtime environment of the kernels: whether they are compiled, the instruction set, and the number of CPUs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable

from ...core.threads import cpu_count, thread_count
from ...core.warnings import find_stack_level
from .packed_sequences import COSTS, Cost, PackedSequences, refuse_mismatch

try:
    from .. import _kernels as kernels
except ImportError:  # a pure wheel: built without a compiler
    kernels = None  # type: ignore[assignment]

__all__ = [
    "COSTS",
    "Cost",
    "PackedSequences",
    "ProgressCallback",
    "cpu_count",
    "is_native_enabled",
    "isa",
    "kernels",
    "refuse_mismatch",
    "thread_count",
    "use_kernels",
]

ProgressCallback = Callable[[int, int], None] | None
"""Told now and then how much of the work is done, and how much there is; what it raises ends the work."""

_warned: list[bool] = []
_checked_isa: list[str] = []  # the kernels read TIMELIKE_ISA once, so it is checked once


def is_native_enabled() -> bool:
    """Whether the compiled kernels are in use; `TIMELIKE_NATIVE=0` disables them.

    >>> is_native_enabled() in (True, False)
    True
    """
    return kernels is not None and os.environ.get("TIMELIKE_NATIVE") != "0"


def use_kernels() -> bool:
    """Whether to run the kernels or the fallback; warns once if the kernels are missing and not disabled.

    Callers check at every call, not at import, because tests and users disable the kernels in between.
    """
    if is_native_enabled():
        if not _checked_isa:
            _checked_isa.append(isa())
        return True
    if kernels is None and not _warned:
        _warned.append(True)
        warnings.warn(
            "timelike runs on its fallback (same numbers, 6 to 200 times slower), because this installation has no "
            "compiled kernels: install a C++17 compiler (g++ or clang++), then pip install --force-reinstall --no-deps "
            "--no-cache-dir timelike",
            RuntimeWarning,
            stacklevel=find_stack_level(),
        )
    return False


def isa() -> str:
    """The instruction set of the kernels in use (`TIMELIKE_ISA` may ask for a lesser one), or "fallback".

    >>> isa() in ("v4", "v3", "v2", "generic", "fallback")
    True
    """
    if not is_native_enabled():
        return "fallback"
    wish = os.environ.get("TIMELIKE_ISA")
    if wish and wish not in kernels.isas():
        raise ValueError(f"TIMELIKE_ISA={wish!r}: this build and processor have {', '.join(kernels.isas())}")
    return kernels.isa()
