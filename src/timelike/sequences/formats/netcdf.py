"""Gridded fields in netCDF files, read through xarray: .nc. They are only read.

A file is one sequence over its time. Its variables that change in time are the channels; bounds, masks and other
variables without time are left out. Packed numbers are unpacked, fill values are missing (NaN over land stays NaN), and
dates are dates. Needs the extra `grids`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from ..container import Sequences
from . import text
from .endings import refuse_short
from .limits import refuse_claim

LACKS: dict[str, tuple[text.Lack, ...]] = {".nc": ("unequal lengths", "labels", "groups")}

_HDF5 = b"\x89HDF\r\n\x1a\n"
_SUPERBLOCK = 64  # bytes in which an HDF5 file says how long it is


def read(path: Path) -> dict[str, Sequences]:
    """The fields of a .nc file as one sequence."""
    xarray = _xarray()
    with path.open("rb") as file:
        _refuse_unreadable(path, file.read(_SUPERBLOCK))
    try:
        opened = xarray.open_dataset(path, decode_coords="all", decode_timedelta=False, cache=False)
    except Exception as error:  # whatever the several readers raise on damaged files
        raise text.wrong(path, f"is not a whole netCDF file ({str(error)[:200]}): get it again") from None
    with opened as grid:  # nothing but the headers has been read yet
        return {"all": _fields(grid, path)}


def _fields(grid: Any, path: Path) -> Sequences:
    time = _clock(grid, path)
    moving = [name for name, variable in grid.data_vars.items() if time in variable.dims]
    if not moving:
        raise text.wrong(path, f"no variable changes over {time!r}: expected at least one")
    chosen = grid[moving]
    refuse_claim(path, chosen.nbytes)
    try:
        # one variable alone may have any number of dimensions that a frame has
        return Sequences.from_xarray(chosen[moving[0]] if len(moving) == 1 else chosen, time=time)
    except (ValueError, TypeError) as error:
        way = "; open it with xarray.open_dataset, choose, and use Sequences.from_xarray"
        raise text.wrong(path, f"{error}{way if len(moving) > 1 else ''}") from None
    except Exception as error:
        raise text.wrong(path, f"its numbers cannot be read ({str(error)[:200]}): get it again") from None


def _clock(grid: Any, path: Path) -> str:
    """The dimension that is time: by its name, by what its coordinate says of itself, or because it has dates."""
    if "time" in grid.dims:
        return "time"
    found = [str(dim) for dim in grid.dims if dim in grid.coords and _is_clock(grid.coords[dim])]
    if len(found) != 1:
        raise text.wrong(
            path,
            f"which of the dimensions {tuple(map(str, grid.dims))} is time is not said: open it with "
            "xarray.open_dataset and use Sequences.from_xarray(grid, time=...)",
        )
    return found[0]


def _is_clock(coordinate: Any) -> bool:
    said = coordinate.attrs.get("axis") == "T" or coordinate.attrs.get("standard_name") == "time"
    return bool(said or np.issubdtype(coordinate.dtype, np.datetime64))


def _refuse_unreadable(path: Path, head: bytes) -> None:
    """An error for a netCDF 4 file that is cut short, and for a whole one where no package reads it."""
    if not head.startswith(_HDF5):
        return
    declared = _hdf5_size(head)
    if declared is None:
        raise text.wrong(path, "begins as an HDF5 file and is none: get it again")
    refuse_short(path, declared)
    if not any(importlib.util.find_spec(reader) for reader in ("h5netcdf", "netCDF4")):
        raise ImportError(f'{path.name} is a netCDF 4 file, which needs h5netcdf: pip install "timelike[grids]"')


def _hdf5_size(head: bytes) -> int | None:
    """Bytes of an HDF5 file, as its superblock says; None where that is damaged.

    The address of the end is the third of four numbers, which begin behind the flags: "HDF5 File Format
    Specification", II.A.
    """
    begin, width = {0: (24, 13), 1: (28, 13), 2: (12, 9), 3: (12, 9)}.get(head[8] if len(head) > 8 else -1, (0, 0))
    size = head[width] if 0 < width < len(head) else 0
    if size not in (2, 4, 8) or len(head) < begin + 3 * size:
        return None
    return int.from_bytes(head[begin + 2 * size : begin + 3 * size], "little")


def _xarray() -> Any:
    try:
        import xarray
    except ImportError:
        raise ImportError('.nc files need xarray: pip install "timelike[grids]"') from None
    return xarray
