"""Two-sample tests and drift monitors: do they keep their level, what do they see, and what do others say.

    python -m benchmarks.accuracy.two_sample --data DIR
    python -m benchmarks.accuracy.two_sample --data DIR --only level --only drift --budget 30
    python -m benchmarks.accuracy.two_sample --data DIR --only "power/NATOPS*/50/*" --alibi /elsewhere/bin/python

- `level/<kernel>/<design>`: p-values of 1 000 null samples of 20 and 20, 199 permutations; `smallest p`: of 50 samples
  that are far apart (`two_sample_null`).
- `drift/level/<stream>`: alarms in 200 streams of 50 batches in which nothing changes; `drift/delay/<change>`: batches
  from a change to the alarm, in 100 streams (`two_sample_drift`).
- `power/<data and change>/<n>/<method>`: p-values of 100 draws of n and n real sequences (`two_sample_changes` has the
  rules, which were fixed before any score was seen; `two_sample_methods` the tests).
- `peers/<case>`: the same 50 samples of vectors through ours, hyppo and alibi-detect (`two_sample_peers`).
- `power_helper/<effect>`: predicted and simulated power (`two_sample_prediction`).

hyppo has to be installed for its rows; alibi-detect needs an environment of its own, whose Python `--alibi` names.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from benchmarks.accuracy import (
    two_sample_changes as changes,
    two_sample_drift as drift,
    two_sample_methods as methods,
    two_sample_null as null,
    two_sample_peers as peers,
    two_sample_prediction as prediction,
    two_sample_report,
)
from benchmarks.numerics.systems import PROTOTYPES
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Row

REPETITIONS, SEPARATED, POWER, DELAYS, COMPARED, PILOTS = 1000, 50, 100, 100, 50, 20
SLOW = {"of(Rocket)": 9, "of(CausalEncoder)": 27, "GlobalAlignment": 7, "Learned": 17, null.CLASSIFIER: 3}
DRIFT = {"1": 24, "10": 48, "sizes": 48}  # by the last word of a stream; sequences take twice as long
OF_POWER = {"raw": 1, "DTW": 3, "hyppo": 7, "alibi-detect": 8, "T-Loss": 5, "CausalEncoder": 5, "GlobalAlignment": 12}
SYSTEMS: dict[str, tuple[str, ...]] = {  # of kernels and of methods, beside the test itself
    "Exponential": ("elastic",),
    "of(Rocket)": ("rocket",),
    "of(CausalEncoder)": ("tloss",),
    "Learned": PROTOTYPES,
    "Rocket": ("rocket",),
    "CausalEncoder": ("tloss",),
    "T-Loss": ("tloss",),
    "DTW": ("elastic",),
    "statistics": ("statistics",),
}
TRAINING = {"CausalEncoder": 15, "T-Loss": 65}  # once for a data set


@dataclass(frozen=True)
class Asked(Row):
    """A part of the page, what it is about, and where there are several: how many sequences, and which test."""

    part: str
    subject: str
    design: str = ""
    method: str = ""

    @property
    def key(self) -> str:
        return "/".join(word for word in (self.part, self.subject, self.design, self.method) if word)


class TwoSample(Experiment[Asked]):
    """Levels, delays and powers."""

    place, paper, table = "benchmarks", "accuracy", "two_sample"
    subject = ("two_sample", "sequence_tests", "drift")
    title, holds = "Two-sample tests and drift", ", ".join(changes.FILES.values())
    question = "the level and power of two-sample tests"
    report = two_sample_report
    without_data = True

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        known = os.environ.get("TIMELIKE_ALIBI")
        parser.add_argument(
            "--alibi", type=Path, default=known, metavar="PYTHON", help="of an environment with alibi-detect"
        )

    @property
    def peer(self) -> peers.Peer:
        return peers.Peer(None if self.given.alibi is None else Path(self.given.alibi))

    def planned(self) -> Iterator[Asked]:
        """Levels first: a test that does not keep its own has no power worth telling."""
        yield from (Asked("level", *one) for one in null.designs())
        yield from (Asked("drift", "level", name) for name in drift.SETTINGS)
        yield from self._powers(changes.SIZES[0])
        yield from (Asked("peers", case) for case in peers.CASES)
        yield from (Asked("power_helper", effect) for effect in prediction.EFFECTS)
        yield from (Asked("drift", "delay", name) for name in drift.CHANGES)
        for size in changes.SIZES[1:]:
            yield from self._powers(size)

    def _powers(self, size: int) -> Iterator[Asked]:
        for name, change in changes.CHANGES.items():
            some = (one for one in methods.METHODS if methods.possible(one, change.dataset, change.groups))
            yield from (Asked("power", name, str(size), method) for method in some)

    def needs(self, row: Asked) -> Iterator[Asked]:
        """The first row with the same trained encoder, which trains it."""
        first = self._first.get(_trained(row))
        if first is not None and first != row:
            yield first

    @cached_property
    def _first(self) -> dict[tuple[str, str] | None, Asked]:
        found: dict[tuple[str, str] | None, Asked] = {}
        for row in self.planned():
            if _trained(row) is not None:
                found.setdefault(_trained(row), row)
        return found

    def systems(self, row: Asked) -> Iterable[str]:
        if row.part == "drift":
            return ("sequence_tests" if row.design.startswith("sequences") else "drift",)
        if row.part == "power" and row.method not in methods.OWN:  # another library's test, of our vectors maybe
            return ("tloss",) if row.method.endswith("CausalEncoder") else ()
        if row.part == "power" and row.method in ("default", "aggregated", "classifier"):
            return "sequence_tests", "rocket", "statistics"
        return "two_sample", *SYSTEMS.get(row.method if row.part == "power" else row.subject, ())

    def work(self, row: Asked) -> Found:
        return getattr(self, f"_{row.part}")(row)  # type: ignore[no-any-return]

    def _level(self, row: Asked) -> Found:
        repetitions = SEPARATED if row.design == "smallest p" else REPETITIONS
        found = null.p_values(row.subject, row.design, 5 if self.quick else repetitions)
        below = {str(level): int((found <= level + 1e-12).sum()) for level in null.LEVELS}
        smallest, largest = float(found.min()), float(found.max())
        known = {"repetitions": len(found), "n_permutations": null.PERMUTATIONS}
        return {"below": below, "smallest": smallest, "largest": largest, "mean": float(found.mean())} | known

    def _drift(self, row: Asked) -> Found:
        batches = drift.CHANGE_AT + 5 if self.quick else drift.BATCHES
        if row.subject == "level":
            return drift.level(row.design, 2 if self.quick else drift.STREAMS, batches)
        return drift.delay(row.design, 2 if self.quick else DELAYS, batches)

    def _power(self, row: Asked) -> Found:
        change, n = changes.CHANGES[row.subject], int(row.design)
        held_out, pool = changes.parts(self.data, change.dataset)
        samples = [changes.drawn(change, pool, n, seed) for seed in range(2 if self.quick else POWER)]
        learned = _trained(row)
        encoder = None if learned is None else methods.trained(learned[1], held_out, self._kept(learned), self.quick)
        found = np.array(methods.p_values(row.method, samples, encoder, self.peer))
        below = {str(level): int((found <= level + 1e-12).sum()) for level in null.LEVELS}
        return {"below": below, "p_values": [round(one, 4) for one in found.tolist()], "repetitions": len(found)}

    def _kept(self, learned: tuple[str, str]) -> Path:
        return self.scratch / " ".join(learned)

    def _peers(self, row: Asked) -> Found:
        return peers.compared(row.subject, self.peer, *((3, 99) if self.quick else (COMPARED, 999)))

    def _power_helper(self, row: Asked) -> Found:
        return prediction.compared(row.subject, *((2, 5) if self.quick else (PILOTS, 400)))

    def lacks(self, row: Asked) -> str:
        if row.part == "power":
            if self.given.data is None:
                return "--data DIR or TIMELIKE_DATA does not name a folder"
            path = self.data / changes.FILES[changes.CHANGES[row.subject].dataset]
            if not path.exists():
                return f"{path} is missing"
            if row.method not in methods.OWN:
                return self.peer.lacks(row.method.split(",")[0])
        if row.part == "peers":
            return next(filter(None, map(self.peer.lacks, peers.PEERS)), "")
        return ""

    def seconds(self, row: Asked) -> float:
        """Of a quiet processor; where it is shared, rows of a kind tell how much slower it is."""
        if row.part == "level":
            several = 3 if row.design.startswith("aggregated") else 1
            return several * SLOW.get(row.subject, 1.5) * (SEPARATED / REPETITIONS if "smallest" in row.design else 1)
        if row.part == "power":
            grown = (int(row.design) / 50) ** (2 if row.method in ("DTW", "GlobalAlignment") else 1)
            learned, training = _trained(row), 0
            if learned is not None and self._first[learned] == row and not self._kept(learned).exists():
                training = TRAINING[learned[1]]
            return float(OF_POWER.get(row.method.split(",")[0], 8) * grown + training)
        if row.part == "drift" and row.subject == "level":
            return DRIFT[row.design.split()[-1]] * (2 if "sequences" in row.design else 1)
        return {"peers": 25, "power_helper": 5, "drift": 15}[row.part]

    def kind(self, row: Asked) -> str:
        return f"{row.part} {row.method if row.part == 'power' else row.subject}"

    def said(self, found: Found) -> str:
        return two_sample_report.said(found)


def _trained(row: Asked) -> tuple[str, str] | None:
    """The data set and the encoder that a row stands on, where it is one that is trained."""
    name = next((one for one in methods.TRAINED if one in row.method), None)
    return None if name is None or row.part != "power" else (changes.CHANGES[row.subject].dataset, name)


if __name__ == "__main__":
    sys.exit(TwoSample.main())
