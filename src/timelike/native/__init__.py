"""Raw buffers → buffers: the compiled kernels, or torch where there are none, behind one set of functions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .buffers import Steps, Window

try:
    from . import _kernels
except ImportError:  # a pure wheel: built without a compiler
    _kernels = None  # type: ignore[assignment]

__all__ = ["Steps", "Window", "compiled", "cores", "dtw_pairwise", "dtw_path", "isa"]

_COSTS = ("sqeuclidean", "euclidean", "manhattan")  # in the order of the enum in table.hpp
_warned: list[bool] = []


def compiled() -> bool:
    """Whether the compiled kernels are in use; `TIMELIKE_NATIVE=0` switches them off.

    >>> compiled() in (True, False)
    True
    """
    return _kernels is not None and os.environ.get("TIMELIKE_NATIVE") != "0"


def _use_kernels() -> bool:
    if isa() != "torch":
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


def dtw_pairwise(
    x: Steps,
    y: Steps,
    *,
    symmetric: bool,
    window: Window,
    cost: str,
    threads: int,
    out: NDArray[Any],
    report: Callable[[int, int], None] | None,
) -> None:
    """DTW of all pairs into `out`, in the one float dtype of x, y and out; `symmetric` says y is x."""
    if _use_kernels():
        how = {"cost": _COSTS.index(cost), "threads": threads, "out": out, "report": report, **window.arguments()}
        _kernels.dtw_pairwise(*x, *y, symmetric=symmetric, **how)  # type: ignore[arg-type]
    else:
        from . import wavefront

        wavefront.dtw_pairwise(x, y, symmetric=symmetric, window=window, cost=cost, out=out, report=report)


def dtw_path(x: NDArray[Any], y: NDArray[Any], *, window: Window, cost: str) -> tuple[NDArray[np.int64], float]:
    """Path (steps, 2) and distance of one pair, x (n, channel), y (m, channel)."""
    if _use_kernels():
        return _kernels.dtw_path(x, y, cost=_COSTS.index(cost), **window.arguments())  # type: ignore[arg-type]
    from . import wavefront

    return wavefront.dtw_path(x, y, window=window, cost=cost)
