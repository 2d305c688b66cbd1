"""Whether coupling helps: SiameseGRU against CoupledGRU, tuned alike, and coupled GRUs that answer with other gates.

    python -m benchmarks.papers.cgru.coupling --data DIR                          # everything, hours on one core
    python -m benchmarks.papers.cgru.coupling --data DIR --only labels --seeds 2
    python -m benchmarks.papers.cgru.coupling --data DIR --only "oscillators/*chaotic/*" --budget 20

Three parts. `gates`: a trained CoupledGRU answers with its own gates, with none, with their mean and with those of
another pair, on queries as they are, noisy, cropped and shifted. `labels`: UCI HAR with a fifth of the training users
and few labels, both networks with the best of the same learning rates by the same held-out users. `oscillators`:
systems that share their parameters but not their starts, read by networks that begin chaotic. A row of the last two is
one case, one method and one seed; methods are compared on the same data and seed only. Test parts choose nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from benchmarks.papers.cgru import coupling_report, few_users, gates, oscillators
from benchmarks.papers.cgru.data import FILE, Problem, parts
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Row

BOTH, ABLATED = ("siamese", "coupled"), 3  # seeds of the gates


@dataclass(frozen=True)
class Asked(Row):
    """One part of the question, one case of it, one method (or network) and one seed."""

    part: str
    case: str
    method: str
    seed: int


class Coupling(Experiment[Asked]):
    """Every case with both methods."""

    paper, table, holds, seeds = "cgru", "coupling", f"{FILE} and uea/*.npz", 6
    subject = ("siamese", "coupled")
    title = "Does coupling help? SiameseGRU and CoupledGRU, tuned alike"
    question = "whether coupling helps when both networks are tuned alike"
    report = coupling_report

    @cached_property
    def whole(self) -> Problem:
        return parts(self.data)

    def planned(self) -> Iterator[Asked]:
        """All parts with one seed after the other, 20 labels per class first; what nobody has asked for comes last."""
        seeds, (first, others) = range(self.given.seeds), (few_users.CASES[:4], few_users.CASES[4:])
        chaotic, usual = (
            oscillators.CASES[: len(oscillators.CASES) // 2],
            oscillators.CASES[len(oscillators.CASES) // 2 :],
        )
        for seed in seeds:
            yield from (Asked("labels", case, method, seed) for case in first for method in BOTH)
            yield from (Asked("oscillators", case, method, seed) for case in chaotic for method in BOTH)
            if seed < ABLATED:
                yield from (Asked("gates", name, kind, seed) for name in gates.SETS for kind in gates.NETWORKS)
        for seed in seeds:
            yield from (Asked("labels", case, method, seed) for case in others for method in BOTH)
            yield from (Asked("oscillators", case, method, seed) for case in usual for method in BOTH)
        yield from (Asked("labels", case, "coupled-2", seed) for seed in seeds for case in few_users.CASES)

    def systems(self, row: Asked) -> Iterable[str]:
        if row.part == "oscillators":  # exponents are those of the coupled network, also of a siamese one's cells
            return ("coupled", "generators", "retrieval_scores", *(["siamese"] if row.method == "siamese" else []))
        if row.part == "gates":
            return "siamese", "coupled", "retrieval_scores"
        return "siamese" if row.method == "siamese" else "coupled", "retrieval_scores"

    def work(self, row: Asked) -> Found:
        if row.part == "labels":
            return few_users.work(self.whole, row.case, row.method, row.seed, quick=self.quick)
        if row.part == "gates":
            return gates.work(self.data, lambda: self.whole, row.case, row.method, row.seed, quick=self.quick)
        return oscillators.work(row.case, row.method, row.seed, quick=self.quick)

    def seconds(self, row: Asked) -> float:
        if row.part == "gates":
            return 40.0
        alone, small = row.method == "siamese", row.part == "oscillators" or row.case.split("-")[1] == "4"
        return 6.0 if alone else 8.0 if small else 40.0

    def kind(self, row: Asked) -> str:
        return f"{row.part} {self.seconds(row):.0f}"

    def said(self, found: Found) -> str:
        if found["part"] == "gates":
            clean = {gate: by["clean"]["map"] for gate, by in found["scores"].items()}
            return "MAP " + ", ".join(f"{gate} {score:.3f}" for gate, score in clean.items())
        return f"accuracy {found['accuracy']:.3f}, MAP {found['map']:.3f}, rate {found['rate']:g}"


if __name__ == "__main__":
    sys.exit(Coupling.main())
