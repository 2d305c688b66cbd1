"""Conversion of xarray grids to `Sequences`; xarray itself is not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..container import Sequences


def from_xarray(cls: type[Sequences], grid: Any, *, time: str = "time", item: str | None = None) -> Sequences:
    """From an xarray DataArray or Dataset: `time` becomes time, `item` (if any) the sequences, the rest the frame.

    Without other dimensions there is one channel. One other dimension is the channels, named by its coordinate; two are
    (height, width) of one channel; three are (channel, height, width), in their order. The variables of a Dataset
    become the channels, with zero or two other dimensions. The coordinates of `time` and `item` become `times` and
    `ids`.

    >>> import numpy as np, timelike as tl, xarray as xr
    >>> sea = xr.DataArray(np.zeros((5, 2, 3)), dims=("time", "lat", "lon"))
    >>> tl.Sequences.from_xarray(sea).shape
    (1, 5, 1, 2, 3)
    """
    if not (hasattr(grid, "dims") and hasattr(grid, "coords")):
        raise TypeError(f"grid is a {type(grid).__name__}: expected an xarray DataArray or Dataset")
    if item == time:
        raise ValueError(f"item={item!r} is also the time: expected another dimension, or None for one sequence")
    block, channel_names = (
        _read_dataset(grid, time, item) if hasattr(grid, "data_vars") else _read_data_array(grid, time, item)
    )
    return cls(
        block,
        times=_coordinate(grid, time),
        ids=None if item is None else _coordinate(grid, item),
        channel_names=channel_names,
    )


def _transpose_grid(grid: Any, time: str, item: str | None) -> tuple[NDArray[Any], list[str]]:
    """Values as (item, time, *rest) and the names of the rest."""
    leading = [time] if item is None else [item, time]
    for role, dim in zip(("time", "item")[: len(leading)], reversed(leading), strict=True):
        if dim not in grid.dims:
            raise ValueError(f"{role}={dim!r} is not a dimension of {grid.name or 'grid'}: it has {tuple(grid.dims)}")
    rest = [dim for dim in grid.dims if dim not in leading]
    block = np.asarray(grid.transpose(*leading, *rest).values)
    return block[None] if item is None else block, rest


def _read_data_array(grid: Any, time: str, item: str | None) -> tuple[NDArray[Any], list[str] | None]:
    block, rest = _transpose_grid(grid, time, item)
    if len(rest) > 3:
        raise ValueError(
            f"besides time and item the grid has {len(rest)} dimensions {tuple(rest)}: expected at most three, "
            "(channel, height, width); select or stack some of them first"
        )
    if len(rest) == 1:
        names = grid.coords[rest[0]].values if rest[0] in grid.coords else None
        return block, None if names is None else [str(name) for name in names]
    if len(rest) == 3:
        return block, None
    return block[:, :, None], None if grid.name is None else [str(grid.name)]


def _read_dataset(grid: Any, time: str, item: str | None) -> tuple[NDArray[Any], list[str]]:
    if not grid.data_vars:
        raise ValueError("grid is a Dataset without variables: expected at least one")
    blocks, dims = [], {}
    for name, variable in grid.data_vars.items():
        block, dims[name] = _transpose_grid(variable, time, item)
        blocks.append(block)
    first = next(iter(dims.values()))
    for name, rest in dims.items():
        if rest != first or len(rest) not in (0, 2):
            raise ValueError(
                f"variable {name!r} has the dimensions {tuple(rest)} besides time and item: expected none or two, the "
                "same for all variables, which become the channels; pass one variable at a time: grid[name]"
            )
    return np.stack(blocks, axis=2), [str(name) for name in dims]


def _coordinate(grid: Any, dim: str) -> NDArray[Any] | None:
    if dim not in grid.coords:
        return None
    values = np.asarray(grid.coords[dim].values)
    if values.dtype.kind == "m":
        return np.asarray(values / np.timedelta64(1, "s"))
    if values.dtype == object and not all(isinstance(entry, str) for entry in values.tolist()):
        kind = type(values.ravel()[0]).__name__
        raise TypeError(
            f"the coordinate of {dim!r} holds {kind} objects: expected numbers, strings or datetime64; for "
            "a calendar of cftime use grid.convert_calendar('standard')"
        )
    return values
