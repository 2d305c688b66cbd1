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

    def decorate(constructor: Constructor) -> Constructor:
        whole = inspect.signature(constructor)

        @wraps(constructor)
        def construct(self: Any, *args: Any, **options: Any) -> None:
            arguments = whole.bind_partial(self, *args).arguments | options
            constructor(self, *args, **_rename_aliases(options, arguments, others))

        parameters = [parameter for name, parameter in whole.parameters.items() if name not in others]
        construct.__signature__ = whole.replace(parameters=parameters)  # type: ignore[attr-defined]
        return construct  # type: ignore[return-value]

    return decorate


def resolve_aliases(kind: type, params: dict[str, Any]) -> dict[str, Any]:
    """Parameters with the options' own names, for `set_params`."""
    others = {name: alias.option for name in params if isinstance(alias := getattr(kind, name, None), Alias)}
    return _rename_aliases(params, params, others)


def _rename_aliases(options: dict[str, Any], arguments: dict[str, Any], others: dict[str, str]) -> dict[str, Any]:
    own_options = {name: value for name, value in options.items() if name not in others}
    for name in others.keys() & options.keys():
        option, value = others[name], options[name]
        if value is None:
            continue
        if option in arguments:
            raise TypeError(
                f"{option}={arguments[option]!r} and {name}={value!r} are two names of one option: give one of them"
            )
        own_options[option] = value
    return own_options
