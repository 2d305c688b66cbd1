"""The input of the warp solver: sequences with times scaled to 0 to 1, constraints, and the error if no warp fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_float
from ..native import warp as warps
from ..sequences import Sequences

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class UnitTimes(NamedTuple):
    """Times of packed sequences, each scaled to 0 to 1, with the original starts and durations."""

    unit: Floats
    starts: Floats
    spans: Floats


MIN_TIME_GAP = 1e-9  # between two times of a clock from 0 to 1: the stiffness between them is λ over their distance


def to_unit_times(times: Floats, lengths: Ints, name: str = "times") -> UnitTimes:
    """Each sequence's times from 0 to 1; a single step is at 0, on a clock that runs for 1."""
    first = np.cumsum(lengths) - lengths
    starts, ends = times[first], times[first + lengths - 1]
    spans = np.where(lengths > 1, ends - starts, 1.0)
    unit = (times - np.repeat(starts, lengths)) / np.repeat(spans, lengths)
    unit[first + lengths - 1] = np.where(lengths > 1, 1.0, 0.0)  # not 1 − ε
    _refuse_close_times(unit, first, times, name)
    return UnitTimes(unit, starts, spans)


def _refuse_close_times(unit: Floats, first: Ints, times: Floats, name: str) -> None:
    gaps = np.diff(unit)
    gaps[first[1:] - 1] = 1.0  # from one sequence to the next
    close = np.flatnonzero(gaps < MIN_TIME_GAP)
    if len(close):
        at = int(close[0])
        item = int(np.searchsorted(first, at, side="right")) - 1
        raise ValueError(
            f"{name} of sequence {item}: steps {at - first[item]} and {at - first[item] + 1} are "
            f"{times[at + 1] - times[at]:g} apart, less than {MIN_TIME_GAP:g} of the whole duration: no warp can "
            "resolve them; merge the two steps"
        )


def step_numbers(lengths: Ints) -> Floats:
    """0, 1, … of every sequence, one behind the other."""
    first = np.cumsum(lengths) - lengths
    return (np.arange(lengths.sum()) - np.repeat(first, lengths)).astype(np.float64)


@dataclass(frozen=True)
class WarpSide:
    """One collection as the solver takes it."""

    values: NDArray[np.float64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    times: NDArray[np.float64]
    unit_times: UnitTimes

    @classmethod
    def from_sequences(cls, sequences: Sequences) -> WarpSide:
        values = sequences.values
        flat = np.ascontiguousarray(values.reshape(len(values), -1), dtype=np.float64)
        times = sequences.elapsed_times
        times = step_numbers(sequences.lengths) if times is None else np.ascontiguousarray(times, np.float64)
        starts = np.ascontiguousarray(sequences.offsets[:-1], np.int64)
        lengths = np.ascontiguousarray(sequences.lengths, np.int64)
        return cls(flat, starts, lengths, times, to_unit_times(times, lengths))

    def item_times(self, i: int) -> NDArray[np.float64]:
        return self.times[self.starts[i] : self.starts[i] + self.lengths[i]]


OverTime = float | tuple[float, ...]  # a number, or one for each step of x or interval between two


def check_limits(ends: tuple[Any, Any], name: str) -> tuple[Any, Any]:
    """(smallest, largest) as a value that is hashable and can be saved: vectors become tuples."""
    low, high = check_over_time(ends[0], f"{name}[0]"), ends[1]
    if high is not None or name == "bounds":
        high = check_over_time(high, f"{name}[1]")
    if isinstance(low, tuple) and isinstance(high, tuple) and len(low) != len(high):
        raise ValueError(f"{name}[0] has {len(low)} values and {name}[1] {len(high)}: expected equally many")
    if high is not None and (np.asarray(low) > np.asarray(high)).any():
        raise ValueError(f"{name}={(low, high)}: expected (smallest, largest) with the first at most the second")
    return low, high


def check_over_time(value: Any, name: str) -> OverTime:
    """A finite number, or several as a tuple."""
    if np.ndim(value) == 0:
        if isinstance(value, float | np.floating) and np.isposinf(value) and name == "slope[1]":
            raise ValueError("slope[1]=inf: expected a finite number, or None for no limit")
        check_float(value, name)
        return value  # type: ignore[no-any-return]
    if np.ndim(value) != 1 or len(value) == 0:
        raise ValueError(f"{name} has shape {np.shape(value)}: expected a number, or a vector over the time of x")
    return tuple(check_float(number, f"{name}[{i}]") for i, number in enumerate(value))


def values_by_knot(value: OverTime | None, lengths: Ints, name: str, *, between: bool = False) -> Floats:
    """A constraint at every knot of pairs whose x have these lengths; those of intervals leave the last unused.

    None is no limit from above, or from below for "bounds[0]".
    """
    if not isinstance(value, tuple):
        none = -np.inf if name == "bounds[0]" else np.inf
        return np.full(int(lengths.sum()), none if value is None else float(value))
    wrong = np.flatnonzero(lengths != len(value) + between)
    if len(wrong):
        steps = int(lengths[wrong[0]])
        what = "interval between two steps" if between else "step"
        raise ValueError(
            f"{name} has {len(value)} values for an x of {steps} steps: expected {steps - between}, one for each "
            f"{what} of x, or a single number for x of any length"
        )
    return np.tile(np.array((*value, 1.0) if between else value), len(lengths))


class Constraints(NamedTuple):
    """One pair's constraints on clocks from 0 to 1: slopes per interval, bounds per knot."""

    t: Floats
    s_min: Floats
    s_max: Floats
    b_min: Floats
    b_max: Floats
    free_ends: bool


def pair_constraints(pairs: warps.WarpProblems, pair: int, free_ends: bool) -> Constraints:
    """The constraints of one pair of many."""
    item = pairs.x_ids[pair]
    at, length = pairs.knots[pair], pairs.x_lengths[item]
    t = pairs.t[pairs.x_starts[item] :][:length]
    span = slice(at, at + length)
    return Constraints(t, pairs.s_min[span], pairs.s_max[span], pairs.b_min[span], pairs.b_max[span], free_ends)


def conflict_message(knot: int, constraints: Constraints, time: float, start: float, span: float) -> str:
    """The error message if no warp fits at a knot (at x's `time`), in the units of y's time, with a fix."""
    low, high = _effective_bounds(constraints)
    if low[knot] > high[knot]:
        return (
            f"no warp fits: at x's time {time:g} it must be at least {start + span * low[knot]:g} and at most "
            f"{start + span * high[knot]:g}; " + _bounds_hint(constraints, knot)
        )
    reach_low, reach_high = _reachable_range(constraints, low, high, knot)
    if low[knot] > reach_high:
        return (
            f"no warp fits: at x's time {time:g} it must be at least "
            f"{start + span * low[knot]:g}{_end_note(constraints, knot)}, but with the largest slopes it gets only to "
            f"{start + span * reach_high:g}: raise the upper slope or widen the bounds"
        )
    return (
        f"no warp fits: at x's time {time:g} it must be at most {start + span * high[knot]:g}, but with the smallest "
        f"slopes it is already at {start + span * reach_low:g}: lower the lower slope or widen the bounds"
    )


def _effective_bounds(constraints: Constraints) -> tuple[Floats, Floats]:
    low, high = np.maximum(constraints.b_min, 0.0), np.minimum(constraints.b_max, 1.0)
    if not constraints.free_ends and len(low) > 1:
        high[0], low[-1] = min(high[0], 0.0), max(low[-1], 1.0)
    return low, high


def _reachable_range(constraints: Constraints, low: Floats, high: Floats, knot: int) -> tuple[float, float]:
    """Least and greatest value at a knot, coming from the left."""
    least, greatest = low[0], high[0]
    for i in range(knot):
        step = constraints.t[i + 1] - constraints.t[i]
        least, greatest = least + constraints.s_min[i] * step, greatest + constraints.s_max[i] * step
        if i + 1 < knot:
            least, greatest = max(least, low[i + 1]), min(greatest, high[i + 1])
    return float(least), float(greatest)


def _end_note(constraints: Constraints, knot: int) -> str:
    return ", the end of y" if not constraints.free_ends and knot == len(constraints.t) - 1 else ""


def _bounds_hint(constraints: Constraints, knot: int) -> str:
    if not constraints.free_ends and knot in (0, len(constraints.t) - 1):
        return "the ends of both sequences are matched: let the bounds contain them, or use subsequence=True"
    return "let the lower bound be at most the upper one, and both meet y's time"
