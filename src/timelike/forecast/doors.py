"""What a forecaster is given, refused where it cannot be meant: tables of one series, huge numbers, odd sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..sequences import Sequences
from ..sequences.moments import RESCALE

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
