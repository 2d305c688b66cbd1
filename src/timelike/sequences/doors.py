"""What every verb does first with what it is given: any collection, or any single sequence, becomes `Sequences`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import check
from .container import Sequences

_FIRST = check.frozen(np.zeros(1, np.int64))


def as_sequences(value: Any, name: str) -> Sequences:
    """The door of every verb: `Sequences` pass, anything else is checked under the name of the argument."""
    if isinstance(value, Sequences):
        return value
    values, lengths = check.packed(value, "ntc", name)
    made = _nameless(values, lengths)
    check.refuse_inf(values, made._starts, name)
    return made


def as_one(value: Any, name: str) -> Sequences:
    """The same door for a single sequence, (time,) or (time, *frame): a collection of one."""
    if isinstance(value, Sequences):
        if len(value) != 1:
            raise ValueError(f"{name} holds {len(value)} sequences: expected one; take it with {name}[i]")
        return value
    values = np.ascontiguousarray(check.one_sequence(value, name))
    made = _nameless(values, np.array([len(values)]), _FIRST)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        made._base_missing.append(False)  # one look for both, since small sequences are compared by the million
        return made
    step = check.first_step(values, np.isinf)
    if step is not None:
        raise ValueError(f"{name} is infinite at time step {step}: expected finite values; nan means missing")
    return made


def _nameless(values: NDArray[Any], lengths: NDArray[np.int64], starts: NDArray[np.int64] | None = None) -> Sequences:
    made = Sequences.__new__(Sequences)
    made._fill(values, lengths, starts)
    made._labels = made._groups = made._ids = made._clock = made._class_names = made.channel_names = None
    return made
