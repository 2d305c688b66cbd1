"""Conversion of `Sequences` to arrays and lists, copies, pickles and files. Each is a method of `Sequences`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice
from ..core.validation.arrays import make_read_only

if TYPE_CHECKING:
    from .container import Sequences


def as_array(self: Sequences, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
    """One array (item, time, *frame), if all lengths are equal."""
    if not self.has_equal_lengths:
        raise TypeError(
            f"sequences of lengths {self.lengths.min()} to {self.lengths.max()} are not one array: "
            "use pad(), resample(length=...) or to_list()"
        )
    return np.array(self.values.reshape(self.shape), dtype=dtype, copy=copy)


def to_list(self: Sequences, *, layout: Literal["ntc", "nct"] = "ntc") -> list[NDArray[Any]]:
    """One array per sequence, (time, *frame), or (channel, time) with `layout="nct"`; read-only views."""
    check_choice(layout, "layout", ("ntc", "nct"))
    return [sequence if layout == "ntc" else sequence.swapaxes(0, 1) for sequence in self]


def to_nct(self: Sequences) -> NDArray[Any] | list[NDArray[Any]]:
    """The format of aeon and sktime: an array (item, channel, time), or a list of (channel, time) if ragged."""
    if not self.has_equal_lengths:
        return self.to_list(layout="nct")
    return self.values.reshape(self.shape).swapaxes(1, 2)


def copy_sequences(self: Sequences) -> Sequences:
    """A packed copy of the sequences, independent of the original array."""
    return self._with_values(self.values.copy(), self.lengths, None if self.times is None else self.times.copy())


def equals(self: Sequences, other: object) -> bool:
    """Whether values (with missing values at the same places), dtype and all metadata are equal."""
    if not isinstance(other, type(self)) or self.frame != other.frame or self.dtype != other.dtype:
        return False
    if self.channel_names != other.channel_names or self.class_names != other.class_names:
        return False
    ours = (self.lengths, self.times, self.labels, self.groups, self.ids)
    theirs = (other.lengths, other.times, other.labels, other.groups, other.ids)
    same = all(_is_same(a, b) for a, b in zip(ours, theirs, strict=True))
    return same and np.array_equal(self.values, other.values, equal_nan=self.dtype.kind == "f")


def _is_same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))


def get_state(self: Sequences) -> dict[str, Any]:
    """The state for a pickle; only worker processes get one."""
    own = _trim_buffer(self)
    return {slot: getattr(own, slot) for slot in self.__slots__}


def _trim_buffer(self: Sequences) -> Sequences:
    """A copy without the rest of the buffer, which a worker process need not receive.

    Windows that overlap stay views: end to end they would take more than the segment that they cover.
    """
    base, starts, lengths = self.buffers()
    begin, end = int(starts.min(initial=len(base))), int((starts + lengths).max(initial=0))
    if not 0 < end - begin < int(lengths.sum()):
        return self.copy()
    other = self._with_spans(starts - begin, lengths)
    other._labels, other._groups, other._ids = self.labels, self.groups, self.ids
    other._base, other._base_missing = base[begin:end], []
    other._clock = None if self._clock is None else self._clock[begin:end]
    return other


def set_state(self: Sequences, state: dict[str, Any]) -> None:
    """Restore the state from a pickle; unpickled arrays are writeable until they are made read-only again."""
    for slot, value in state.items():
        setattr(self, slot, make_read_only(value) if isinstance(value, np.ndarray) else value)


def save(self: Sequences, path: str | Path, *, test: Sequences | None = None) -> Path:
    """Write a file; its suffix determines the format (all are in `timelike.sequences.io.formats.FORMATS`).

    `test` stores a test set in the same `.npz`; `load` then returns a pair (train, test).
    """
    from .io.formats import write

    for part, name in ((self, "data"), (test, "test")):
        if isinstance(part, type(self)):
            part.refuse_disorder("a file", name)
    if not isinstance(path, str | Path):
        raise TypeError(f"path={path!r:.80}: expected a string or a Path whose suffix says the format")
    return write(self, Path(os.path.expanduser(path)), test=test)
