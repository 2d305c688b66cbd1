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
from contextlib import suppress
from functools import cache
from pathlib import Path
from statistics import StatisticsError, fmean, mean

from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.prototypes import verification_data as data
from benchmarks.papers.prototypes.verification_methods import METHODS, SECONDS, distances, systems
from benchmarks.papers.results import Found, Rows, Trial, having

from timelike.score import resampled_errors, verification_errors
from timelike.score.intervals import percentile_bounds

ALWAYS = ("DTW", "DTW per length", "DTW per length, AS-norm")  # nothing is drawn
METRICS = (*ALWAYS, "Rocket", "Whitened", "Discriminant", "Discriminant, open", "Fused", "Fused, AS-norm")
NETWORKS = ("SiameseGRU", "T-Loss", "TAP")
PROTOTYPES = {
    "Prototypes": "the defaults: a cosine, and untrained features beside the network",
    "Prototypes, SIM": "the paper's: the network, the perceptron S and the dense layer",
    "Prototypes, no L_aux": "the same without the dense layer",
    "Prototypes, few steps": "40 steps of training",
    "Prototypes, five each": "five prototypes for every person, which changes classes but no pair",
    "Prototypes, pseudo-classes": "every person split in five by k-means of Rocket's vectors, learned as classes",
    "Prototypes, whitened, frozen": "on whitened Rocket vectors, which stay fixed",
    "Prototypes, pretrained": "on a causal network that was pretrained without labels",
    "Prototypes, pretrained, frozen": "the same with fixed weights",
}
ASKED = {
    "JapaneseVowels": (*METRICS, *NETWORKS, *PROTOTYPES),
    "UCI HAR": (
        *("DTW", "DTW per length", "Discriminant", "Discriminant, open", "Fused", "Fused, AS-norm", "T-Loss"),
        *("Prototypes", "Prototypes, SIM", "Prototypes, whitened, frozen"),
    ),
}

RESAMPLES = 300
PRIOR = 0.01


class Verification(Experiment[Trial]):
    """Every verifier on both problems."""

    paper, table, seeds = "prototypes", "verification", 2
    holds = "uea/JapaneseVowels.npz and uci_har.npz"
    subject = ("prototypes",)
    title = "Verification of people that were not learned"
    question = "how well the paper's similarity verifies people that it did not learn"

    def planned(self) -> Iterator[Trial]:
        """What draws nothing, once; then all others with one seed after the other."""
        for seed in range(self.given.seeds):
            for name in data.PROBLEMS:
                known = [method for method in METHODS if seed == 0 or method not in ALWAYS]
                yield from (Trial(name, method, seed) for method in known if method in ASKED[name])

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


@cache
def _problem(name: str, folder: Path, quick: bool) -> data.Problem:
    return data.problem(name, folder, quick=quick)


# --- the page

TARGET = 0.160
PAPER = {"SIM": 2.55, "cosine": 2.62, "fusion": 2.45}  # VoxCeleb1, equal error rates in percent
OURS = "Prototypes, SIM"  # the paper's network, similarity and dense layer
WAYS = ("SIM", "cosine", "fusion")


def rates(rows: Rows, dataset: str, method: str, how: str = "distance") -> list[Found]:
    """Of every finished seed."""
    return [row[how] for row in having(rows, dataset=dataset, method=method) if how in row]


def _error_rate(rows: Rows, dataset: str, method: str, how: str = "distance") -> float:
    return fmean(one["eer"] for one in rates(rows, dataset, method, how))


def headline(rows: Rows) -> str:
    """The paper's similarity beside the cosine of its vectors and DTW."""
    words, ahead = [], []
    for dataset, people in (("JapaneseVowels", "speakers"), ("UCI HAR", "people walking, sitting or standing")):
        with suppress(StatisticsError):
            sim, cosine = (_error_rate(rows, dataset, OURS, how) for how in ("SIM", "cosine"))
            dtw = _error_rate(rows, dataset, "DTW per length")
            words.append(f"{sim:.3f} on {people} ({dataset}; {cosine:.3f} and {dtw:.3f})")
            ahead.append(sim < cosine)
    if not words:
        raise page.MissingRows(OURS)
    verdict = "here too" if all(ahead) else f"here on {sum(ahead)} of {len(ahead)} problems, which does not support it"
    best = _best(rows)
    return (
        f"On people that were not learned the paper's similarity has an equal error rate of "
        f"{markdown.join_words(words)}; in brackets are the cosine of the same vectors and DTW divided by length, the "
        f"cheap rival. In the paper (VoxCeleb1) the similarity has {PAPER['SIM']} % and is ahead of the cosine's "
        f"{PAPER['cosine']} %; {verdict}. The best verifier of speakers here is {best[0]} with {best[1]:.3f}."
    )


def n_pairs(rows: Rows, dataset: str) -> str:
    """How many pairs are judged."""
    found = having(rows, dataset=dataset)
    return f"({found[0]['n_genuine']} of one person, {found[0]['n_impostors']} of two)" if found else ""


def metrics(rows: Rows, dataset: str) -> str:
    """Error rates of metrics and networks."""
    lines = []
    for method in (*METRICS, *NETWORKS):
        if method in ASKED[dataset]:
            found = rates(rows, dataset, method)
            seconds = [row["seconds"] for row in having(rows, dataset=dataset, method=method)]
            cost = _mean([one["cost"] for one in found], ".2f")
            lines.append([method, _rate(found), cost, _mean(seconds, ".0f")])
    return markdown.table(["metric", "equal error rate", "least cost", "seconds"], lines)


def prototypes(rows: Rows, dataset: str) -> str:
    """Error rates of forms of Prototypes."""
    lines = [
        [name, *(_rate(rates(rows, dataset, name, how)) for how in WAYS), words]
        for name, words in PROTOTYPES.items()
        if name in ASKED[dataset]
    ]
    return markdown.table(["", *WAYS, "what it is"], lines)


def _rate(found: list[Found]) -> str:
    """The mean over seeds of the rate, and of both ends of its interval."""
    return (
        page.clause(
            lambda: "{:.3f} ({:.3f}–{:.3f})".format(*(mean(one[n] for one in found) for n in ("eer", "low", "high")))
        )
        or "–"
    )


def _mean(values: list[float], form: str) -> str:
    return f"{mean(values):{form}}" if values else "–"


def _best(rows: Rows) -> tuple[str, float]:
    """The verifier of speakers with the least error rate."""
    found = {}
    for method in ASKED["JapaneseVowels"]:
        for how in ("distance", *WAYS):
            if rates(rows, "JapaneseVowels", method, how):
                name = method if how == "distance" else f"{method} ({how})"
                found[name] = _error_rate(rows, "JapaneseVowels", method, how)
    if not found:
        raise page.MissingRows("JapaneseVowels")
    return min(found.items(), key=lambda pair: pair[1])


def target(rows: Rows) -> str:
    """Whether a verifier is good enough."""
    name, rate = _best(rows)
    met = "met" if rate < TARGET else "NOT met"
    return f"Target, an equal error rate below {TARGET:.3f}: {met} by {name}, {rate:.3f}."


def ranking(rows: Rows) -> str:
    """The best way of every variant, the best first."""
    found = []
    for name in PROTOTYPES:
        with suppress(StatisticsError):
            ways = {how: _error_rate(rows, "JapaneseVowels", name, how) for how in WAYS}
            how = min(ways, key=ways.__getitem__)
            found.append((ways[how], f"{name.removeprefix('Prototypes, ')} {ways[how]:.3f} ({how})"))
    if not found:
        return ""
    beside = page.clause(lambda: f" DTW per length has {_error_rate(rows, 'JapaneseVowels', 'DTW per length'):.3f}.")
    listed = "; ".join(words for _, words in sorted(found))
    return f"From the best to the worst, each by its best score: {listed}.{beside}"


if __name__ == "__main__":
    sys.exit(Verification.main())
