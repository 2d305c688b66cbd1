"""The page about verification: equal error rates with intervals, what is best, and what prevents a collapse."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having, told

ALWAYS = ("DTW", "DTW per length", "DTW per length, AS-norm")  # nothing is drawn
METRICS = (*ALWAYS, "Rocket", "Whitened", "Discriminant", "Discriminant, open", "Fused", "Fused, AS-norm")
NETWORKS = ("SiameseGRU", "T-Loss", "TAP")
PROTOTYPES = {
    "Prototypes": "the defaults: a cosine, and what is not trained beside the network",
    "Prototypes, SIM": "the paper's: the network, the perceptron S and the dense layer",
    "Prototypes, no L_aux": "that without the dense layer",
    "Prototypes, few steps": "40 steps of training",
    "Prototypes, five each": "five prototypes for every person: they count for classes, and change no pair",
    "Prototypes, pseudo-classes": "every person in five pieces by k-means of Rocket's vectors, learned as classes",
    "Prototypes, whitened, frozen": "over whitened Rocket vectors, which stay as they are",
    "Prototypes, pretrained": "over a causal network that first learned without labels",
    "Prototypes, pretrained, frozen": "the same, which stays as it is",
}
WAYS = ("SIM", "cosine", "fusion")
ASKED = {
    "JapaneseVowels": (*METRICS, *NETWORKS, *PROTOTYPES),
    "UCI HAR": (
        *("DTW", "DTW per length", "Discriminant", "Discriminant, open", "Fused", "Fused, AS-norm", "T-Loss"),
        *("Prototypes", "Prototypes, SIM", "Prototypes, whitened, frozen"),
    ),
}
ISSUE = {"DTW": 0.188, "DTW per length": 0.167, "SiameseGRU": 0.40}
TARGET = 0.160


def body(rows: Rows) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    return f"""{told(rows)} The machine was shared: seconds are those of a busy one.

Equal error rates of pairs of people that nothing was learned from. In brackets are 95 % intervals, by drawing anew,
with replacement, the sequences of JapaneseVowels (its three speakers are too few to draw) and the people of UCI HAR.
They are about these speakers and people, and the training that was drawn; where there are several seeds the numbers
are means over them. *Least cost* is minDCF, with one genuine claim in a hundred: 1 is
no better than to reject everybody.

## Speakers

JapaneseVowels: learned from the training sequences of speakers 1 to 6; all pairs of the test sequences of speakers 7
to 9 {_counts(rows, "JapaneseVowels")}.

{_metrics(rows, "JapaneseVowels", (*METRICS, *NETWORKS))}

`Fused` is `Fused([DTW(normalize="length"), Discriminant(classes="open")])`; SiameseGRU has the contrastive
loss and 500 steps, TAP 150.
*AS-norm* is `Verifier(metric, normalize="as-norm")` with the training sequences as its cohort; how many of them count
was chosen on spoken digits, NATOPS, CricketX and Lightning7.

{_verdict(rows)}

## What prevents a collapse

`Prototypes` is trained on the same six speakers for 200 steps, and judged by its similarity (*SIM*), by the cosine of
its vectors, and by the paper's fusion of both. Below the first row each is the paper's with one thing changed.

{_prototypes(rows, "JapaneseVowels")}

{_collapse(rows)}

## People who do the same

UCI HAR: learned from windows of 21 people, eight of each person and activity, and judged by six of each of the nine
others, evenly spaced so that none overlap; only pairs within one activity count {_counts(rows, "UCI HAR")}. The class
is the person. Windows of a person and an activity come from one or two recordings, and share how the phone was worn:
it is the sensor's place that is verified as much as the gait.

{_metrics(rows, "UCI HAR", (*METRICS, *NETWORKS))}

{_prototypes(rows, "UCI HAR")}

"""


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
        issue = f"{ISSUE[method]:.3f}" if method in ISSUE and dataset == "JapaneseVowels" else ""
        seconds = _mean([row["seconds"] for row in having(rows, dataset=dataset, method=method)], ".0f")
        cost = _mean([one["cost"] for one in found], ".2f")
        lines.append([method, _rate(found), cost, *([issue] if dataset == "JapaneseVowels" else []), seconds])
    named = ["the issue"] if dataset == "JapaneseVowels" else []
    return table(["metric", "equal error rate", "least cost", *named, "seconds"], lines)


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
    kept = "below" if rate < TARGET else "not below"
    return (
        f"The best verifier here is {name}, {rate:.3f}: {kept} the {TARGET:.3f} that was asked for. "
        "A contrastive network that learned six speakers tells three others apart hardly better than by lot."
    )


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
        f"From the best to the worst, each by its best way: {'; '.join(words for _, words in sorted(found))}.{beside}"
    )
