"""Aliases of options, for users of scikit-learn: `n_neighbors` is `k`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Constructor = TypeVar("Constructor", bound=Callable[..., None])


class Alias:
    """An alias of an option of the same estimator: a class attribute that reads and sets the option."""

    def __init__(self, option: str) -> None:
        self.option = option

    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else getattr(instance, self.option)

    def __set__(self, instance: object, value: Any) -> None:
        if value is not None:  # what a constructor stores when it was not given
            setattr(instance, self.option, value)


def accept_aliases(**others: str) -> Callable[[Constructor], Constructor]:
    """Let a constructor accept aliases of its options, as keywords with the default None.

    Aliases are not parameters: the runtime signature, and therefore `get_params`, `clone` and saved models, have the
    option only, so nothing is stored twice.

    >>> class Voters:
    ...     n_neighbors = Alias("k")
    ...
    ...     @accept_aliases(n_neighbors="k")
    ...     def __init__(self, k=1, *, n_neighbors=None):
    ...         self.k = k
    >>> Voters(n_neighbors=3).k, Voters(4).n_neighbors
    (3, 4)
    >>> Voters(1, n_neighbors=3)
    Traceback (most recent call last):
        ...
    TypeError: k=1 and n_neighbors=3 are two names of one option: give one of them
    """

    def wrapped(constructor: Constructor) -> Constructor:
        whole = inspect.signature(constructor)

        @wraps(constructor)
        def constructed(self: Any, *args: Any, **given: Any) -> None:
            arguments = whole.bind_partial(self, *args).arguments | given
            constructor(self, *args, **_rename_aliases(given, arguments, others))

        kept = [parameter for name, parameter in whole.parameters.items() if name not in others]
        constructed.__signature__ = whole.replace(parameters=kept)  # type: ignore[attr-defined]
        return constructed  # type: ignore[return-value]

    return wrapped


def resolve_aliases(kind: type, params: dict[str, Any]) -> dict[str, Any]:
    """Parameters with the options' own names, for `set_params`."""
    others = {name: alias.option for name in params if isinstance(alias := getattr(kind, name, None), Alias)}
    return _rename_aliases(params, params, others)


def _rename_aliases(given: dict[str, Any], told: dict[str, Any], others: dict[str, str]) -> dict[str, Any]:
    meant = {name: value for name, value in given.items() if name not in others}
    for name in others.keys() & given.keys():
        option, value = others[name], given[name]
        if value is None:
            continue
        if option in told:
            raise TypeError(
                f"{option}={told[option]!r} and {name}={value!r} are two names of one option: give one of them"
            )
        meant[option] = value
    return meant
