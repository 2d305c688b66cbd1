"""The base class of augmentations, and their combinations `compose` and `choose`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ...core.random import RandomState, check_random_state
from ...core.validation import arrays
from .. import timestamps
from ..container import Sequences

Matrix = NDArray[np.float64]


class AugmentedArray(NamedTuple):
    """A new sequence: `values` (new_time, *frame) and its `alignment` (new_time, old_time) with the old one."""

    values: NDArray[Any]
    alignment: Matrix


class AugmentedSequences(NamedTuple):
    """The same for a collection: `sequences` with labels, groups and ids kept, and one alignment for each."""

    sequences: Sequences
    alignments: list[Matrix]


@dataclass(frozen=True, kw_only=True)
class Augmentation(ABC):
    """A random change of a sequence; call it with an array (time, *frame) or with `Sequences`."""

    @overload
    def __call__(self, x: Sequences, *, random_state: RandomState = None) -> AugmentedSequences: ...
    @overload
    def __call__(self, x: Any, *, random_state: RandomState = None) -> AugmentedArray: ...
    def __call__(self, x: Any, *, random_state: RandomState = None) -> AugmentedArray | AugmentedSequences:
        rng = check_random_state(random_state)
        if isinstance(x, Sequences):
            return _augment_each(self, x, rng)
        sequence = arrays.validate_sequence(x, "x")
        step = arrays.find_first_step(sequence, np.isinf)
        if step is not None:
            raise ValueError(f"x is infinite at time step {step}: expected finite values; nan means missing")
        values, alignment = self._apply(_as_float(sequence), rng)
        return AugmentedArray(values[:, 0] if np.ndim(x) == 1 else values, alignment)

    @abstractmethod
    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> AugmentedArray:
        """One sequence in floating point, changed."""


@dataclass(frozen=True, kw_only=True)
class TemporalAugmentation(Augmentation):
    """An augmentation of time alone: the new values are `alignment @ x`."""

    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> AugmentedArray:
        alignment = self._alignment(len(x), rng)
        return AugmentedArray(_apply_alignment(alignment, x), alignment)

    @abstractmethod
    def _alignment(self, length: int, rng: np.random.Generator) -> Matrix:
        """How the new steps are made of `length` old ones."""


def _as_float(x: NDArray[Any]) -> NDArray[Any]:
    return np.array(x, arrays.computed_dtype(x.dtype))


def _apply_alignment(alignment: Matrix, x: NDArray[Any]) -> NDArray[Any]:
    """`alignment @ x` in which a missing value spoils only what it has a share in (0 · nan would spoil all)."""
    flat = x.reshape(len(x), -1)
    gaps = np.isnan(flat)
    mixed = alignment @ np.where(gaps, 0, flat)
    if gaps.any():
        mixed[(alignment > 0).astype(np.float32) @ gaps.astype(np.float32) > 0] = np.nan
    return np.asarray(mixed, x.dtype).reshape(-1, *x.shape[1:])


def _augment_each(augmentation: Augmentation, s: Sequences, rng: np.random.Generator) -> AugmentedSequences:
    done = [augmentation._apply(_as_float(x), rng) for x in s]
    if not done:
        raise ValueError("x is empty: expected at least one sequence")
    alignments = [one.alignment for one in done]
    lengths = np.array([len(one.values) for one in done], np.int64)
    clock = None
    if s.times is not None:
        old = np.split(s.times, s.offsets[1:-1])
        clock = np.concatenate([_align_times(a, times) for a, times in zip(alignments, old, strict=True)])
        timestamps.refuse_disorder(clock, lengths)
    return AugmentedSequences(s._with_values(np.concatenate([one.values for one in done]), lengths, clock), alignments)


def _align_times(alignment: Matrix, times: NDArray[Any]) -> NDArray[Any]:
    """New times, averaged relative to the first: nanoseconds since 1970 have more digits than a float64."""
    since = times - times[0]
    if times.dtype.kind == "M":
        nanoseconds = np.round(alignment @ since.astype(np.int64)).astype(np.int64)
        return np.asarray(times[0] + nanoseconds.astype("timedelta64[ns]"))
    return np.asarray(times[0] + alignment @ since)


@dataclass(frozen=True)
class _CompositeAugmentation(Augmentation):
    steps: tuple[Augmentation, ...]

    def __post_init__(self) -> None:
        if not self.steps:
            raise ValueError("steps is empty: expected at least one augmentation")
        for i, step in enumerate(self.steps):
            if not isinstance(step, Augmentation):
                raise TypeError(f"steps[{i}] is {step!r:.60}: expected an augmentation such as Blur()")


@dataclass(frozen=True)
class Compose(_CompositeAugmentation):
    """One augmentation after the other; see `compose`."""

    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> AugmentedArray:
        whole_way = np.eye(len(x))
        for step in self.steps:
            x, alignment = step._apply(x, rng)
            whole_way = alignment @ whole_way
        return AugmentedArray(x, whole_way)


@dataclass(frozen=True)
class RandomChoice(_CompositeAugmentation):
    """One of several augmentations, drawn anew for every sequence; see `choose`."""

    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> AugmentedArray:
        return self.steps[int(rng.integers(len(self.steps)))]._apply(x, rng)


def _as_steps(steps: Any) -> tuple[Augmentation, ...]:
    if not isinstance(steps, Iterable):
        raise TypeError(f"steps is {steps!r:.60}: expected a list of augmentations, such as [RandomCrop(), Jitter()]")
    return tuple(steps)


def compose(steps: Iterable[Augmentation]) -> Compose:
    """All `steps` in order; their alignments multiply, the last one leftmost.

    >>> from ..augment import RandomCrop, Jitter
    >>> both = compose([RandomCrop(shortest=0.5, longest=0.5), Jitter(std=0.01)])
    >>> both([0.0, 1.0, 2.0, 3.0], random_state=0).alignment
    array([[0., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """
    return Compose(_as_steps(steps))


def choose(steps: Iterable[Augmentation]) -> RandomChoice:
    """One of `steps`, drawn with equal chances for every sequence: TAP's blur *or* merge.

    >>> from ..augment import Blur, Merge
    >>> choose([Blur(), Merge()])
    RandomChoice(steps=(Blur(sizes=(3, 5, 7), strides=(1, 2, 3)), Merge(shortest=0.5, longest=0.8, even=False)))
    """
    return RandomChoice(_as_steps(steps))
