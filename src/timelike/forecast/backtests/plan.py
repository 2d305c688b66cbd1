"""Plan: from which origins a backtest forecasts, and before which cut in time models are fitted first."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...sequences import Sequences
from .evaluated_model import EvaluatedModel
from .origins import Origins, describe_cut, last_origins


class BacktestPlan(NamedTuple):
    """Windows, the earliest cut, and notes about them."""

    origins: Origins
    first_cut: Any
    notes: tuple[str, ...]


def make_plan(
    sequences: Sequences, sides: list[EvaluatedModel], horizon: int, n_windows: int, step: int
) -> BacktestPlan:
    """Windows for which every model has enough of a past."""
    origins = last_origins(sequences, horizon, n_windows, step, 1)
    first = _first_cut(sequences, origins, sides, n_windows)
    need = max(1, *(side.min_past_steps(first) for side in sides))
    if need > 1:
        origins = last_origins(sequences, horizon, n_windows, step, need)
        if not any(side.has_fitted_copy for side in sides):  # else what was learned before the earlier cut stays
            first = _first_cut(sequences, origins, sides, n_windows)
    notes = []
    counts = np.bincount(origins.item, minlength=len(sequences))
    if short := int((counts < n_windows).sum()):
        notes.append(f"{short} shorter sequences have fewer windows, or none")
    early = origins.cuts(sequences) < first
    if early.any():
        origins = Origins(*(part[~early] for part in origins))
        learned = describe_cut(sequences, first)
        notes.append(
            f"{early.sum()} windows of shorter sequences are left out: models are fitted on {learned}, or more"
        )
    return BacktestPlan(origins, first, tuple(notes))


def _first_cut(sequences: Sequences, origins: Origins, sides: list[EvaluatedModel], n_windows: int) -> Any:
    """The earliest cut; where something is learned before it, that of sequences that have all windows.

    Otherwise one short sequence would leave hardly anything to learn from.
    """
    cuts = origins.cuts(sequences)
    if not any(side.uses_training_values for side in sides):
        return cuts.min()
    whole = np.bincount(origins.item, minlength=len(sequences)) == n_windows
    return cuts[whole[origins.item]].min()
