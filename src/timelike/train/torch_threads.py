"""`torch_threads`: a context that sets the number of threads of torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from .. import native

_lock = Lock()
_previous_counts: list[int] = []  # one entry per active context: the number before the first of them


@contextmanager
def torch_threads(count: int | None = None) -> Iterator[None]:
    """Inside, torch uses `count` threads, at most the number of processors.

    None uses all processors that the process may use; torch itself ignores the quota of a container. Afterwards the
    previous number is restored, also if calls in several threads overlap.

    torch stores the number per thread, and a new thread inherits the last one that was set. A thread that starts while
    another is in this context must therefore not restore its inherited number. Without torch nothing is done.
    """
    try:
        import torch
    except ModuleNotFoundError:
        yield
        return
    wanted = native.thread_count() if count is None else min(count, native.cpu_count())
    with _lock:
        before = _previous_counts[0] if _previous_counts else torch.get_num_threads()
        _previous_counts.append(before)
    torch.set_num_threads(wanted)
    try:
        yield
    finally:
        with _lock:
            _previous_counts.pop()
            torch.set_num_threads(before)
