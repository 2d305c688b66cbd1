"""The most memory that this process has held."""

from __future__ import annotations

import sys
from pathlib import Path

_STATUS, _SWITCH = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Let the peak be counted from here on, where the system can do it."""
    if _SWITCH.exists():
        _SWITCH.write_text("5")


def peak_memory() -> int:
    """Bytes since `reset_peak`, or ever where that could not be done.

    Not `ru_maxrss` on Linux: a child's begins at the peak of the parent that started it.
    """
    if _STATUS.exists():
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
