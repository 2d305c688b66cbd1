"""Are two sequences of one person? Equal error rates of verifiers on people that they have not seen.

    python -m benchmarks.papers.prototypes.verification --data DIR
    python -m benchmarks.papers.prototypes.verification --data DIR --only JapaneseVowels --seeds 1

JapaneseVowels: metrics learn from the training sequences of speakers 1 to 6, and are judged by all 7 021 pairs of the
test sequences of speakers 7 to 9. UCI HAR: metrics learn people, not activities, from windows of the 21 people of the
training part, and are judged by pairs of windows of the 9 others in which both do the same. What there was to choose
was chosen on spoken digits (fsdd), CricketX, Lightning7 and NATOPS, as the options of each metric were elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from benchmarks.papers.prototypes import verification_data as data, verification_report as report
from benchmarks.papers.prototypes.verification_methods import METHODS, SECONDS, distances, systems
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program

from timelike.score import resampled_errors, verification_errors
from timelike.score.intervals import percentile_bounds

RESAMPLES = 300
PRIOR = 0.01


class Verification(Program[Trial]):
    """Every verifier on both problems."""

    paper, table, seeds = "prototypes", "verification", 2
    holds = "uea/JapaneseVowels.npz and uci_har.npz"
    subject = ("prototypes",)
    title = "Verification of people that were not learned"

    def planned(self) -> Iterator[Trial]:
        """What draws nothing, once; then all others with one seed after the other."""
        for seed in range(self.given.seeds):
            for name in data.PROBLEMS:
                known = [method for method in METHODS if seed == 0 or method not in report.ALWAYS]
                yield from (Trial(name, method, seed) for method in known if method in report.ASKED[name])

    def systems(self, row: Trial) -> Iterable[str]:
        return *systems(row.method), "retrieval_scores"

    def work(self, row: Trial) -> Found:
        problem = _problem(row.dataset, self.data, self.quick)
        found: Found = {"n_train": len(problem.train), "n_test": len(problem.test)}
        for how, matrix in distances(row.method, problem, row.seed, quick=self.quick).items():
            far, same, subjects = data.pairs(matrix, problem)
            errors = verification_errors(far, same)
            draws = resampled_errors(far, same, subjects, n_resamples=20 if self.quick else RESAMPLES, random_state=0)
            low, high = percentile_bounds(draws)
            found[how] = {"eer": errors.equal_error_rate, "low": low, "high": high, "cost": errors.minimum_cost(PRIOR)}
            found |= {"n_genuine": int(same.sum()), "n_impostors": int((~same).sum())}
        return found

    def lacks(self, row: Trial) -> str:
        path = data.file(row.dataset, self.data)
        return "" if path.exists() else f"{path} is missing"

    def seconds(self, row: Trial) -> float:
        return SECONDS.get(row.method, 10.0) * (3 if row.dataset == "UCI HAR" else 1)

    def kind(self, row: Trial) -> str:
        return f"{row.dataset} {row.method}"

    def said(self, found: Found) -> str:
        rates = ((how, one["eer"]) for how, one in found.items() if isinstance(one, dict))
        return "equal error rate " + ", ".join(f"{how} {rate:.3f}" for how, rate in rates)

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats()


@cache
def _problem(name: str, folder: Path, quick: bool) -> data.Problem:
    return data.problem(name, folder, quick=quick)


if __name__ == "__main__":
    sys.exit(Verification.main())
