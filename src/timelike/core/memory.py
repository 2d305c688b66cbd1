"""Memory of the machine, limits on what a file may take, and checks before anything is allocated."""

from __future__ import annotations

import math
import os
from pathlib import Path

LIMIT_VARIABLE = "TIMELIKE_LOAD_LIMIT_MB"
LIMIT_MB = 500  # default of the variable, per file
SIZE_FACTOR = 20  # times its own size a file may always take: real data is hardly ever packed tighter


def refuse_large_total(claimed: int, what: str, smaller: str) -> None:
    """Raise an error if many files together would take more than `max_total_bytes()`."""
    limit = max_total_bytes()
    if claimed > limit:
        raise ValueError(
            f"{what} would take {claimed / 1e6:.1f} MB, and the limit is {limit / 1e6:.1f} MB: ask for less with "
            f"{smaller}, load a part at a time, or raise it with the environment variable {LIMIT_VARIABLE}"
        )


def max_total_bytes() -> int:
    """Bytes that many files may take together: half of the machine's memory, unless the variable is set."""
    return bytes_from_environment(LIMIT_VARIABLE, max(LIMIT_MB, total_memory() / 2e6))


def total_memory() -> int:
    """Bytes of memory of the machine; 0 if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return 0


def max_file_bytes(path: Path) -> int:
    """Bytes that a single file may take."""
    return max(bytes_from_environment(LIMIT_VARIABLE, LIMIT_MB), SIZE_FACTOR * path.stat().st_size)


def bytes_from_environment(variable: str, default: float) -> int:
    """Bytes, from an environment variable in megabytes.

    >>> bytes_from_environment("TIMELIKE_NEVER_SET", 2.5)
    2500000
    """
    text = os.environ.get(variable, str(default))
    try:
        return int(float(text) * 1e6)
    except (ValueError, OverflowError):
        raise ValueError(f"{variable}={text!r}: expected a number of megabytes") from None


def refuse_beyond_memory(need: int, what: str, way_out: str) -> None:
    """Raise an error, before anything is allocated, if this machine has less than `need` bytes of memory."""
    have = total_memory() if need > 1 << 24 else 0
    if have and need > have:
        raise MemoryError(f"{what} needs {need / 2**30:.1f} GiB and this machine has {have / 2**30:.1f}: {way_out}")


def available_memory() -> float:
    """Bytes that are free or can be freed; if unknown, all of the memory, or infinity."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024.0
    except (OSError, KeyError, ValueError):
        return total_memory() or math.inf
