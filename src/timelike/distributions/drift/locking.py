"""One lock for every monitor: what it knows changes as a whole, so threads wait for each other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import Lock, RLock
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
_Self = TypeVar("_Self")

# beside the monitors and not in them: a lock can be neither copied nor saved
_locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_making = Lock()


def lock_of(owner: Any) -> Any:
    """The lock of an object, made when it is first asked for; a thread that has it may take it again."""
    with _making:
        return _locks.setdefault(owner, RLock())


def one_at_a_time(
    verb: Callable[Concatenate[_Self, _Given], _Answer],
) -> Callable[Concatenate[_Self, _Given], _Answer]:
    """A method that no two threads run at once on one object, nor another such method of it."""

    @functools.wraps(verb)
    def locked(self: _Self, /, *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        with lock_of(self):
            return verb(self, *given, **named)

    return locked
