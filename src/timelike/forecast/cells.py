"""Cells: the numbers of a frame that are forecast, known in advance, or masked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.validation.arrays import dtype_with_fill, locate_step
from ..models import schema
from ..sequences import Sequences

KnownChannels = Sequence[int | str] | None


class Cells(NamedTuple):
    """Converts frames to rows of numbers to forecast, and back.

    `frame` is the shape of a forecast frame; `known_channels` (position,) are the channels known in advance, which are
    not forecast; `valid_mask` marks the cells of `frame` with values, the others are masked (NaN) at all times.
    """

    frame: tuple[int, ...]
    known_channels: NDArray[np.int64]
    valid_mask: NDArray[np.bool_]

    @classmethod
    def from_sequences(cls, sequences: Sequences, known_channels: KnownChannels, name: str = "X") -> Cells:
        """The cells of training sequences; raises an error if the mask changes over time or masks every cell."""
        positions = known_positions(sequences, known_channels)
        frame = sequences.frame if not len(positions) else (sequences.frame[0] - len(positions),)
        valid_mask = np.ones(frame, bool)
        if sequences.has_missing:
            values = _target_values(sequences, positions)
            valid_mask = ~np.isnan(values[0])
            _refuse_changing_mask(values, valid_mask, sequences, name)
            if not valid_mask.any():
                raise ValueError(f"{name}: every cell of every frame is missing (NaN): there is nothing to learn from")
        cells = cls(frame, positions, valid_mask)
        cells.refuse_missing_known(sequences, name)
        return cells

    @property
    def is_masked(self) -> bool:
        """Whether some cells are masked."""
        return not self.valid_mask.all()

    @property
    def n_cells(self) -> int:
        """The number of forecast values per frame."""
        return int(self.valid_mask.sum())

    def validate(self, sequences: Sequences, name: str) -> None:
        """Raise an error if a value is missing in a valid cell."""
        if sequences.has_missing:
            values = _target_values(sequences, self.known_channels)
            absent = (np.isnan(values) & self.valid_mask).reshape(len(values), -1).any(axis=1)
            if absent.any():
                item, time = locate_step(int(np.flatnonzero(absent)[0]), sequences.offsets[:-1])
                raise ValueError(
                    f"{name}: sequence {item} is missing (NaN) at time step {time} in a cell that was there when the "
                    "model was fitted: a mask must not change over time; fill gaps with Sequences.interpolate()"
                )
            self.refuse_missing_known(sequences, name)

    def refuse_missing_known(self, sequences: Sequences, name: str) -> None:
        """Raise an error if a value of a known channel is missing."""
        if len(self.known_channels):
            absent = np.isnan(sequences.values[:, self.known_channels]).any(axis=1)
            if absent.any():
                item, time = locate_step(int(np.flatnonzero(absent)[0]), sequences.offsets[:-1])
                raise ValueError(f"{name}: sequence {item} is missing (NaN) at time step {time} in a known channel")

    def target_rows(self, sequences: Sequences) -> Sequences:
        """The forecast values as sequences of (cell,), without missing values."""
        values = _target_values(sequences, self.known_channels)
        flat = values.reshape(len(values), math.prod(self.frame))
        rows = flat[:, self.valid_mask.ravel()] if self.is_masked else flat
        return sequences._with_values(np.ascontiguousarray(rows))

    def target_frames(self, sequences: Sequences) -> Sequences:
        """The forecast values in the shape of frames; masked cells are NaN."""
        if not len(self.known_channels) and not self.is_masked:
            return sequences
        values = _target_values(sequences, self.known_channels)
        if self.is_masked:
            values = values.astype(dtype_with_fill(values.dtype, np.nan))  # a copy, and one that can hold NaN
            values[:, ~self.valid_mask] = np.nan
        return sequences._with_values(np.ascontiguousarray(values))

    def covariates(self, sequences: Sequences) -> Sequences | None:
        """The channels known in advance, or None."""
        if not len(self.known_channels):
            return None
        return sequences._with_values(np.ascontiguousarray(sequences.values[:, self.known_channels]))

    def to_frames(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows (..., cell) as frames (..., *frame); masked cells are NaN."""
        if not self.is_masked:
            return rows.reshape(*rows.shape[:-1], *self.frame)
        flat = np.full((*rows.shape[:-1], math.prod(self.frame)), np.nan, rows.dtype)
        flat[..., self.valid_mask.ravel()] = rows
        return flat.reshape(*rows.shape[:-1], *self.frame)

    def target_names(self, sequences: Sequences) -> tuple[str, ...] | None:
        """Names of the forecast channels, or None without names."""
        if sequences.channel_names is None:
            return None
        target_channels = np.setdiff1d(np.arange(sequences.frame[0]), self.known_channels)
        return tuple(sequences.channel_names[i] for i in target_channels)


def _check_cells(cells: Cells, name: str, scope: schema.CheckScope) -> None:
    """Check the frame shape without the known channels, and the mask."""
    whole, n_known = scope.model.frame_, len(cells.known_channels)
    expected = whole if not n_known else (whole[0] - n_known,)
    if cells.frame != expected or (n_known and (len(whole) > 1 or len(np.unique(cells.known_channels)) < n_known)):
        raise ValueError(f"{name}.frame is {cells.frame}: expected {expected}, of frames {whole} with {n_known} known")
    if cells.valid_mask.shape != cells.frame or not cells.valid_mask.any():
        raise ValueError(
            f"{name}.valid_mask has shape {cells.valid_mask.shape}: expected {cells.frame}, and at least one valid cell"
        )


CELLS_SCHEMA = schema.record(
    Cells,
    check=_check_cells,
    frame=schema.frame_shape(),
    known_channels=schema.indices("known channel", below=lambda model: model.frame_[0]),
    valid_mask=schema.array(..., dtype="bool"),
)
"""The schema of cells as an attribute of a forecaster."""


def n_cells(model: Any) -> int:
    """The number of forecast values per frame of a fitted forecaster, for shapes in schemas."""
    cells: Cells = model.cells_
    return cells.n_cells


def n_columns(model: Any) -> int:
    """The number of values per step: forecast cells and channels known in advance."""
    return n_cells(model) + len(model.cells_.known_channels)


def known_positions(sequences: Sequences, known_channels: KnownChannels) -> NDArray[np.int64]:
    """Positions of the known channels, from names or positions."""
    if known_channels is None or len(known_channels) == 0:
        return np.zeros(0, np.int64)
    if len(sequences.frame) != 1:
        raise ValueError(
            f"known_channels={list(known_channels)!r} names channels, and X has frames of shape {sequences.frame}: "
            "expected (channel,)"
        )
    n_channels, names = sequences.frame[0], sequences.channel_names
    positions = [_channel_position(one, n_channels, names) for one in known_channels]
    if len(set(positions)) < len(positions):
        raise ValueError(f"known_channels={list(known_channels)!r} names a channel twice: expected each once")
    if len(positions) == n_channels:
        raise ValueError(
            f"known_channels={list(known_channels)!r} are all {n_channels} channels: there is nothing left to forecast"
        )
    return np.array(positions, np.int64)


def _channel_position(one: int | str, n_channels: int, names: Sequence[str] | None) -> int:
    if isinstance(one, str):
        if names is None or one not in names:
            description = "X has no channel names" if names is None else f"X has {', '.join(map(repr, names))}"
            raise ValueError(f"known_channels: there is no channel {one!r}; {description}")
        return list(names).index(one)
    if not -n_channels <= one < n_channels:
        raise ValueError(f"known_channels: there is no channel {one}: X has {n_channels}")
    return int(one) % n_channels


def check_known(value: Any, name: str) -> Any:
    """Check a list of channels, each a name or a position."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name}={value!r}: expected a list of channels, such as {name}=['hour'] or {name}=[3]")
    for one in value:
        if isinstance(one, bool) or not isinstance(one, str | int | np.integer):
            raise TypeError(f"{name} holds {one!r}: expected names or positions of channels")
    return value


def _target_values(sequences: Sequences, known_channels: NDArray[np.int64]) -> NDArray[Any]:
    return np.delete(sequences.values, known_channels, axis=1) if len(known_channels) else sequences.values


def _refuse_changing_mask(values: NDArray[Any], valid_mask: NDArray[np.bool_], sequences: Sequences, name: str) -> None:
    other = (np.isnan(values) == valid_mask).reshape(len(values), -1).any(axis=1)
    if other.any():
        item, time = locate_step(int(np.flatnonzero(other)[0]), sequences.offsets[:-1])
        raise ValueError(
            f"{name}: sequence {item} lacks other cells at time step {time} than the first frame does: the mask must "
            "not change over time; fill gaps with Sequences.interpolate(), or set the cells to NaN at all times"
        )
