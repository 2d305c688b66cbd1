"""One lock for every monitor: what it knows changes as a whole, so threads wait for each other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from ...core.threads import object_lock

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
_Self = TypeVar("_Self")


def with_object_lock(
    verb: Callable[Concatenate[_Self, _Given], _Answer],
) -> Callable[Concatenate[_Self, _Given], _Answer]:
    """A method that no two threads run at once on one object, nor another such method of it."""

    @functools.wraps(verb)
    def locked(self: _Self, /, *given: _Given.args, **named: _Given.kwargs) -> _Answer:
        with object_lock(self):
            return verb(self, *given, **named)

    return locked
