"""Refusals of a forecaster: tables of one series, huge numbers, odd sources, known channels that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sequences import Sequences, doors
from ..sequences.container import as_sequences
from ..sequences.moments import RESCALE
from .cells import Cells, Known

_HUGE = 1e150  # what can be squared, and summed


def refuse_table(given: Any, name: str) -> None:
    """An error for a table whose rows are times: elsewhere a row of a table is a sequence."""
    if getattr(getattr(getattr(given, "index", None), "dtype", None), "kind", "") == "M":
        raise TypeError(
            f"{name} is a table whose rows are times: expected sequences; one series is Sequences([table.to_numpy()], "
            "times=[table.index], channel_names=table.columns), and Sequences.from_frame reads long tables"
        )


def refuse_huge(sequences: Sequences, name: str) -> None:
    """An error for numbers whose squares overflow: every method takes some."""
    if sequences.dtype.kind == "f" and sequences.dtype.itemsize > 4 and len(sequences.values):
        largest = np.fmax(np.fmax.reduce(sequences.values, axis=None), -np.fmin.reduce(sequences.values, axis=None))
        if largest > _HUGE:
            raise ValueError(f"{name} has values as large as {largest:.3g}, whose squares overflow: {RESCALE}")


def drawn_from(source: Any, rng: np.random.Generator) -> Sequences:
    """Sequences from a source, which must give some."""
    drawn = source(rng)
    if not isinstance(drawn, Sequences):
        raise TypeError(f"the source X gave a {type(drawn).__name__}: expected Sequences")
    return drawn


def known_ahead(
    known: Any, cells: Cells, channels: Known, past: Sequences, horizon: int, who: str
) -> NDArray[np.float64] | None:
    """The channels known in advance over the horizon, (item, horizon, channel)."""
    count = len(cells.known)
    if count == 0:
        if known is not None:
            raise ValueError(f"known is given, but this {who} was fitted without known channels: leave it out")
        return None
    if known is None:
        raise ValueError(
            f"known=None: this {who} was fitted with known={list(channels or ())!r}; give their "
            f"values over the horizon, (item, {horizon}, {count})"
        )
    ahead = known if isinstance(known, Sequences) else as_sequences(doors.rows(known), "known")
    ahead.refuse_missing(who, "known")
    if ahead.frame != (count,) or len(ahead) != len(past) or ahead.lengths.min() < horizon:
        raise ValueError(
            f"known has {len(ahead)} sequences of {ahead.lengths.min()} steps and frames {ahead.frame}: expected "
            f"{len(past)} of at least {horizon} steps and frames ({count},)"
        )
    return np.stack([one[:horizon] for one in ahead]).astype(np.float64)
