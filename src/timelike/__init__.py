"""timelike learns which sequences are alike, how they line up in time, and what comes next."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import align, draw, native, nn, recognize, sequences, train
    from .align import (
        ADTW,
        DDTW,
        DTW,
        EDR,
        ERP,
        GDTW,
        LCSS,
        MSM,
        TWE,
        WDTW,
        Alignment,
        Euclidean,
        Matches,
        Spring,
        barycenter,
        subsequence,
    )
    from .recognize import ElasticKernel, KMeans, KMedoids, Neighbors, NeighborsRegressor
    from .sequences import FormatError, Sequences, concat, load
    from .train import load_model

__version__ = "0.1.0"

_ROOMS = ("align", "draw", "native", "nn", "recognize", "report", "sequences", "train")
# where each public name lives; the module is imported when the name is first used, so `import timelike` stays fast
_HOME = {
    "ADTW": "align",
    "DDTW": "align",
    "DTW": "align",
    "EDR": "align",
    "ERP": "align",
    "GDTW": "align",
    "LCSS": "align",
    "MSM": "align",
    "TWE": "align",
    "WDTW": "align",
    "Alignment": "align",
    "ElasticKernel": "recognize",
    "Euclidean": "align",
    "FormatError": "sequences",
    "KMeans": "recognize",
    "KMedoids": "recognize",
    "Matches": "align",
    "Neighbors": "recognize",
    "NeighborsRegressor": "recognize",
    "Sequences": "sequences",
    "Spring": "align",
    "barycenter": "align",
    "concat": "sequences",
    "load": "sequences",
    "load_model": "train",
    "subsequence": "align",
}
__all__ = [*_HOME, *_ROOMS]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module 'timelike' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
