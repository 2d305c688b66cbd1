"""The methods of the CGRU comparison, and the parts of the data that they are judged on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.model_options import build_preset
from benchmarks.papers.results import Row

import timelike as tl

TEST, SAMPLE, RAW, STANDARDIZED = "test", "sample", "raw", "standardized"


class Method(NamedTuple):
    """A learned distance: the class, its options, epochs at most and without progress, and what it costs.

    Whether channels are standardised was decided by the rows `raw` and `standardized`, without the test part.
    """

    title: str
    kind: str
    options: dict[str, Any]
    epochs: int | None
    patience: int | None
    epoch_seconds: float
    microseconds: float  # of a pair
    standardize: bool = True

    def estimator(self, seed: int, *, standardize: bool, epochs: int | None, checkpoint: Path) -> Any:
        given = self.options | {"standardize": standardize, "random_state": seed}
        if self.epochs is None:
            return tl.metric.RVSML(**given)
        most = self.epochs if epochs is None else epochs
        given |= {"hidden": 20, "max_epochs": most, "patience": self.patience, "validation": 0.2}
        return build_preset(self.kind, "paper", **given, checkpoint=checkpoint)


NORM = {"penalty_term": "norm"}  # as in the paper; the estimator's default is the mean gate
METHODS = {
    "siamese": Method("SiameseGRU", "SiameseGRU", {}, 60, 20, 8.0, 0.1),
    "coupled": Method("CoupledGRU, bias 0", "CoupledGRU", {"coupling_bias": 0.0} | NORM, 60, 20, 10.0, 25.0),
    "coupled-3": Method("CoupledGRU, bias −3", "CoupledGRU", {"coupling_bias": -3.0} | NORM, 60, 20, 10.0, 25.0),
    "lstm": Method("Siamese LSTM", "SiameseGRU", {"cell": "lstm"}, 60, 20, 8.0, 0.1),
    "rvsml-dtw": Method("RVSML (DTW)", "RVSML", {"aligner": "dtw"}, None, None, 0.01, 20.0, False),
    "rvsml-opw": Method("RVSML (OPW)", "RVSML", {"aligner": "opw"}, None, None, 0.01, 3200.0, False),
}
METHODS |= {  # as the paper has it
    f"{name}-raw": METHODS[name]._replace(title=f"{METHODS[name].title}, raw channels", standardize=False)
    for name in ("siamese", "coupled")
}
NETWORKS = [name for name, method in METHODS.items() if method.epochs is not None]
GROUND = [name for name in METHODS if name not in NETWORKS]
CHOOSING_EPOCHS = 15
CHOOSING = ["siamese", "rvsml-dtw"]  # by which it is decided whether channels are standardised


@dataclass(frozen=True)
class Part(Row):
    """One method, one part of the data (`test`, `sample`, `fold0` …, `raw`, `standardized`) and one seed."""

    method: str
    part: str
    seed: int
