"""Gridded fields in netCDF files, read through xarray: .nc. Read-only format.

A file is one sequence over its time. Its variables that change in time are the channels; bounds, masks and other
variables without time are skipped. Packed numbers are unpacked, fill values are missing (NaN over land stays NaN), and
dates are dates. Needs the extra `grids`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from ....core.extras import import_extra, missing_extra
from ...container import Sequences
from . import hdf5, text
from .text import refuse_large_claim

UNSUPPORTED: dict[str, tuple[text.UnsupportedFeature, ...]] = {".nc": ("unequal lengths", "labels", "groups")}


def read(path: Path) -> dict[str, Sequences]:
    """The fields of a .nc file as one sequence."""
    xarray = import_extra("xarray", "a .nc file")
    _refuse_unreadable(path)
    try:
        opened = xarray.open_dataset(path, decode_coords="all", decode_timedelta=False, cache=False)
    except Exception as error:  # the readers raise many kinds of errors on damaged files
        raise text.make_format_error(path, f"is not a whole netCDF file ({str(error)[:200]}): get it again") from None
    with opened as grid:  # nothing but the headers has been read yet
        return {"all": _read_fields(grid, path)}


def _read_fields(grid: Any, path: Path) -> Sequences:
    time = _find_time_dimension(grid, path)
    moving = [name for name, variable in grid.data_vars.items() if time in variable.dims]
    if not moving:
        raise text.make_format_error(path, f"no variable changes over {time!r}: expected at least one")
    chosen = grid[moving]
    refuse_large_claim(path, chosen.nbytes)
    try:
        # one variable alone may have any number of dimensions that a frame has
        return Sequences.from_xarray(chosen[moving[0]] if len(moving) == 1 else chosen, time=time)
    except (ValueError, TypeError) as error:
        way = "; open it with xarray.open_dataset, choose, and use Sequences.from_xarray"
        raise text.make_format_error(path, f"{error}{way if len(moving) > 1 else ''}") from None
    except Exception as error:
        raise text.make_format_error(path, f"its numbers cannot be read ({str(error)[:200]}): get it again") from None


def _find_time_dimension(grid: Any, path: Path) -> str:
    """The time dimension: found by its name, by the attributes of its coordinate, or because it has dates."""
    if "time" in grid.dims:
        return "time"
    time_dimensions = [str(dim) for dim in grid.dims if dim in grid.coords and _is_time_coordinate(grid.coords[dim])]
    if len(time_dimensions) != 1:
        raise text.make_format_error(
            path,
            f"no single time dimension is identified among {tuple(map(str, grid.dims))}: open it with "
            "xarray.open_dataset and use Sequences.from_xarray(grid, time=...)",
        )
    return time_dimensions[0]


def _is_time_coordinate(coordinate: Any) -> bool:
    is_declared = coordinate.attrs.get("axis") == "T" or coordinate.attrs.get("standard_name") == "time"
    return bool(is_declared or np.issubdtype(coordinate.dtype, np.datetime64))


def _refuse_unreadable(path: Path) -> None:
    """Raise an error for a damaged netCDF 4 file, and for a whole one where no package reads it."""
    with path.open("rb") as file:
        if file.read(len(hdf5.SIGNATURE)) != hdf5.SIGNATURE:
            return
    hdf5.refuse_damaged(path)
    if importlib.util.find_spec("netCDF4"):
        return
    for package in ("h5netcdf", "h5py"):  # since its version 1.8 the first comes without the second
        if importlib.util.find_spec(package) is None:
            raise missing_extra(ModuleNotFoundError(name=package), f"{path.name}, a netCDF 4 file,")
