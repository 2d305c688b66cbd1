"""The page about domain shift: accuracies on the people left out, fold by fold, as table 2 of the paper has domains."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import count_of, format_signed, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Rows, having

METHODS = ("Prototypes", "dense alone", "network", "Discriminant", "Rocket, ridge", "perceptron")
LINES = (  # what the page calls it, the method and its head
    ("dense alone", "dense alone", ""),
    ("network, dense head (DOL)", "network", " dense"),
    ("network, similarity (SIM)", "network", ""),
    ("perceptron, dense head (DOL)", "perceptron", " dense"),
    ("perceptron, similarity (SIM)", "perceptron", ""),
    ("Prototypes", "Prototypes", ""),
    ("Discriminant", "Discriminant", ""),
    ("Rocket, ridge", "Rocket, ridge", ""),
)


def headline(rows: Rows) -> str:
    """Whether the paper's similarity helps on people left out; first of all, whether it has rows."""
    if not rows:
        return no_rows_yet(rows, "activities of people left out of training")
    learned, plain = having(rows, method="perceptron"), having(rows, method="dense alone")
    start = "" if learned else "The paper's similarity, a learned perceptron, has no rows on this page. "
    name, words = ("perceptron", "the paper's similarity") if learned else ("network", "the same network with a cosine")
    own = having(rows, method=name)
    if not own or not plain:
        return f"{start}There are too few rows to compare {words} with a plain classifier.".strip()
    gains = shift_gains(rows, name)
    verdict = "which agrees with the paper" if gains and mean(gains) > 0 else "which contradicts the paper"
    if not learned:
        verdict = "which says nothing about the paper's claim"
    cheap = having(rows, method="Rocket, ridge")
    beside = (
        f" Ridge regression on Rocket features, the cheap rival, has {100 * mean(r['shifted'] for r in cheap):.1f} %."
        if cheap
        else ""
    )
    return (
        f"{start}On people left out of training {words} has an accuracy of {100 * mean(r['shifted'] for r in own):.1f} "
        f"% and a plain classifier of the same encoder {100 * mean(r['shifted'] for r in plain):.1f} % (difference "
        f"{format_signed(mean(gains), '.1f')} points on {count_of(len(gains), 'fold')}), {verdict}.{beside}"
        if gains
        else f"{start}No fold has both {words} and a plain classifier."
    )


def shift_gains(rows: Rows, method: str, head: str = "") -> list[float]:
    """What a method gains over a plain classifier of the same encoder, in points, on folds that both have."""
    plain = {(row["dataset"], row["seed"]): row["shifted"] for row in having(rows, method="dense alone")}
    return [
        100 * (row[f"shifted{head}"] - plain[row["dataset"], row["seed"]])
        for row in having(rows, method=method)
        if (row["dataset"], row["seed"]) in plain
    ]


def body(rows: Rows, folds: list[str]) -> str:
    """Accuracies fold by fold."""
    if not rows:
        return ""
    lines = [_line(rows, folds, *one) for one in LINES]
    head = ["method", *folds, "mean", "people it learned from"]
    return f"""{table(head, lines)}

UCI HAR, six activities: accuracy (%) on windows of the six people left out, for each of five folds of people, and the
mean over finished folds. The last column is the accuracy on other windows of the people learned from; windows overlap
by half, so it is too high. Six windows of every person and activity are learned from, and as many are tested.

`dense alone` is the default network of `Prototypes` with a dense layer, trained by that layer's loss alone; `network`
is `Prototypes(extra_encoders=[])`, answering by either head; `perceptron` is the same with the paper's similarity;
`Prototypes` is at its defaults, `Discriminant` has `classes="known"` and the nearest neighbour, `Rocket, ridge` is an
`EmbeddingClassifier`.

{_verdict(rows)}
"""


def caveats() -> list[str]:
    return [
        "The paper's table 2 is about photographs, paintings, cartoons and sketches of seven kinds of objects with a "
        "ResNet; there the similarity is ahead of plain classifiers, mostly where the domain left out is strangest. A "
        "fold is another style there and another six people here.",
        "A fold has about 216 windows: one window is half a point, and differences of a point or two may be chance.",
    ]


def _line(rows: Rows, folds: list[str], name: str, method: str, head: str) -> list[str]:
    found = having(rows, method=method)
    if not found:  # an empty line says that it was not measured
        return [name, *["–"] * (len(folds) + 2)]
    by_fold = {fold: [100 * row[f"shifted{head}"] for row in found if row["dataset"] == fold] for fold in folds}
    shown = [f"{mean(values):.1f}" if values else "–" for values in by_fold.values()]
    ends = [mean(100 * row[f"{name}{head}"] for row in found) for name in ("shifted", "same")]
    return [name, *shown, *(f"{end:.1f}" for end in ends)]


def _verdict(rows: Rows) -> str:
    """What every head gains over a plain classifier of the same encoder."""
    words = []
    for name, method, head in LINES[1:6]:
        gains = shift_gains(rows, method, head)
        if gains:
            better = sum(gain > 0 for gain in gains)
            words.append(f"{name} {mean(gains):+.1f} points, better in {better} of {len(gains)}")
    if not words:
        return "No fold can be compared yet."
    return f"Against `dense alone`, on the same folds: {'; '.join(words)}."
