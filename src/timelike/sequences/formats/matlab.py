"""MATLAB's .mat files up to version 7, a recording each, read by SciPy; they are only read.

Variables of one row or one column are columns, matrices are channels (time, channel), and text and single numbers can
be labels. Version 7.3 is HDF5 and not read: save it with `save(name, '-v7')`.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import text
from .arrays import of_arrays
from .limits import refuse_claim
from .sheets import Sheet

if TYPE_CHECKING:
    from ..container import Sequences

LACKS: dict[str, tuple[text.Lack, ...]] = {".mat": ("labels", "groups", "channel_names")}

_HDF5 = b"\x89HDF"


def read(path: Path) -> dict[str, Sequences]:
    """One recording."""
    from ..files.gathering import alone

    return {"all": alone(path)}


def sheet(path: Path, layout: str | None = None) -> Sheet:
    """The variables that are numbers or text."""
    from scipy.io import loadmat, whosmat

    text.refuse_empty(path)
    with path.open("rb") as file:
        head = file.read(128)
    if _HDF5 in head[:8] or head.startswith(b"MATLAB 7.3"):
        raise text.wrong(path, "is a .mat of version 7.3 (HDF5): save it with save(name, '-v7'), or read it with h5py")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refuse_claim(path, sum(8 * math.prod(map(int, shape)) for _, shape, _ in whosmat(path)))
            found = loadmat(path, chars_as_strings=True)
    except (text.FormatError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:  # SciPy raises whatever a damaged file leads to
        raise text.wrong(path, f"is not a whole .mat file ({str(error)[:120]}): get it again") from None
    arrays = {name: _flat(array) for name, array in found.items() if not name.startswith("__")}
    plain = {name: array for name, array in arrays.items() if array is not None}
    if not plain:
        raise text.wrong(path, f"has no numbers but {', '.join(map(repr, arrays))[:200] or 'nothing'}: expected some")
    return of_arrays(path, plain, layout)


def _flat(array: Any) -> NDArray[Any] | None:
    """MATLAB has no vectors and no scalars, only matrices of one row or column; cells and structures are left out."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufU" or array.dtype.names is not None:
        return None
    if array.dtype.kind == "U":
        return np.asarray(array.reshape(()) if array.size == 1 else array.reshape(-1))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.size == 1:
        return np.asarray(array.reshape(()))
    return np.asarray(array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array)
