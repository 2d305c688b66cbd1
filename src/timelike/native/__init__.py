"""Raw buffers → buffers: the compiled kernels, or torch where there are none, behind one set of functions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .buffers import COSTS, SHAPES, Cost, Program, Shape, Steps, Window

try:
    from . import _kernels
except ImportError:  # a pure wheel: built without a compiler
    _kernels = None  # type: ignore[assignment]

__all__ = [
    "COSTS",
    "SHAPES",
    "Cost",
    "Program",
    "Report",
    "Shape",
    "Steps",
    "Window",
    "compiled",
    "cores",
    "isa",
    "matrix",
    "pairwise",
    "path",
    "search",
]

PATH_BUDGET = 1 << 28  # bytes of directions kept at once; a longer path costs the rows of the program twice
Report = Callable[[int, int], None] | None
_warned: list[bool] = []
_wish_heard: list[str] = []  # the kernels read TIMELIKE_ISA once, so it is checked once


def compiled() -> bool:
    """Whether the compiled kernels are in use; `TIMELIKE_NATIVE=0` switches them off.

    >>> compiled() in (True, False)
    True
    """
    return _kernels is not None and os.environ.get("TIMELIKE_NATIVE") != "0"


def _use_kernels() -> bool:
    if compiled():
        if not _wish_heard:
            _wish_heard.append(isa())
        return True
    if _kernels is None and not _warned:
        _warned.append(True)
        warnings.warn(
            "timelike runs on its torch executor (same numbers, much slower) because this installation has no compiled "
            "kernels: install a C++17 compiler (g++ or clang++), then pip install --force-reinstall --no-deps timelike",
            RuntimeWarning,
            stacklevel=4,
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
    if wish and wish not in _kernels.isas():
        raise ValueError(f"TIMELIKE_ISA={wish!r}: this build and processor have {', '.join(_kernels.isas())}")
    return _kernels.isa()


def cores() -> int:
    """Processors this process may use.

    >>> cores() >= 1
    True
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def pairwise(
    program: Program,
    x: Steps,
    y: Steps,
    *,
    symmetric: bool,
    threads: int,
    out: NDArray[Any],
    report: Report,
) -> None:
    """The program over all pairs into `out`, in the one float dtype of x, y and out; `symmetric` says y is x."""
    if _use_kernels():
        how: Any = {"symmetric": symmetric, "threads": threads, "out": out, "report": report}
        _kernels.pairwise(program.plan(), *x, *y, *program.arrays(out.dtype), **how)
    else:
        from . import wavefront

        wavefront.pairwise(program, x, y, symmetric=symmetric, out=out, report=report)


def search(
    program: Program, x: Steps, y: Steps, k: int, *, rooted: bool, threads: int, report: Report
) -> tuple[NDArray[np.int64], NDArray[Any]] | None:
    """Positions and distances of the k sequences of y nearest to each of x; None where there are no kernels for it."""
    if not _use_kernels():
        return None
    ids = np.empty((len(x.lengths), k), np.int64)
    distances = np.empty(ids.shape, x.values.dtype)
    how: Any = {"rooted": rooted, "threads": threads, "ids": ids, "distances": distances, "report": report}
    _kernels.search(program.plan(), *x, *y, *program.arrays(distances.dtype), **how)
    return ids, distances


def path(program: Program, x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.int64], float]:
    """Path (steps, 2) and total of one pair, x (n, channel), y (m, channel)."""
    if _use_kernels():
        return _kernels.path(program.plan(), x, y, *program.arrays(x.dtype), budget=PATH_BUDGET)
    from . import wavefront

    return wavefront.path(program, x, y)


def matrix(program: Program, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """All cells of one pair's program, (n, m), inf outside the band."""
    out = np.full((len(x), len(y)), np.inf, x.dtype)
    if _use_kernels():
        _kernels.matrix(program.plan(), x, y, *program.arrays(x.dtype), out=out)
    else:
        from . import wavefront

        wavefront.matrix(program, x, y, out)
    return out
