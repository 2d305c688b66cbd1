"""How many threads a call uses, and a lock per object.

The number depends on CPUs, affinity, a container's quota, OMP_NUM_THREADS and torch's own setting.

| option | threads |
|---|---|
| `n_jobs=3` | three |
| `n_jobs=-1` | all CPUs that this process may use: `cpu_count()` |
| `n_jobs=None` | `thread_count()`: `cpu_count()`, or fewer if OMP_NUM_THREADS or torch.set_num_threads says so |

Small networks train in one thread, others in `thread_count()`; whose weights depend on it; nothing else does.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

_locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_guard = Lock()

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Self = TypeVar("_Self")

_CGROUP_ROOT, _OWN_CGROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def cpu_count() -> int:
    """The number of CPUs available to this process: by its affinity (`taskset`), or fewer by the quota of a container.

    >>> cpu_count() >= 1
    True
    """
    try:
        may = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        may = os.cpu_count() or 1
    share = _cached_quota()
    return may if share is None else max(1, min(may, math.ceil(share)))


def thread_count() -> int:
    """The default number of threads: `cpu_count()`, or fewer if OMP_NUM_THREADS or `torch.set_num_threads` is lower.

    >>> 1 <= thread_count() <= cpu_count()
    True
    """
    torch_uses = getattr(sys.modules.get("torch"), "get_num_threads", None)  # whoever lowered it has imported torch
    limits = _parse_omp_threads(os.environ.get("OMP_NUM_THREADS")), torch_uses and torch_uses()
    return min([cpu_count(), *(limit for limit in limits if limit is not None)])


def _parse_omp_threads(value: str | None) -> int | None:
    """The first number of OMP_NUM_THREADS, which has one for each nesting level; None if there is none."""
    first = (value or "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None


@cache
def _cached_quota() -> float | None:
    return cgroup_quota()


def cgroup_quota(groups: Path = _CGROUP_ROOT, own: Path = _OWN_CGROUP) -> float | None:
    """The number of CPUs that the control groups of this process allow, None if there is no limit.

    The smallest limit of the process's group and all groups above it. In a container the path may exist only on its
    host; the limit is then at the top.
    """
    try:
        lines = own.read_text().splitlines()
    except OSError:  # not on Linux
        return None
    limits = [limit for line in lines for limit in _cgroup_limits(groups, *line.split(":", 2)[1:])]
    return min(limits, default=None)


def _cgroup_limits(groups: Path, controllers: str, path: str) -> list[float]:
    """The limits along one line of /proc/self/cgroup, `number:controllers:path`."""
    if controllers and "cpu" not in controllers.split(","):
        return []
    if controllers:  # version 1: a folder for the controller
        tops, read = [groups / "cpu", groups / controllers], _read_cgroup_v1
    else:
        tops, read = [groups, groups / "unified"], _read_cgroup_v2
    parts = [part for part in path.split("/") if part not in ("", "..")]
    places = {top.joinpath(*parts[:depth]) for top in tops for depth in range(len(parts) + 1)}
    return [limit for place in places if (limit := read(place)) is not None]


def _read_cgroup_v1(place: Path) -> float | None:
    try:
        allowed, period = (int((place / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
    except (OSError, ValueError):
        return None
    return allowed / period if allowed > 0 and period > 0 else None  # -1: no limit


def _read_cgroup_v2(place: Path) -> float | None:
    try:
        allowed, period = (place / "cpu.max").read_text().split()
        return int(allowed) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # "max": no limit
        return None


def check_n_jobs(n_jobs: int | None) -> int:
    """The number of threads for `n_jobs`: see the table of this module."""
    if n_jobs is None:
        return thread_count()
    if n_jobs == -1:
        return cpu_count()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs < 1:
        raise ValueError(f"n_jobs={n_jobs!r}: expected a positive number of threads, or None or -1 for all cores")
    return int(n_jobs)


def object_lock(owner: Any) -> Any:
    """The reentrant lock of an object, created at the first call and released with the object.

    >>> class Owner: ...
    >>> first, second = Owner(), Owner()
    >>> object_lock(first) is object_lock(first), object_lock(first) is object_lock(second)
    (True, False)
    """
    with _guard:
        return _locks.setdefault(owner, RLock())


def with_object_lock(
    method: Callable[Concatenate[_Self, _Parameters], _Result],
) -> Callable[Concatenate[_Self, _Parameters], _Result]:
    """Let only one thread at a time run the decorated methods of an object."""

    @functools.wraps(method)
    def wrapper(self: _Self, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        with object_lock(self):
            return method(self, *args, **kwargs)

    return wrapper
