"""The page about verification: equal error rates with intervals, what is best, and what prevents a collapse."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean

from benchmarks.papers.markdown import join_words, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

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
WAYS = ("SIM", "cosine", "fusion")
ASKED = {
    "JapaneseVowels": (*METRICS, *NETWORKS, *PROTOTYPES),
    "UCI HAR": (
        *("DTW", "DTW per length", "Discriminant", "Discriminant, open", "Fused", "Fused, AS-norm", "T-Loss"),
        *("Prototypes", "Prototypes, SIM", "Prototypes, whitened, frozen"),
    ),
}
TARGET = 0.160


PAPER = {"SIM": 2.55, "cosine": 2.62, "fusion": 2.45}  # VoxCeleb1, equal error rates in percent
OURS = "Prototypes, SIM"  # the paper's network, similarity and dense layer


def headline(rows: Rows) -> str:
    """The paper's similarity beside the cosine of its vectors and DTW."""
    each = []
    for dataset, words in (("JapaneseVowels", "speakers"), ("UCI HAR", "people walking, sitting or standing")):
        found = {how: rates(rows, dataset, OURS, how) for how in ("SIM", "cosine")}
        cheap = rates(rows, dataset, "DTW per length")
        if all(found.values()) and cheap:
            sim, cosine, dtw = (mean(one["eer"] for one in some) for some in (*found.values(), cheap))
            each.append((sim, cosine, f"{sim:.3f} on {words} ({dataset}; {cosine:.3f} and {dtw:.3f})"))
    if not each:
        return no_rows_yet(rows, "how well the paper's similarity verifies people that it did not learn")
    ahead = sum(sim < cosine for sim, cosine, _ in each)
    paper = (
        f"In the paper (VoxCeleb1) the similarity has {PAPER['SIM']} % and is ahead of the cosine's {PAPER['cosine']} %"
    )
    verdict = (
        "here too" if ahead == len(each) else f"here on {ahead} of {len(each)} problems, which does not support it"
    )
    best = _best(rows, "JapaneseVowels")
    last = f" The best verifier of speakers here is {best[0]} with {best[1]:.3f}." if best else ""
    return (
        "On people that were not learned the paper's similarity has an equal error rate of "
        f"{join_words([words for _, _, words in each])}; in brackets are the cosine of the same vectors and DTW "
        f"divided by length, the cheap rival. {paper}; {verdict}.{last}"
    )


def body(rows: Rows) -> str:
    """Speakers, variants of the training, and people of UCI HAR."""
    if not rows:
        return ""
    return f"""## Speakers

{_metrics(rows, "JapaneseVowels", (*METRICS, *NETWORKS))}

JapaneseVowels: training sequences of speakers 1 to 6 are learned from, and all pairs of the test sequences of speakers
7 to 9 are judged {_counts(rows, "JapaneseVowels")}. In brackets are 95 % intervals from resampling with replacement
the sequences of JapaneseVowels (three speakers are too few to resample) and the people of UCI HAR; where there are
several seeds, numbers are means over them. *Least cost* is minDCF with one genuine claim in a hundred: 1 is no better
than rejecting everybody.

`Fused` is `Fused([DTW(normalize="length"), Discriminant(classes="open")])`; SiameseGRU has the contrastive loss and 500
steps, TAP 150. *AS-norm* is `Verifier(metric, normalize="as-norm")` with the training sequences as its cohort; how many
of them count was chosen on spoken digits, NATOPS, CricketX and Lightning7.

{_verdict(rows)}

## Variants of the training

{_prototypes(rows, "JapaneseVowels")}

`Prototypes` is trained on the same six speakers for 200 steps, and judged by its similarity (*SIM*), by the cosine of
its vectors, and by the paper's fusion of both. Every row below the second changes one thing of the paper's.

{_collapse(rows)}

## People who do the same activity

{_metrics(rows, "UCI HAR", (*METRICS, *NETWORKS))}

UCI HAR: windows of 21 people are learned from, eight of each person and activity, and six of each of the nine other
people are judged, spaced so that none overlap; only pairs within one activity count {_counts(rows, "UCI HAR")}. The
class is the person.

{_prototypes(rows, "UCI HAR")}
"""


def caveats() -> list[str]:
    return [
        "Three speakers are few: intervals are about these speakers and the training that was drawn, not about others.",
        "Windows of a person and an activity come from one or two recordings and share how the phone was worn, so the "
        "sensor's place may be verified as much as the gait.",
    ]


def rates(rows: Rows, dataset: str, method: str, how: str = "distance") -> list[Found]:
    """Of every finished seed."""
    return [row[how] for row in having(rows, dataset=dataset, method=method) if how in row]


def _counts(rows: Rows, dataset: str) -> str:
    found = having(rows, dataset=dataset)
    return f"({found[0]['n_genuine']} of one person, {found[0]['n_impostors']} of two)" if found else ""


def _metrics(rows: Rows, dataset: str, methods: Iterable[str]) -> str:
    lines = []
    for method in methods:
        if method not in ASKED[dataset]:
            continue
        found = rates(rows, dataset, method)
        seconds = _mean([row["seconds"] for row in having(rows, dataset=dataset, method=method)], ".0f")
        lines.append([method, _rate(found), _mean([one["cost"] for one in found], ".2f"), seconds])
    return table(["metric", "equal error rate", "least cost", "seconds"], lines)


def _prototypes(rows: Rows, dataset: str) -> str:
    lines = [
        [name, *(_rate(rates(rows, dataset, name, how)) for how in WAYS), words]
        for name, words in PROTOTYPES.items()
        if name in ASKED[dataset]
    ]
    return table(["", *WAYS, "what it is"], lines)


def _rate(found: list[Found]) -> str:
    """The mean over seeds of the rate, and of both ends of its interval."""
    if not found:
        return "–"
    rate, low, high = (mean(one[name] for one in found) for name in ("eer", "low", "high"))
    return f"{rate:.3f} ({low:.3f}–{high:.3f})"


def _mean(values: list[float], form: str) -> str:
    return f"{mean(values):{form}}" if values else "–"


def _best(rows: Rows, dataset: str) -> tuple[str, float] | None:
    found = {}
    for method in ASKED[dataset]:
        for how in ("distance", *WAYS):
            some = rates(rows, dataset, method, how)
            if some:
                found[method if how == "distance" else f"{method} ({how})"] = mean(one["eer"] for one in some)
    return min(found.items(), key=lambda pair: pair[1]) if found else None


def _verdict(rows: Rows) -> str:
    best = _best(rows, "JapaneseVowels")
    if best is None:
        return ""
    name, rate = best
    met = "met" if rate < TARGET else "NOT met"
    return f"Target, an equal error rate below {TARGET:.3f}: {met} by {name}, {rate:.3f}."


def _collapse(rows: Rows) -> str:
    """The best way of every variant, the best first."""
    found = []
    for name in PROTOTYPES:
        some = {how: rates(rows, "JapaneseVowels", name, how) for how in WAYS}
        if all(some.values()):
            ways = {how: mean(one["eer"] for one in each) for how, each in some.items()}
            how = min(ways, key=lambda one: ways[one])
            found.append((ways[how], f"{name.removeprefix('Prototypes, ')} {ways[how]:.3f} ({how})"))
    if not found:
        return ""
    dtw = rates(rows, "JapaneseVowels", "DTW per length")
    beside = f" DTW per length has {mean(one['eer'] for one in dtw):.3f}." if dtw else ""
    return (
        f"From the best to the worst, each by its best score: {'; '.join(words for _, words in sorted(found))}.{beside}"
    )
