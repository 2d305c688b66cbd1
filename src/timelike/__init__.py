"""timelike learns which sequences are alike, how they line up in time, and what comes next."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `as` says that a name is meant for others
    from . import (
        align as align,
        draw as draw,
        encode as encode,
        metric as metric,
        native as native,
        nn as nn,
        recognize as recognize,
        score as score,
        sequences as sequences,
        train as train,
    )
    from .align import (
        ADTW as ADTW,
        DDTW as DDTW,
        DTW as DTW,
        EDR as EDR,
        ERP as ERP,
        GDTW as GDTW,
        LCSS as LCSS,
        MSM as MSM,
        OPW as OPW,
        OT as OT,
        TCOT as TCOT,
        TWE as TWE,
        WDTW as WDTW,
        Alignment as Alignment,
        Euclidean as Euclidean,
        Matches as Matches,
        Sinkhorn as Sinkhorn,
        SoftDTW as SoftDTW,
        Spring as Spring,
        barycenter as barycenter,
        subsequence as subsequence,
    )
    from .encode import (
        CausalEncoder as CausalEncoder,
        CombinedEncoder as CombinedEncoder,
        EmbeddingClassifier as EmbeddingClassifier,
        EmbeddingRegressor as EmbeddingRegressor,
        FrameEncoder as FrameEncoder,
        RecurrentEncoder as RecurrentEncoder,
        combine as combine,
    )
    from .metric import (
        TAP as TAP,
        CoupledGRU as CoupledGRU,
        SiameseGRU as SiameseGRU,
    )
    from .recognize import (
        ElasticKernel as ElasticKernel,
        KMeans as KMeans,
        KMedoids as KMedoids,
        Neighbors as Neighbors,
        NeighborsRegressor as NeighborsRegressor,
    )
    from .sequences import (
        FormatError as FormatError,
        Sequences as Sequences,
        concat as concat,
        load as load,
    )
    from .train import (
        load_model as load_model,
    )

__version__ = "0.1.0"

_ROOMS = ("align", "draw", "encode", "metric", "native", "nn", "recognize", "report", "score", "sequences", "train")
# where each public name lives; the module is imported when the name is first used, so `import timelike` stays fast
_HOME = {
    "ADTW": "align",
    "CausalEncoder": "encode",
    "CombinedEncoder": "encode",
    "EmbeddingClassifier": "encode",
    "EmbeddingRegressor": "encode",
    "FrameEncoder": "encode",
    "RecurrentEncoder": "encode",
    "combine": "encode",
    "DDTW": "align",
    "DTW": "align",
    "EDR": "align",
    "ERP": "align",
    "GDTW": "align",
    "LCSS": "align",
    "MSM": "align",
    "OPW": "align",
    "OT": "align",
    "TCOT": "align",
    "TWE": "align",
    "WDTW": "align",
    "Alignment": "align",
    "CoupledGRU": "metric",
    "SiameseGRU": "metric",
    "TAP": "metric",
    "ElasticKernel": "recognize",
    "Euclidean": "align",
    "FormatError": "sequences",
    "KMeans": "recognize",
    "KMedoids": "recognize",
    "Matches": "align",
    "Neighbors": "recognize",
    "NeighborsRegressor": "recognize",
    "Sequences": "sequences",
    "Sinkhorn": "align",
    "SoftDTW": "align",
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
