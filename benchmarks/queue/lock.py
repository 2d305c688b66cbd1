"""One queue at a time: a lock that the system releases when the process that holds it ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

PATIENCE = 15.0  # seconds that the worker of a killed queue may take to notice


class QueueRunningError(RuntimeError):
    """Another queue holds the lock."""


class Lock:
    """An advisory lock on a file that names its holder.

    The descriptor is inherited by the worker, so that the lock of a killed queue is free only when its worker has ended
    too: two workers would make the same row.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self.descriptor = path, descriptor

    @classmethod
    def acquire(cls, path: Path, patience: float = PATIENCE) -> Lock:
        """Take the lock, also over from a process that has died; raises `QueueRunningError` while one runs."""
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        give_up = time.monotonic() + patience
        while not _lock(descriptor):
            holder = read_holder(path)
            if (holder is not None and is_alive(holder)) or time.monotonic() > give_up:
                os.close(descriptor)
                raise QueueRunningError(
                    f"a queue runs already (process {holder}, {path}): stop it with `python -m benchmarks.queue stop`"
                )
            time.sleep(0.05)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        os.set_inheritable(descriptor, True)
        return cls(path, descriptor)

    def release(self) -> None:
        """Give the lock back; only this process's hold on it, a worker may still have its own."""
        os.close(self.descriptor)


def running_process(path: Path) -> int | None:
    """The process of the queue that holds the lock; None where it is free."""
    if not path.exists():
        return None
    descriptor = os.open(path, os.O_RDWR)
    try:
        return None if _lock(descriptor) else read_holder(path)
    finally:
        os.close(descriptor)


def read_holder(path: Path) -> int | None:
    """The process that last took the lock."""
    text = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    return int(text) if text.isdecimal() else None


def is_alive(process: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
