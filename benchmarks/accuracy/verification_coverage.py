"""How many impostors a calibrated `Verifier` accepts: people who are drawn anew, beside the rate that was asked for.

    python -m benchmarks.accuracy.verification_coverage
    python -m benchmarks.accuracy.verification_coverage --only wolves

A row is one kind of people, one way to decide, a number of people and of sequences of each. People are points in a
plane, their sequences are near these; every repetition draws other people, calibrates at each rate, and asks about
pairs of people whom it has not seen. The rule, three in five draws, was chosen by the simulation of decision 0057, with
people who are drawn much like these: this is a measurement, not an independent confirmation.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Row, Rows
from numpy.typing import NDArray

import timelike as tl
from timelike.verify.trials import PairFilter

RATES = (0.01, 0.05, 0.1, 0.2)
NEW = 40  # people who ask and are asked for in a repetition, with two sequences each
OPTIONS: dict[str, dict[str, Any]] = {
    "pairs": {},
    "3 examples": {},
    "z-norm": {"normalize": "z-norm", "n_top": 20},
    "AS-norm": {"normalize": "as-norm", "n_top": 20},
}


@dataclass(frozen=True)
class Crowd(Row):
    """Whom the verifier is calibrated with, and how it decides."""

    kind: str
    way: str
    people: int
    each: int


def drawn(rng: np.random.Generator, kind: str, people: int, each: int) -> NDArray[np.float64]:
    """Sequences of one step (person, sequence, 2)."""
    where = rng.standard_normal((people, 1, 2))
    if kind == "wolves":  # one in ten is near the middle, and like many
        where *= np.where(rng.random((people, 1, 1)) < 0.1, 0.05, 1.0)
    if kind == "families":  # four of them, whose members are alike
        where = 0.15 * where + np.array([[0, 0], [2, 0], [0, 2], [2, 2]])[rng.integers(0, 4, people)][:, None]
    return np.asarray(where + 0.1 * rng.standard_normal((people, each, 2)))


def over_pairs(impostors: NDArray[np.float64], rate: float) -> float:
    """The threshold that a rank over all pairs has, as if they were independent; above all where they are too few."""
    may = int(np.floor(rate * (len(impostors) + 1) * (1 + 1e-12))) - 1
    return float(np.nextafter(np.sort(impostors)[-1 - max(may, 0)], np.inf))


class Coverage(Experiment[Crowd]):
    """Rates of false accepts of new people."""

    place, paper, table, holds = "benchmarks", "accuracy", "verification_coverage", "nothing"
    subject = ("verifier",)
    title, seeds, without_data = "Impostors that a calibrated verifier accepts", 1, True
    question = "how many impostors a calibrated verifier accepts"

    def planned(self) -> Iterator[Crowd]:
        """Pairs first, then several examples and normalized scores."""
        for kind in ("near", "wolves", "families"):
            for people in (3, 5, 10, 20, 40, 100, 200):
                yield from (Crowd(kind, "pairs", people, each) for each in (2, 4, 9) if people * each <= 400)
        for way in ("3 examples", "z-norm", "AS-norm"):
            for kind in ("near", "wolves"):
                yield from (Crowd(kind, way, people, 9 if people < 100 else 4) for people in (10, 40, 100))

    def systems(self, row: Crowd) -> Iterable[str]:
        return ("verifier",)

    def work(self, row: Crowd) -> Found:
        rng = np.random.default_rng([sum(map(ord, row.key)), row.people, row.each])
        count = 2 if self.quick else int(np.clip(4_000 / (row.people * row.each), 24, 100))
        found = [_repetition(row, rng) for _ in range(count)]
        rates = {name: [_told([one[name][i] for one in found]) for i in range(len(RATES))] for name in found[0]}
        return {"rates": list(RATES), "repetitions": count} | rates

    def seconds(self, row: Crowd) -> float:
        return 1 + 0.02 * row.people * row.each

    def kind(self, row: Crowd) -> str:
        return row.way

    def said(self, found: Found) -> str:
        return ", ".join(f"{one['mean']:.4f} at {rate:g}" for one, rate in zip(found["accepted"], RATES, strict=True))


def _told(values: list[float]) -> dict[str, float]:
    return {"mean": float(np.mean(values)), "error": float(np.std(values) / np.sqrt(len(values)))}


def _repetition(row: Crowd, rng: np.random.Generator) -> dict[str, list[float]]:
    """Shares of new impostors accepted and of genuine ones rejected at each rate, and those of a rank over pairs."""
    known, who = (
        drawn(rng, row.kind, row.people, row.each).reshape(-1, 1, 2),
        np.repeat(np.arange(row.people), row.each),
    )
    new = drawn(rng, row.kind, NEW, 4)[:, :, None]  # three examples of each, and one sequence by which they ask
    found: dict[str, list[float]] = {"accepted": [], "rejected": [], "accepted by pairs": [], "rejected by pairs": []}
    gate, same = tl.Verifier("euclidean", **OPTIONS[row.way]), np.eye(NEW, dtype=bool)
    for rate in RATES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tl.score.CalibrationWarning)
            gate.calibrate(known, who, false_accept=rate)
        if row.way == "3 examples":
            tried, limit, own = _against_three(gate, new), gate.thresholds_[3], _blocks(gate, known, who)
        else:
            one, scores = gate._score_trials(tl.Sequences(known), who, None, None)
            tried, limit, own = gate.scores(new[:, 0], new[:, 3]), gate.threshold_, scores[one.impostor]
        for name, bound in (("", limit), (" by pairs", over_pairs(own, rate))):
            found[f"accepted{name}"].append(float(np.mean(tried[~same] >= bound)))
            found[f"rejected{name}"].append(float(np.mean(tried[same] < bound)))
    return found


def _against_three(gate: tl.Verifier, new: NDArray[Any]) -> NDArray[np.float64]:
    """Scores (person, who asks) against three examples of each person."""
    scores = []
    for person in range(NEW):
        gate.enroll(new[person, :3], person)
        scores.append(gate.accepts(new[:, 3], person).score)
        gate.forget(person)
    return np.stack(scores)


def _blocks(gate: tl.Verifier, known: NDArray[Any], who: NDArray[Any]) -> NDArray[np.float64]:
    """Scores of impostors in calibration against three sequences."""
    one = gate._prepare_trials(gate._make_scorer(), tl.Sequences(known), who, PairFilter(None, None))
    some = dict(one.trials_by_size())[3]
    return one.score_templates(some, one.known, one.score_single(one.known))[some.impostor]


# --- the page


def needed(rate: float) -> int:
    """How many people a rate needs."""
    return 2 * round(1 / rate) - 2


def keeps(found: dict[str, float], rate: float) -> bool:
    """Whether a rate is kept, up to two standard errors of the simulation."""
    return found["mean"] <= rate + 2 * found["error"]


def headline(rows: Rows) -> str:
    """How many promised rates of false accepts are kept, beside the simpler rule."""
    if not rows:
        raise page.MissingRows("crowds")
    cells = [(row, i, rate) for row in rows.values() for i, rate in enumerate(row["rates"])]
    promised = [(row, i, rate) for row, i, rate in cells if row["people"] >= needed(rate)]
    kept, simple, ours, before = (
        sum(keeps(row[rule][i], rate) for row, i, rate in some)
        for some in (promised, cells)
        for rule in ("accepted", "accepted by pairs")
    )
    return (
        f"Of {len(promised)} rates of false accepts that a calibrated `Verifier` promises it keeps {kept}; a rank over "
        f"all pairs, the simpler rule, keeps {simple}. Of all {len(cells)} rates, including those that so few people "
        f"cannot promise, {ours} are kept, and {before} by the simpler rule."
    )


def rates_table(rows: Rows, what: str) -> str:
    """Shares accepted or rejected, and in brackets those of a rank over pairs."""
    rates = next(iter(rows.values()))["rates"]
    lines = [
        [row["kind"], row["way"], str(row["people"]), str(row["each"])]
        + [_cell(row, i, rate, what) for i, rate in enumerate(rates)]
        for row in rows.values()
    ]
    return markdown.table(["people", "by", "number", "sequences each", *(f"at {rate:g}" for rate in rates)], lines)


def _cell(row: Found, i: int, rate: float, what: str) -> str:
    found, pairs = row[what][i], row[f"{what} by pairs"][i]
    if what == "rejected":
        return f"{found['mean']:.3f} ({pairs['mean']:.3f})"
    shown = f"{found['mean']:.4f}"
    if row["people"] >= needed(rate):
        shown = f"**{shown}**" + ("" if keeps(found, rate) else " ✗")
    return f"{shown} ({pairs['mean']:.4f})"


if __name__ == "__main__":
    sys.exit(Coverage.main())
