"""Options of an estimator, each declared once: how it is checked, and what depends on it.

```python
class SiameseGRU(LearnedMetric):
    hidden = options.whole(1)
    cell = options.one_of("gru", "lstm")

    def __init__(self, *, hidden: int = 20, cell: Cell = "gru", …) -> None:
        store(self, locals())
```
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Literal, Self, TypeVar, overload

from ..sequences import arguments
from ..sequences.sampling import RandomState

Role = Literal["model", "training", "free"]
"""What depends on an option.

- "model": what was learned. It may not change between `fit` and `save`, nor while a training pauses.
- "training": what is learned from, and how. It may not change while a training pauses; afterwards it is history.
- "free": nothing that was learned. It may change at any time: budgets, rates, places, and what is only asked for when a
  model answers.
"""

T = TypeVar("T")
S = TypeVar("S")


class Option(Generic[T]):
    """One option: its check, which gives the plain value or an error that names it, its role, and whether None will do.

    It stands in the class under the name of a constructor's argument; an instance has the value there.
    """

    def __init__(
        self,
        check: Callable[[Any, str], T],
        role: Role = "model",
        *,
        words: Callable[[str | None], Any] | None = None,
        said: Callable[[Any], str] = repr,
        optional: bool = False,
    ) -> None:
        self.check, self.role, self.said, self.optional = check, role, said, optional
        self.absent: tuple[T] | None = None
        """What it is in an estimator whose constructor does not take it, see `otherwise`."""
        self.words = words
        """What a word, or None, stands for, where these have options: `metric="dtw"` has `metric__window`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        if self.absent is not None:
            return self.absent[0]
        raise AttributeError(f"{owner.__name__} has not stored {self.name!r}: its constructor must keep every argument")


def whole(least: int, role: Role = "model", *, most: int = arguments.INT64) -> Option[int]:
    """An integer from `least` to `most`."""
    return Option(partial(arguments.whole, least=least, most=most), role)


def width(least: int = 1) -> Option[int]:
    """How many units, filters or features a layer has: bounded, so that no product of two is past an integer."""
    return whole(least, most=2**24)


def depth(least: int = 0) -> Option[int]:
    """How many layers there are, one on the other: each takes time to build, so more than a thousand is a mistake."""
    return whole(least, most=2**10)


def steps(role: Role = "model") -> Option[int | str]:
    """A number of time steps, or "mean" for the mean length of the sequences fitted on."""
    return Option(arguments.steps, role)


def real(
    least: float = -math.inf, most: float = math.inf, *, above: float = -math.inf, role: Role = "model"
) -> Option[float]:
    """A finite number within bounds."""
    return Option(partial(arguments.real, least=least, most=most, above=above), role)


def flag(role: Role = "model") -> Option[bool]:
    """True or False."""
    return Option(arguments.flag, role)


def one_of(*choices: str, role: Role = "model") -> Option[Any]:
    """One of a few words."""
    return Option(partial(arguments.one_of, choices=choices), role)


def folder(role: Role = "free") -> Option[Any]:
    """The path of a folder."""
    return Option(arguments.folder, role)


def seed(role: Role = "free") -> Option[RandomState]:
    """An integer, a generator, or None."""
    return Option(arguments.seed, role)


def maybe(option: Option[S]) -> Option[S | None]:
    """The same, or None."""
    return Option(option.check, option.role, words=option.words, said=option.said, optional=True)


def otherwise(option: Option[S], value: S) -> Option[S]:
    """The same; where a constructor does not take it, it is this value: a class may be older than the option.

    >>> class Older:
    ...     frames = otherwise(whole(1), 7)
    >>> Older().frames
    7
    """
    option.absent = (value,)
    return option


def anything(role: Role = "model") -> Option[Any]:
    """Whatever the method checks itself, because it depends on the data or on other options."""
    return Option(lambda value, name: value, role)
