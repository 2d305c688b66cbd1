"""Sequences as curves that are laid over each other, all from their first sample: members, neighbours, centres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...draw.multiples import Curve, broken
from ...draw.signals import as_channel
from . import drawn
from .drawn import Time

if TYPE_CHECKING:
    from ..container import Sequences


one_channel, spread = drawn.one_channel, drawn.spread


def unit(self: Sequences, place: int) -> str:
    """What values are: the name of their channel, if it has one."""
    return "" if self.channel_names is None or len(self.frame) > 1 else self.channel_names[place]


def called(self: Sequences, item: int) -> str:
    """The id of a sequence, or its position."""
    return str(item if self.ids is None else self.ids[item])


def clocks(x: Sequences, y: Sequences) -> tuple[tuple[NDArray[Any], NDArray[Any]] | None, str]:
    """The times of two sequences since the first sample of each, if both have some, and what their axis is called."""
    if x.times is None or y.times is None:
        return None, "time step"
    first, second = (Time(side, np.array([0]), from_start=True) for side in (x, y))
    return (first.of(0)[0], second.of(0)[0]), first.name


def clock_of(self: Sequences, item: int) -> NDArray[Any] | None:
    """The times of one sequence, where it has some."""
    return None if self.times is None else self.times[self.offsets[item] : self.offsets[item + 1]]


def since(clock: NDArray[Any]) -> NDArray[Any]:
    """Times from the first of them on, datetimes in seconds.

    >>> since(np.array(["2024-01-01T00:00:00", "2024-01-01T00:01:30"], "datetime64[ns]"))
    array([ 0., 90.])
    """
    passed = clock - clock[0]
    return np.asarray(passed / np.timedelta64(1, "s") if passed.dtype.kind == "m" else passed)


class Overlay(NamedTuple):
    """Curves in the order asked for, each from its first sample, and what the time axis is called."""

    curves: list[Curve]
    time: str


def overlay(
    self: Sequences, items: Any, place: int, *, color: int = 0, names: list[str] | None = None, clocked: bool = True
) -> Overlay:
    """These sequences over the time since their first sample, or over steps where they have no times."""
    chosen = np.asarray(items, np.int64)
    time = Time(
        self if clocked else self.replace(times=None),
        np.unique(chosen) if len(chosen) else np.array([0]),
        from_start=True,
    )
    curves = []
    for k, item in enumerate(chosen.tolist()):
        times, after = time.of(item)
        line = broken(times, as_channel(self[item], place), after)
        curves.append(Curve(*line, color=color, name=None if names is None else names[k]))
    return Overlay(curves, time.name)
