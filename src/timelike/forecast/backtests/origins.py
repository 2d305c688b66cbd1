"""Origins from which a backtest forecasts, and what may be learned before each: the same cut in time for all."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import format_count
from ...sequences import Sequences

Ids = NDArray[np.int64]


class Origins(NamedTuple):
    """Windows in the order of their sequences and of time: `origin` is how many steps come before each."""

    item: Ids
    origin: Ids

    def cuts(self, sequences: Sequences) -> NDArray[Any]:
        """When each forecast is made: at the last timestamp of its past, or after so many steps without timestamps."""
        if sequences.times is None:
            return self.origin
        return np.asarray(sequences.times[sequences.offsets[self.item] + self.origin - 1])


def last_origins(sequences: Sequences, horizon: int, n_windows: int, step: int, need: int) -> Origins:
    """The last `n_windows` origins of every sequence, `step` apart, with `need` steps before and the horizon
    after.
    """
    ends = sequences.lengths - horizon
    allowed = np.maximum(0, (ends - need) // step + 1)
    if allowed.max() < n_windows:
        longest = int(np.argmax(allowed))
        raise ValueError(
            f"n_windows={n_windows}: sequence {longest} has {format_count(sequences.lengths[longest], 'time step')}, "
            "and "
            f"with {need} before and horizon={horizon} after every origin it allows {allowed[longest]} windows "
            f"{step} apart: ask for fewer, a smaller step or a shorter horizon"
        )
    counts = np.minimum(allowed, n_windows)
    item = np.repeat(np.arange(len(sequences)), counts)
    back = np.concatenate([np.arange(count)[::-1] for count in counts.tolist()])
    return Origins(item, np.asarray(ends[item] - step * back, np.int64))


def sequences_before(sequences: Sequences, cut: Any) -> Sequences:
    """What of every sequence is known at a cut; those that have nothing are left out."""
    lengths = lengths_before(sequences, cut)
    there = np.flatnonzero(lengths)
    starts = sequences.buffers()[1]
    return sequences[there]._with_spans(np.ascontiguousarray(starts[there]), np.ascontiguousarray(lengths[there]))


def lengths_before(sequences: Sequences, cut: Any) -> Ids:
    """How many steps of every sequence are known at a cut, a timestamp or a number of steps."""
    if sequences.times is None:
        return np.minimum(sequences.lengths, int(cut))
    offsets = sequences.offsets.tolist()
    clocks = [sequences.times[begin:end] for begin, end in pairwise(offsets)]
    return np.array([np.searchsorted(clock, cut, side="right") for clock in clocks], np.int64)


def is_cut_by_steps(sequences: Sequences, origins: Origins) -> bool:
    """Whether the cut of every window is after the same number of steps in all sequences."""
    if sequences.times is None:
        return True
    cuts = origins.cuts(sequences)
    _, first = np.unique(cuts, return_index=True)
    found = {int(row): lengths_before(sequences, cuts[row]) for row in first}
    same = all((lengths == np.minimum(sequences.lengths, origins.origin[row])).all() for row, lengths in found.items())
    return same and len(np.unique(origins.origin)) == len(first)


def describe_cut(sequences: Sequences, cut: Any) -> str:
    """A cut in words."""
    if sequences.times is None:
        return f"the first {format_count(cut, 'step')} of every sequence"
    return f"all steps up to {np.datetime_as_string(cut, unit='auto') if cut.dtype.kind == 'M' else f'{cut:g}'}"
