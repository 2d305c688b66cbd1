"""How many threads torch uses for the time of a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

from .. import native

_lock = Lock()
_previous_counts: list[int] = []  # one entry for every call under way: what there was before the first


@contextmanager
def torch_threads(count: int | None = None) -> Iterator[None]:
    """Inside, torch uses `count` threads, or as many as there are processors, if these are fewer.

    None is as many as the process may use: torch itself knows nothing of a container's quota. Afterwards it uses as
    many as before, also when calls in several threads overlap.

    torch keeps the number for every thread, and a new thread takes over what was set last: one that begins while
    another is in here must not put that back as if it had been there before.
    """
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
