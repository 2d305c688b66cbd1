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
    "torchmetrics": "video",
    "xarray": "grids",
    "h5netcdf": "grids",
    "h5py": "grids",
    "pyarrow": "parquet",
    "dask": "dask",
    "onnx": "onnx",
    "onnxruntime": "onnx",
}
_DISTRIBUTIONS = {"ot": "POT", "av": "PyAV", "lightning_fabric": "lightning-fabric"}  # known by another name


def import_extra(module: str, user: str, otherwise: str = "") -> Any:
    """The module, or a ModuleNotFoundError which says that `user` needs it and which extra brings it.

    >>> import_extra("json", "This example").dumps([1])
    '[1]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if not is_extra(error):
            raise
        raise missing_extra(error, user, otherwise) from None


def is_installed(module: str) -> bool:
    """Whether a module can be imported; it is not imported for the answer.

    >>> is_installed("numpy"), is_installed("no_such_module")
    (True, False)
    """
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package is missing
        return False


def is_extra(error: ImportError) -> bool:
    """Whether the module that an import did not find comes with an extra of timelike."""
    return _package(error) in _EXTRAS


def missing_extra(error: ImportError, user: str, otherwise: str = "") -> ModuleNotFoundError:
    """The error that names the extra; its `name` is the package that is missing.

    >>> raise missing_extra(ModuleNotFoundError("", name="torch"), "timelike.TAP")
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: timelike.TAP needs torch: pip install "timelike[learn]"
    """
    package = _package(error)
    remedy = f'pip install "timelike[{_EXTRAS[package]}]"'
    shown = _DISTRIBUTIONS.get(package, package.replace("_", "-"))
    return ModuleNotFoundError(f"{user} needs {shown}: {remedy}{otherwise}", name=package)


def _package(error: ImportError) -> str:
    return (error.name or "").partition(".")[0]
