"""How many cells of a dynamic program the machine could compute at most."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Callable
from importlib.util import find_spec

from benchmarks.speed.timing import timed

# vector operations per cell of one channel, the cheapest way we know to write the recurrence
OPERATIONS = {"DTW": 4, "ERP": 7, "TWE": 9, "MSM": 15}
PER_CYCLE = 2  # full-width vector operations a current x86 core starts per cycle


def gigahertz() -> tuple[float | None, str]:
    """The clock of a busy core, by a chain of x·x + 1, which takes 4 cycles a turn on x86 (multiply 3, add 1)."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None, "not estimated: not an x86-64 processor"
    if find_spec("numba") is None:
        return None, "not estimated: the clock is measured with numba, which is not installed"

    def chain(turns: int, x: int) -> int:
        for _ in range(turns):
            x = x * x + 1
        return x

    compiled = importlib.import_module("numba").njit(chain)
    compiled(10, 3)
    turns = 500_000  # half a millisecond: some of the bursts are undisturbed even on a busy machine
    best = min(timed(lambda: compiled(turns, 3)).wall for _ in range(500))
    return 4 * turns / best / 1e9, f"{4 * turns / best / 1e9:.2f} GHz, measured by a chain of integer multiplications"


def hardware() -> tuple[Callable[[int], float | None], str]:
    """Vector operations per second and core by item size, in 1e9, and how that was estimated."""
    import timelike as tl

    widths = {"v4": 64, "v3": 32, "v2": 16}
    isa = tl.native.isa()
    clock, how = gigahertz()
    if clock is None or isa not in widths:
        return lambda itemsize: None, how if clock is None else f"not estimated for {isa}"
    words = (
        f"Hardware limit per core: {how}, × {PER_CYCLE} vector operations per cycle × {widths[isa]} bytes ({isa}), "
        f"÷ vector operations per cell: DTW {OPERATIONS['DTW']} (subtract, multiply-add, two minima; 2 more for each "
        f"further channel), ERP {OPERATIONS['ERP']}, TWE {OPERATIONS['TWE']}, MSM {OPERATIONS['MSM']}. Loads, stores "
        "and edges are not counted, so it cannot be reached."
    )
    return lambda itemsize: clock * PER_CYCLE * widths[isa] / itemsize, words
