"""The augmentations: of time, of values, and their combinations `compose` and `choose`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_float, check_int
from ...core.random import RandomState, check_random_state
from ...core.validation import arrays
from .. import timestamps
from ..container import Sequences

Matrix = NDArray[np.float64]

_WAVES = 4  # half-waves of the speed of time over a sequence, at most


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
    """`alignment @ x` where a missing value affects only steps with a weight for it (0 · nan would affect all)."""
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


@dataclass(frozen=True, kw_only=True)
class Blur(TemporalAugmentation):
    """Random blur: a moving weighted average with a random kernel that falls off from its middle.

    The size is drawn from `sizes` (odd; sizes longer than the sequence are skipped, and if none is left, the longest
    odd size that fits is used) and the stride from `strides`. The weights are drawn uniformly from (0, 1], sorted to
    decrease on both sides and scaled to sum to 1. Without padding, the sequence gets shorter (Su & Wen, TAP, ICLR 2022,
    appendix A.1).

    >>> new = Blur(sizes=(3,), strides=(1,))([0.0, 0.0, 1.0, 0.0, 0.0], random_state=0)
    >>> len(new.values), new.alignment.shape
    (3, (3, 5))
    >>> bool(np.allclose(new.values, new.alignment @ [0, 0, 1, 0, 0]))
    True
    """

    sizes: tuple[int, ...] = (3, 5, 7)
    strides: tuple[int, ...] = (1, 2, 3)

    def __post_init__(self) -> None:
        for name in ("sizes", "strides"):
            entries = getattr(self, name)
            if not isinstance(entries, tuple) or not entries:
                raise TypeError(f"{name}={entries!r}: expected a tuple of integers")
            for entry in entries:
                check_int(entry, name, 1)
        if any(size % 2 == 0 for size in self.sizes):
            raise ValueError(f"sizes={self.sizes}: expected odd sizes, which have a middle")

    def _alignment(self, length: int, rng: np.random.Generator) -> Matrix:
        fitting = [size for size in self.sizes if size <= length] or [length - 1 + length % 2]
        size, stride = int(rng.choice(fitting)), int(rng.choice(self.strides))
        weights = 1 - rng.uniform(size=size)
        top, half = int(np.argmax(weights)), size // 2
        sides = np.delete(weights, top)
        kernel = np.concatenate([np.sort(sides[:half]), weights[[top]], np.sort(sides[half:])[::-1]])
        starts = np.arange(0, length - size + 1, stride)
        alignment = np.zeros((len(starts), length))
        alignment[np.arange(len(starts))[:, None], starts[:, None] + np.arange(size)] = kernel / kernel.sum()
        return alignment


@dataclass(frozen=True, kw_only=True)
class Merge(TemporalAugmentation):
    """Random merge: the sequence is cut into L′ segments at random and each becomes one weighted mean.

    L′ is drawn from the integers in [shortest·L, longest·L], at least 1; the weights inside a segment are the softmax
    of standard normal numbers, or equal with `even=True` (Su & Wen, TAP, ICLR 2022, appendix A.1).

    >>> new = Merge(even=True)([0.0, 1.0, 2.0, 3.0], random_state=5)
    >>> new.values
    array([0. , 1. , 2.5])
    >>> new.alignment
    array([[1. , 0. , 0. , 0. ],
           [0. , 1. , 0. , 0. ],
           [0. , 0. , 0.5, 0.5]])
    """

    shortest: float = 0.5
    longest: float = 0.8
    even: bool = False

    def __post_init__(self) -> None:
        _check_shares(self.shortest, self.longest)

    def _alignment(self, length: int, rng: np.random.Generator) -> Matrix:
        n_parts = _sample_length(length, self.shortest, self.longest, rng)
        cuts = np.sort(rng.permutation(length - 1)[: n_parts - 1]) + 1
        part = np.zeros(length, np.int64)
        part[cuts] = 1
        part = np.cumsum(part)
        weights = np.ones(length) if self.even else np.exp(rng.normal(size=length))
        alignment = np.zeros((n_parts, length))
        alignment[part, np.arange(length)] = weights
        return np.asarray(alignment / alignment.sum(1, keepdims=True))


@dataclass(frozen=True, kw_only=True)
class RandomCrop(TemporalAugmentation):
    """A random segment of L′ steps, L′ drawn from the integers in [shortest·L, longest·L], at least 1.

    >>> RandomCrop(shortest=0.5, longest=0.5)([0.0, 1.0, 2.0, 3.0], random_state=0).values
    array([2., 3.])
    """

    shortest: float = 0.6
    longest: float = 1.0

    def __post_init__(self) -> None:
        _check_shares(self.shortest, self.longest)

    def _alignment(self, length: int, rng: np.random.Generator) -> Matrix:
        size = _sample_length(length, self.shortest, self.longest, rng)
        start = int(rng.integers(length - size + 1))
        return np.eye(length)[start : start + size]


@dataclass(frozen=True, kw_only=True)
class TimeWarp(TemporalAugmentation):
    """Speed time up and slow it down, smoothly: x(φ(t)) by linear interpolation, φ increasing; keeps ends and length.

    The speed dφ/dt is the exponential of a random smooth curve of standard deviation `strength`, at most 2.

    >>> TimeWarp(strength=0.0)([0.0, 1.0, 4.0], random_state=0).values
    array([0., 1., 4.])
    """

    strength: float = 0.3

    def __post_init__(self) -> None:
        check_float(self.strength, "strength", 0.0, 2.0)

    def _alignment(self, length: int, rng: np.random.Generator) -> Matrix:
        positions = random_warps(1, length, self.strength, rng)[0] * (length - 1)
        nearest = np.round(positions)
        # on a step up to rounding: its neighbour, perhaps missing, has no share
        positions = np.where(np.abs(positions - nearest) < 1e-9, nearest, positions)
        low = np.minimum(positions.astype(np.int64), max(length - 2, 0))
        share, rows = positions - low, np.arange(length)
        alignment = np.zeros((length, length))
        alignment[rows, low] = 1 - share
        if length > 1:
            alignment[rows, low + 1] = share
        return alignment


def random_warps(n: int, length: int, strength: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Smooth increasing maps of [0, 1] onto itself at `length` even positions, (n, length).

    φ(u) = ∫₀ᵘ exp(s·g) / ∫₀¹ exp(s·g), where g is a random cosine series of unit variance: time runs faster and slower
    by factors of about exp(±s), never backwards. `strength=0` gives the identity.

    >>> random_warps(1, 3, 0.0, np.random.default_rng(0))
    array([[0. , 0.5, 1. ]])
    """
    u = np.linspace(0, 1, length)
    coefficients = rng.normal(size=(n, _WAVES)) * (strength / np.sqrt(_WAVES / 2))
    speed = np.exp(coefficients @ np.cos(np.pi * np.arange(1, _WAVES + 1)[:, None] * u))
    warps = np.zeros((n, length))
    np.cumsum(speed[:, 1:] + speed[:, :-1], axis=1, out=warps[:, 1:])  # the trapezoidal rule
    if length > 1:
        warps /= warps[:, -1:]
    return warps


def _check_shares(shortest: float, longest: float) -> None:
    for name, share in (("shortest", shortest), ("longest", longest)):
        check_float(share, name, above=0.0, most=1.0)
    if shortest > longest:
        raise ValueError(f"shortest={shortest}, longest={longest}: expected shortest to be at most longest")


def _sample_length(length: int, shortest: float, longest: float, rng: np.random.Generator) -> int:
    # 0.8 · 5 and its like round to either side of an integer
    least, most = int(np.ceil(shortest * length - 1e-9)), int(np.floor(longest * length + 1e-9))
    most = max(most, 1)
    return int(rng.integers(min(least, most), most + 1))


@dataclass(frozen=True, kw_only=True)
class Jitter(Augmentation):
    """Independent Gaussian noise of standard deviation `std` on every value. The alignment is the identity.

    >>> Jitter(std=0.0)([1.0, 2.0], random_state=0).values
    array([1., 2.])
    """

    std: float = 0.05

    def __post_init__(self) -> None:
        check_float(self.std, "std", 0.0)

    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> AugmentedArray:
        with np.errstate(over="ignore"):
            noisy = (x + self.std * rng.normal(size=x.shape)).astype(x.dtype)
        return _check_finite(noisy, self.std)


@dataclass(frozen=True, kw_only=True)
class RandomScaling(Augmentation):
    """Every channel times a random factor exp(std·z), z standard normal. The alignment is the identity.

    >>> RandomScaling(std=0.0)([1.0, 2.0], random_state=0).values
    array([1., 2.])
    """

    std: float = 0.1

    def __post_init__(self) -> None:
        check_float(self.std, "std", 0.0)

    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> AugmentedArray:
        with np.errstate(over="ignore", invalid="ignore"):
            factors = np.exp(self.std * rng.normal(size=(x.shape[1], *[1] * (x.ndim - 2))))
            scaled = (x * factors).astype(x.dtype)
        return _check_finite(np.where(x == 0, x, scaled), self.std)


def _check_finite(values: NDArray[Any], std: float) -> AugmentedArray:
    if np.isinf(values).any():
        raise ValueError(
            f"std={std} makes values infinite in {values.dtype}: use a smaller one, or standardize() first"
        )
    return AugmentedArray(values, np.eye(len(values)))


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
    """Apply all `steps` in order; their alignments are multiplied, the last one leftmost.

    >>> both = compose([RandomCrop(shortest=0.5, longest=0.5), Jitter(std=0.01)])
    >>> both([0.0, 1.0, 2.0, 3.0], random_state=0).alignment
    array([[0., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """
    return Compose(_as_steps(steps))


def choose(steps: Iterable[Augmentation]) -> RandomChoice:
    """Apply one of `steps`, drawn with equal probability for every sequence: TAP's blur *or* merge.

    >>> choose([Blur(), Merge()])
    RandomChoice(steps=(Blur(sizes=(3, 5, 7), strides=(1, 2, 3)), Merge(shortest=0.5, longest=0.8, even=False)))
    """
    return RandomChoice(_as_steps(steps))
