"""How many threads a call takes: processors, affinity, a container's quota, OMP_NUM_THREADS and torch's own number.

| asked for | threads |
|---|---|
| `n_jobs=3` | three |
| `n_jobs=-1` | as many as there are processors that this process may use: `cores()` |
| `n_jobs=None` | `cores()`, or fewer where OMP_NUM_THREADS or torch.set_num_threads asks for fewer: `threads()` |

A training takes `threads()`. No answer depends on how many there are.
"""

from __future__ import annotations

import math
import os
import sys
from functools import cache
from pathlib import Path

_GROUPS, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def cores() -> int:
    """Processors this process may use: those it may run on (`taskset`), or fewer where a container has a quota.

    >>> cores() >= 1
    True
    """
    try:
        may = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        may = os.cpu_count() or 1
    share = _quota()
    return may if share is None else max(1, min(may, math.ceil(share)))


def threads() -> int:
    """How many threads a call takes that was not told: as many as `cores()`, or as few as somebody asked for.

    Somebody may ask by OMP_NUM_THREADS, as every library of numbers lets one, or by `torch.set_num_threads`.

    >>> 1 <= threads() <= cores()
    True
    """
    torch_uses = getattr(sys.modules.get("torch"), "get_num_threads", None)  # who lowered it has imported torch
    wishes = _wish(os.environ.get("OMP_NUM_THREADS")), torch_uses and torch_uses()
    return min([cores(), *(wish for wish in wishes if wish is not None)])


def _wish(said: str | None) -> int | None:
    """The first number of OMP_NUM_THREADS, which has one for each level; None where there is no such number."""
    first = (said or "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None


@cache
def _quota() -> float | None:
    return quota()


def quota(groups: Path = _GROUPS, own: Path = _OWN) -> float | None:
    """Processors that the control groups of this process allow, None if they say nothing.

    The least of the process's group and of all groups around it; in a container the path may be one that only its host
    knows, and the limit stands at the top.
    """
    try:
        lines = own.read_text().splitlines()
    except OSError:  # not on Linux
        return None
    found = [limit for line in lines for limit in _limits(groups, *line.split(":", 2)[1:])]
    return min(found, default=None)


def _limits(groups: Path, controllers: str, path: str) -> list[float]:
    """The limits along one line of /proc/self/cgroup, `number:controllers:path`."""
    if controllers and "cpu" not in controllers.split(","):
        return []
    if controllers:  # version 1: a folder for the controller
        tops, read = [groups / "cpu", groups / controllers], _first_version
    else:
        tops, read = [groups, groups / "unified"], _second_version
    parts = [part for part in path.split("/") if part not in ("", "..")]
    places = {top.joinpath(*parts[:depth]) for top in tops for depth in range(len(parts) + 1)}
    return [limit for place in places if (limit := read(place)) is not None]


def _first_version(place: Path) -> float | None:
    try:
        allowed, period = (int((place / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
    except (OSError, ValueError):
        return None
    return allowed / period if allowed > 0 and period > 0 else None  # -1: no limit


def _second_version(place: Path) -> float | None:
    try:
        allowed, period = (place / "cpu.max").read_text().split()
        return int(allowed) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # "max": no limit
        return None
