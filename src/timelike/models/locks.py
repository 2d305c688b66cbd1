"""A lock for every object, beside the objects and not in them: a lock can be neither copied nor saved."""

from __future__ import annotations

from threading import Lock, RLock
from typing import Any
from weakref import WeakKeyDictionary

_locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_guard = Lock()


def lock_of(owner: Any) -> Any:
    """The lock of an object, made at the first call and forgotten with the object; a thread that has it may reenter.

    >>> class Owner: ...
    >>> first, second = Owner(), Owner()
    >>> lock_of(first) is lock_of(first), lock_of(first) is lock_of(second)
    (True, False)
    """
    with _guard:
        return _locks.setdefault(owner, RLock())
