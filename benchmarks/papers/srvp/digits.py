"""Digits that move in 32 × 32: SRVP, also with sprites, beside a black frame, analogs, a ConvLSTM and Separation.

    python -m benchmarks.papers.srvp.digits --data DIR --only black --only persistence
    python -m benchmarks.papers.srvp.digits --data DIR --only "one digit/SRVP/0" --minutes 100

One and two digits of MNIST, whose bounces are mirror-like or go where nobody knows; 5 frames are seen. Training draws
clips anew from the training pictures; what is asked about shows test pictures. `SRVP`, `Separation` and the ConvLSTM
are trained in one thread for `--minutes` by the clock, so that on a busy machine none has more of the processor than
this; what each had is told. The ConvLSTM's loss and size are those of the rows `held out: …`, which learn for
`--trying` minutes from four fifths of the training pictures and are judged by clips of the others.

The scratch folder keeps checkpoints and what is trained: a row that was broken off goes on there, and the tables about
frame rates, swaps and ablations take what they need from it when they are asked for the same minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.papers.results import Found, ResultFile, Trial
from benchmarks.papers.srvp import digits_figures as figures, digits_report as report, methods
from benchmarks.papers.srvp.clips import VERSIONS, horizons, stochastic
from benchmarks.papers.srvp.common_report import HELD_OUT
from benchmarks.papers.srvp.workshop import DigitsProgram, Horizons

SAMPLES = {False: 10, True: 100}  # futures, of deterministic and stochastic clips
TRIED_ON = "two digits"
NETWORKS = ("SRVP, sprites", "ConvLSTM", "SRVP", "Separation")


class Digits(DigitsProgram):
    """Table 4.1, at half the size and with cheap rivals."""

    table, title, draws = "digits", "SRVP: moving digits", True
    usual_minutes, after = 100.0, 300.0

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        super().options(parser)
        parser.add_argument("--trying", type=float, default=3.0, help="minutes of every form of the ConvLSTM")

    def planned(self) -> Iterator[Trial]:
        """What is cheap, which ConvLSTM, then networks."""
        yield from (Trial(version, name, 0) for version in VERSIONS for name in methods.BASELINES)
        yield from _tries()
        for seed in range(self.given.seeds):
            yield from (Trial(version, name, seed) for version in VERSIONS for name in NETWORKS)

    def needs(self, row: Trial) -> Iterator[Trial]:
        """The ConvLSTM is one that was chosen."""
        if row.method == "ConvLSTM":
            yield from _tries()

    def work(self, row: Trial) -> Found:
        some = self._horizons(row.dataset)
        if row.method in methods.BASELINES:
            return self.simple(row, some)
        setting, n_samples = self._setting(row), 2 if self.quick else SAMPLES[stochastic(row.dataset)]
        if row.method.startswith(HELD_OUT):
            model, took = self.trained(row, setting, self.given.trying, "fitting")
            test = self.asked(row.dataset, some[-1], "held out")
        else:
            model, took = self.trained(row, setting)
            test = self.asked(row.dataset, some[-1])
        found = self.of_network(row, model, test, some, n_samples) | took
        return found if setting is None else found | {"setting": setting}

    def _horizons(self, version: str) -> Horizons:
        return horizons(version)[:2] if self.quick else horizons(version)

    def _setting(self, row: Trial) -> str | None:
        """Which ConvLSTM: the one that is tried, or that was best on what was held out; None for other networks."""
        if row.method.startswith(HELD_OUT):
            return row.method.removeprefix(HELD_OUT)
        if row.method != "ConvLSTM":
            return None
        chosen = report.best(ResultFile(self.given.results).rows)  # another process may have tried some
        if chosen is None:
            raise ValueError(f"no ConvLSTM has been tried: run the rows '{HELD_OUT}…' first")
        return chosen

    def seconds(self, row: Trial) -> float:
        if row.method.startswith(HELD_OUT):
            return 60.0 * float(self.given.trying) + 20.0
        return super().seconds(row)

    def said(self, found: Found) -> str:
        reading, scores = next(iter(found["scores"].items()))
        return f"{reading}: PSNR {scores['psnr']['10'][0]:.2f}, SSIM {scores['ssim']['10'][0]:.4f} over t+1…t+10"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats()

    def draw(self, folder: Path) -> None:
        figures.draw(self.rows, folder)


def _tries() -> list[Trial]:
    return [Trial(TRIED_ON, HELD_OUT + name, 0) for name in methods.CANDIDATES]


if __name__ == "__main__":
    sys.exit(Digits.main())
