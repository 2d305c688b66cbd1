"""Several augmentations as one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Augmentation, Augmented


@dataclass(frozen=True)
class _Several(Augmentation):
    steps: tuple[Augmentation, ...]

    def __post_init__(self) -> None:
        if not self.steps:
            raise ValueError("steps is empty: expected at least one augmentation")
        for i, step in enumerate(self.steps):
            if not isinstance(step, Augmentation):
                raise TypeError(f"steps[{i}] is {step!r:.60}: expected an augmentation such as Blur()")


@dataclass(frozen=True)
class Chain(_Several):
    """One augmentation after the other; see `compose`."""

    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> Augmented:
        whole_way = np.eye(len(x))
        for step in self.steps:
            x, alignment = step._apply(x, rng)
            whole_way = alignment @ whole_way
        return Augmented(x, whole_way)


@dataclass(frozen=True)
class Choice(_Several):
    """One of several augmentations, drawn anew for every sequence; see `choose`."""

    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> Augmented:
        return self.steps[int(rng.integers(len(self.steps)))]._apply(x, rng)


def _listed(steps: Any) -> tuple[Augmentation, ...]:
    if not isinstance(steps, Iterable):
        raise TypeError(f"steps is {steps!r:.60}: expected a list of augmentations, such as [Crop(), Jitter()]")
    return tuple(steps)


def compose(steps: Iterable[Augmentation]) -> Chain:
    """All `steps` in order; their alignments multiply, the last one leftmost.

    >>> from ..augment import Crop, Jitter
    >>> both = compose([Crop(shortest=0.5, longest=0.5), Jitter(std=0.01)])
    >>> both([0.0, 1.0, 2.0, 3.0], random_state=0).alignment
    array([[0., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """
    return Chain(_listed(steps))


def choose(steps: Iterable[Augmentation]) -> Choice:
    """One of `steps`, drawn with equal chances for every sequence: TAP's blur *or* merge.

    >>> from ..augment import Blur, Merge
    >>> choose([Blur(), Merge()])
    Choice(steps=(Blur(sizes=(3, 5, 7), strides=(1, 2, 3)), Merge(shortest=0.5, longest=0.8, even=False)))
    """
    return Choice(_listed(steps))
