"""Options of an estimator, each declared once: how it is checked, and what depends on it.

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
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Literal, Self, TypeVar, overload

from ..core import parameters
from ..core.random import check_seed
from ..sequences.sampling import RandomState

Role = Literal["model", "training", "free"]
"""What depends on an option.

- "model": what was learned. It may not change between `fit` and `save`, nor while a training pauses.
- "training": what is learned from, and how. It may not change while a training pauses; afterwards it is history.
- "free": nothing that was learned. It may change at any time: budgets, rates, places, and what only matters when a
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
        from_word: Callable[[str | None], Any] | None = None,
        to_text: Callable[[Any], str] = repr,
        optional: bool = False,
    ) -> None:
        self.check, self.role, self.to_text, self.optional = check, role, to_text, optional
        self.absent_value: tuple[T] | None = None
        """What it is in an estimator whose constructor does not take it, see `with_default`."""
        self.from_word = from_word
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
    """The same; where a constructor does not take it, it is this value: a class may be older than the option.

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
