"""One lock per monitor: its state changes as a whole, so threads wait for each other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from ...core.threads import object_lock

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Self = TypeVar("_Self")


def with_object_lock(
    method: Callable[Concatenate[_Self, _Parameters], _Result],
) -> Callable[Concatenate[_Self, _Parameters], _Result]:
    """Let only one thread at a time run the decorated methods of an object."""

    @functools.wraps(method)
    def locked(self: _Self, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        with object_lock(self):
            return method(self, *args, **kwargs)

    return locked
