"""What the tables about digits have in common: rows of a version, a method and a seed, and how each is worked out."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.srvp import methods, page_parts, training
from benchmarks.papers.srvp.clips import FILE, TESTED, Clips, Part, asked, library
from benchmarks.papers.srvp.judging import judged

FEW = 4  # clips that are asked about where a program only shows that it runs
LIBRARY, SMALL = (3000, 45), (50, 30)  # clips to look pasts up in, and frames: 21 windows of each with 20 more frames
RIVALS = ("black", "persistence", "mean picture")  # beside forms of a network, what takes no time
Horizons = tuple[int, ...]


class DigitsProgram(Experiment[Trial]):
    """Baselines and networks on one version of the digits."""

    paper, holds, seeds = "srvp", FILE, 1
    subject: ClassVar[tuple[str, ...]] = ("srvp",)
    usual_minutes: ClassVar[float]
    after: ClassVar[float] = 60.0  # seconds that a network answers after its training

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--minutes", type=float, default=cls.usual_minutes, help="processor minutes of the training of a network"
        )

    def systems(self, row: Trial) -> Iterable[str]:
        own = "srvp" if row.method.startswith("SRVP") else "separation" if row.method.startswith("Separation") else ""
        if row.method in ("persistence", "mean picture"):
            own = "forecast_baselines"
        return *([own] if own else []), "generators", "forecast_scores", "score_intervals"

    def lacks(self, row: Trial) -> str:
        return "" if (self.data / FILE).exists() else f"{self.data / FILE} is missing"

    def seconds(self, row: Trial) -> float:
        if row.method in methods.BASELINES:
            return 15.0
        return 60.0 * self.minutes_of(row.dataset) + self.after

    def minutes_of(self, version: str) -> float:
        """Of the training of a network on a version."""
        return float(self.given.minutes)

    def kind(self, row: Trial) -> str:
        return row.method

    def asked(self, version: str, horizon: int, part: Part = "test", frames_per_step: int = 1) -> Clips:
        """The clips that are asked about."""
        return asked(self.data, version, horizon, FEW if self.quick else TESTED, part, frames_per_step)

    def trained(
        self, row: Trial, setting: str | None = None, minutes: float | None = None, part: Part = "train"
    ) -> tuple[Any, Found]:
        """The network of a row, and what its training took."""
        kind, options = methods.network(row.method, setting)
        given = self.minutes_of(row.dataset) if minutes is None else float(minutes)
        clips = training.learned_from(self.data, row.dataset, part, self.quick)
        folder = self.scratch / part / row.dataset
        model, took = training.trained(
            kind, options, clips, given, row.seed, folder, self.quick, only_time=row.method in methods.ONLY_TIME
        )
        return model, {"minutes": 0.0 if self.quick else given, "options": options, **took}

    def page_values(self) -> dict[str, Any]:
        return vars(page_parts) | super().page_values()

    def simple(self, row: Trial, horizons: Horizons) -> Found:
        """The scores of what learns nothing, as far as it reaches."""
        reach = methods.REACH if row.method in methods.NEIGHBOURS else max(horizons)
        some = tuple(h for h in horizons if h <= reach)
        test = self.asked(row.dataset, max(horizons))
        futures = self.continued(row, test, some[-1])
        return judged(lambda rows: futures[None, rows], test.truth[:, : some[-1]], some)

    def continued(self, row: Trial, test: Clips, horizon: int) -> Any:
        """Frames (clip, horizon, *frame) by what learns nothing."""
        if row.method == "black":
            return np.zeros_like(test.truth[:, :horizon])
        known = library(self.data, row.dataset, *(SMALL if self.quick else LIBRARY))
        if row.method in methods.NEIGHBOURS:
            return methods.analogs(np.stack(list(known)), test.past, horizon, methods.NEIGHBOURS[row.method])
        return np.asarray(methods.baseline(row.method).fit(known).predict(test.past, horizon).mean)

    def of_network(self, row: Trial, model: Any, test: Clips, horizons: Horizons, n_samples: int) -> Found:
        """The scores of a network's futures."""

        def draw(rows: slice) -> Any:
            return methods.futures(model, test.past[rows], horizons[-1], n_samples, row.seed)

        return judged(draw, test.truth, horizons)


class FormsProgram(DigitsProgram):
    """Forms of networks on some versions of the digits, beside what learns nothing."""

    versions: ClassVar[Iterable[str]]
    forms: ClassVar[Iterable[str]]

    def planned(self) -> Iterator[Trial]:
        yield from (Trial(version, name, 0) for version in self.versions for name in RIVALS)
        for seed in range(self.given.seeds):
            yield from (Trial(version, name, seed) for version in self.versions for name in self.forms)
