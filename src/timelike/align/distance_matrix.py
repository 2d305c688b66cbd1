"""Dtype, memory, threads and progress bar of a distance matrix, and the error if a distance is not finite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..core.memory import refuse_beyond_memory
from ..core.progress import ProgressMeter, check_progress
from ..core.validation.arrays import computed_dtype
from ..sequences import Sequences

ProgressCallback = native.ProgressCallback

_FLOAT_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))


def pair_dtype(x: Sequences, y: Sequences) -> np.dtype[Any]:
    """The dtype of the computation: float64 if float32 cannot represent the values, otherwise float32."""
    if x.dtype == y.dtype and x.dtype in _FLOAT_DTYPES:  # called for every pair, so the common case comes first
        return x.dtype
    return computed_dtype(x.dtype, y.dtype)


def allocate_matrix(shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """An empty matrix to fill; raises an error with advice if the machine does not have enough memory."""
    refuse_beyond_memory(
        shape[0] * shape[1] * dtype.itemsize,
        f"a matrix of {shape[0]} × {shape[1]} {dtype} distances",
        f"pass out=np.memmap(path, dtype={dtype.name!r}, mode='w+', shape={shape}), "
        + ("use float32, " if dtype == np.float64 else "")
        + "or ask for neighbors()",
    )
    return np.empty(shape, dtype)


def validate_out(
    out: NDArray[Any], shape: tuple[int, int], dtype: np.dtype[Any], x: Sequences, y: Sequences | None
) -> NDArray[Any]:
    """The matrix that a user wants filled, if it can be."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a {type(out).__name__}: expected a NumPy array or memmap")
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(f"out is {out.shape} {out.dtype}: expected {shape} {dtype}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("out must be a writeable array in C order")
    if any(np.may_share_memory(out, side.buffers()[0]) for side in (x, y) if side is not None):
        raise ValueError("out overlaps the sequences in memory: give it an array of its own")
    return out


@contextmanager
def report_progress(progress: bool | None, name: str = "") -> Iterator[ProgressCallback]:
    """The progress callback of a kernel: a bar, or nothing."""
    form = "{l_bar}{bar}| {elapsed}<{remaining}"
    with ProgressMeter(1.0, check_progress(progress), name=name, unit="", bar_format=form) as bar:
        yield None if bar.silent else lambda done, total: bar.update_to(done / total)
        bar.update_to(1.0)


def refuse_nonfinite(
    out: NDArray[Any],
    names: tuple[str, str],
    *,
    first: int = 0,
    columns: NDArray[np.int64] | None = None,
    sides: tuple[Sequences, Sequences] | None = None,
) -> None:
    """An error that names the first pair whose distance is inf or nan.

    Row 0 is item `first` of its collection; columns are items 0, 1, … of the other, or `columns` (row, column) of it.
    With both collections, `sides`, their ids are named too.
    """
    if np.isfinite(out.max()):  # max sees inf and nan without a matrix of flags
        return
    row, column = np.argwhere(~np.isfinite(out))[0]
    item = column if columns is None else columns[row, column]
    ids = ("", "") if sides is None else (_format_id(sides[0], first + row), _format_id(sides[1], item))
    what = f"the distance of {names[0]}[{first + row}]{ids[0]} and {names[1]}[{item}]{ids[1]} is"
    if np.isnan(out[row, column]):
        raise ValueError(
            f"{what} nan, because too much of them is missing to compare anything (interpolate() them or leave them "
            "out), because the array the sequences were made from was changed afterwards (keep a Sequences.copy() of "
            "it), or because a network that was learned has weights that are not finite"
        )
    raise ValueError(
        f"{what} too large for {out.dtype}: standardize() the sequences"
        + (" or give them as float64" if out.dtype == np.float32 else "")
    )


def _format_id(side: Sequences, item: int) -> str:
    return "" if side.ids is None else f" (id {side.ids.tolist()[item]!r:.80})"
