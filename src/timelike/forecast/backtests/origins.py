"""The plan of a backtest: forecast origins, and the cut in time before which models are fitted."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import format_count
from ...sequences import Sequences

if TYPE_CHECKING:
    from .evaluated_model import EvaluatedModel

Ids = NDArray[np.int64]


class Origins(NamedTuple):
    """Windows ordered by sequence and time; `origin` is the number of steps before each."""

    item: Ids
    origin: Ids

    def cuts(self, sequences: Sequences) -> NDArray[Any]:
        """The cut of each forecast: the last timestamp of its past or, without timestamps, its number of steps."""
        if sequences.times is None:
            return self.origin
        return np.asarray(sequences.times[sequences.offsets[self.item] + self.origin - 1])


def last_origins(sequences: Sequences, horizon: int, n_windows: int, step: int, need: int) -> Origins:
    """The last `n_windows` origins of every sequence, `step` apart, with `need` steps before and the horizon after."""
    ends = sequences.lengths - horizon
    allowed = np.maximum(0, (ends - need) // step + 1)
    if allowed.max() < n_windows:
        longest = int(np.argmax(allowed))
        raise ValueError(
            f"n_windows={n_windows}: sequence {longest} has {format_count(sequences.lengths[longest], 'time step')}, "
            f"and with {need} before and horizon={horizon} after every origin it allows {allowed[longest]} windows "
            f"{step} apart: use fewer windows, a smaller step or a shorter horizon"
        )
    counts = np.minimum(allowed, n_windows)
    item = np.repeat(np.arange(len(sequences)), counts)
    back = np.concatenate([np.arange(count)[::-1] for count in counts.tolist()])
    return Origins(item, np.asarray(ends[item] - step * back, np.int64))


def sequences_before(sequences: Sequences, cut: Any) -> Sequences:
    """The part of every sequence known at a cut; empty sequences are left out."""
    lengths = lengths_before(sequences, cut)
    nonempty = np.flatnonzero(lengths)
    starts = sequences.buffers()[1]
    return sequences[nonempty]._with_spans(
        np.ascontiguousarray(starts[nonempty]), np.ascontiguousarray(lengths[nonempty])
    )


def lengths_before(sequences: Sequences, cut: Any) -> Ids:
    """The number of steps of every sequence known at a cut, a timestamp or a number of steps."""
    if sequences.times is None:
        return np.minimum(sequences.lengths, int(cut))
    offsets = sequences.offsets.tolist()
    clocks = [sequences.times[begin:end] for begin, end in pairwise(offsets)]
    return np.array([np.searchsorted(clock, cut, side="right") for clock in clocks], np.int64)


def is_cut_by_steps(sequences: Sequences, origins: Origins) -> bool:
    """Whether each cut falls after the same number of steps in all sequences."""
    if sequences.times is None:
        return True
    cuts = origins.cuts(sequences)
    _, first = np.unique(cuts, return_index=True)
    same = (lengths_before(sequences, cuts[row]) == np.minimum(sequences.lengths, origins.origin[row]) for row in first)
    return all(one.all() for one in same) and len(np.unique(origins.origin)) == len(first)


def describe_cut(sequences: Sequences, cut: Any) -> str:
    """A description of the data before a cut."""
    if sequences.times is None:
        return f"the first {format_count(cut, 'step')} of every sequence"
    return f"all steps up to {np.datetime_as_string(cut, unit='auto') if cut.dtype.kind == 'M' else f'{cut:g}'}"


class BacktestPlan(NamedTuple):
    """Windows, the earliest cut, and notes about them."""

    origins: Origins
    first_cut: Any
    notes: tuple[str, ...]


def make_plan(
    sequences: Sequences, sides: list[EvaluatedModel], horizon: int, n_windows: int, step: int
) -> BacktestPlan:
    """Plan the windows for which every model has a long enough past."""
    origins = last_origins(sequences, horizon, n_windows, step, 1)
    first = _first_cut(sequences, origins, sides, n_windows)
    need = max(1, *(side.min_past_steps(first) for side in sides))
    if need > 1:
        origins = last_origins(sequences, horizon, n_windows, step, need)
        if not any(side.has_fitted_copy for side in sides):  # a fitted copy stays valid for the earlier cut
            first = _first_cut(sequences, origins, sides, n_windows)
    notes = []
    counts = np.bincount(origins.item, minlength=len(sequences))
    if short := int((counts < n_windows).sum()):
        notes.append(
            f"{format_count(short, 'shorter sequence')} {'has' if short == 1 else 'have'} fewer windows, or none"
        )
    early = origins.cuts(sequences) < first
    if n_early := int(early.sum()):
        origins = Origins(*(part[~early] for part in origins))
        fit_data = describe_cut(sequences, first)
        left_out = f"{format_count(n_early, 'window')} of shorter sequences {'is' if n_early == 1 else 'are'} left out"
        notes.append(f"{left_out}: models are fitted on {fit_data}, or more")
    return BacktestPlan(origins, first, tuple(notes))


def _first_cut(sequences: Sequences, origins: Origins, sides: list[EvaluatedModel], n_windows: int) -> Any:
    """The earliest cut; if models learn from data before it, the earliest of the sequences with all windows.

    Otherwise one short sequence would leave hardly any training data.
    """
    cuts = origins.cuts(sequences)
    if not any(side.uses_training_values for side in sides):
        return cuts.min()
    whole = np.bincount(origins.item, minlength=len(sequences)) == n_windows
    return cuts[whole[origins.item]].min()
