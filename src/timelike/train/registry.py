"""Where the class of a saved method is. A folder names a method; only what is in this table is ever imported."""

from __future__ import annotations

from importlib import import_module
from typing import Any

METHODS: dict[str, str] = {
    "CausalEncoder": "timelike.encode:CausalEncoder",
    "CombinedEncoder": "timelike.encode:CombinedEncoder",
    "EmbeddingClassifier": "timelike.encode:EmbeddingClassifier",
    "EmbeddingRegressor": "timelike.encode:EmbeddingRegressor",
    "FrameEncoder": "timelike.encode:FrameEncoder",
    "RecurrentEncoder": "timelike.encode:RecurrentEncoder",
    "CoupledGRU": "timelike.metric:CoupledGRU",
    "DeepRVSML": "timelike.metric:DeepRVSML",
    "ElementWise": "timelike.metric:ElementWise",
    "RVSML": "timelike.metric:RVSML",
    "SiameseGRU": "timelike.metric:SiameseGRU",
    "TAP": "timelike.metric:TAP",
    # what learns nothing, saved as a part of what does
    "ADTW": "timelike.align:ADTW",
    "DDTW": "timelike.align:DDTW",
    "DTW": "timelike.align:DTW",
    "EDR": "timelike.align:EDR",
    "ERP": "timelike.align:ERP",
    "Euclidean": "timelike.align:Euclidean",
    "GDTW": "timelike.align:GDTW",
    "LCSS": "timelike.align:LCSS",
    "MSM": "timelike.align:MSM",
    "OPW": "timelike.align:OPW",
    "OT": "timelike.align:OT",
    "Sinkhorn": "timelike.align:Sinkhorn",
    "SoftDTW": "timelike.align:SoftDTW",
    "TCOT": "timelike.align:TCOT",
    "TWE": "timelike.align:TWE",
    "WDTW": "timelike.align:WDTW",
    "Binomial": "timelike.metric.losses:Binomial",
    "Contrastive": "timelike.metric.losses:Contrastive",
    "Lifted": "timelike.metric.losses:Lifted",
    "MultiSimilarity": "timelike.metric.losses:MultiSimilarity",
    "Structural": "timelike.metric.losses:Structural",
    "Triplet": "timelike.metric.losses:Triplet",
}


def find(method: str) -> type[Any]:
    """The class of that name.

    >>> find("DTW")
    <class 'timelike.align.dtw.DTW'>
    """
    if method not in METHODS:
        raise ValueError(f"the method {method!r} is unknown: this timelike knows {', '.join(sorted(METHODS))}")
    module, name = METHODS[method].split(":")
    found: type[Any] = getattr(import_module(module), name)
    return found


def name_of(kind: type[Any]) -> str | None:
    """The name under which a class is known, None if it is not."""
    name = kind.__name__
    home = METHODS.get(name, ":").split(":")[0]
    near = home and (kind.__module__ == home or kind.__module__.startswith(f"{home}."))
    return name if near and find(name) is kind else None  # a torch layer may have the name of a value
