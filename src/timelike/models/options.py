"""`Option`, which declares an argument of an estimator with its check and its role, and functions that make one.

```python
class SiameseGRU(LearnedMetric):
    hidden = options.integer(1)
    cell = options.choice("gru", "lstm")

    def __init__(self, *, hidden: int = 20, cell: Cell = "gru", …) -> None:
        store_parameters(self, locals())
```
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Generic, Literal, Self, TypeVar, overload

from ..core import parameters
from ..core.random import check_seed
from ..sequences.sampling import RandomState

Role = Literal["model", "training", "free"]
"""The part of a model that an option determines, and so when it may change.

- "model": what was learned. It may not change between `fit` and `save`, nor while a training pauses.
- "training": what is learned from, and how. It may not change while a training pauses; afterwards it is history.
- "free": nothing that was learned. It may change at any time: budgets, rates, places, and what only matters when a
  model answers.
"""

T = TypeVar("T")
S = TypeVar("S")


class Option(Generic[T]):
    """One option: its check, which returns the plain value or raises an error, its role, and whether it may be None.

    It is a class attribute with the name of a constructor argument; on an instance, that attribute is the value.
    """

    def __init__(
        self,
        check: Callable[[Any, str], T],
        role: Role = "model",
        *,
        from_word: Callable[[str | None], Any] | None = None,
        to_text: Callable[[Any], str] = repr,
        optional: bool = False,
    ) -> None:
        self.check, self.role, self.to_text, self.optional = check, role, to_text, optional
        self.absent_value: tuple[T] | None = None
        """The value in an estimator whose constructor does not take the option, see `with_default`."""
        self.from_word = from_word
        """Gives the object that a word, or None, stands for: `metric="dtw"` has the option `metric__window`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        if self.absent_value is not None:
            return self.absent_value[0]
        raise AttributeError(f"{owner.__name__} has not stored {self.name!r}: its constructor must keep every argument")


def integer(least: int, role: Role = "model", *, most: int = parameters.INT64_MAX) -> Option[int]:
    """An integer from `least` to `most`."""
    return Option(partial(parameters.check_int, least=least, most=most), role)


def width(least: int = 1) -> Option[int]:
    """How many units, filters or features a layer has: bounded, so that no product of two is past an integer."""
    return integer(least, most=2**24)


def depth(least: int = 0) -> Option[int]:
    """How many layers there are, one on the other: each takes time to build, so more than a thousand is a mistake."""
    return integer(least, most=2**10)


def length(role: Role = "model") -> Option[int | str]:
    """A number of time steps, or "mean" for the mean length of the sequences fitted on."""
    return Option(parameters.check_length, role)


def real(
    least: float = -math.inf, most: float = math.inf, *, above: float = -math.inf, role: Role = "model"
) -> Option[float]:
    """A finite number within bounds."""
    return Option(partial(parameters.check_float, least=least, most=most, above=above), role)


def boolean(role: Role = "model") -> Option[bool]:
    """True or False."""
    return Option(parameters.check_bool, role)


def choice(*choices: str, role: Role = "model") -> Option[Any]:
    """One of a few words."""
    return Option(partial(parameters.check_choice, choices=choices), role)


def word_or_value(
    kind: type[S] | tuple[type[S], ...], words: Mapping[str, Callable[[], S | None]], example: str, role: Role = "model"
) -> Option[Any]:
    """A value of a class, or a word that stands for one with its defaults, whose options are then reachable too.

    >>> option = word_or_value(complex, {"zero": complex}, "1j")
    >>> option.check("zero", "gain"), option.check(2j, "gain")
    (0j, 2j)
    """

    def check(value: Any, name: str) -> S | None:
        if isinstance(value, kind):
            return value
        if not isinstance(value, str):
            raise TypeError(
                f"{name}={value!r:.60}: expected one of {', '.join(map(repr, words))}, or a value such as {example}"
            )
        return words[parameters.check_choice(value, name, tuple(words))]()

    return Option(check, role, from_word=lambda word: words[word]() if word is not None and word in words else word)


def folder(role: Role = "free") -> Option[Any]:
    """The path of a folder."""
    return Option(parameters.check_folder, role)


def random_seed(role: Role = "free") -> Option[RandomState]:
    """An integer, a generator, or None."""
    return Option(check_seed, role)


def nullable(option: Option[S]) -> Option[S | None]:
    """The same, or None."""
    return Option(option.check, option.role, from_word=option.from_word, to_text=option.to_text, optional=True)


def with_default(option: Option[S], value: S) -> Option[S]:
    """The same, with a value for classes whose constructor lacks the option, because they are older.

    >>> class Older:
    ...     frames = with_default(integer(1), 7)
    >>> Older().frames
    7
    """
    option.absent_value = (value,)
    return option


def any_value(role: Role = "model") -> Option[Any]:
    """Whatever the method checks itself, because it depends on the data or on other options."""
    return Option(lambda value, name: value, role)


def value_of(kind: type[Any], role: Role = "model") -> Option[Any]:
    """A value of a class, such as the weights of a loss; None is the value with its defaults."""

    def check(value: Any, name: str) -> Any:
        if not isinstance(value, kind):
            raise TypeError(f"{name}={value!r:.60}: expected a {kind.__name__}, such as {kind.__name__}()")
        return value

    return Option(check, role, from_word=lambda word: kind(), optional=True)


def check_fields(value: object, **declared: Option[Any]) -> None:
    """Check fields of a frozen dataclass, as its `__post_init__` does, and store them as plain Python values."""
    for name, option in declared.items():
        field_value = getattr(value, name)
        if not (option.optional and field_value is None):
            object.__setattr__(value, name, option.check(field_value, name))
