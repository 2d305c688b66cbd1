"""Packages that only an extra of timelike installs, and the error that names the extra."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

_EXTRAS = {  # the extra that brings a package
    "torch": "learn",
    "lightning_fabric": "learn",
    "ot": "transport",
    "pytorch_metric_learning": "metric-losses",
    "torchdiffeq": "ode",
    "av": "video",
    "xarray": "grids",
    "h5netcdf": "grids",
    "h5py": "grids",
    "pyarrow": "parquet",
    "dask": "dask",
    "onnx": "onnx",
    "onnxruntime": "onnx",
}
_DISTRIBUTIONS = {"ot": "POT", "av": "PyAV", "lightning_fabric": "lightning-fabric"}  # known by another name


class MissingExtraError(ModuleNotFoundError):
    """A package is missing that an extra of timelike brings; the message names both."""


def import_extra(module: str, user: str, otherwise: str = "") -> Any:
    """The module, or a MissingExtraError which says that `user` needs it and which extra brings it.

    >>> import_extra("json", "This example").dumps([1])
    '[1]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if not is_missing_extra(error):
            raise
        raise missing_extra(error, user, otherwise) from error


def is_installed(module: str) -> bool:
    """Whether a module can be imported; it is not imported for the answer.

    >>> is_installed("numpy"), is_installed("no_such_module")
    (True, False)
    """
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package is missing
        return False


def is_missing_extra(error: ImportError) -> bool:
    """Whether an import failed because a package of an extra is not installed, and nothing has said so yet.

    A package that is there and lacks one of its own modules is broken, which installing an extra would not mend.
    """
    return error.name in _EXTRAS and not isinstance(error, MissingExtraError)


def missing_extra(error: ImportError, user: str, otherwise: str = "") -> MissingExtraError:
    """The error that names the extra; its `name` is the package that is missing.

    >>> raise missing_extra(ModuleNotFoundError("", name="torch"), "timelike.TAP")
    Traceback (most recent call last):
        ...
    timelike.core.extras.MissingExtraError: timelike.TAP needs torch: pip install "timelike[learn]"
    """
    package = error.name or ""
    remedy = f'pip install "timelike[{_EXTRAS[package]}]"'
    shown = _DISTRIBUTIONS.get(package, package.replace("_", "-"))
    return MissingExtraError(f"{user} needs {shown}: {remedy}{otherwise}", name=package)
