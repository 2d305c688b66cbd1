"""timelike learns which sequences are alike, how they line up in time, and what comes next."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `as` says that a name is meant for others
    from . import (
        align as align,
    )
    from . import (
        draw as draw,
    )
    from . import (
        native as native,
    )
    from . import (
        nn as nn,
    )
    from . import (
        recognize as recognize,
    )
    from . import (
        sequences as sequences,
    )
    from .align import (
        ADTW as ADTW,
    )
    from .align import (
        DDTW as DDTW,
    )
    from .align import (
        DTW as DTW,
    )
    from .align import (
        EDR as EDR,
    )
    from .align import (
        ERP as ERP,
    )
    from .align import (
        GDTW as GDTW,
    )
    from .align import (
        LCSS as LCSS,
    )
    from .align import (
        MSM as MSM,
    )
    from .align import (
        OPW as OPW,
    )
    from .align import (
        OT as OT,
    )
    from .align import (
        TCOT as TCOT,
    )
    from .align import (
        TWE as TWE,
    )
    from .align import (
        WDTW as WDTW,
    )
    from .align import (
        Alignment as Alignment,
    )
    from .align import (
        Euclidean as Euclidean,
    )
    from .align import (
        Matches as Matches,
    )
    from .align import (
        Sinkhorn as Sinkhorn,
    )
    from .align import (
        Spring as Spring,
    )
    from .align import (
        barycenter as barycenter,
    )
    from .align import (
        subsequence as subsequence,
    )
    from .recognize import (
        ElasticKernel as ElasticKernel,
    )
    from .recognize import (
        KMeans as KMeans,
    )
    from .recognize import (
        KMedoids as KMedoids,
    )
    from .recognize import (
        Neighbors as Neighbors,
    )
    from .recognize import (
        NeighborsRegressor as NeighborsRegressor,
    )
    from .sequences import (
        FormatError as FormatError,
    )
    from .sequences import (
        Sequences as Sequences,
    )
    from .sequences import (
        concat as concat,
    )
    from .sequences import (
        load as load,
    )

__version__ = "0.1.0"

_ROOMS = ("align", "draw", "native", "nn", "recognize", "report", "sequences")
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
    "OPW": "align",
    "OT": "align",
    "TCOT": "align",
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
    "Sinkhorn": "align",
    "Spring": "align",
    "barycenter": "align",
    "concat": "sequences",
    "load": "sequences",
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
