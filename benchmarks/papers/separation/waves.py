"""What the tables of waves have in common: rows of a version, a method and a draw, and how each is worked out."""

from __future__ import annotations

import argparse
import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, ClassVar

from benchmarks.papers.results import Found, ResultFile, Trial
from benchmarks.papers.resumable import Program
from benchmarks.papers.separation import methods, waves_report as report
from benchmarks.papers.separation.data import CONDITIONING, HORIZON, Problem, Size, errors, held_out, problem

QUICK = 3  # steps of a training that only shows that a program runs


class Waves(Program[Trial]):
    """A seed draws the data and the weights: within a seed all methods stand on the same waves."""

    paper, holds, without_data = "separation", "nothing: waves are made", True
    subject = ("separation",)
    preset: ClassVar[str]
    about: ClassVar[report.About]
    size: ClassVar[Size]
    steps: ClassVar[int | None] = None  # of networks at their defaults; their own unless given
    preset_steps: ClassVar[int]

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--full", action="store_true", help="the thesis's network in its full size and all its steps, some hours"
        )

    @abstractmethod
    def planned(self) -> Iterator[Trial]:
        """Every version, method and seed."""

    def needs(self, row: Trial) -> Iterator[Trial]:
        """What is chosen needs candidates that were tried."""
        if row.method.startswith(methods.CHOSEN):
            yield from (one for one in self.planned() if one.dataset == row.dataset and _tries(one))

    def systems(self, row: Trial) -> Iterable[str]:
        return "forecast_baselines" if row.method in methods.BASELINES else "separation", "generators"

    def work(self, row: Trial) -> Found:
        given = _problem(row.dataset, row.seed, self._size())
        if _tries(row):
            given = held_out(given, row.dataset, self._size().every)
        model = self._model(row)
        began = time.perf_counter()
        model.fit(given.train)
        trained = time.perf_counter() - began
        forecast = model.predict(given.past, HORIZON).mean
        found: Found = errors(forecast, given.truth) | {"training seconds": trained, "n_chunks": len(given.truth)}
        if hasattr(model, "history_"):
            found["steps"] = len(model.history_["loss"])
        if row.method.startswith(methods.CHOSEN):
            found["setting"] = self._chosen(row.dataset)
        return found

    def _size(self) -> Size:
        return Size(12, 4, 60, 5, self.size.pixels and 10) if self.quick else self.size

    def _model(self, row: Trial) -> Any:
        if row.method in methods.BASELINES:
            return methods.baseline(row.method)
        full = row.method.endswith(report.FULL)
        name = row.method.removesuffix(report.FULL)
        steps = self.steps
        if name.startswith(methods.PRESET):
            steps = None if full else self.preset_steps
        scale = 1.0 if full else methods.SCALE
        steps = QUICK if self.quick else steps
        return methods.separation(name, row.seed, self.preset, steps, self._settings(row), scale)

    def _settings(self, row: Trial) -> dict[str, Any]:
        if not row.method.startswith(methods.CHOSEN):
            return {}
        chosen = self._chosen(row.dataset)
        if chosen is None:
            raise ValueError(f"no setting has been tried for {row.dataset}: run its rows '{methods.HELD_OUT}…' first")
        return methods.CANDIDATES[chosen]

    def _chosen(self, version: str) -> str | None:
        return methods.best(ResultFile(self.given.results).rows, version)  # another process may have tried some

    def kind(self, row: Trial) -> str:
        return "baseline" if row.method in methods.BASELINES else "network"

    def said(self, found: Found) -> str:
        return f"within {found['within']:.3g}, after {found['after']:.3g}, all {found['all']:.3g}"

    def headline(self) -> str:
        return report.headline(self.rows, self.about)

    def body(self) -> str:
        return report.body(self.rows, self.about)

    def caveats(self) -> list[str]:
        return report.caveats(self.about)


def _tries(row: Trial) -> bool:
    return row.method.startswith(methods.HELD_OUT)


@lru_cache(maxsize=1)
def _problem(version: str, seed: int, size: Size) -> Problem:
    assert size.length > CONDITIONING + HORIZON
    return problem(version, seed, size)
